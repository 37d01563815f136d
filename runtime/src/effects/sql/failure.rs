//! Messages for failed statements.

use super::target::Target;
use crate::secrets::CUT;
use heddle_sandbox::{EffectCode, EffectError};

/// Maximum length of an error's message, in bytes.
const MESSAGE_BYTES_MAX: usize = 8 << 10;

/// A server's words are a stranger's, and may be many.
pub(super) fn shortened(mut error: EffectError) -> EffectError {
    if error.message.len() > MESSAGE_BYTES_MAX {
        let end = error.message.floor_char_boundary(MESSAGE_BYTES_MAX);
        error.message.truncate(end);
        error.message.push(CUT);
    }
    error
}

/// The server has sent more than it might.
pub(super) fn too_much(code: EffectCode, target: &Target, bytes: u64) -> EffectError {
    let message = format!(
        "{} sent more than the {} KiB allowed at a time. Its connection was closed; request fewer rows or \
         columns.",
        target.name(),
        bytes >> 10
    );
    EffectError::new(code, message)
}

/// What the server has sent is not what its protocol says.
pub(super) fn unreadable(target: &Target) -> EffectError {
    let message = format!("{} sent a message that can't be read.", target.name());
    EffectError::new(EffectCode::SqlFailed, message)
}

/// Why a database did not do what it should, in its own words.
pub(super) fn failed(target: &Target, error: &sqlx::Error) -> EffectError {
    if let sqlx::Error::Database(error) = error {
        let at = error.code().map(|code| format!(" ({code})")).unwrap_or_default();
        let message = format!(
            "{} refused the statement: {}{at}.",
            target.name(),
            error.message()
        );
        // 57014: PostgreSQL's statement_timeout; 1969 and 3024: those of MariaDB and MySQL.
        let timed_out = matches!(error.code().as_deref(), Some("57014" | "70100" | "1969" | "3024"));
        let code = if timed_out {
            EffectCode::Timeout
        } else {
            EffectCode::SqlFailed
        };
        return EffectError::new(code, message);
    }
    EffectError::new(EffectCode::SqlFailed, format!("{}: {error}.", target.name()))
}
