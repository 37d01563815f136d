//! What a compiler has found in a pattern, wherever it ran.

use heddle_compiler::{Diagnostic, Severity};
use serde::Serialize;

/// An error or a warning, as far as repairs need it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Whether it prevents compilation.
    #[serde(skip)]
    pub is_error: bool,
    /// The compiler's rule.
    pub code: String,
    /// The node; `None` for the whole graph.
    pub node_id: Option<String>,
    /// A path such as `cases[0].when`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// What is wrong.
    pub message: String,
    /// A piece of the parameter's text, and the byte in it where that is.
    #[serde(skip)]
    pub excerpt: Option<(String, usize)>,
}

impl From<Diagnostic> for Finding {
    fn from(diagnostic: Diagnostic) -> Finding {
        Finding {
            is_error: diagnostic.severity == Severity::Error,
            code: diagnostic.code.to_owned(),
            node_id: diagnostic.node_id,
            parameter: diagnostic.parameter,
            message: diagnostic.message,
            excerpt: diagnostic
                .excerpt
                .map(|excerpt| (excerpt.text, excerpt.span.start)),
        }
    }
}
