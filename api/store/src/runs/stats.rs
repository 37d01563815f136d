//! Statistics over runs.

use crate::deployments::tenant;
use crate::{Db, StoreError, sql};
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::DeploymentId;
use heddle_model::status::TriggeredBy;
use sqlx::FromRow;

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

/// Figures of the runs of a deployment, which the caller was found to see, that were accepted since a time.
pub async fn totals(
    db: &mut Db<'_>,
    _: &Scope,
    deployment: DeploymentId,
    since: Timestamp,
) -> Result<Totals, StoreError> {
    db.one(
        sql(
            "select count(*) as total, count(case when status = 'success' then 1 end) as success,
             count(case when status in ('failure', 'dead_letter') then 1 end) as failure,
             cast(avg(duration_ms) as double precision) as duration_ms_mean, count(duration_ms) as timed,
             max(coalesce(started_at, accepted_at)) as last_at,
             max(case when status = 'success' then started_at end) as last_success_at,
             max(case when status in ('failure', 'dead_letter') then coalesce(started_at, accepted_at) end)
             as last_failure_at
             from runs where deployment_id = ? and accepted_at >= ?",
        )
        .bind(deployment)
        .bind(since),
    )
    .await
}

/// The duration with this rank, from 0, among those of the same runs in ascending order.
pub async fn duration_ms_at(
    db: &mut Db<'_>,
    _: &Scope,
    deployment: DeploymentId,
    since: Timestamp,
    rank: i64,
) -> Result<Option<i64>, StoreError> {
    let found: Option<(i64,)> = db
        .optional(
            sql("select duration_ms from runs
                 where deployment_id = ? and accepted_at >= ? and duration_ms is not null
                 order by duration_ms limit 1 offset ?")
            .bind(deployment)
            .bind(since)
            .bind(rank),
        )
        .await?;
    Ok(found.map(|(duration,)| duration))
}

/// How many of the same runs each trigger has started.
pub async fn by_trigger(
    db: &mut Db<'_>,
    _: &Scope,
    deployment: DeploymentId,
    since: Timestamp,
) -> Result<Vec<(TriggeredBy, i64)>, StoreError> {
    #[derive(FromRow)]
    struct Counted {
        #[sqlx(try_from = "String")]
        triggered_by: TriggeredBy,
        total: i64,
    }
    let counted: Vec<Counted> = db
        .all(
            sql("select triggered_by, count(*) as total from runs where deployment_id = ? and accepted_at >= ?
                 group by triggered_by")
            .bind(deployment)
            .bind(since),
        )
        .await?;
    Ok(counted
        .into_iter()
        .map(|counted| (counted.triggered_by, counted.total))
        .collect())
}

/// The same runs by stretches of `size_ms`, those without runs left out.
pub async fn buckets(
    db: &mut Db<'_>,
    _: &Scope,
    deployment: DeploymentId,
    since: Timestamp,
    size_ms: i64,
) -> Result<Vec<Bucket>, StoreError> {
    db.all(
        sql(
            "select number, count(*) as total, count(case when status = 'success' then 1 end) as success,
             count(case when status in ('failure', 'dead_letter') then 1 end) as failure
             from (select accepted_at / cast(? as bigint) as number, status from runs
                   where deployment_id = ? and accepted_at >= ?) b
             group by number order by number",
        )
        .bind(size_ms)
        .bind(deployment)
        .bind(since),
    )
    .await
}

/// Runs of all of the caller's deployments that were accepted since a time: how many there are, how many have
/// ended, and how many of these badly.
pub async fn recent(db: &mut Db<'_>, scope: &Scope, since: Timestamp) -> Result<(i64, i64, i64), StoreError> {
    let query = tenant(
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
