//! What is wrong with a query.

/// Why a query is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// What is wrong.
    pub message: String,
    /// Where, in bytes of the query.
    pub offset: usize,
}
