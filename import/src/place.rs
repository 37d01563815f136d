//! Where what became of a node is in the pattern.

/// Where a node of the workflow is in the pattern: the first of its row, which takes its input, and the last.
pub(crate) struct Place {
    pub first: String,
    pub last: String,
    pub outputs: Vec<String>,
    pub inputs: Vec<&'static str>,
    /// The node whose failures take a branch of their own, if there is one.
    pub branches: Option<String>,
    /// Outputs that n8n counts before that of errors.
    pub count: usize,
    pub is_trigger: bool,
}
