//! A run for several elements, noted before it is stored: whoever goes on after a server has stopped asks for it by its key.

use super::seen::Seen;

/// Between what the run's key has and the elements, as they are stored.
const SEPARATOR: char = ':';
/// Characters of what its key has; what is stored may have come from elsewhere.
const RUN_CHARS_MAX: usize = 64;

/// A run for several elements that is about to be stored, or is by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// What its key has.
    pub run: String,
    elements: Seen,
}

impl Pending {
    /// A run for these.
    pub fn of<'k>(run: &str, keys: impl IntoIterator<Item = &'k str>) -> Self {
        Pending {
            run: run.to_owned(),
            elements: Seen::default().with(keys),
        }
    }

    /// From what was stored; `None`: of anything else.
    pub fn of_stored(stored: &str) -> Option<Self> {
        let (run, elements) = stored.split_once(SEPARATOR)?;
        (run.len() <= RUN_CHARS_MAX).then(|| Pending {
            run: run.to_owned(),
            elements: Seen::of_stored(elements),
        })
    }

    /// What its key has first, then a mark for each element.
    pub fn stored(&self) -> String {
        format!("{}{SEPARATOR}{}", self.run, self.elements.stored())
    }

    /// Marks of its elements, by which they are recognised.
    pub fn elements(&self) -> &Seen {
        &self.elements
    }
}
