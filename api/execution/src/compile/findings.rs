//! What compiling gave: a module, or what is wrong.

use super::validation;
use heddle_compiler::{Artifact, Diagnostic, Severity};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is wrong, or looks wrong, at a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    /// Errors and warnings with their places.
    pub diagnostics: Vec<validation::Diagnostic>,
}

impl From<heddle_compiler::Compiled> for Compiled {
    fn from(compiled: heddle_compiler::Compiled) -> Self {
        let diagnostics = compiled.diagnostics.iter().cloned();
        let diagnostics = diagnostics.map(validation::Diagnostic::from).collect();
        let (errors, warnings): (Vec<Diagnostic>, Vec<Diagnostic>) = compiled
            .diagnostics
            .into_iter()
            .partition(|diagnostic| diagnostic.severity == Severity::Error);
        Compiled {
            artifact: compiled.artifact,
            errors: errors.into_iter().map(Finding::from).collect(),
            warnings: warnings.into_iter().map(Finding::from).collect(),
            diagnostics,
        }
    }
}

impl Compiled {
    /// Nothing, for this one reason.
    pub(super) fn refused(message: String) -> Self {
        let diagnostics = vec![validation::Diagnostic::of_graph("too-large", message.clone())];
        let errors = vec![Finding {
            node_id: None,
            message,
        }];
        Compiled {
            artifact: None,
            errors,
            warnings: Vec::new(),
            diagnostics,
        }
    }
}
