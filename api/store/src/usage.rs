//! What tenants have used, by hour. It is counted in the transaction that stores what became of runs, or so that a crash loses
//! nothing of it (`metering`): it adds up to them, whatever happens in between; deleting runs takes nothing off. Test runs and replays, of which nothing is stored, are
//! counted apart.

use super::runs::event_text::event_sql;
use super::{Db, Sql, StoreError, inserts, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{RunId, WorkspaceId};
use heddle_model::status::RunStatus;
use heddle_model::tenant::Tenant;
use heddle_model::usage::{Used, hour_of};
use sqlx_macros::FromRow;
use std::collections::BTreeMap;

/// Something that was used.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// By whom.
    pub tenant: Tenant,
    pub at: Timestamp,
    /// How much.
    pub used: Used,
}

const TABLE: &str =
    "usage_hours (tenant_id, hour, counter, runs, failed_runs, fuel, memory_kib_ms, effects, egress_bytes)";

/// What is there already grows.
const ADD: &str =
    " on conflict (tenant_id, hour, counter) do update set runs = usage_hours.runs + excluded.runs,
     failed_runs = usage_hours.failed_runs + excluded.failed_runs, fuel = usage_hours.fuel + excluded.fuel,
     memory_kib_ms = usage_hours.memory_kib_ms + excluded.memory_kib_ms,
     effects = usage_hours.effects + excluded.effects,
     egress_bytes = usage_hours.egress_bytes + excluded.egress_bytes";

/// What was used by each tenant in each hour.
pub(crate) type Sums = BTreeMap<(Tenant, Timestamp), Used>;

pub(crate) fn sums(counted: impl Iterator<Item = Counted>) -> Sums {
    let mut sums = Sums::new();
    for it in counted {
        *sums.entry((it.tenant, hour_of(it.at))).or_default() += it.used;
    }
    sums
}

pub(crate) fn add_up(sums: &mut Sums, more: Sums) {
    for (key, used) in more {
        *sums.entry(key).or_default() += used;
    }
}

/// Adds sums to what is there, one row for each tenant and hour. Whoever counts has a name of its own, so that transactions
/// which count at the same time don't wait for each other. There are no more statements than [`inserts`] makes of as many rows.
///
/// With a condition as of [`inserts`] only if it holds.
pub(crate) fn counting(counter: &str, sums: Sums, only_if: Option<(&'static str, &str)>) -> Vec<Sql> {
    let sums: Vec<_> = sums.into_iter().collect();
    let cells = sums.into_iter().map(|((tenant, hour), used)| {
        [
            tenant.to_string().into(),
            hour.into(),
            counter.into(),
            used.runs.into(),
            used.failed_runs.into(),
            used.fuel.into(),
            used.memory_kib_ms.into(),
            used.effects.into(),
            used.egress_bytes.into(),
        ]
    });
    let statements = inserts(TABLE, cells, only_if).into_iter();
    statements.map(|statement| statement.push(ADD)).collect()
}

/// Counts the end of a run that did not execute any more: what its executions used was counted after each of them.
pub(crate) async fn count_end(
    db: &mut Db<'_>,
    run: RunId,
    status: RunStatus,
    now: Timestamp,
) -> Result<(), StoreError> {
    let count = sql(
        "insert into usage_hours (tenant_id, hour, counter, runs, failed_runs, fuel, memory_kib_ms, effects,
         egress_bytes) select coalesce(d.workspace_id, d.user_id), ?, '', 1, ?, 0, 0, 0, 0
         from runs r join deployments d on d.id = r.deployment_id where r.id = ?",
    )
    .bind(hour_of(now))
    .bind(i64::from(status.has_failed()))
    .bind(run);
    db.execute(count.push(ADD)).await.map(drop)
}

