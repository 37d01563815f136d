//! What can be wrong with a database's file.

use std::sync::Arc;

/// What is wrong with a file, as what is said of it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// It has no bytes.
    #[error(
        "is empty: either the very first start was interrupted (then delete it), or its contents were lost"
    )]
    Empty,
    /// It begins with something else.
    #[error("is not a SQLite database")]
    NotSqlite,
    /// It ends within its header.
    #[error("is truncated: it has {bytes} bytes, less than a complete header")]
    HeaderCut {
        /// Its length.
        bytes: u64,
    },
    /// It is shorter than its header says.
    #[error("is truncated: it has {bytes} bytes, but its header says {expected}")]
    Truncated {
        /// Its length.
        bytes: u64,
        /// What its header says.
        expected: u64,
    },
    /// Its header has a size of pages that there is not.
    #[error("is damaged: its header gives a page size of {0} bytes")]
    PageSize(u64),
    /// What SQLite's check of its pages has found.
    #[error("is damaged: {0}")]
    Pages(String),
    /// SQLite can't read it.
    #[error("is damaged: {0}")]
    Unreadable(#[source] Arc<sqlx::Error>),
    /// Another program made it.
    #[error("belongs to another program")]
    NotOurs,
    /// Its tables were changed by a later version of this program.
    #[error(
        "was used by a newer heddle: its tables are at version {schema}, and this version supports them up to \
         {known}. Start the newer version, or restore a backup made before the update"
    )]
    Newer {
        /// Number of the last migration that it has.
        schema: i64,
        /// Number of the last one that this program knows.
        known: i64,
    },
    /// SQLite takes names in UTF-8 only.
    #[error("has a name that is not UTF-8, which SQLite does not support")]
    Name,
}
