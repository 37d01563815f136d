//! Targets that build what they check from the bytes of the input: archives, graphs, modules, values.

mod archives;
mod graph;
mod module;
mod values;

use crate::targets::Check;

/// All of them, by name.
pub const ALL: &[(&str, Check)] = &[
    ("archives", archives::check),
    ("graph", graph::check),
    ("module", module::check),
    ("values", values::check),
];
