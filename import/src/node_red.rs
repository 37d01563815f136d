//! From Node-RED's flows to patterns: a message is the value that flows.

mod calls;
mod code;
mod context;
mod graph;
mod jsonata;
mod read;
mod rules;
mod table;
mod values;

pub use read::{Flow, Size, find, find_within};

use crate::built::Drawn;
use crate::report::Report;

/// Draws the pattern of a flow.
pub(crate) fn draw(flow: &Flow, report: &mut Report) -> Drawn {
    graph::draw(flow, report)
}
