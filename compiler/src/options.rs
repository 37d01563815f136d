//! How a graph is compiled, and the limits on its size.

use crate::expression::ExpressionRoute;
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

/// A pinned output: the value, or `{"$pin": true, "port": …, "value": …}`.
pub(crate) struct Pin<'a> {
    /// The output port as given.
    pub port: Option<&'a Value>,
    /// The value that leaves through it.
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
