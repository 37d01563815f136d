//! Runs over time, of all deployments that a caller may see. Counts come from indexes alone; durations and fuel from a
//! sample of the runs in each stretch of time, since rows are wide and may be many. Nothing is written for it.

use crate::{Db, Sql, StoreError, rights, sql};
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, PatternId, RunId};
use heddle_model::status::Phase;
use sqlx_macros::FromRow;

/// Statements that are sent as one.
const AT_ONCE: usize = 50;

/// Which runs are counted.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Accepted then or later.
    pub since: Timestamp,
    /// Length of a stretch, in milliseconds.
    pub size_ms: i64,
    /// Of this version only.
    pub version: Option<i64>,
    /// Of each deployment, at most so many of the newest.
    pub rows_max: i64,
}

/// A deployment that ran in the time.
#[derive(Clone, Debug, FromRow)]
pub struct Ran {
    pub id: DeploymentId,
    /// What is deployed.
    pub pattern_id: PatternId,
    /// The pattern's name now, or when it was deployed if it is gone.
    pub pattern_name: String,
}

/// The deployments that the caller may see and that ran since then, the one that ran last first.
pub async fn ran(
    db: &mut Db<'_>,
    scope: &Scope,
    (pattern, deployment): (Option<PatternId>, Option<DeploymentId>),
    since: Timestamp,
    limit: i64,
) -> Result<Vec<Ran>, StoreError> {
    let query = sql(
        "select id, pattern_id, pattern_name from (select d.id, d.pattern_id,
         coalesce(p.name, d.pattern_name) as pattern_name,
         (select max(r.accepted_at) from runs r where r.deployment_id = d.id) as newest_at
         from deployments d left join patterns p on p.id = d.pattern_id where ",
    );
    let mut query = rights::deployments(query, scope);
    if let Some(pattern) = pattern {
        query = query.push(" and d.pattern_id = ?").bind(pattern);
    }
    if let Some(deployment) = deployment {
        query = query.push(" and d.id = ?").bind(deployment);
    }
    let query = query
        .push(") t where t.newest_at >= ? order by t.newest_at desc, t.id desc limit ?")
        .bind(since)
        .bind(limit);
    db.all(query).await
}

/// How many runs a deployment has in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRow)]
pub struct Counted {
    pub deployment_id: DeploymentId,
    /// Number of the stretch since 1970.
    pub number: i64,
    /// Runs.
    pub total: i64,
}

/// Runs by deployment and stretch of time; only those that have failed with `failed`. Stretches without any are left out.
pub async fn counts(
    db: &mut Db<'_>,
    scope: &Scope,
    deployments: &[DeploymentId],
    range: &Range,
    failed: bool,
) -> Result<Vec<Counted>, StoreError> {
    let mut found = Vec::new();
    for some in deployments.chunks(AT_ONCE) {
        let each = some
            .iter()
            .map(|deployment| counted(scope, *deployment, range, failed));
        found.extend(db.all::<Counted>(union(each)).await?);
    }
    Ok(found)
}

fn counted(scope: &Scope, deployment: DeploymentId, range: &Range, failed: bool) -> Sql {
    let query = sql("select deployment_id, number, count(*) as total from (
         select deployment_id, accepted_at / cast(? as bigint) as number from runs where deployment_id = ? and accepted_at >= ?
         and ")
    .bind(range.size_ms)
    .bind(deployment)
    .bind(range.since);
    let mut query = rights::deployment(query, scope, deployment);
    if failed {
        query = query.push(" and status in ('failure', 'dead_letter')");
    }
    if let Some(version) = range.version {
        query = query.push(" and version_number = ?").bind(version);
    }
    query
        .push(" order by accepted_at desc limit ?) t group by deployment_id, number")
        .bind(range.rows_max)
}

fn union(each: impl Iterator<Item = Sql>) -> Sql {
    let mut all = sql("");
    for (index, query) in each.enumerate() {
        all = all
            .push(if index == 0 { "" } else { " union all " })
            .append(query);
    }
    all
}

/// What one run took.
#[derive(Clone, Copy, Debug, FromRow)]
pub struct Sampled {
    pub deployment_id: DeploymentId,
    pub accepted_at: i64,
    /// How long the last attempt took.
    pub duration_ms: Option<i64>,
    pub fuel_used: Option<i64>,
}

/// What the newest runs of each of these deployments and stretches took, at most `each_max` of each.
pub async fn samples(
    db: &mut Db<'_>,
    scope: &Scope,
    wanted: &[(DeploymentId, i64)],
    range: &Range,
    each_max: i64,
) -> Result<Vec<Sampled>, StoreError> {
    let mut found = Vec::new();
    for some in wanted.chunks(AT_ONCE) {
        let each = some.iter().map(|(deployment, number)| {
            let first = number.saturating_mul(range.size_ms);
            let query = sql(
                "select * from (select deployment_id, accepted_at, duration_ms, fuel_used from runs
                 where deployment_id = ? and accepted_at >= ? and accepted_at < ? and ",
            )
            .bind(*deployment)
            .bind(first.max(range.since.millis()))
            .bind(first.saturating_add(range.size_ms));
            let mut query = rights::deployment(query, scope, *deployment);
            if let Some(version) = range.version {
                query = query.push(" and version_number = ?").bind(version);
            }
            query.push(" order by accepted_at desc limit ?) t").bind(each_max)
        });
        found.extend(db.all::<Sampled>(union(each)).await?);
    }
    Ok(found)
}

/// Why a run failed.
#[derive(Clone, Debug, FromRow)]
pub struct FailedRow {
    pub deployment_id: DeploymentId,
    /// `{code, message, nodeId}` as JSON.
    pub error: Option<String>,
}

/// Why the newest failed runs of each of these deployments failed, at most `each_max` of each.
pub async fn failures(
    db: &mut Db<'_>,
    scope: &Scope,
    deployments: &[DeploymentId],
    range: &Range,
    each_max: i64,
) -> Result<Vec<FailedRow>, StoreError> {
    let mut found = Vec::new();
    for some in deployments.chunks(AT_ONCE) {
        let each = some.iter().map(|deployment| {
            let query = sql("select * from (select deployment_id, error from runs where deployment_id = ? and accepted_at >= ?
                 and status in ('failure', 'dead_letter') and ")
            .bind(*deployment)
            .bind(range.since);
            let mut query = rights::deployment(query, scope, *deployment);
            if let Some(version) = range.version {
                query = query.push(" and version_number = ?").bind(version);
            }
            query
                .push(" order by accepted_at desc limit ?) t")
                .bind(each_max)
        });
        found.extend(db.all::<FailedRow>(union(each)).await?);
    }
    Ok(found)
}

/// A run that has not ended.
#[derive(Clone, Copy, Debug, FromRow)]
pub struct UnendedRow {
    pub id: RunId,
    pub deployment_id: DeploymentId,
    /// What it is doing, as far as the database knows.
    pub phase: Phase,
}

/// Runs that have not ended, of deployments that the caller may see. Of all that there are in the service, `looked_at_max`
/// are looked at, the oldest first.
pub async fn unended(
    db: &mut Db<'_>,
    scope: &Scope,
    looked_at_max: i64,
) -> Result<Vec<UnendedRow>, StoreError> {
    let query = sql("select r.id, r.deployment_id, r.phase
         from (select id, deployment_id, phase from runs where status = 'running' order by id limit ?) r
         join deployments d on d.id = r.deployment_id where ")
    .bind(looked_at_max);
    db.all(rights::deployments(query, scope)).await
}
