//! What a statement may do to a SQLite file below the operator's directory: read and write its rows and tables. It
//! can't reach other files, change how SQLite works, or exceed size limits.

use super::super::target::Target;
use heddle_sandbox::{EffectCode, EffectError};
use libsqlite3_sys as sqlite;
use sqlx::sqlite::LockedSqliteHandle;
use std::ffi::{CStr, c_char, c_int, c_void};

/// What reaches other files than the connection's own, wherever it stands in a statement.
const FORBIDDEN: &[&str] = &[
    "attach",
    "vacuum",
    "temp_store_directory",
    "data_store_directory",
    "load_extension",
];
/// Pragmas that tell something, or set something of the statement's own.
const PRAGMAS: &[&str] = &[
    "analysis_limit",
    "application_id",
    "case_sensitive_like",
    "collation_list",
    "compile_options",
    "defer_foreign_keys",
    "encoding",
    "foreign_key_check",
    "foreign_key_list",
    "foreign_keys",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "optimize",
    "quick_check",
    "recursive_triggers",
    "table_info",
    "table_list",
    "table_xinfo",
    "user_version",
];
/// Those that may be asked for, but not set.
const PRAGMAS_TO_READ: &[&str] = &[
    "auto_vacuum",
    "busy_timeout",
    "cache_size",
    "data_version",
    "freelist_count",
    "journal_mode",
    "max_page_count",
    "page_count",
    "page_size",
    "schema_version",
    "synchronous",
];
/// Functions that reach beyond the file.
const FUNCTIONS: &[&str] = &["load_extension", "fts3_tokenizer"];
/// Of SQLite's limits: what each may be.
const LIMITS: &[(c_int, c_int)] = &[
    (sqlite::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
    (sqlite::SQLITE_LIMIT_COLUMN, 500),
    (sqlite::SQLITE_LIMIT_EXPR_DEPTH, 200),
    (sqlite::SQLITE_LIMIT_COMPOUND_SELECT, 100),
    (sqlite::SQLITE_LIMIT_VDBE_OP, 1_000_000),
    (sqlite::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
    (sqlite::SQLITE_LIMIT_ATTACHED, 0),
    (sqlite::SQLITE_LIMIT_TRIGGER_DEPTH, 50),
    (sqlite::SQLITE_LIMIT_WORKER_THREADS, 0),
];
/// Of SQLite's switches: which are on.
const SWITCHES: &[(c_int, bool)] = &[
    (sqlite::SQLITE_DBCONFIG_DEFENSIVE, true),
    (sqlite::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
    (sqlite::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
    (sqlite::SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, false),
    (sqlite::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
];

/// Refuses statements with words that reach other files, wherever they stand.
pub(super) fn check_words(query: &str) -> Result<(), EffectError> {
    let lower = query.to_ascii_lowercase();
    let words = lower.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    match words.into_iter().find(|word| FORBIDDEN.contains(word)) {
        None => Ok(()),
        Some(word) => {
            let message = format!("`{word}` is not allowed in statements here: it can reach other files.");
            Err(EffectError::new(EffectCode::NotPermitted, message))
        }
    }
}

/// Sets what holds for all further statements of this connection. Values have at most so many bytes.
#[expect(
    unsafe_code,
    reason = "sqlx has no calls for these settings of SQLite; the handle is locked and open, and the callback is a function without state"
)]
pub(super) fn harden(handle: &mut LockedSqliteHandle<'_>, bytes_max: usize) -> Result<(), EffectError> {
    let database = handle.as_raw_handle().as_ptr();
    let length = c_int::try_from(bytes_max.max(1 << 20)).unwrap_or(c_int::MAX);
    let mut is_set = true;
    // SAFETY: the handle is open and locked as long as `handle` is borrowed. The functions are given what their
    // declarations in sqlite3.h say; for those switches of `sqlite3_db_config` that is a number and a place for one.
    unsafe {
        for (limit, value) in LIMITS
            .iter()
            .copied()
            .chain([(sqlite::SQLITE_LIMIT_LENGTH, length)])
        {
            sqlite::sqlite3_limit(database, limit, value);
        }
        for (switch, on) in SWITCHES {
            let mut now: c_int = -1;
            let result = sqlite::sqlite3_db_config(database, *switch, c_int::from(*on), &raw mut now);
            is_set &= result == sqlite::SQLITE_OK && now == c_int::from(*on);
        }
        let result = sqlite::sqlite3_set_authorizer(database, Some(authorize), std::ptr::null_mut());
        is_set &= result == sqlite::SQLITE_OK;
    }
    match is_set {
        true => Ok(()),
        false => Err(EffectError::new(
            EffectCode::Internal,
            "SQLite rejected its limits.",
        )),
    }
}

/// What SQLite asks for each thing that a statement would do, when it is prepared.
#[expect(
    unsafe_code,
    reason = "SQLite calls it with texts of its own; it reads them and keeps nothing"
)]
unsafe extern "C" fn authorize(
    _: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    _: *const c_char,
    _: *const c_char,
) -> c_int {
    let text = |text: *const c_char| match text.is_null() {
        true => None,
        // SAFETY: SQLite's texts end with a zero and live as long as the call.
        false => Some(
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .to_ascii_lowercase(),
        ),
    };
    let is_allowed = match action {
        sqlite::SQLITE_ATTACH | sqlite::SQLITE_DETACH => false,
        sqlite::SQLITE_PRAGMA => {
            let name = text(first).unwrap_or_default();
            PRAGMAS.contains(&name.as_str()) || (second.is_null() && PRAGMAS_TO_READ.contains(&name.as_str()))
        }
        sqlite::SQLITE_FUNCTION => text(second).is_none_or(|name| !FUNCTIONS.contains(&name.as_str())),
        _ => true,
    };
    match is_allowed {
        true => sqlite::SQLITE_OK,
        false => sqlite::SQLITE_DENY,
    }
}

/// Whether it is what [`harden`] does not allow.
pub(super) fn is_refusal(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else {
        return false;
    };
    let auth = sqlite::SQLITE_AUTH.to_string();
    error.code().is_some_and(|code| *code == auth)
}

/// The error for it.
pub(super) fn refusal(target: &Target) -> EffectError {
    let message = format!(
        "{} does not allow the statement: it would reach other files, or change how SQLite works.",
        target.name()
    );
    EffectError::new(EffectCode::NotPermitted, message)
}
