//! What rows of an archive are added with.

use super::names::Names;
use crate::vault::Vault;
use heddle_model::clock::Timestamp;
use heddle_model::ids::UserId;
use serde_json::{Map, Value};

/// What the service keeps as a row of an archive.
pub type Row = Map<String, Value>;

/// Adds rows to a workspace.
pub struct Adding<'a> {
    /// What ids become.
    pub names: Names,
    /// Who gets what belonged to people without an account.
    pub owner: UserId,
    /// Encrypts secrets.
    pub vault: &'a Vault,
    /// Whether only people count as such who have proven that their address is theirs.
    pub wants_verified: bool,
    pub now: Timestamp,
}
