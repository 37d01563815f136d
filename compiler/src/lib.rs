//! From a graph to one WebAssembly module.
//!
//! A pure function: no I/O, no clock, no threads, no async; the same graph gives the same bytes. Users' mistakes
//! are data ([`Diagnostic`]), not errors.

pub mod artifact;
pub mod diagnostic;
pub mod emit;
pub mod expression;
pub mod lowered;

pub use artifact::Artifact;
pub use diagnostic::{Diagnostic, Severity};

use serde_json::{Map, Value};

/// How to compile.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Report what each node did.
    pub trace: bool,
    /// Node ids before which the run pauses.
    pub breakpoints: Vec<String>,
    /// Outputs by node id: the node does not execute. `{"$pin": true, "port": …, "value": …}` names a port.
    pub pinned_nodes: Map<String, Value>,
    /// Limits on the size of the graph.
    pub limits: GraphLimits,
}

/// Limits on a graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphLimits {
    /// Nodes, those of inlined composites included.
    pub nodes_max: usize,
    /// Edges, likewise.
    pub edges_max: usize,
    /// Bytes of one expression.
    pub expression_bytes_max: usize,
}

impl Default for GraphLimits {
    fn default() -> Self {
        GraphLimits {
            nodes_max: 1_000,
            edges_max: 5_000,
            expression_bytes_max: 64 * 1024,
        }
    }
}

/// What compiling gave: an artifact if no diagnostic is an error.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The module.
    pub artifact: Option<Artifact>,
    /// Errors and warnings, in graph order.
    pub diagnostics: Vec<Diagnostic>,
}
