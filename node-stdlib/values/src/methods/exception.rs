//! What JavaScript throws.

use crate::{TypeError, Value};

/// What a method or a global function gives.
pub type Outcome = Result<Value, Exception>;

/// Why an operation gives no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// What JavaScript would throw.
    pub kind: Kind,
    /// What is wrong, for a person; empty for [`Kind::Kept`].
    pub message: String,
}

/// Kind of an [`Exception`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `TypeError`
    Type,
    /// `RangeError`
    Range,
    /// `SyntaxError`
    Syntax,
    /// `URIError`
    Uri,
    /// `InvalidCharacterError`
    Character,
    /// JavaScript would give a value, which needs what expressions don't have.
    Unsupported,
    /// A function that was called has failed, and the failure is already kept.
    Kept,
}

impl Exception {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        let message = message.into();
        Exception { kind, message }
    }

    /// A failure that is already kept.
    pub fn kept() -> Self {
        Exception::new(Kind::Kept, "")
    }
}

impl Kind {
    /// JavaScript's name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Type => "TypeError",
            Kind::Range => "RangeError",
            Kind::Syntax => "SyntaxError",
            Kind::Uri => "URIError",
            Kind::Character => "InvalidCharacterError",
            Kind::Unsupported => "Unsupported",
            Kind::Kept => "Kept",
        }
    }
}

impl From<TypeError> for Exception {
    fn from(error: TypeError) -> Self {
        Exception::new(Kind::Type, error.0)
    }
}
