//! Shapes of the objects that a text has had so far. Objects that follow each other are mostly of few kinds, whose names
//! come in one order: so a name need only be compared with the one that is expected.

use crate::text::same_bytes;
use crate::{Shape, Text};
use std::num::NonZeroUsize;

/// So many are remembered.
const SHAPES_MAX: usize = 16;
/// Longer ones are not.
const NAMES_MAX: usize = 64;

/// The shapes, none of them empty.
#[derive(Default)]
pub(super) struct Shapes {
    known: Vec<Known>,
    /// The one that the last object began with.
    last: usize,
    /// The one that gives way next.
    oldest: usize,
}

struct Known {
    shape: Shape,
    /// The one that the next object began with.
    next: usize,
}

impl Shapes {
    /// The shape of an object whose first name begins here, as far as can be told.
    pub fn begin(&mut self, text: &[u8], at: usize) -> Option<Shape> {
        let expected = self.known.get(self.last)?.next;
        let fits = |known: &Known| after_name(known.shape.names(), 0, text, at).is_some();
        let found = match self.known.get(expected).is_some_and(fits) {
            true => expected,
            false => self.known.iter().position(fits)?,
        };
        if let Some(last) = self.known.get_mut(self.last) {
            last.next = found;
        }
        self.last = found;
        self.known.get(found).map(|known| known.shape.clone())
    }

    /// The position after the name that begins here, if it is the one at `place` of the shape, or of another one that has
    /// been like it so far, which it is then.
    #[inline]
    pub fn goes_on(&self, like: &mut Shape, place: usize, text: &[u8], at: usize) -> Option<NonZeroUsize> {
        after_name(like.names(), place, text, at).or_else(|| self.goes_on_otherwise(like, place, text, at))
    }

    #[cold]
    fn goes_on_otherwise(
        &self,
        like: &mut Shape,
        place: usize,
        text: &[u8],
        at: usize,
    ) -> Option<NonZeroUsize> {
        let begin = like.names().get(..place)?;
        let (other, after) = self.known.iter().find_map(|known| {
            let after = after_name(known.shape.names(), place, text, at)?;
            known
                .shape
                .names()
                .starts_with(begin)
                .then_some((&known.shape, after))
        })?;
        *like = other.clone();
        Some(after)
    }

    /// The shape of an object that ends after so many names of this one.
    #[inline]
    pub fn end(&mut self, like: Shape, count: usize) -> Option<Shape> {
        if like.len() == count {
            return Some(like);
        }
        self.shorter(&like, count)
    }

    #[cold]
    fn shorter(&mut self, like: &Shape, count: usize) -> Option<Shape> {
        let names = like.names().get(..count)?;
        let known = self.known.iter().find(|known| known.shape.names() == names);
        if let Some(known) = known {
            return Some(known.shape.clone());
        }
        let shape = Shape::of_plain_names(names.to_vec());
        self.keep(Some(&shape));
        Some(shape)
    }

    /// Remembers the shape of an object that was like no other.
    pub fn keep(&mut self, shape: Option<&Shape>) {
        let Some(shape) = shape.filter(|shape| (1..=NAMES_MAX).contains(&shape.len())) else {
            return;
        };
        let known = Known {
            shape: shape.clone(),
            next: 0,
        };
        match self.known.get_mut(self.oldest) {
            Some(oldest) => *oldest = known,
            None => self.known.push(known),
        }
        self.last = self.oldest;
        self.oldest = (self.oldest + 1) % SHAPES_MAX;
    }
}

/// The position after the name at `place` and its closing quote, if the text goes on with them.
#[inline]
fn after_name(names: &[Text], place: usize, text: &[u8], at: usize) -> Option<NonZeroUsize> {
    let name = names.get(place)?.as_str()?.as_bytes();
    let end = at + name.len();
    if text.get(end) != Some(&b'"') || !same_bytes(text.get(at..end)?, name) {
        return None;
    }
    NonZeroUsize::new(end + 1)
}
