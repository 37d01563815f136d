//! What of an imported workspace is not as it was.

use serde::{Deserialize, Serialize};

/// Changed addresses that are told.
const READDRESSED_MAX: usize = 1_000;

/// What is not as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// Addresses that somebody had: of webhooks and of mail.
    pub readdressed: Vec<Readdressed>,
    /// People who have no account here, and were invited.
    pub invited: Vec<String>,
    /// Drafts and stars of people without an account, which were left out.
    pub left_out: u64,
    /// Runs that had not ended, which a copy does not go on with.
    pub ended_runs: u64,
    /// Rows that were added.
    pub rows: u64,
}

/// An address that is another one now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Readdressed {
    /// Whether it is one of mail.
    pub is_mail: bool,
    /// Its unguessable part at the other service.
    pub from: String,
    /// Its unguessable part here.
    pub to: String,
}

impl Report {
    pub(super) fn readdressed(&mut self, is_mail: bool, from: &str, to: &str) {
        if self.readdressed.len() < READDRESSED_MAX {
            self.readdressed.push(Readdressed {
                is_mail,
                from: from.chars().take(64).collect(),
                to: to.to_owned(),
            });
        }
    }
}
