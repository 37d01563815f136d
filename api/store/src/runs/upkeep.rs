//! Maintenance of runs: taking over those whose server stopped, and deleting old ones.

use super::event_text::event_sql;
use super::left::{LeftRow, returning_left, skip_locked};
use super::suspects::STRIKES_MAX;
use crate::notices::{self, Notice};
use crate::{Db, Sql, StoreError, rights, sql, usage};
use heddle_model::access::Runner;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, RunId, UserId, WorkspaceId};
use heddle_model::status::{RunStatus, TriggeredBy};
use heddle_model::tenant::Tenant;
use sqlx_macros::FromRow;
use std::sync::Arc;

/// Runs of a selection that are this server's now, in the order of acceptance.
async fn taken(db: &mut Db<'_>, query: Sql) -> Result<Vec<LeftRow>, StoreError> {
    let query = returning_left(query, db);
    let mut rows: Vec<LeftRow> = db.all(query).await?;
    rows.sort_by_key(|row| row.id);
    Ok(rows)
}

/// Takes up to `limit` runs that no server has and that are under no suspicion, oldest first; those of paused and stopped
/// deployments are left until these go on. None for a server that has lost its lease. Runs that were handed back are not
/// counted as taken up.
pub async fn take_up(db: &mut Db<'_>, owner: &str, limit: i64) -> Result<Vec<LeftRow>, StoreError> {
    let query = sql(
        "update runs set takeovers = takeovers + case owner when '' then 0 else 1 end, owner = ?,
         announced_by = null where id in (
         select r.id from runs r join deployments d on d.id = r.deployment_id
         where r.status = 'running' and r.wake_at is null and r.suspicion = 0 and d.status <> 'paused' and not d.suspended
         and d.strikes < ? and r.owner not in (select s.id from servers s)
         and exists (select 1 from servers s where s.id = ?)",
    )
    .bind(owner)
    .bind(STRIKES_MAX)
    .bind(owner);
    taken(db, query.push(" order by r.id limit ?").bind(limit)).await
}

/// What a server may claim of the runs that others have accepted.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Who claims.
    pub owner: Arc<str>,
    /// Runs in all.
    pub runs_max: i64,
    /// Runs of one tenant.
    pub tenant_runs_max: i64,
    /// Tenants of which no more runs have room: workspaces, and users outside of any.
    pub full: Vec<String>,
    /// Owners whose workspaces have no room for more runs.
    pub full_owners: Vec<String>,
}

