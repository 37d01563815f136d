//! Classification of SQLite's result codes.

/// Whether this is SQLite's error for a file that is damaged or not a database.
pub(crate) fn is_damage(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(CORRUPT | NOT_A_DATABASE))
}

/// Whether the disk, or another process, keeps SQLite from its work for now.
pub(crate) fn is_unavailability(error: &sqlx::Error) -> bool {
    matches!(
        primary_code(error),
        Some(BUSY | NO_MEMORY | READ_ONLY | IO_FAILED | FULL | CANT_OPEN)
    )
}

/// Whether a statement was interrupted.
pub(crate) fn is_interruption(error: &sqlx::Error) -> bool {
    primary_code(error) == Some(INTERRUPT)
}

// Result codes, <https://www.sqlite.org/rescode.html>.
const BUSY: i32 = 5;
const NO_MEMORY: i32 = 7;
const READ_ONLY: i32 = 8;
const INTERRUPT: i32 = 9;
const IO_FAILED: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANT_OPEN: i32 = 14;
const NOT_A_DATABASE: i32 = 26;

/// SQLite's primary result code: the low byte of the extended one.
fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let database = error
        .as_database_error()?
        .try_downcast_ref::<sqlx::sqlite::SqliteError>()?;
    let code: i32 = sqlx::error::DatabaseError::code(database)?.parse().ok()?;
    Some(code & 0xff)
}
