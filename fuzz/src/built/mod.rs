//! Targets that build what they check from the bytes of the input (archives, graphs, modules, values), or execute nodes.

mod alone;
mod archives;
mod component;
mod formats;
mod graph;
mod module;
mod pages;
mod values;

use crate::runs::runtime;
use crate::targets::Check;

/// All of them, by name.
pub const ALL: &[(&str, Check)] = &[
    ("archives", archives::check),
    ("component", component::check),
    ("formats", formats::check),
    ("graph", graph::check),
    ("module", module::check),
    ("pages", pages::check),
    ("values", values::check),
];

/// Does what only the first input would wait for: to compile heddle's own modules takes longer than an input may, while much else
/// is done.
pub fn prepare(name: &str) {
    match name {
        "component" | "graph" | "module" => {
            runtime();
        }
        "pages" => pages::prepare(),
        _ => {}
    }
}
