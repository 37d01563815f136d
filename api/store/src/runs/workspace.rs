//! The runs of all deployments that a caller may see, newest first.
//!
//! Runs don't know their workspace: another column and index would cost every webhook. Instead the newest of each
//! deployment are read by its index and merged, the deployment that ran last first, until no other can have a newer one.

use crate::{Db, Sql, StoreError, containing, rights, sql};
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId, RunId};
use heddle_model::status::{Phase, RunStatus, TriggeredBy};
use sqlx_macros::FromRow;
use std::cmp::Reverse;

/// Deployments whose runs one statement reads.
const DEPLOYMENTS_AT_ONCE: usize = 50;

/// A run in the list of a workspace.
#[derive(Clone, Debug, FromRow)]
pub struct ListedRow {
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
    /// `{code, message, nodeId}` as JSON.
    pub error: Option<String>,
}

/// A deployment that has runs.
#[derive(Clone, Debug, FromRow)]
pub struct Source {
    pub id: DeploymentId,
    /// What is deployed.
    pub pattern_id: PatternId,
    /// The pattern's name now, or when it was deployed if it is gone.
    pub pattern_name: String,
    /// The environment of the deployment; `None`: it has none, or it is gone.
    pub environment_id: Option<EnvironmentId>,
    pub environment_name: Option<String>,
    /// When its newest run was accepted.
    newest_at: Timestamp,
}

/// Which runs a list shows.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only runs of this state.
    pub status: Option<RunStatus>,
    /// Started by this only.
    pub triggered_by: Option<TriggeredBy>,
    /// Only runs of this pattern.
    pub pattern: Option<PatternId>,
    /// Only runs of deployments in this environment.
    pub environment: Option<EnvironmentId>,
    /// What is searched for.
    pub search: Option<Search>,
    /// Accepted then or later.
    pub from: Option<Timestamp>,
    /// Accepted before.
    pub to: Option<Timestamp>,
    /// After this one in the list.
    pub after: Option<(Timestamp, RunId)>,
    /// Runs at most.
    pub limit: usize,
}

/// What is searched for.
#[derive(Clone, Debug)]
pub enum Search {
    /// The run with this id.
    Id(RunId),
    /// Runs that have failed with this in their errors, in any case of Latin letters.
    Error(String),
}

/// A page of the runs that the caller may see, newest first, each with the deployment that it is of.
pub async fn page(
    db: &mut Db<'_>,
    scope: &Scope,
    filter: &Filter,
) -> Result<Vec<(ListedRow, Source)>, StoreError> {
    let mut found: Vec<(ListedRow, Source)> = Vec::new();
    for sources in sources(db, scope, filter).await?.chunks(DEPLOYMENTS_AT_ONCE) {
        let last = found.get(filter.limit.saturating_sub(1));
        let first = sources.first();
        // What follows ran last before the last one of the page.
        if last
            .zip(first)
            .is_some_and(|((last, _), first)| first.newest_at < last.accepted_at)
        {
            break;
        }
        for row in db.all(runs_of(scope, filter, sources)).await? {
            let row: ListedRow = row;
            let source = sources.iter().find(|source| source.id == row.deployment_id);
            found.extend(source.map(|source| (row, source.clone())));
        }
        found.sort_by_key(|(row, _)| Reverse((row.accepted_at, row.id)));
        found.truncate(filter.limit);
    }
    Ok(found)
}

/// The deployments that may have such runs, the one that ran last first.
async fn sources(db: &mut Db<'_>, scope: &Scope, filter: &Filter) -> Result<Vec<Source>, StoreError> {
    let query = sql(
        "select * from (select d.id, d.pattern_id, coalesce(p.name, d.pattern_name) as pattern_name,
         e.id as environment_id, e.name as environment_name,
         (select max(r.accepted_at) from runs r where r.deployment_id = d.id) as newest_at
         from deployments d left join patterns p on p.id = d.pattern_id
         left join environments e on e.id = d.environment_id and e.workspace_id = d.workspace_id where ",
    );
    let mut query = rights::deployments(query, scope);
    if let Some(pattern) = filter.pattern {
        query = query.push(" and d.pattern_id = ?").bind(pattern);
    }
    if let Some(environment) = filter.environment {
        query = query.push(" and e.id = ?").bind(environment);
    }
    query = query.push(") t where t.newest_at is not null");
    if let Some(from) = filter.from {
        query = query.push(" and t.newest_at >= ?").bind(from);
    }
    db.all(query.push(" order by t.newest_at desc, t.id desc")).await
}

/// The newest runs of each of these deployments.
fn runs_of(scope: &Scope, filter: &Filter, sources: &[Source]) -> Sql {
    let mut query = sql("");
    for (index, source) in sources.iter().enumerate() {
        query = query
            .push(if index == 0 { "" } else { " union all " })
            .push(
                "select * from (select r.id, r.deployment_id, r.status, r.phase, r.triggered_by, r.version_number,
                 r.attempt, r.accepted_at, r.started_at, r.completed_at, r.duration_ms, r.error
                 from runs r where r.deployment_id = ? and ",
            )
            .bind(source.id);
        query = filtered(rights::deployment(query, scope, source.id), filter)
            .push(" order by r.accepted_at desc, r.id desc limit ?) t")
            .bind(i64::try_from(filter.limit).unwrap_or(i64::MAX));
    }
    query
}

fn filtered(mut query: Sql, filter: &Filter) -> Sql {
    let has_failed = filter.status.is_some_and(RunStatus::has_failed);
    if has_failed || matches!(filter.search, Some(Search::Error(_))) {
        // As the index of failures has it.
        query = query.push(" and r.status in ('failure', 'dead_letter')");
    }
    if let Some(status) = filter.status {
        query = query.push(" and r.status = ?").bind(status);
    }
    if let Some(triggered_by) = filter.triggered_by {
        query = query.push(" and r.triggered_by = ?").bind(triggered_by);
    }
    match &filter.search {
        Some(Search::Id(run)) => query = query.push(" and r.id = ?").bind(*run),
        Some(Search::Error(part)) => {
            query = query
                .push(" and lower(r.error) like ? escape '!'")
                .bind(containing_in_json(part));
        }
        None => {}
    }
    if let Some(from) = filter.from {
        query = query.push(" and r.accepted_at >= ?").bind(from);
    }
    if let Some(to) = filter.to {
        query = query.push(" and r.accepted_at < ?").bind(to);
    }
    if let Some((accepted_at, run)) = filter.after {
        query = query
            .push(" and r.accepted_at <= ? and (r.accepted_at < ? or r.id < ?)")
            .bind(accepted_at)
            .bind(accepted_at)
            .bind(run);
    }
    query
}

/// The `like` pattern of JSON texts in lower case with this part.
fn containing_in_json(part: &str) -> String {
    let written = serde_json::Value::from(part.to_ascii_lowercase()).to_string();
    containing(written.trim_matches('"'))
}
