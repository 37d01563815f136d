//! From a graph to a module and its diagnostics, away from the async threads. Knows nothing of deployments.

use super::blocking;
use crate::error::{ApiError, Code};
use heddle_compiler::{Artifact, Diagnostic, Options, Severity};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// What is wrong, or looks wrong, at a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The node; null for the graph as a whole.
    #[schema(example = "price")]
    pub node_id: Option<String>,
    /// What is wrong, where, and what to do.
    #[schema(example = "parameter `url`: it is missing")]
    pub message: String,
}

impl From<Diagnostic> for Finding {
    fn from(diagnostic: Diagnostic) -> Self {
        let mut message = match diagnostic.parameter {
            Some(parameter) => format!("parameter `{parameter}`: {}", diagnostic.message),
            None => diagnostic.message,
        };
        if let Some(help) = diagnostic.help {
            message.push_str(&format!(" ({help})"));
        }
        Finding {
            node_id: diagnostic.node_id,
            message,
        }
    }
}

/// What compiling gave.
#[derive(Debug)]
pub struct Compiled {
    /// The module; `None`: there are errors.
    pub artifact: Option<Artifact>,
    /// Why there is none.
    pub errors: Vec<Finding>,
    /// What looks wrong.
    pub warnings: Vec<Finding>,
}

/// Compiles a graph.
pub async fn compile(graph: Value, definitions: Value, options: Options) -> Result<Compiled, ApiError> {
    let compiled = blocking(move || heddle_compiler::compile(&graph, &definitions, &options))
        .await
        .map_err(|_| Code::Internal.with("Compiling this graph failed by a bug in heddle."))?;
    let (errors, warnings): (Vec<Diagnostic>, Vec<Diagnostic>) = compiled
        .diagnostics
        .into_iter()
        .partition(|diagnostic| diagnostic.severity == Severity::Error);
    Ok(Compiled {
        artifact: compiled.artifact,
        errors: errors.into_iter().map(Finding::from).collect(),
        warnings: warnings.into_iter().map(Finding::from).collect(),
    })
}
