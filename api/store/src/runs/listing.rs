//! Lists and details of runs for their owners.

use super::event_text::event_sql;
use crate::{Db, Sql, Start, StoreError, rights, sql};
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, RunId};
use heddle_model::status::{Phase, RunStatus, TriggeredBy};
use sqlx_macros::FromRow;

/// Events, outputs and logs beyond this many characters are left out of lists.
pub const LISTED_CHARS_MAX: i64 = 64 * 1024;

#[derive(Clone, Debug, FromRow)]
pub struct RunRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: RunId,
    /// The deployment that the run belongs to.
    pub deployment_id: DeploymentId,
    /// State.
    pub status: RunStatus,
    /// What it is doing, as far as the database knows.
    pub phase: Phase,
    /// What started it.
    pub triggered_by: TriggeredBy,
    /// Where it started.
    pub node_id: Option<String>,
    /// eventData as JSON.
    pub event: Option<String>,
    /// Length of the event in characters, 0 without one.
    pub event_chars: i64,
    /// The pattern's version.
    pub version_number: i64,
    /// Attempt, from 1.
    pub attempt: i64,
    pub accepted_at: Timestamp,
    /// When the last attempt started, in milliseconds.
    pub started_at: Option<i64>,
    /// When it ended, in milliseconds.
    pub completed_at: Option<i64>,
    /// How long it took, waits included.
    pub duration_ms: Option<i64>,
    /// JSON.
    pub output: Option<String>,
    /// `{code, message, nodeId}` as JSON.
    pub error: Option<String>,
    /// `[{level, message, nodeId}]` as JSON.
    pub logs: Option<String>,
    /// What each node did, as JSON.
    pub trace: Option<String>,
    /// `{path, input, truncated}` of the node that failed, as JSON.
    pub failed_input: Option<String>,
    pub fuel_used: Option<i64>,
    pub memory_bytes_peak: Option<i64>,
}

/// Which runs a list shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    /// Of this state only.
    pub status: Option<RunStatus>,
    /// Started by this only.
    pub triggered_by: Option<TriggeredBy>,
    /// Accepted then or later.
    pub from: Option<Timestamp>,
    /// Accepted before.
    pub to: Option<Timestamp>,
}

fn filtered(query: Sql, scope: &Scope, deployment: DeploymentId, filter: Filter) -> Sql {
    let query = query.push(" where r.deployment_id = ? and ").bind(deployment);
    let mut query = rights::deployment(query, scope, deployment);
    if let Some(status) = filter.status {
        query = query.push(" and r.status = ?").bind(status);
    }
    if let Some(triggered_by) = filter.triggered_by {
        query = query.push(" and r.triggered_by = ?").bind(triggered_by);
    }
    if let Some(from) = filter.from {
        query = query.push(" and r.accepted_at >= ?").bind(from);
    }
    if let Some(to) = filter.to {
        query = query.push(" and r.accepted_at < ?").bind(to);
    }
    query
}

/// Runs of a deployment that the caller may see, newest first. Without outputs and traces, and without
/// events and logs that are large.
pub async fn page(
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: DeploymentId,
    filter: Filter,
    limit: i64,
    start: Start<(Timestamp, RunId)>,
) -> Result<Vec<RunRow>, StoreError> {
    // What is in pieces has more characters.
    let query = sql(concat!(
        "select r.id, r.deployment_id, r.status, r.phase, r.triggered_by, r.node_id,
         case when (",
        event_sql!(chars "r"),
        ") <= ? then r.event end as event, cast(coalesce(",
        event_sql!(chars "r"),
        ", 0) as bigint) as event_chars, r.version_number, r.attempt, r.accepted_at,
         r.started_at, r.completed_at, r.duration_ms, cast(null as text) as output, r.error,
         case when length(r.logs) <= ? then r.logs end as logs, cast(null as text) as trace,
         cast(null as text) as failed_input, r.fuel_used,
         r.memory_bytes_peak from runs r"
    ))
    .bind(LISTED_CHARS_MAX)
    .bind(LISTED_CHARS_MAX);
    let mut query = filtered(query, scope, deployment, filter);
    if let Some((at, id)) = start.after() {
        query = query
            .push(" and (r.accepted_at, r.id) < (?, ?)")
            .bind(*at)
            .bind(*id);
    }
    let query = query.push(" order by r.accepted_at desc, r.id desc limit ? offset ?");
    db.all(query.bind(limit).bind(start.offset())).await
}

/// How many runs the filter leaves of a deployment that the caller may see.
pub async fn count(
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: DeploymentId,
    filter: Filter,
) -> Result<i64, StoreError> {
    let query = filtered(sql("select count(*) from runs r"), scope, deployment, filter);
    let (count,): (i64,) = db.one(query).await?;
    Ok(count)
}

/// A run with all that is kept of it, if the caller may see it.
pub async fn visible(
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: DeploymentId,
    run: RunId,
) -> Result<Option<RunRow>, StoreError> {
    let query = sql("select r.id, r.deployment_id, r.status, r.phase, r.triggered_by, r.node_id, ")
        .push(event_sql!(whole "r", db))
        .push(concat!(
            " as event, cast(coalesce(",
            event_sql!(chars "r"),
            ", 0) as bigint) as event_chars, r.version_number, r.attempt, r.accepted_at,
         r.started_at, r.completed_at, r.duration_ms, r.output, r.error, r.logs, r.trace, r.failed_input, r.fuel_used,
         r.memory_bytes_peak from runs r join deployments d on d.id = r.deployment_id where r.id = ? and d.id = ? and "
        ))
        .bind(run)
        .bind(deployment);
    db.optional(rights::deployments(query, scope)).await
}
