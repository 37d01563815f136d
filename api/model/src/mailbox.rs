//! What an OnMailbox node's parameters say: which mailbox is watched, and what becomes of its messages; and how far it was read. Knows
//! nothing of mail servers, runs and times.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::fmt;

/// The mailbox that every server has.
const INBOX: &str = "INBOX";

/// What becomes of a message once its run is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Afterwards {
    /// It stays as it is.
    #[default]
    Leave,
    /// It is marked as read.
    Seen,
    Delete,
    /// It goes to this mailbox.
    Move(String),
}

/// A mailbox that is watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mailbox {
    /// Id or name of the connection to its server.
    pub connection: String,
    pub name: String,
    /// Which new messages start runs, as IMAP's SEARCH writes it; `None`: all.
    pub search: Option<String>,
    pub afterwards: Afterwards,
    /// Whether attachments become files.
    pub as_files: bool,
    /// Whether runs are started for what is there at the first time.
    pub from_beginning: bool,
}

impl Mailbox {
    /// From a node's parameters.
    pub fn of(parameters: &Map<String, Value>) -> Self {
        let text = |name: &str| {
            let text = parameters.get(name).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        Mailbox {
            connection: text("connection").unwrap_or_default(),
            name: text("mailbox").unwrap_or_else(|| INBOX.to_owned()),
            search: text("search"),
            afterwards: match (text("afterwards").as_deref(), text("moveTo")) {
                (Some("seen"), _) => Afterwards::Seen,
                (Some("delete"), _) => Afterwards::Delete,
                (Some("move"), Some(to)) => Afterwards::Move(to),
                _ => Afterwards::Leave,
            },
            as_files: parameters
                .get("files")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
            from_beginning: text("startFrom").as_deref() == Some("beginning"),
        }
    }

    /// Tells the mailbox from others: how far another one was read says nothing of this one.
    pub fn fingerprint(&self) -> String {
        let said = json!(["mailbox", self.connection, self.name]);
        hex::encode(Sha256::digest(said.to_string()))
    }

    /// Whether messages in it are changed.
    pub fn is_changed(&self) -> bool {
        self.afterwards != Afterwards::Leave
    }
}

/// How far a mailbox was read whose messages have numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// By which the server says whether its numbers are those from before.
    pub validity: u32,
    /// The last message's number; 0: none yet.
    pub last: u32,
    /// When somebody last looked, in milliseconds since 1970.
    pub looked_at: i64,
}

impl Reached {
    /// From what was stored; of anything else, nothing.
    pub fn of_stored(stored: &str) -> Option<Self> {
        let mut parts = stored.split(':');
        let reached = Reached {
            validity: parts.next()?.parse().ok()?,
            last: parts.next()?.parse().ok()?,
            looked_at: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(reached)
    }
}

/// As it is stored.
impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.validity, self.last, self.looked_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_it_was_read_is_read_again() {
        let reached = Reached {
            validity: u32::MAX,
            last: 7,
            looked_at: 1_790_000_000_000,
        };
        assert_eq!(Reached::of_stored(&reached.to_string()), Some(reached));
        for other in ["", "1:2", "1:2:3:4", "-1:2:3", "1:x:3"] {
            assert_eq!(Reached::of_stored(other), None, "{other}");
        }
    }
}
