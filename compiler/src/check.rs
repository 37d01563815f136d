//! Checks every rule for graphs, and reports all violations at once.
//!
//! The result is levels with resolved names, checked parameters and, if there are no cycles, order and scopes, from
//! which `inline` and `lower` build the plan.

mod chat;
mod definitions;
mod flow;
mod form;
mod guards;
pub(crate) mod level;
mod mailbox;
mod names;
mod options;
mod parameters;
mod poll;
mod rules;
pub(crate) mod schedule;
mod single;
mod together;
mod types;
pub(crate) mod webhook;

use crate::checked::Checked;
use crate::definitions::Definitions;
use crate::findings::Findings;
use crate::graph::Graph;
use crate::options::Options;

/// Checks a graph and its definitions.
pub(crate) fn check<'a>(
    graph: &'a Graph,
    definitions: &'a Definitions,
    options: &Options,
    found: &mut Findings,
) -> Checked<'a> {
    let items = graph.settings.items;
    let insides = definitions::check(definitions, items, options, found);
    let main = rules::check_level(graph, definitions, (false, items), options, found);
    let checked = Checked {
        main,
        definitions: insides,
    };
    definitions::check_use(&checked, definitions, options, found);
    options::check(&checked, options, found);
    checked
}
