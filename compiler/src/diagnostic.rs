//! Errors and warnings about a graph, for people and for editors.

use serde::Serialize;
use std::ops::Range;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The graph compiles; something in it looks wrong.
    Warning,
    /// The graph does not compile.
    Error,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable name of the rule, for example `unknown-type`.
    pub code: &'static str,
    /// The node; `None` for the graph as a whole.
    pub node_id: Option<String>,
    /// Parameter path such as `cases[0].when`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do, for example a "did you mean".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The parameter's text and the bytes of it that are meant, when it is about an expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<Excerpt>,
}

/// A piece of a parameter's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    /// The whole parameter as written.
    pub text: String,
    /// Byte range within `text`.
    pub span: Range<usize>,
}
