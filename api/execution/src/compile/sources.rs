//! What is compiled, as the JSON in which it came. Knows nothing of where it is compiled.

use heddle_compiler::{Diagnostic, GraphLimits, Options, text};
use heddle_model::error::ServiceError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Memory that reading takes for a byte of the sources, at most [`VALUE_BYTES`] for each value besides.
pub(super) const READ_FACTOR: usize = 2;
const VALUE_BYTES: usize = 200;

/// What to compile, as JSON.
#[derive(Debug)]
pub struct Sources {
    /// The graph.
    pub graph: Box<RawValue>,
    /// Definitions of node types that are not standard.
    pub definitions: Box<RawValue>,
    /// Outputs of nodes that do not execute.
    pub pinned_nodes: Option<Box<RawValue>>,
}

/// A part that is no JSON of its form, such as one that nests too deeply.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Unreadable {
    /// The field of the request.
    path: String,
    message: String,
}

impl From<Unreadable> for ServiceError {
    fn from(unreadable: Unreadable) -> Self {
        ServiceError::field(unreadable.path, unreadable.message)
    }
}

impl Sources {
    /// A graph without definitions.
    pub fn of_graph(graph: Box<RawValue>) -> Sources {
        Sources {
            graph,
            definitions: RawValue::NULL.to_owned(),
            pinned_nodes: None,
        }
    }

    /// Graph, definitions and pins.
    pub(super) fn texts(&self) -> [&str; 3] {
        let pins = self.pinned_nodes.as_deref();
        [
            self.graph.get(),
            self.definitions.get(),
            pins.map_or("null", RawValue::get),
        ]
    }

    /// Their bytes.
    pub(super) fn bytes(&self) -> usize {
        self.texts().iter().map(|text| text.len()).sum()
    }

    /// About how much memory they take once they are read.
    pub(super) fn memory(&self, limits: GraphLimits) -> usize {
        let bytes = self.bytes();
        bytes * READ_FACTOR + VALUE_BYTES * limits.values_max.min(bytes)
    }

    /// Reads and compiles them. What has too many values is refused before any is made.
    pub(super) fn compile(self, mut options: Options) -> Result<heddle_compiler::Compiled, Unreadable> {
        let values_max = options.limits.values_max;
        let values: usize = self.texts().iter().map(|text| text::values_at_most(text)).sum();
        if values > values_max {
            let message = format!(
                "the graph, its definitions and pins have more than {values_max} values, which are the most that are read"
            );
            return Ok(heddle_compiler::Compiled {
                artifact: None,
                diagnostics: vec![Diagnostic::error("too-large", message)],
            });
        }
        let graph = read("graphData", &self.graph)?;
        let definitions = read("nodeDefinitions", &self.definitions)?;
        if let Some(pins) = &self.pinned_nodes {
            options.pinned_nodes = read("pinnedNodes", pins)?;
        }
        drop(self);
        Ok(heddle_compiler::compile(&graph, &definitions, &options))
    }
}

fn read<T: DeserializeOwned>(path: &str, raw: &RawValue) -> Result<T, Unreadable> {
    serde_json::from_str(raw.get()).map_err(|error| Unreadable {
        path: path.to_owned(),
        message: format!("can't be read: {error}"),
    })
}
