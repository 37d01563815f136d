//! What all that a service's file describes has in common, and how its expressions name what a node is given.

use crate::icon::Icon;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// How a parameter is named in an expression.
pub(super) const GIVEN: &str = "$input.";
/// The same where it stands for itself.
pub(super) const GIVEN_OPENING: &str = "{{ $input.";

/// The head of a service's file.
pub(super) struct Service {
    pub name: String,
    pub icon: Icon,
    pub words: Vec<&'static str>,
    pub connection: String,
    pub request: Map<String, Value>,
}

/// The names that expressions use of what is given.
pub(super) fn used(written: &str) -> BTreeSet<&str> {
    written
        .split(GIVEN)
        .skip(1)
        .map(|rest| {
            rest.split(|c: char| !c.is_ascii_alphanumeric())
                .next()
                .unwrap_or_default()
        })
        .collect()
}