/// Counts a test run or a replay.
pub async fn count_test(
    db: &mut Db<'_>,
    tenant: Tenant,
    at: Timestamp,
    used: &Used,
) -> Result<(), StoreError> {
    let count = sql(
        "insert into test_usage_hours (tenant_id, hour, runs, fuel, memory_kib_ms, effects, egress_bytes)
         values (?, ?, ?, ?, ?, ?, ?) on conflict (tenant_id, hour) do update set
         runs = test_usage_hours.runs + excluded.runs, fuel = test_usage_hours.fuel + excluded.fuel,
         memory_kib_ms = test_usage_hours.memory_kib_ms + excluded.memory_kib_ms,
         effects = test_usage_hours.effects + excluded.effects,
         egress_bytes = test_usage_hours.egress_bytes + excluded.egress_bytes",
    )
    .bind(tenant.to_string())
    .bind(hour_of(at))
    .bind(used.runs)
    .bind(used.fuel)
    .bind(used.memory_kib_ms)
    .bind(used.effects)
    .bind(used.egress_bytes);
    db.execute(count).await.map(drop)
}

/// How long a span of a report is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    Hour,
    /// A day in UTC.
    Day,
}

impl Span {
    /// Beginning of the span that a time is in.
    pub const fn beginning(self, at: Timestamp) -> Timestamp {
        const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
        match self {
            Span::Hour => hour_of(at),
            Span::Day => Timestamp::from_millis(at.millis().div_euclid(DAY_MS).saturating_mul(DAY_MS)),
        }
    }
}

/// What a tenant used within a span.
#[derive(Clone, Debug, FromRow)]
pub struct UsageRow {
    /// A workspace, or a user outside of workspaces.
    pub tenant_id: String,
    /// When the span began.
    pub began_at: Timestamp,
    /// Runs that ended.
    pub runs: i64,
    /// Those of them that failed.
    pub failed_runs: i64,
    pub fuel: i64,
    /// Peak memory in KiB times milliseconds.
    pub memory_kib_ms: i64,
    pub effects: i64,
    /// Bytes that were sent.
    pub egress_bytes: i64,
    /// The most that was stored at a time, in bytes, as far as it was measured.
    pub stored_bytes: i64,
    /// Test runs and replays.
    pub test_runs: i64,
    /// Their fuel.
    pub test_fuel: i64,
    /// Their peak memory in KiB times milliseconds.
    pub test_memory_kib_ms: i64,
    /// Their effects.
    pub test_effects: i64,
    /// Bytes that they sent.
    pub test_egress_bytes: i64,
}

#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// One tenant; `None`: all, for the operator.
    pub tenant: Option<Tenant>,
    /// From then on.
    pub from: Timestamp,
    /// Before then.
    pub to: Timestamp,
    /// By hour or by day.
    pub span: Span,
}

