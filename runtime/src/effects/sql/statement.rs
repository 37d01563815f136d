//! A statement, and the limits on its answer.

use super::super::result_place::ResultPlace;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// A statement, and what its result may be.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Statement {
    pub(super) query: String,
    pub(super) parameters: Vec<Value>,
    pub(super) rows_max: usize,
    pub(super) bytes_max: usize,
    pub(super) timeout: Duration,
    /// Bytes are objects with this member only, so that files can be made of them; `None`: they are texts. Nobody else knows it:
    /// columns of JSON can hold any object.
    pub(super) mark: Option<String>,
    /// Where its rows have room.
    #[serde(skip)]
    pub(super) place: ResultPlace,
}

/// What a server may send, so that no driver keeps more.
pub(super) struct Budget;

impl Budget {
    /// Until a session is open, and to end what another one does.
    pub(super) const HANDSHAKE: u64 = 256 << 10;

    /// The result of a statement. Rows as servers send them are no larger than what becomes of them, except for the last one,
    /// which may be one too many, and what is said besides.
    pub(super) fn of_rows(statement: &Statement) -> u64 {
        let bytes = statement.bytes_max as u64;
        bytes.saturating_add(bytes / 2).saturating_add(4 << 20)
    }
}
