//! Runs that lost their server: the columns that are read when another server takes them over.

use super::event_text::event_sql;
use crate::{Db, Sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId, RunId};
use heddle_model::slot::Slot;
use heddle_model::status::TriggeredBy;
use sqlx_macros::FromRow;

/// A run that goes on: another start of the server left it behind, or it was parked.
#[derive(Clone, Debug, FromRow)]
pub struct LeftRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: RunId,
    /// The deployment that the run belongs to.
    pub deployment_id: DeploymentId,
    /// What started it.
    pub triggered_by: TriggeredBy,
    /// Where it starts.
    pub node_id: Option<String>,
    /// eventData as JSON.
    pub event: Option<String>,
    /// SHA-256 of its module, in hex.
    pub artifact: String,
    /// The pattern's version.
    pub version_number: i64,
    /// Attempt, from 1.
    pub attempt: i64,
    pub accepted_at: Timestamp,
    /// When its last attempt began, in milliseconds, as far as that was stored: it has parked, or was to be tried again.
    pub started_at: Option<i64>,
    /// When its next attempt is due, in milliseconds.
    pub resumes_at: Option<i64>,
    /// The run whose CallPattern waits for it.
    pub parent_id: Option<RunId>,
    /// Which of its parent's effects that is.
    pub parent_key: Option<String>,
    /// How many runs called each other above it.
    pub depth: i64,
    /// Whether a sender may be waiting for its end.
    pub awaited: bool,
    /// What its executions have used by now, as far as that is stored.
    pub total_fuel: Option<i64>,
    /// During how many deaths of servers it may have been executing; below zero: it has brought so many down.
    pub suspicion: i64,
    /// Whose run it is, unless that is gone.
    pub pattern_id: Option<PatternId>,
    /// The environment of its deployment's slot; `None`: that is the main one.
    pub slot_environment_id: Option<EnvironmentId>,
}

impl LeftRow {
    /// Whose run it is, unless that is gone.
    pub fn slot(&self) -> Option<Slot> {
        Some(Slot {
            pattern: self.pattern_id?,
            environment: self.slot_environment_id,
        })
    }
}

/// Ends a change of runs `r` that are selected in parentheses, of which it is the last clause.
pub(super) fn returning_left(query: Sql, db: &Db<'_>) -> Sql {
    query
        .push(skip_locked(db))
        .push(") returning id, deployment_id, triggered_by, node_id, ")
        .push(event_sql!(whole "runs", db))
        .push(
            " as event, artifact, version_number, attempt,
    suspicion, accepted_at, started_at, resumes_at, parent_id, parent_key, depth, awaited, total_fuel,
    (select d.pattern_id from deployments d where d.id = runs.deployment_id) as pattern_id,
    (select nullif(d.slot, '') from deployments d where d.id = runs.deployment_id) as slot_environment_id",
        )
}

/// Ends the selection of rows that are about to be changed. Servers pass over what others are at.
pub(super) const fn skip_locked(db: &Db<'_>) -> &'static str {
    match db {
        Db::Sqlite(_) => "",
        Db::Postgres(_) => " for update of r skip locked",
    }
}
