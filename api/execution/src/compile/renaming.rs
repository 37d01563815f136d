//! Another label for a node of a graph that is being edited, and the places that change with it.

use super::validation::TextSpan;
use heddle_compiler::{NotRenamed, RenameEdit, Renaming};
use serde::{Deserialize, Serialize};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenameRequest {
    /// The definition whose inner graph the node is in.
    pub definition: Option<String>,
    pub node_id: String,
    /// Its label from now on; empty: none.
    pub label: String,
}

impl RenameRequest {
    pub(super) fn renaming(&self) -> Renaming<'_> {
        Renaming {
            definition: self.definition.as_deref(),
            node_id: &self.node_id,
            label: &self.label,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Renamed {
    /// The places, in graph order.
    Edits(Vec<Edit>),
    /// There is no such graph or node.
    Missing,
    /// Expressions would mean this node by the label, or by the id that is left without one.
    Taken(String),
    /// It is more than what is read, which the message says.
    TooLarge(String),
}

/// Text to replace in a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    pub node_id: String,
    /// Path of the parameter.
    pub parameter: String,
    /// What is replaced.
    pub span: TextSpan,
    pub text: String,
}

impl From<Result<Vec<RenameEdit>, NotRenamed>> for Renamed {
    fn from(found: Result<Vec<RenameEdit>, NotRenamed>) -> Self {
        let edit = |edit: RenameEdit| Edit {
            node_id: edit.node_id,
            parameter: edit.parameter,
            span: edit.utf16.into(),
            text: edit.text,
        };
        match found {
            Ok(edits) => Renamed::Edits(edits.into_iter().map(edit).collect()),
            Err(NotRenamed::Missing) => Renamed::Missing,
            Err(NotRenamed::Taken { node_id }) => Renamed::Taken(node_id),
            Err(NotRenamed::TooLarge(message)) => Renamed::TooLarge(message),
        }
    }
}
