//! How people see and find a node type in an editor.

use crate::icon::Icon;

/// A shelf of the palette; finer than [`crate::Category`], and like it in the order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Starts a run.
    Triggers,
    /// Sends values one way or another.
    Branching,
    /// Repeats nodes.
    Loops,
    /// Waits for a time or for somebody.
    Waiting,
    /// Calls other patterns, gives results, ends runs.
    Runs,
    /// Fields of objects, and values as a whole.
    Fields,
    Lists,
    Text,
    /// Formats of documents.
    Formats,
    /// Date-times.
    Time,
    /// Digests, signatures and random values.
    Cryptography,
    /// Code of one's own.
    Code,
    /// Services outside, and what is kept between runs.
    Services,
    /// Operations of known services, one after the other.
    Apps,
}

impl Group {
    /// Name in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Triggers => "triggers",
            Group::Branching => "branching",
            Group::Loops => "loops",
            Group::Waiting => "waiting",
            Group::Runs => "runs",
            Group::Fields => "fields",
            Group::Lists => "lists",
            Group::Text => "text",
            Group::Formats => "formats",
            Group::Time => "time",
            Group::Cryptography => "cryptography",
            Group::Code => "code",
            Group::Services => "services",
            Group::Apps => "apps",
        }
    }
}

/// How a type is shown, and by which words it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Face {
    /// Its name in words: `For each`.
    pub title: &'static str,
    /// What is drawn on it.
    pub icon: Icon,
    /// Where the palette has it.
    pub group: Group,
    /// What else people call it, in lower case: `loop`, `api call`.
    pub keywords: &'static [&'static str],
}

impl Face {
    pub(crate) const fn new(
        title: &'static str,
        icon: Icon,
        group: Group,
        keywords: &'static [&'static str],
    ) -> Self {
        Face {
            title,
            icon,
            group,
            keywords,
        }
    }
}
