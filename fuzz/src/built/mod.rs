//! Targets that build what they check from the bytes of the input (archives, graphs, modules, values), or execute nodes.

mod alone;
mod archives;
mod formats;
mod graph;
mod module;
mod pages;
mod values;

use crate::targets::Check;

/// All of them, by name.
pub const ALL: &[(&str, Check)] = &[
    ("archives", archives::check),
    ("formats", formats::check),
    ("graph", graph::check),
    ("module", module::check),
    ("pages", pages::check),
    ("values", values::check),
];