/// Takes runs that another server has accepted and nobody has had yet: those first that somebody waits for, then one of
/// each owner after the other, and of an owner's tenants in the same way. Claims follow each other, so that none passes
/// over what another one leaves.
pub async fn claim(db: &mut Db<'_>, claim: Claim) -> Result<Vec<LeftRow>, StoreError> {
    if db.is_postgres() {
        db.execute(sql("select pg_advisory_xact_lock(?)").bind(CLAIMS_LOCK))
            .await?;
    }
    let query = sql("update runs set owner = ?, announced_by = null where id in (
         select r.id from runs r join (
             select v.id, v.awaited, v.owner_id, v.place as tenant_place, row_number() over (
                 partition by v.owner_id order by v.awaited desc, v.place, v.id) as place
             from (
                 select u.id, u.awaited, d.owner_id, row_number() over (
                     partition by d.tenant_id order by u.awaited desc, u.id) as place
                 from runs u join (")
    .bind(claim.owner.as_ref())
    .push(TENANTS)
    .push(
        ") d on d.id = u.deployment_id
                 where u.owner = '' and u.status = 'running' and u.wake_at is null and u.takeovers = 0
                 and u.suspicion = 0 and d.status <> 'paused' and not d.suspended and d.strikes < ? and d.tenant_id not in ",
    )
    .bind(STRIKES_MAX)
    .list(claim.full.iter().chain([&String::new()]))
    .push(" and d.owner_id not in ")
    .list(claim.full_owners.iter().chain([&String::new()]))
    .push(
        ") v) w on w.id = r.id where w.tenant_place <= ? and r.owner = ''
         and exists (select 1 from servers s where s.id = ?) order by w.awaited desc, w.place, w.id limit ?",
    )
    .bind(claim.tenant_runs_max)
    .bind(claim.owner.as_ref())
    .bind(claim.runs_max);
    taken(db, query).await
}

/// Deployments with their tenants, and with who owns these.
const TENANTS: &str = "select id, status, suspended, strikes, coalesce(workspace_id, user_id) as tenant_id,
    coalesce((select m.user_id from memberships m where m.workspace_id = deployments.workspace_id and m.role = 'owner'
              order by m.created_at, m.user_id limit 1), user_id) as owner_id from deployments";

/// Any number that nothing else locks.
const CLAIMS_LOCK: i64 = 0x6865_6464_6c65;

/// How many runs wait to be claimed, by owner; none counts for more than `limit` in all.
pub async fn unclaimed(db: &mut Db<'_>, limit: i64) -> Result<Vec<(UserId, i64)>, StoreError> {
    let query = sql("select d.owner_id, count(*) from (
             select deployment_id from runs where owner = '' and status = 'running' and wake_at is null
             and takeovers = 0 limit ?) r join (")
    .bind(limit)
    .push(TENANTS)
    .push(
        ") d on d.id = r.deployment_id where d.status <> 'paused' and not d.suspended and d.strikes < ?
         group by d.owner_id",
    );
    db.all(query.bind(STRIKES_MAX)).await
}

/// Takes up to `limit` parked runs whose time has come, whichever server has parked them, those first that have waited longest; those of paused
/// deployments are left until these are resumed, and those of tenants in `full`.
pub async fn wake_up(
    db: &mut Db<'_>,
    (owner, full): (&str, &[String]),
    now: Timestamp,
    limit: i64,
) -> Result<Vec<LeftRow>, StoreError> {
    let query = sql(
        "update runs set owner = ?, wake_at = null, woken = false, phase = 'queued', announced_by = null where id in (
         select r.id from runs r join deployments d on d.id = r.deployment_id
         where r.wake_at <= ? and r.status = 'running' and d.status <> 'paused' and not d.suspended and d.strikes < ?
         and exists (select 1 from servers s where s.id = ?)",
    )
    .bind(owner)
    .bind(now)
    .bind(STRIKES_MAX)
    .bind(owner);
    let query = match full.is_empty() {
        true => query,
        false => query
            .push(" and coalesce(d.workspace_id, d.user_id) not in ")
            .list(full),
    };
    taken(db, query.push(" order by r.wake_at, r.id limit ?").bind(limit)).await
}

/// Parks a run that could not be taken up.
pub async fn park_again(
    db: &mut Db<'_>,
    owner: &str,
    run: RunId,
    until: Timestamp,
) -> Result<(), StoreError> {
    let query = sql(
        "update runs set wake_at = ?, phase = 'waiting' where id = ? and owner = ? and status = 'running'",
    );
    db.execute(query.bind(until).bind(run).bind(owner)).await?;
    Ok(())
}

/// The runs that a server has and that are not parked.
pub async fn owned(db: &mut Db<'_>, owner: &str) -> Result<Vec<(RunId,)>, StoreError> {
    db.all(sql("select id from runs where owner = ? and status = 'running' and wake_at is null").bind(owner))
        .await
}

/// Whether a run is a server's, and neither parked nor ended.
pub async fn is_taken(db: &mut Db<'_>, owner: &str, run: RunId) -> Result<bool, StoreError> {
    let query =
        sql("select id from runs where id = ? and owner = ? and status = 'running' and wake_at is null");
    let found: Option<(RunId,)> = db.optional(query.bind(run).bind(owner)).await?;
    Ok(found.is_some())
}

/// Gives up runs of a server, so that anybody takes them up.
pub async fn hand_back(db: &mut Db<'_>, owner: &str, runs: &[RunId]) -> Result<u64, StoreError> {
    let query = sql(
        "update runs set owner = '', announced_by = null where status = 'running' and owner = ? and id in ",
    );
    db.execute(query.bind(owner).list(runs.iter().map(RunId::to_string)))
        .await
}

/// Gives up all runs of a server that stops.
pub async fn hand_back_all(db: &mut Db<'_>, owner: &str) -> Result<u64, StoreError> {
    let query = sql("update runs set owner = '', announced_by = null
         where status = 'running' and wake_at is null and owner = ?");
    db.execute(query.bind(owner)).await
}

/// Ends a run that this server does not execute. `false`: it had ended before, or is not the caller's.
pub async fn end_unowned(
    db: &mut Db<'_>,
    runner: &Runner,
    run: RunId,
    status: RunStatus,
    error: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let end = sql(
        "update runs set status = ?, phase = 'ended', error = ?, completed_at = ?, resumes_at = null, wake_at = null
         where id = ? and status = 'running'
         and exists (select 1 from deployments d where d.id = runs.deployment_id and ",
    )
    .bind(status)
    .bind(error)
    .bind(now)
    .bind(run);
    let changed = db.execute(rights::deployments(end, runner).push(")")).await?;
    if changed > 0 {
        usage::count_end(db, run, status, now).await?;
        notices::tell(db, Notice::Cancelled(run)).await?;
    }
    Ok(changed > 0)
}

/// Ends a run as cancelled that this server does not execute, for the run that had called it.
pub async fn end_by_service(
    db: &mut Db<'_>,
    run: RunId,
    error: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let end = sql(
        "update runs set status = ?, phase = 'ended', error = ?, completed_at = ?, resumes_at = null, wake_at = null
         where id = ? and status = 'running'",
    );
    let end = end.bind(RunStatus::Failure).bind(error).bind(now).bind(run);
    if db.execute(end).await? > 0 {
        usage::count_end(db, run, RunStatus::Failure, now).await?;
    }
    notices::tell(db, Notice::Cancelled(run)).await
}

/// How a run has ended.
#[derive(Clone, Debug, FromRow)]
pub struct EndRow {
    /// State.
    pub status: RunStatus,
    /// JSON.
    pub output: Option<String>,
    /// JSON: `{code, message, nodeId}`.
    pub error: Option<String>,
}

/// What is kept of a run's end.
pub async fn end_of(db: &mut Db<'_>, run: RunId) -> Result<Option<EndRow>, StoreError> {
    db.optional(sql("select status, output, error from runs where id = ?").bind(run))
        .await
}

/// A run's end as those who look on hear of it.
#[derive(Clone, Debug, FromRow)]
pub struct WatchedEnd {
    /// Whose it is.
    pub deployment_id: DeploymentId,
    /// State.
    pub status: RunStatus,
    /// What started it.
    pub triggered_by: TriggeredBy,
    /// From 1.
    pub attempt: i64,
    pub accepted_at: Timestamp,
    /// JSON: `{code, message, nodeId}`.
    pub error: Option<String>,
}

/// A run's end, for those who watch it; `None`: it goes on, or is gone.
pub async fn watched_end(db: &mut Db<'_>, run: RunId) -> Result<Option<WatchedEnd>, StoreError> {
    let query = sql(
        "select deployment_id, status, triggered_by, attempt, accepted_at, error from runs
         where id = ? and status <> 'running'",
    );
    db.optional(query.bind(run)).await
}

/// A run, as far as it matters to people who fill in its forms.
#[derive(Clone, Debug, FromRow)]
pub struct AskingRow {
    /// State.
    pub status: RunStatus,
    /// What it executes.
    pub deployment_id: DeploymentId,
    /// The trigger at which it began, if that is known.
    pub node_id: Option<String>,
}

/// Whether a run goes on, and what it executes.
pub async fn asking(db: &mut Db<'_>, run: RunId) -> Result<Option<AskingRow>, StoreError> {
    db.optional(sql("select status, deployment_id, node_id from runs where id = ?").bind(run))
        .await
}

/// Which of these runs have not ended.
pub async fn running_of(db: &mut Db<'_>, runs: &[RunId]) -> Result<Vec<(RunId,)>, StoreError> {
    let query = sql("select id from runs where status = 'running' and id in ");
    db.all(query.list(runs.iter().map(RunId::to_string))).await
}

/// Runs under way whose callers have ended, or are gone, so that nobody waits for them. Not those of paused deployments: all of a workspace
/// are paused or suspended while it is imported, and callers may come after what they have called.
pub async fn unwaited(db: &mut Db<'_>, limit: i64) -> Result<Vec<(RunId,)>, StoreError> {
    // Of what is under way, parked runs have an index, and all others have one.
    let of = |parked: &'static str| {
        sql("select r.id from runs r where r.status = 'running' and r.wake_at ")
            .push(parked)
            .push(
                " and coalesce(r.parent_id, '') <> ''
                 and not exists (select 1 from runs p where p.id = r.parent_id and p.status = 'running')
                 and exists (select 1 from deployments d where d.id = r.deployment_id and d.status <> 'paused'
                             and not d.suspended)",
            )
    };
    let query = of("is null").push(" union all ").append(of("is not null"));
    db.all(query.push(" limit ?").bind(limit)).await
}

/// Deployments, one after another, with who has made them and their workspaces.
pub async fn deployments_after(
    db: &mut Db<'_>,
    after: Option<DeploymentId>,
    limit: i64,
) -> Result<Vec<(DeploymentId, UserId, Option<WorkspaceId>)>, StoreError> {
    let query = match after {
        Some(after) => sql("select id, user_id, workspace_id from deployments where id > ?").bind(after),
        None => sql("select id, user_id, workspace_id from deployments"),
    };
    db.all(query.push(" order by id limit ?").bind(limit)).await
}

/// Removes these runs; how many there were. With them go the keys under which they have started others: there may be many, and nothing
/// comes again by them.
async fn remove(db: &mut Db<'_>, runs: Sql) -> Result<u64, StoreError> {
    let delete = sql("delete from runs where id in (").append(runs);
    let removed: Vec<(RunId,)> = db.all(delete.push(") returning id")).await?;
    if !removed.is_empty() {
        let ids = removed.iter().map(|(run,)| *run);
        let forget = sql("delete from idempotency_keys where scope in ");
        db.execute(forget.list_of_few_sizes(ids)).await?;
    }
    Ok(removed.len() as u64)
}

/// Ended runs of a deployment that were accepted and have ended before a time: one may have waited for long, and its end is to be seen.
/// When they were accepted is in an index.
const ENDED_BEFORE: &str = "deployment_id = ? and accepted_at < ? and status <> 'running'
    and coalesce(completed_at, accepted_at) < ?";

/// Whether a deployment has runs that have ended before a time.
pub async fn has_before(
    db: &mut Db<'_>,
    deployment: DeploymentId,
    before: Timestamp,
) -> Result<bool, StoreError> {
    let query = sql("select id from runs where ").push(ENDED_BEFORE);
    let query = query.bind(deployment).bind(before).bind(before);
    let found: Option<(RunId,)> = db.optional(query.push(" limit 1")).await?;
    Ok(found.is_some())
}

/// Removes up to `limit` runs of a deployment that have ended before a time, oldest first.
pub async fn remove_before(
    db: &mut Db<'_>,
    deployment: DeploymentId,
    before: Timestamp,
    limit: i64,
) -> Result<u64, StoreError> {
    let runs = sql("select id from runs where ").push(ENDED_BEFORE);
    let runs = runs.bind(deployment).bind(before).bind(before);
    let runs = runs.push(" order by accepted_at limit ?").bind(limit);
    remove(db, runs).await
}

/// The runs `r` of a tenant.
fn of_tenant(query: Sql, tenant: Tenant) -> Sql {
    let query = query.push(" from deployments d join runs r on r.deployment_id = d.id where ");
    match tenant {
        Tenant::Workspace(id) => query.push("d.workspace_id = ?").bind(id),
        Tenant::User(id) => query.push("d.workspace_id is null and d.user_id = ?").bind(id),
    }
}

/// Those that can be removed.
fn ended(query: Sql) -> Sql {
    query.push(" and r.status <> 'running'")
}

/// Whether a tenant has more runs than these, those included that have not ended. Reads nothing but an index.
pub async fn has_more_than(db: &mut Db<'_>, tenant: Tenant, runs_max: i64) -> Result<bool, StoreError> {
    let (count,): (i64,) = db.one(of_tenant(sql("select count(*)"), tenant)).await?;
    Ok(count > runs_max)
}

/// How many ended runs a tenant has.
pub async fn count_of_tenant(db: &mut Db<'_>, tenant: Tenant) -> Result<i64, StoreError> {
    let (count,): (i64,) = db.one(ended(of_tenant(sql("select count(*)"), tenant))).await?;
    Ok(count)
}

/// Bytes of what a run was started with and has left, as far as it is long.
const BYTES: &str = concat!(
    "(coalesce(",
    event_sql!(bytes "r"),
    ", 0) + coalesce(octet_length(output), 0)
     + coalesce(octet_length(logs), 0) + coalesce(octet_length(trace), 0) + coalesce(octet_length(failed_input), 0))"
);

/// Bytes of a tenant's ended runs, roughly. Reads all of them.
pub async fn bytes_of_tenant(db: &mut Db<'_>, tenant: Tenant) -> Result<i64, StoreError> {
    let select = sql("select cast(coalesce(sum")
        .push(BYTES)
        .push(", 0) as bigint)");
    let (bytes,): (i64,) = db.one(ended(of_tenant(select, tenant))).await?;
    Ok(bytes)
}

/// A place in the order of a tenant's ended runs: whatever is removed is removed from a place on, so that several servers
/// that do so at the same time remove the same runs, and not each as many.
#[derive(Clone, Copy, Debug, FromRow)]
pub struct Place {
    /// When the run was accepted that is there.
    accepted_at: Timestamp,
    id: RunId,
}

const NEWEST_FIRST: &str = " order by accepted_at desc, id desc limit 1";

/// Where a tenant's newest ended runs are more than so many.
pub async fn beyond_number(
    db: &mut Db<'_>,
    tenant: Tenant,
    runs_max: i64,
) -> Result<Option<Place>, StoreError> {
    let query = ended(of_tenant(sql("select r.accepted_at, r.id"), tenant))
        .push(" order by r.accepted_at desc, r.id desc limit 1 offset ?")
        .bind(runs_max);
    db.optional(query).await
}

/// Where a tenant's newest ended runs take more than so many bytes, roughly. Reads all of them.
pub async fn beyond_bytes(
    db: &mut Db<'_>,
    tenant: Tenant,
    bytes_max: i64,
) -> Result<Option<Place>, StoreError> {
    let select = sql("select accepted_at, id from (select r.accepted_at, r.id, sum")
        .push(BYTES)
        .push(" over (order by r.accepted_at desc, r.id desc) as bytes");
    let query = ended(of_tenant(select, tenant))
        .push(") counted where bytes > ?")
        .bind(bytes_max);
    db.optional(query.push(NEWEST_FIRST)).await
}

/// Removes up to `limit` ended runs of a tenant from a place on; how many there were.
pub async fn remove_from(
    db: &mut Db<'_>,
    tenant: Tenant,
    place: Place,
    limit: i64,
) -> Result<u64, StoreError> {
    let runs = ended(of_tenant(sql("select r.id"), tenant))
        .push(" and (r.accepted_at, r.id) <= (?, ?) limit ?")
        .bind(place.accepted_at)
        .bind(place.id)
        .bind(limit);
    // What another server is removing at this moment is not waited for.
    let runs = runs.push(skip_locked(db));
    remove(db, runs).await
}

/// Removes up to `limit` runs of a deployment, whatever their state.
pub async fn remove_of(db: &mut Db<'_>, deployment: DeploymentId, limit: i64) -> Result<u64, StoreError> {
    let runs = sql("select id from runs where deployment_id = ? limit ?");
    remove(db, runs.bind(deployment).bind(limit)).await
}

/// Deployments that have been deleted and left runs, up to `limit`. Those that runs have are found one after another in the index: to
/// look at each run would take the longer the more are kept.
pub async fn orphaned(db: &mut Db<'_>, limit: i64) -> Result<Vec<(DeploymentId,)>, StoreError> {
    let query = sql("with recursive known(id) as (
             select min(deployment_id) from runs
             union all
             select (select min(r.deployment_id) from runs r where r.deployment_id > known.id)
             from known where known.id is not null)
         select known.id from known where known.id is not null
         and not exists (select 1 from deployments d where d.id = known.id) limit ?");
    db.all(query.bind(limit)).await
}

/// Removes up to `limit` runs of a deployment that has been deleted.
pub async fn remove_orphans(
    db: &mut Db<'_>,
    deployment: DeploymentId,
    limit: i64,
) -> Result<u64, StoreError> {
    let runs = sql("select r.id from runs r where r.deployment_id = ?
         and not exists (select 1 from deployments d where d.id = r.deployment_id) limit ?");
    remove(db, runs.bind(deployment).bind(limit)).await
}
