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

/// Whether each value of a row is what its column in this part holds, apart from what it names of other rows: what is looked at
/// without a database, for those who test that anything may be in an archive.
pub fn is_row(part: &str, row: &Row) -> bool {
    let part = parts::PARTS.iter().find(|known| known.name == part);
    part.is_some_and(|part| {
        part.columns.iter().all(|column| {
            let value = row.get(column.name).cloned().unwrap_or_default();
            fields::arg(column.kind, value).is_ok()
        })
    })
}

/// Names of the parts that have rows of tables, in the order in which they are written.
pub fn part_names() -> impl Iterator<Item = &'static str> {
    parts::PARTS.iter().map(|part| part.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::journal::Payload;
    use heddle_model::ids::RunId;
    use serde_json::json;

    #[test]
    fn what_has_come_for_a_run_is_taken_as_it_is_stored() {
        let run = RunId::new();
        for bytes in [1, 100_000] {
            let payload = Payload::new(json!({"body": "a".repeat(bytes)}).to_string());
            let row = json!({"run_id": run, "key": "0", "payload": payload.stored()});
            assert!(is_row("signals", row.as_object().unwrap()), "{row}");
        }
        let row = json!({"run_id": run, "key": "0", "payload": "zAAAA"});
        assert!(!is_row("signals", row.as_object().unwrap()));
    }
}
