//! Lists of deployments, and how many there are.

use crate::{Db, Sql, Start, StoreError, rights, sql};
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId, RunId};
use heddle_model::status::{DeploymentStatus, RunStatus};
use sqlx_macros::FromRow;

/// A deployment in a list, with what its runs amount to.
#[derive(Clone, Debug, FromRow)]
pub struct ListedRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: DeploymentId,
    /// What is deployed.
    pub pattern_id: PatternId,
    /// Where its secrets and variables come from.
    pub environment_id: Option<EnvironmentId>,
    /// The name of that environment, unless it is gone.
    pub environment_name: Option<String>,
    /// Whether it is the pattern's main deployment.
    pub is_main: bool,
    /// The pattern's name now, or when it was deployed if it is gone.
    pub pattern_name: String,
    /// State.
    pub status: DeploymentStatus,
    /// `[{type, nodeId}]` as JSON.
    pub triggers: String,
    /// The version that it was deployed from.
    pub version_number: i64,
    /// Why it failed.
    pub error_message: Option<String>,
    /// When first deployed.
    pub created_at: Timestamp,
    /// When its state last changed.
    pub updated_at: Timestamp,
    /// Runs that are kept.
    pub total_runs: i64,
    /// The last run; `None`: there is no run.
    pub last_run_id: Option<RunId>,
    /// The last run's status; `None`: there is no run.
    pub last_status: Option<String>,
    /// When it started, in milliseconds.
    pub last_started_at: Option<i64>,
    /// How long it took.
    pub last_duration_ms: Option<i64>,
}

/// How many of a deployment's newest runs lists show.
const RECENT_RUNS: i64 = 12;

/// Deployments in a list, with this for the number of their runs.
fn listed(total_runs: &'static str) -> Sql {
    let query = sql(
        "select d.id, d.pattern_id, coalesce(p.name, d.pattern_name) as pattern_name, d.environment_id,
         e.name as environment_name, d.slot = '' as is_main, d.status, d.triggers, d.version_number, d.error_message, d.created_at, d.updated_at, ",
    );
    query.push(total_runs).push(
        " as total_runs, l.id as last_run_id, l.status as last_status,
         coalesce(l.started_at, l.accepted_at) as last_started_at, l.duration_ms as last_duration_ms
         from deployments d left join patterns p on p.id = d.pattern_id
         left join environments e on e.id = d.environment_id
         left join runs l on l.id = (select r.id from runs r where r.deployment_id = d.id
                                     order by r.accepted_at desc, r.id desc limit 1)
         where ",
    )
}

/// A page of the caller's deployments, newest first.
pub async fn list(
    db: &mut Db<'_>,
    scope: &Scope,
    status: Option<DeploymentStatus>,
    limit: i64,
    start: Start<(Timestamp, DeploymentId)>,
) -> Result<Vec<ListedRow>, StoreError> {
    let query = listed("(select count(*) from runs r where r.deployment_id = d.id)");
    let mut query = of_status(rights::deployments(query, scope), status);
    if let Some((at, id)) = start.after() {
        query = query
            .push(" and (d.created_at, d.id) < (?, ?)")
            .bind(*at)
            .bind(*id);
    }
    let query = query.push(" order by d.created_at desc, d.id desc limit ? offset ?");
    db.all(query.bind(limit).bind(start.offset())).await
}

/// The state of a deployment.
#[derive(Clone, Debug, FromRow)]
pub struct StateRow {
    pub id: DeploymentId,
    /// What is deployed.
    pub pattern_id: PatternId,
    pub status: DeploymentStatus,
    /// The version that it was deployed from.
    pub version_number: i64,
    /// When its state last changed.
    pub updated_at: Timestamp,
}

/// The states of all deployments that the caller may see, the one that changed first before the others.
pub async fn states(db: &mut Db<'_>, scope: &Scope) -> Result<Vec<StateRow>, StoreError> {
    let query =
        sql("select d.id, d.pattern_id, d.status, d.version_number, d.updated_at from deployments d where ");
    db.all(rights::deployments(query, scope).push(" order by d.updated_at, d.id"))
        .await
}

