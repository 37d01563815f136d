//! From a graph to one WebAssembly module.
//!
//! A pure function: no I/O, no clock, no threads, no async; the same graph gives the same bytes. Users' mistakes
//! are data ([`Diagnostic`]), not errors.

pub mod artifact;
mod check;
mod code;
pub mod compare;
mod component;
mod definitions;
pub mod diagnostic;
pub mod emit;
mod explain;
pub mod expression;
mod extent;
mod findings;
mod graph;
mod inline;
mod lower;
pub mod lowered;
mod reach;
mod rights;
mod scopes;
pub mod text;

pub use artifact::Artifact;
pub use check::schedule::never_comes;
pub use diagnostic::{Diagnostic, Severity};
pub use explain::{Explained, Route, Why};
pub use expression::ExpressionRoute;

use definitions::Definitions;
use findings::Findings;
use graph::Graph;
use lowered::Lowered;
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
    /// By which way expressions are evaluated; but for tests, leave it as it is.
    pub expressions: ExpressionRoute,
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
    /// JSON values, in the graph and its definitions together.
    pub values_max: usize,
    /// Ports of one node or definition.
    pub ports_max: usize,
    /// Bytes of all nodes' parameters and code, those of inlined composites as often as they are used.
    pub inlined_bytes_max: usize,
}

impl Default for GraphLimits {
    fn default() -> Self {
        GraphLimits {
            nodes_max: 1_000,
            edges_max: 5_000,
            expression_bytes_max: 64 * 1024,
            values_max: 250_000,
            ports_max: 256,
            inlined_bytes_max: 32 << 20,
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

/// Compiles a graph with its nodeDefinitions. Mistakes are diagnostics: the artifact is there if none is an error.
pub fn compile(graph: &Value, definitions: &Value, options: &Options) -> Compiled {
    let (lowered, diagnostics) = analyse(graph, definitions, options);
    Compiled {
        artifact: lowered.map(emit::emit),
        diagnostics,
    }
}

/// Finds all that [`compile`] would, without emitting a module.
pub fn check(graph: &Value, definitions: &Value, options: &Options) -> Vec<Diagnostic> {
    analyse(graph, definitions, options).1
}

/// The way that each expression goes, in graph order, and all that [`check`] finds. Expressions with an error are
/// left out.
pub fn explain(graph: &Value, definitions: &Value, options: &Options) -> (Vec<Explained>, Vec<Diagnostic>) {
    let (explained, found) = checked(graph, definitions, options, |checked, definitions, _| {
        explain::explain(checked, definitions)
    });
    (explained.unwrap_or_default(), found)
}

/// The graph ready to be emitted, if no diagnostic is an error.
pub fn analyse(graph: &Value, definitions: &Value, options: &Options) -> (Option<Lowered>, Vec<Diagnostic>) {
    let (lowered, found) = checked(
        graph,
        definitions,
        options,
        |checked, _, has_errors| match has_errors {
            true => None,
            false => lower::lower(checked, options),
        },
    );
    (lowered.flatten(), found)
}

/// What `use_it` makes of the checked graph, given whether there are errors; nothing when it can't be read.
fn checked<T>(
    graph: &Value,
    definitions: &Value,
    options: &Options,
    use_it: impl FnOnce(&check::Checked<'_>, &Definitions, bool) -> T,
) -> (Option<T>, Vec<Diagnostic>) {
    let mut found = Findings::default();
    extent::check(graph, definitions, options.limits, &mut found);
    if !found.is_empty() {
        return (None, found.finish());
    }
    if !graph.is_object() {
        let message = format!(
            "a graph is an object with nodes and edges, not {}",
            graph::described(graph)
        );
        return (None, vec![Diagnostic::error("malformed", message)]);
    }
    let graph = Graph::read(graph, &mut found);
    let definitions = Definitions::read(definitions, &mut found);
    let checked = check::check(&graph, &definitions, options, &mut found);
    found.sort(graph.nodes.iter().map(|node| node.id.as_str()));
    let used = use_it(&checked, &definitions, found.has_errors());
    (Some(used), found.finish())
}

/// A pinned output: the value, or `{"$pin": true, "port": …, "value": …}`.
pub(crate) struct Pin<'a> {
    /// The output port as given.
    pub port: Option<&'a Value>,
    /// The value that leaves by it.
    pub value: &'a Value,
}

impl<'a> Pin<'a> {
    pub(crate) fn read(pin: &'a Value) -> Pin<'a> {
        if pin.get("$pin") != Some(&Value::Bool(true)) {
            return Pin {
                port: None,
                value: pin,
            };
        }
        let port = pin.get("port").filter(|port| !port.is_null());
        Pin {
            port,
            value: pin.get("value").unwrap_or(&Value::Null),
        }
    }
}
