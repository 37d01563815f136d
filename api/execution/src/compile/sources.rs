//! What is compiled, as the JSON in which it came. Knows nothing of where it is compiled.

use super::renaming::{RenameRequest, Renamed};
use super::validation::{NeededRights, Validation};
use heddle_compiler::{Diagnostic, GraphLimits, Options, text};
use heddle_model::error::ServiceError;
use heddle_store::versions::Content;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Memory that reading takes for a byte of the sources, at most [`VALUE_BYTES`] for each value besides.
pub(super) const READ_FACTOR: usize = 2;
const VALUE_BYTES: usize = 200;

/// What to compile, as JSON.
#[derive(Debug)]
pub struct Sources {
    pub graph: Box<RawValue>,
    /// Definitions of node types that are not standard.
    pub definitions: Box<RawValue>,
    /// Outputs of nodes that do not execute.
    pub pinned_nodes: Option<Box<RawValue>>,
}

/// A part that is not JSON of the expected form, such as one that nests too deeply.
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
    /// A stored version of a pattern.
    pub fn of_version(content: Content) -> serde_json::Result<Sources> {
        let definitions = content.definitions.map(RawValue::from_string).transpose()?;
        Ok(Sources {
            graph: RawValue::from_string(content.graph)?,
            definitions: definitions.unwrap_or_else(|| RawValue::NULL.to_owned()),
            pinned_nodes: None,
        })
    }

    /// Replaces the definitions with others, unless these are an empty object.
    pub fn with_definitions(self, sent: Box<RawValue>) -> Sources {
        match is_empty(&sent) {
            true => self,
            false => Sources {
                definitions: sent,
                ..self
            },
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

    /// Reads and compiles them.
    pub(super) fn compile(self, mut options: Options) -> Result<heddle_compiler::Compiled, Unreadable> {
        if let Some(diagnostic) = self.too_large(&options) {
            return Ok(heddle_compiler::Compiled {
                artifact: None,
                diagnostics: vec![diagnostic],
            });
        }
        let (graph, definitions) = self.read(&mut options)?;
        Ok(heddle_compiler::compile(&graph, &definitions, &options))
    }

    /// Reads and checks them; with their rights, if those are asked for.
    pub(super) fn validate(self, mut options: Options, with_rights: bool) -> Result<Validation, Unreadable> {
        if let Some(diagnostic) = self.too_large(&options) {
            return Ok(Validation::new(Vec::new(), vec![diagnostic]));
        }
        let (graph, definitions) = self.read(&mut options)?;
        let (explained, found) = heddle_compiler::explain(&graph, &definitions, &options);
        let rights = with_rights
            .then(|| rights(&graph, &definitions, &options))
            .flatten();
        Ok(Validation {
            rights,
            ..Validation::new(explained, found)
        })
    }

    /// Reads them and finds the places that name a node.
    pub(super) fn rename(self, wanted: &RenameRequest) -> Result<Renamed, Unreadable> {
        let mut options = Options::default();
        if let Some(diagnostic) = self.too_large(&options) {
            return Ok(Renamed::TooLarge(diagnostic.message));
        }
        let (graph, definitions) = self.read(&mut options)?;
        Ok(heddle_compiler::rename(&graph, &definitions, wanted.renaming()).into())
    }

    /// What has too many values is refused before any is made.
    fn too_large(&self, options: &Options) -> Option<Diagnostic> {
        let values_max = options.limits.values_max;
        let values: usize = self.texts().iter().map(|text| text::values_at_most(text)).sum();
        let message = || {
            format!(
                "the graph, its definitions and pins have more than {values_max} values, which is the limit"
            )
        };
        (values > values_max).then(|| Diagnostic::error("too-large", message()))
    }

    /// Graph and definitions; pins become options.
    fn read(self, options: &mut Options) -> Result<(Value, Value), Unreadable> {
        let graph = read("graphData", &self.graph)?;
        let definitions = read("nodeDefinitions", &self.definitions)?;
        if let Some(pins) = &self.pinned_nodes {
            options.pinned_nodes = read("pinnedNodes", pins)?;
        }
        Ok((graph, definitions))
    }
}

/// What a graph could do, if it has no error.
fn rights(graph: &Value, definitions: &Value, options: &Options) -> Option<NeededRights> {
    let (lowered, _) = heddle_compiler::analyse(graph, definitions, options);
    Some(NeededRights::of(&lowered?.manifest))
}

/// Whether an object has no fields.
pub fn is_empty(object: &RawValue) -> bool {
    let inner = object
        .get()
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| inner.trim_ascii().is_empty())
}

fn read<T: DeserializeOwned>(path: &str, raw: &RawValue) -> Result<T, Unreadable> {
    serde_json::from_str(raw.get()).map_err(|error| Unreadable {
        path: path.to_owned(),
        message: format!("can't be read: {error}"),
    })
}
