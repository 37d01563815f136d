//! Statistics over runs.

use crate::{Db, Sql, StoreError, rights, sql};
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::DeploymentId;
use heddle_model::status::TriggeredBy;
use sqlx_macros::FromRow;

/// Figures of a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromRow)]
pub struct Totals {
    /// Runs accepted in the period.
    pub total: i64,
    /// Of these, ended well.
    pub success: i64,
    /// Of these, failed or given up.
    pub failure: i64,
    /// Mean duration of those that have ended; `None`: none has.
    pub duration_ms_mean: Option<f64>,
    /// Those that have a duration.
    pub timed: i64,
    /// When the last one started.
    pub last_at: Option<i64>,
    /// When the last successful one started.
    pub last_success_at: Option<i64>,
    /// When the last failed one started.
    pub last_failure_at: Option<i64>,
}

/// Runs of a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRow)]
pub struct Bucket {
    /// Number of the stretch since 1970.
    pub number: i64,
    /// Runs accepted in it.
    pub total: i64,
    /// Of these, ended well.
    pub success: i64,
    /// Of these, failed or given up.
    pub failure: i64,
}

/// The runs of a deployment, which the caller may see, that were accepted since a time.
fn accepted_since(query: Sql, scope: &Scope, deployment: DeploymentId, since: Timestamp) -> Sql {
    let query = query
        .push("deployment_id = ? and accepted_at >= ? and ")
        .bind(deployment)
        .bind(since);
    rights::deployment(query, scope, deployment)
}

/// Figures of the runs of a deployment, which the caller may see, that were accepted since a time.
pub async fn totals(
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: DeploymentId,
    since: Timestamp,
) -> Result<Totals, StoreError> {
    let query = sql(
        "select count(*) as total, count(case when status = 'success' then 1 end) as success,
             count(case when status in ('failure', 'dead_letter') then 1 end) as failure,
             cast(avg(duration_ms) as double precision) as duration_ms_mean, count(duration_ms) as timed,
             max(coalesce(started_at, accepted_at)) as last_at,
             max(case when status = 'success' then started_at end) as last_success_at,
             max(case when status in ('failure', 'dead_letter') then coalesce(started_at, accepted_at) end)
             as last_failure_at
             from runs where ",
    );
    db.one(accepted_since(query, scope, deployment, since)).await
}

/// The duration with this rank, from 0, among those of the same runs in ascending order.
pub async fn duration_ms_at(
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: DeploymentId,
    since: Timestamp,
    rank: i64,
) -> Result<Option<i64>, StoreError> {
    let query = accepted_since(
        sql("select duration_ms from runs where "),
        scope,
        deployment,
        since,
    );
    let query = query.push(" and duration_ms is not null order by duration_ms limit 1 offset ?");
    let found: Option<(i64,)> = db.optional(query.bind(rank)).await?;
    Ok(found.map(|(duration,)| duration))
}

/// How many of the deployment's runs since then each trigger has started.
pub async fn by_trigger(
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: DeploymentId,
    since: Timestamp,
) -> Result<Vec<(TriggeredBy, i64)>, StoreError> {
    #[derive(FromRow)]
    struct Counted {
        triggered_by: TriggeredBy,
        total: i64,
    }
    let query = sql("select triggered_by, count(*) as total from runs where ");
    let query = accepted_since(query, scope, deployment, since);
    let counted: Vec<Counted> = db.all(query.push(" group by triggered_by")).await?;
    Ok(counted
        .into_iter()
        .map(|counted| (counted.triggered_by, counted.total))
        .collect())
}

/// The deployment's runs since then by stretches of `size_ms`, those without runs left out.
pub async fn buckets(
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: DeploymentId,
    since: Timestamp,
    size_ms: i64,
) -> Result<Vec<Bucket>, StoreError> {
    let query = sql(
        "select number, count(*) as total, count(case when status = 'success' then 1 end) as success,
         count(case when status in ('failure', 'dead_letter') then 1 end) as failure
         from (select accepted_at / cast(? as bigint) as number, status from runs where ",
    )
    .bind(size_ms);
    let query = accepted_since(query, scope, deployment, since);
    db.all(query.push(") b group by number order by number")).await
}

/// Runs of all of the caller's deployments that were accepted since a time: how many there are, how many have
/// ended, and how many of these badly.
pub async fn recent(db: &mut Db<'_>, scope: &Scope, since: Timestamp) -> Result<(i64, i64, i64), StoreError> {
    let query = rights::deployments(
        sql(
            "select count(*), count(case when r.status <> 'running' then 1 end),
             count(case when r.status in ('failure', 'dead_letter') then 1 end)
             from deployments d join runs r on r.deployment_id = d.id and r.accepted_at >= ? where ",
        )
        .bind(since),
        scope,
    );
    db.one(query).await
}