/// What was used, by span and tenant, as far as [`Store::meter`](crate::Store::meter) has brought it; spans without any are left out. Begins after a row of the report that was read before.
pub async fn report(
    db: &mut Db<'_>,
    report: &Report,
    after: Option<(Timestamp, String)>,
    limit: i64,
) -> Result<Vec<UsageRow>, StoreError> {
    let began = match report.span {
        Span::Hour => "hour",
        Span::Day => "hour - hour % 86400000",
    };
    let sums = |query: Sql| {
        let query = query
            .push(" where hour >= ? and hour < ?")
            .bind(report.from)
            .bind(report.to);
        match report.tenant {
            Some(tenant) => query.push(" and tenant_id = ?").bind(tenant.to_string()),
            None => query,
        }
    };
    let used = sql("select tenant_id, began_at, cast(sum(runs) as bigint) as runs,
         cast(sum(failed_runs) as bigint) as failed_runs, cast(sum(fuel) as bigint) as fuel,
         cast(sum(memory_kib_ms) as bigint) as memory_kib_ms, cast(sum(effects) as bigint) as effects,
         cast(sum(egress_bytes) as bigint) as egress_bytes, cast(max(bytes) as bigint) as stored_bytes,
         cast(sum(test_runs) as bigint) as test_runs, cast(sum(test_fuel) as bigint) as test_fuel,
         cast(sum(test_memory_kib_ms) as bigint) as test_memory_kib_ms,
         cast(sum(test_effects) as bigint) as test_effects,
         cast(sum(test_egress_bytes) as bigint) as test_egress_bytes from (
         select tenant_id, ")
    .push(began)
    .push(" as began_at, runs, failed_runs, fuel, memory_kib_ms, effects, egress_bytes, 0 as bytes,
         0 as test_runs, 0 as test_fuel, 0 as test_memory_kib_ms, 0 as test_effects, 0 as test_egress_bytes from usage_hours");
    let stored = sql(" union all select tenant_id, ")
        .push(began)
        .push(" as began_at, 0, 0, 0, 0, 0, 0, bytes, 0, 0, 0, 0, 0 from storage_hours");
    let tests = sql(" union all select tenant_id, ").push(began).push(
        " as began_at, 0, 0, 0, 0, 0, 0, 0, runs, fuel, memory_kib_ms, effects, egress_bytes from test_usage_hours",
    );
    let mut query = sums(used).append(sums(stored)).append(sums(tests)).push(") u");
    if let Some((began_at, tenant)) = after {
        query = query
            .push(" where (began_at, tenant_id) > (?, ?)")
            .bind(began_at)
            .bind(tenant);
    }
    let query = query.push(" group by tenant_id, began_at order by began_at, tenant_id limit ?");
    db.all(query.bind(limit)).await
}

/// What a tenant has used from a time on, as far as [`Store::meter`](crate::Store::meter) has brought it.
pub async fn since(db: &mut Db<'_>, tenant: Tenant, from: Timestamp) -> Result<Used, StoreError> {
    let query = sql(
        "select cast(coalesce(sum(runs), 0) as bigint), cast(coalesce(sum(failed_runs), 0) as bigint),
         cast(coalesce(sum(fuel), 0) as bigint), cast(coalesce(sum(memory_kib_ms), 0) as bigint),
         cast(coalesce(sum(effects), 0) as bigint), cast(coalesce(sum(egress_bytes), 0) as bigint)
         from usage_hours where tenant_id = ? and hour >= ?",
    );
    let (runs, failed_runs, fuel, memory_kib_ms, effects, egress_bytes): (i64, i64, i64, i64, i64, i64) =
        db.one(query.bind(tenant.to_string()).bind(from)).await?;
    Ok(Used {
        runs,
        failed_runs,
        fuel,
        memory_kib_ms,
        effects,
        egress_bytes,
    })
}

/// What a tenant's test runs and replays have used from a time on.
pub async fn of_tests_since(db: &mut Db<'_>, tenant: Tenant, from: Timestamp) -> Result<Used, StoreError> {
    let query = sql(
        "select cast(coalesce(sum(runs), 0) as bigint), cast(coalesce(sum(fuel), 0) as bigint),
         cast(coalesce(sum(memory_kib_ms), 0) as bigint), cast(coalesce(sum(effects), 0) as bigint),
         cast(coalesce(sum(egress_bytes), 0) as bigint) from test_usage_hours where tenant_id = ? and hour >= ?",
    );
    let (runs, fuel, memory_kib_ms, effects, egress_bytes): (i64, i64, i64, i64, i64) =
        db.one(query.bind(tenant.to_string()).bind(from)).await?;
    Ok(Used {
        runs,
        failed_runs: 0,
        fuel,
        memory_kib_ms,
        effects,
        egress_bytes,
    })
}

/// Bytes that a workspace's rows take: patterns with their versions, tests and drafts, modules, runs with their events,
/// outputs, logs, traces and journals, values that KeyValue keeps, tapped events, and what its files hold. Reads all of its runs.
pub async fn stored_bytes(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<i64, StoreError> {
    const SUMS: [&str; 8] = [
        "select cast(coalesce(sum(stored_bytes), 0) as bigint) from patterns where workspace_id = ?",
        "select cast(coalesce(sum(t.stored_bytes), 0) as bigint) from pattern_tests t join patterns p on p.id = t.pattern_id
         where p.workspace_id = ?",
        "select cast(coalesce(sum(t.stored_bytes), 0) as bigint) from pattern_drafts t join patterns p on p.id = t.pattern_id
         where p.workspace_id = ?",
        "select cast(coalesce(sum(octet_length(a.wasm)), 0) as bigint) from artifacts a
         where a.hash in (select artifact from deployments where workspace_id = ?)",
        concat!(
            "select cast(coalesce(sum(coalesce(",
            event_sql!(bytes "r"),
            ", 0) + coalesce(octet_length(r.output), 0)
         + coalesce(octet_length(r.logs), 0) + coalesce(octet_length(r.trace), 0) + coalesce(octet_length(r.error), 0)
         + coalesce(octet_length(r.failed_input), 0)), 0) as bigint)
         from deployments d join runs r on r.deployment_id = d.id where d.workspace_id = ?"
        ),
        "select cast(coalesce(sum(bytes), 0) as bigint) from run_journals where tenant_id = ? and is_kept",
        concat!(
            "select cast(coalesce(sum(",
            event_sql!(bytes "t"),
            "), 0) as bigint) from tap_events t
         join webhook_endpoints e on e.id = t.endpoint_id join patterns p on p.id = e.pattern_id where p.workspace_id = ?"
        ),
        "select cast(coalesce(sum(size), 0) as bigint) from file_blobs where tenant_id = ? and state = 'live'",
    ];
    let mut bytes: i64 = 0;
    for text in SUMS {
        let (sum,): (i64,) = db.one(sql(text).bind(workspace)).await?;
        bytes = bytes.saturating_add(sum);
    }
    let kept = sql("select cast(coalesce(sum(octet_length(k.key) + octet_length(k.value)), 0) as bigint)")
        .append(values(workspace));
    let (kept,): (i64,) = db.one(kept).await?;
    Ok(bytes.saturating_add(kept))
}

/// Values that a workspace's patterns keep.
fn values(workspace: WorkspaceId) -> Sql {
    sql(" from key_values k where k.workspace_id = ? or k.pattern_id in (select id from patterns where workspace_id = ?)")
        .bind(workspace)
        .bind(workspace)
}

/// How many values a workspace's patterns keep.
pub async fn count_key_values(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<i64, StoreError> {
    let (count,): (i64,) = db.one(sql("select count(*)").append(values(workspace))).await?;
    Ok(count)
}

/// How many of a workspace's runs wait.
pub async fn count_waiting_runs(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<i64, StoreError> {
    let count = sql(
        "select count(*) from deployments d join runs r on r.deployment_id = d.id
         where r.wake_at is not null and d.workspace_id = ?",
    );
    let (count,): (i64,) = db.one(count.bind(workspace)).await?;
    Ok(count)
}

/// How many patterns a workspace has.
pub async fn count_patterns(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<i64, StoreError> {
    let count = sql("select count(*) from patterns where workspace_id = ?").bind(workspace);
    let (count,): (i64,) = db.one(count).await?;
    Ok(count)
}

/// How many patterns a workspace has after one was added. Others who add one at the same time are counted as well: they wait for the
/// transaction's end.
pub async fn count_patterns_locked(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<i64, StoreError> {
    if db.is_postgres() {
        let lock = sql("select pg_advisory_xact_lock(hashtextextended(?, 0))");
        db.execute(lock.bind(format!("patterns {workspace}"))).await?;
    }
    count_patterns(db, workspace).await
}

/// Notes how much a workspace stores at a time, unless it is gone.
pub async fn note_stored(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    at: Timestamp,
    bytes: i64,
) -> Result<(), StoreError> {
    let note = sql(
        "insert into storage_hours (tenant_id, hour, bytes) select id, ?, ? from workspaces where id = ?
         on conflict (tenant_id, hour) do update set bytes = excluded.bytes",
    );
    let note = note.bind(hour_of(at)).bind(bytes).bind(workspace);
    db.execute(note).await.map(drop)
}

/// How much a workspace stored when it was measured last after a time, in bytes.
pub async fn last_stored(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    after: Timestamp,
) -> Result<Option<i64>, StoreError> {
    let last =
        sql("select bytes from storage_hours where tenant_id = ? and hour >= ? order by hour desc limit 1");
    let last: Option<(i64,)> = db.optional(last.bind(workspace).bind(after)).await?;
    Ok(last.map(|(bytes,)| bytes))
}
