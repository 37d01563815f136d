//! From workflows of n8n and flows of Node-RED to patterns, and from OpenAPI documents to definitions: what has a counterpart in heddle is translated,
//! everything else becomes a stub that fails with a message or is left out, and a report says so.
//!
//! A pure function: no I/O, no clock, no async. Workflows and documents are foreign: everything is bounded, nothing recurses over them.

mod broken;
mod built;
mod conditions;
mod cycles;
mod deep;
mod edges;
mod expression;
mod finding;
mod graph;
mod kinds;
mod loops;
mod named;
pub mod node_red;
pub mod openapi;
mod operations;
mod parameters;
mod pins;
mod place;
mod reach;
mod read;
mod readers;
mod remark;
mod repair;
mod report;
mod rewrite;
mod room;
mod scan;
mod scene;
mod shape;
mod table;
mod workflow;

pub use finding::Finding;
pub use read::{
    Refused, VALUES_MAX, WORKFLOW_BYTES_MAX, WORKFLOWS_MAX, find, find_fragments, values_at_most,
};
pub use report::{ConnectionNeeded, Item, Level, Report, Summary};
pub use workflow::{Calls, Workflow};

use heddle_compiler::Options;
use serde::Serialize;
use serde_json::Value;

/// Each round repairs all that was found; a hundred findings are told at a time.
const ROUNDS_MAX: usize = 40;

/// What became of a workflow.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// The pattern's name.
    pub name: String,
    /// Nodes, edges, settings, and the notes that editors show.
    pub graph_data: Value,
    /// Node types of its stubs.
    pub node_definitions: Value,
    /// Tests of the trigger's pinned data, as the API takes them.
    pub tests: Vec<Value>,
    /// What differs from n8n, and what is left to do.
    #[serde(skip)]
    pub report: Report,
}

/// An import under way: what is drawn of a workflow, and repaired by what the compiler finds in it. Whoever compiles
/// foreign graphs elsewhere does so between the rounds.
#[derive(Debug)]
pub struct Importing {
    name: String,
    tests: Vec<Value>,
    drawn: built::Drawn,
    originals: broken::Originals,
    report: Report,
    rounds: usize,
}

impl Importing {
    /// Draws the pattern.
    pub fn new(workflow: &Workflow, calls: &Calls) -> Importing {
        let mut report = Report::default();
        let inlined = parameters::inlined(workflow);
        let workflow = inlined.as_ref().unwrap_or(workflow);
        let (mended, broken) = broken::undefined(workflow).unzip();
        let workflow = mended.as_ref().unwrap_or(workflow);
        let drawn = graph::draw(workflow, calls, &broken.unwrap_or_default(), &mut report);
        Importing {
            name: workflow.name.clone(),
            tests: pins::tests(workflow, &drawn),
            drawn,
            originals: broken::Originals::of(workflow),
            report,
            rounds: 0,
        }
    }

    /// Draws the pattern of a flow of Node-RED.
    pub fn of_flow(flow: &node_red::Flow) -> Importing {
        let mut report = Report::default();
        let drawn = node_red::draw(flow, &mut report);
        Importing {
            name: flow.name.clone(),
            tests: Vec::new(),
            drawn,
            originals: broken::Originals::default(),
            report,
            rounds: 0,
        }
    }

    /// The graph and its definitions as they are now.
    pub fn pattern(&self) -> (Value, Value) {
        self.drawn.json()
    }

    /// Repairs what the compiler has found; whether to look again.
    pub fn repair(&mut self, found: Vec<Finding>) -> bool {
        self.rounds += 1;
        let repaired = repair::repair(&mut self.drawn, found, &self.originals, &mut self.report);
        repaired && self.rounds < ROUNDS_MAX
    }

    /// The result.
    pub fn finish(mut self) -> Imported {
        self.report.finish();
        let (graph_data, node_definitions) = self.drawn.json();
        Imported {
            name: self.name,
            graph_data,
            node_definitions,
            tests: self.tests,
            report: self.report,
        }
    }
}

/// Makes a pattern of a workflow, and compiles it here to repair it.
pub fn import(workflow: &Workflow, calls: &Calls) -> Imported {
    repaired(Importing::new(workflow, calls))
}

/// Makes a pattern of a flow of Node-RED, and compiles it here to repair it.
pub fn import_flow(flow: &node_red::Flow) -> Imported {
    repaired(Importing::of_flow(flow))
}

fn repaired(mut importing: Importing) -> Imported {
    loop {
        let (graph, definitions) = importing.pattern();
        let found = heddle_compiler::check(&graph, &definitions, &Options::default());
        if !importing.repair(found.into_iter().map(Finding::from).collect()) {
            return importing.finish();
        }
    }
}