/// All deployments of a pattern that the caller may see, the main one first.
pub async fn list_in_pattern(
    db: &mut Db<'_>,
    scope: &Scope,
    pattern: PatternId,
) -> Result<Vec<ListedRow>, StoreError> {
    let query = listed("(select count(*) from runs r where r.deployment_id = d.id)");
    let query = rights::deployments(query, scope).push(" and d.pattern_id = ? order by d.slot");
    db.all(query.bind(pattern)).await
}

/// The deployments of these patterns that the caller may see: of each pattern what is undeployed first, and then the main one
/// after the others. Their runs are not counted, which takes longer than all else.
pub async fn list_of_patterns(
    db: &mut Db<'_>,
    scope: &Scope,
    patterns: &[PatternId],
) -> Result<Vec<ListedRow>, StoreError> {
    let query = rights::deployments(listed("cast(0 as bigint)"), scope).push(" and d.pattern_id in ");
    let query = query.list_of_few_sizes(patterns.iter().copied());
    let order = " order by case when d.status = 'undeployed' then 0 else 1 end, d.slot desc";
    db.all(query.push(order)).await
}

/// A run among the newest of its deployment.
#[derive(Clone, Debug, FromRow)]
pub struct RecentRow {
    /// What it is a run of.
    pub deployment_id: DeploymentId,
    /// UUIDv7, so that ids sort by time of creation.
    pub id: RunId,
    /// How it is going.
    pub status: RunStatus,
    /// When it started, or was accepted if it has not yet.
    pub started_at: Timestamp,
    /// How long it took; `None`: it has not ended.
    pub duration_ms: Option<i64>,
}

/// The newest runs of each of these deployments, at most `RECENT_RUNS`, newest first. The caller must be allowed to see them.
pub async fn recent_runs(
    db: &mut Db<'_>,
    deployments: &[DeploymentId],
) -> Result<Vec<RecentRow>, StoreError> {
    if deployments.is_empty() {
        return Ok(Vec::new());
    }
    let query = sql("select d.id as deployment_id, r.id, r.status,
         coalesce(r.started_at, r.accepted_at) as started_at, r.duration_ms from deployments d cross join ");
    // Each database reads no more of a deployment's runs than these only in its own way.
    let query = match db.is_postgres() {
        true => query.push("lateral (select * from runs n where n.deployment_id = d.id order by n.accepted_at desc, n.id desc limit ?) r where true")
            .bind(RECENT_RUNS),
        false => query.push("runs r where r.id in (select n.id from runs n where n.deployment_id = d.id order by n.accepted_at desc, n.id desc limit ?)")
            .bind(RECENT_RUNS),
    };
    let query = query
        .push(" and d.id in ")
        .list_of_few_sizes(deployments.iter().copied());
    db.all(query.push(" order by r.accepted_at desc, r.id desc"))
        .await
}

fn of_status(query: Sql, status: Option<DeploymentStatus>) -> Sql {
    match status {
        Some(status) => query.push(" and d.status = ?").bind(status),
        None => query,
    }
}

/// How many deployments the caller has.
pub async fn count(
    db: &mut Db<'_>,
    scope: &Scope,
    status: Option<DeploymentStatus>,
) -> Result<i64, StoreError> {
    let query = rights::deployments(sql("select count(*) from deployments d where "), scope);
    let (count,): (i64,) = db.one(of_status(query, status)).await?;
    Ok(count)
}

/// How many deployments the caller has in each state.
pub async fn count_by_status(
    db: &mut Db<'_>,
    scope: &Scope,
) -> Result<Vec<(DeploymentStatus, i64)>, StoreError> {
    #[derive(FromRow)]
    struct Counted {
        status: DeploymentStatus,
        total: i64,
    }
    let query = rights::deployments(
        sql("select d.status, count(*) as total from deployments d where "),
        scope,
    );
    let counted: Vec<Counted> = db.all(query.push(" group by d.status")).await?;
    Ok(counted
        .into_iter()
        .map(|counted| (counted.status, counted.total))
        .collect())
}
