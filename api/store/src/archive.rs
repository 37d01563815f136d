//! A workspace's rows as data that another database can take: read in pages, and added to a workspace that is made for them.
//! Knows nothing of files, keys of archives, or how rows travel.
//!
//! Reading expects a workspace that is suspended, so that nothing of it changes meanwhile. **What is added was written by
//! others**: each value is checked for its kind, and no row can name one of another workspace.

mod adding;
mod fields;
mod imports;
mod known_names;
mod lookups;
mod names;
mod part;
mod parts;
mod read;
mod report;
mod workspace;
mod write;

pub use adding::{Adding, Row};
pub use imports::{
    ImportProgress, ImportRow, NewImport, abandoned, begin, find, finish, first_account, forget_finished,
    is_under_way, note,
};
pub use names::{Archived, Names};
pub use read::{Page, Reading};
pub use report::{Readdressed, Report};
pub use workspace::{in_memory, owners, unfinished};
pub use write::{Added, callback_key};

use crate::StoreError;
use crate::vault::VaultError;
use heddle_model::error::ServiceError;

/// Why rows of an archive are not added.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// They are not what heddle writes. For whoever brings the archive: which part, row and field.
    #[error("{0}")]
    Wrong(String),
    /// The database fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Secrets can't be read or written.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

impl From<ArchiveError> for ServiceError {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::Wrong(why) => ServiceError::field("", why),
            ArchiveError::Store(error) => error.into(),
            ArchiveError::Vault(error) => error.into(),
        }
    }
}

/// Names of the parts that have rows of tables, in the order in which they are written.
pub fn part_names() -> impl Iterator<Item = &'static str> {
    parts::PARTS.iter().map(|part| part.name)
}
