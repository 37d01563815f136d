//! What the lists consist of.

use serde::Serialize;

/// A name that stands for a value.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NameEntry {
    /// As it is written.
    pub name: &'static str,
    pub about: &'static str,
    /// Where it has a value.
    pub scope: Scope,
    /// Whether expressions of definitions have it as well.
    pub in_definitions: bool,
}

/// Where a name has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// Everywhere.
    Always,
    /// In loops, with `each`, and in parameters that are evaluated for each item.
    Item,
    /// Where two items are compared.
    Pair,
    /// After a node that has failed.
    Error,
}

/// A line of a list: `name(argument, argument?)`, and what it gives.
pub(super) type Line = (&'static str, &'static str);
