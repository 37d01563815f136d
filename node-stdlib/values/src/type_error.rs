//! What operations refuse.

use std::fmt;

/// An operation that JavaScript refuses with a TypeError, or that expressions don't support: a message for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError(pub String);

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TypeError {}
