//! Runs: accepted and ended in batches, because these are most of a busy service's writes.

pub mod journal;
pub mod left;
pub mod listing;
mod packed;
pub mod replays;
pub mod responses;
pub mod series;
pub mod stats;
pub mod suspects;
pub mod upkeep;
pub mod waiting;
pub mod workspace;

use super::usage::{self, Counted};
use super::{Arg, Db, Sql, Store, StoreError, inserts, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, RunId};
use heddle_model::status::{Phase, RunStatus, TriggeredBy};
use heddle_model::tenant::Tenant;
use heddle_model::usage::Used;
use serde::{Serialize, Serializer};
use sqlx::FromRow;
use std::collections::HashSet;
use std::sync::Arc;

/// An accepted run.
#[derive(Clone, Debug)]
pub struct AcceptedRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: RunId,
    /// The deployment that the run belongs to.
    pub deployment_id: DeploymentId,
    /// Whose it is, for the metering.
    pub tenant: Tenant,
    /// What started it.
    pub triggered_by: TriggeredBy,
    /// Where it starts.
    pub node_id: Option<String>,
    /// eventData as JSON; `None`: there is none.
    pub event: Option<String>,
    /// SHA-256 of its module, in hex.
    pub artifact: String,
    /// The pattern's version.
    pub version_number: i64,
    /// When accepted.
    pub accepted_at: Timestamp,
    /// The run whose CallPattern waits for it, and the key of that effect.
    pub parent: Option<(RunId, String)>,
    /// How many runs called each other above it.
    pub depth: u32,
    /// What may make no second run: a scope and a key within it.
    pub key: Option<(String, String)>,
    /// Whether somebody waits for its end.
    pub awaited: bool,
    /// Its end, if it has ended before it is stored.
    pub end: Option<Box<ResultRow>>,
}

impl AcceptedRow {
    /// What [`ACCEPTED`] names.
    fn cells(self, owner: &str) -> [Arg; 26] {
        let (parent_id, parent_key) = self.parent.unzip();
        let has_ended = self.end.is_some();
        let running = || ResultRow::running(self.id, owner.into(), 1);
        let end = self.end.map_or_else(running, |end| *end);
        let phase = if has_ended { end.phase() } else { Phase::Queued };
        [
            self.id.into(),
            self.deployment_id.into(),
            end.status.name().into(),
            phase.name().into(),
            self.triggered_by.name().into(),
            self.node_id.into(),
            self.event.into(),
            self.artifact.into(),
            self.version_number.into(),
            end.attempt.into(),
            owner.into(),
            0.into(),
            self.accepted_at.into(),
            parent_id.into(),
            parent_key.into(),
            self.depth.into(),
            self.awaited.into(),
            end.started_at.into(),
            end.completed_at.into(),
            end.duration_ms.into(),
            end.output.into(),
            end.error.into(),
            end.logs.into(),
            end.trace.into(),
            has_ended.then_some(end.fuel_used).into(),
            has_ended.then_some(end.memory_bytes_peak).into(),
        ]
    }
}

/// What is stored of a run first.
const ACCEPTED: &str =
    "runs (id, deployment_id, status, phase, triggered_by, node_id, event, artifact, version_number,
     attempt, owner, takeovers, accepted_at, parent_id, parent_key, depth, awaited, started_at, completed_at,
     duration_ms, output, error, logs, trace, fuel_used, memory_bytes_peak)";

/// The elements of a JSON array as rows `r`, of which each has its JSON in `value`.
const fn elements(db: &Db<'_>) -> &'static str {
    match db {
        Db::Sqlite(_) => " from json_each(?) r",
        Db::Postgres(_) => " from json_array_elements(cast(? as json)) r",
    }
}

fn json<T: Serialize>(rows: &[T]) -> Result<String, StoreError> {
    Ok(serde_json::to_string(rows)?)
}

/// The owner of runs that any server may take.
pub const NOBODY: &str = "";

/// Stores accepted runs: for the server that has accepted them, or for [`NOBODY`]. `false`: that server is none any
/// more, and nothing is to be kept.
pub async fn accept(
    db: &mut Db<'_>,
    server: &str,
    owner: &str,
    rows: Vec<AcceptedRow>,
) -> Result<bool, StoreError> {
    if rows.is_empty() {
        return Ok(true);
    }
    let is_there = (" and exists (select 1 from servers s where s.id = ?)", server);
    let count = rows.len() as u64;
    let ended = ended_of(&rows);
    let rows = rows.into_iter().map(|row| row.cells(owner));
    let mut statements = inserts(ACCEPTED, rows, Some(is_there));
    let counter = if db.is_postgres() { server } else { "" };
    let counting = usage::counted(counter, &ended);
    let changed = match db.is_postgres() {
        true => {
            prepend(&mut statements, counting.statements);
            count
        }
        false => {
            statements.extend(counting.statements);
            count + counting.rows
        }
    };
    // By several statements, between which the server may have been removed.
    Ok(db.execute_all(statements).await? == changed)
}

/// The same for a database's only server, which is always there, and without keys.
pub async fn accept_alone(store: &Store, server: &str, rows: Vec<AcceptedRow>) -> Result<(), StoreError> {
    let ended = ended_of(&rows);
    let rows = rows.into_iter().map(|row| row.cells(server));
    let mut statements = inserts(ACCEPTED, rows, None);
    statements.extend(usage::counted("", &ended).statements);
    store.execute_all(statements).await
}

/// What those have used that are stored with their end.
fn ended_of(rows: &[AcceptedRow]) -> Vec<Counted> {
    let ended = |row: &AcceptedRow| {
        row.end
            .as_ref()
            .map(|end| end.counted(row.tenant, row.accepted_at))
    };
    rows.iter().filter_map(ended).collect()
}

/// Does others together with the first statement, which spares PostgreSQL the way there and back. How many rows are said to
/// change are those of the first statement alone.
fn prepend(statements: &mut [Sql], others: Vec<Sql>) {
    for (statement, other) in statements.iter_mut().zip(others) {
        *statement = sql("with counting as (")
            .append(other)
            .push(" returning 1) ")
            .append(statement.clone());
    }
}

/// The event of a run, if it is there.
pub async fn event_of(db: &mut Db<'_>, run: RunId) -> Result<Option<Option<String>>, StoreError> {
    let found: Option<(Option<String>,)> = db
        .optional(sql("select event from runs where id = ?").bind(run))
        .await?;
    Ok(found.map(|(event,)| event))
}

/// A key that a run wants to take.
#[derive(Clone, Debug, Serialize)]
pub struct KeyRow {
    /// What the key is unique within.
    pub scope: String,
    /// The key.
    pub key: String,
    /// The run.
    pub run_id: RunId,
    /// Until when it is taken.
    pub expires_at: i64,
}

#[derive(FromRow)]
struct HeldKey {
    scope: String,
    key: String,
    run_id: RunId,
}

/// Takes keys that are free or over their time, and says which run each belongs to afterwards. No key may be
/// there twice.
pub async fn take_keys(
    db: &mut Db<'_>,
    mut keys: Vec<KeyRow>,
    now: Timestamp,
) -> Result<Vec<((String, String), RunId)>, StoreError> {
    // In one order, so that two servers can't wait for each other.
    keys.sort_by(|a, b| (&a.scope, &a.key).cmp(&(&b.scope, &b.key)));
    let keys = json(&keys)?;
    let query = sql("insert into idempotency_keys (scope, key, run_id, expires_at)
         select r.value->>'scope', r.value->>'key', r.value->>'run_id', cast(r.value->>'expires_at' as bigint)")
    .push(elements(db))
    .bind(&keys)
    .push(
        " where true on conflict (scope, key) do update set run_id = excluded.run_id,
         expires_at = excluded.expires_at where idempotency_keys.expires_at <= ?",
    )
    .bind(now);
    let held = sql("select k.scope, k.key, k.run_id")
        .push(elements(db))
        .bind(&keys)
        .push(" join idempotency_keys k on k.scope = r.value->>'scope' and k.key = r.value->>'key'");
    let held: Vec<HeldKey> = db.all_after(query, held).await?;
    Ok(held
        .into_iter()
        .map(|held| ((held.scope, held.key), held.run_id))
        .collect())
}

/// What became of an attempt: the run's end, or that it waits for its next attempt.
#[derive(Clone, Debug)]
pub struct ResultRow {
    /// The run.
    pub id: RunId,
    /// The server that has it.
    pub owner: Arc<str>,
    /// Its state from now on.
    pub status: RunStatus,
    /// The attempt that comes next, or was the last.
    pub attempt: u32,
    /// When the next attempt is due.
    pub resumes_at: Option<Timestamp>,
    /// When it goes on, if it has parked.
    pub wake_at: Option<Timestamp>,
    /// When the attempt started.
    pub started_at: Option<Timestamp>,
    /// When the run ended.
    pub completed_at: Option<Timestamp>,
    /// How long the attempt executed.
    pub duration_ms: Option<i64>,
    /// JSON.
    pub output: Option<String>,
    /// JSON: `{code, message, nodeId}`.
    pub error: Option<String>,
    /// JSON: `[{level, message, nodeId}]`.
    pub logs: Option<String>,
    /// JSON: what each node did.
    pub trace: Option<String>,
    /// Fuel used.
    pub fuel_used: i64,
    /// Peak memory in bytes.
    pub memory_bytes_peak: i64,
    /// Whose it is; `None`: as the database says.
    pub tenant: Option<Tenant>,
    /// What the attempt has used besides fuel: peak memory in KiB times milliseconds, effects, and bytes that it sent.
    pub memory_kib_ms: i64,
    /// Effects that it began.
    pub effects: i64,
    /// Bytes of the requests that it sent to other hosts.
    pub egress_bytes: i64,
}

impl ResultRow {
    /// Nothing but that the run goes on.
    pub const fn running(id: RunId, owner: Arc<str>, attempt: u32) -> Self {
        ResultRow {
            id,
            owner,
            status: RunStatus::Running,
            attempt,
            resumes_at: None,
            wake_at: None,
            started_at: None,
            completed_at: None,
            duration_ms: None,
            output: None,
            error: None,
            logs: None,
            trace: None,
            fuel_used: 0,
            memory_bytes_peak: 0,
            tenant: None,
            memory_kib_ms: 0,
            effects: 0,
            egress_bytes: 0,
        }
    }

    /// What the attempt has used; as a run, if that has ended.
    pub fn used(&self) -> Used {
        Used {
            runs: i64::from(self.status != RunStatus::Running),
            failed_runs: i64::from(self.status.has_failed()),
            fuel: self.fuel_used,
            memory_kib_ms: self.memory_kib_ms,
            effects: self.effects,
            egress_bytes: self.egress_bytes,
        }
    }

    /// The same, to be metered at its end, or else at this time.
    fn counted(&self, tenant: Tenant, at: Timestamp) -> Counted {
        Counted {
            tenant,
            at: self.completed_at.unwrap_or(at),
            used: self.used(),
        }
    }

    const fn phase(&self) -> Phase {
        match self.status {
            RunStatus::Running => Phase::Waiting,
            _ => Phase::Ended,
        }
    }
}

impl Serialize for ResultRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (
            self.id,
            self.status.name(),
            self.phase().name(),
            self.attempt,
            self.resumes_at.map(Timestamp::millis),
            self.started_at.map(Timestamp::millis),
            self.completed_at.map(Timestamp::millis),
            self.duration_ms,
            &self.output,
            &self.error,
            &self.logs,
            &self.trace,
            self.fuel_used,
            self.memory_bytes_peak,
            self.wake_at.map(Timestamp::millis),
            (&self.owner, self.memory_kib_ms, self.effects, self.egress_bytes),
        )
            .serialize(serializer)
    }
}

/// Stores what became of runs by now, as far as they are running and their owner's, and meters what they have used; gives
/// those that were.
pub async fn record(db: &mut Db<'_>, rows: &[&ResultRow], now: Timestamp) -> Result<Vec<RunId>, StoreError> {
    let query = sql(
        "update runs set status = x.status, phase = x.phase, attempt = x.attempt,
         resumes_at = x.resumes_at, started_at = x.started_at, completed_at = x.completed_at,
         duration_ms = x.duration_ms, output = x.output, error = x.error, logs = x.logs, trace = x.trace,
         fuel_used = x.fuel_used, memory_bytes_peak = x.memory_bytes_peak,
         total_fuel = coalesce(runs.total_fuel, 0) + x.fuel_used,
         total_memory_kib_ms = coalesce(runs.total_memory_kib_ms, 0) + x.memory_kib_ms,
         total_effects = coalesce(runs.total_effects, 0) + x.effects,
         total_egress_bytes = coalesce(runs.total_egress_bytes, 0) + x.egress_bytes,
         wake_at = case when x.wake_at is null then null when runs.woken then 0 else x.wake_at end,
         woken = case when x.wake_at is null then runs.woken else false end,
         takeovers = case when x.wake_at is null then runs.takeovers else 0 end, suspicion = 0, announced_by = null
         from (select r.value->>0 as id, r.value->>1 as status, r.value->>2 as phase,
               cast(r.value->>3 as bigint) as attempt, cast(r.value->>4 as bigint) as resumes_at,
               cast(r.value->>5 as bigint) as started_at, cast(r.value->>6 as bigint) as completed_at,
               cast(r.value->>7 as bigint) as duration_ms, r.value->>8 as output, r.value->>9 as error,
               r.value->>10 as logs, r.value->>11 as trace, cast(r.value->>12 as bigint) as fuel_used,
               cast(r.value->>13 as bigint) as memory_bytes_peak, cast(r.value->>14 as bigint) as wake_at,
               r.value->15->>0 as owner, cast(r.value->15->>1 as bigint) as memory_kib_ms,
               cast(r.value->15->>2 as bigint) as effects, cast(r.value->15->>3 as bigint) as egress_bytes",
    )
    .push(elements(db))
    .bind(json(rows)?)
    .push(") x where runs.id = x.id and runs.status = 'running' and runs.owner = x.owner returning runs.id");
    let recorded: Vec<(RunId,)> = db.all(query).await?;
    let recorded: HashSet<RunId> = recorded.into_iter().map(|(run,)| run).collect();
    let stored = || rows.iter().filter(|row| recorded.contains(&row.id));
    let counted: Vec<Counted> = stored()
        .filter_map(|row| Some(row.counted(row.tenant?, now)))
        .collect();
    // No other task writes ends in the name of this server.
    let counter = match rows.first() {
        Some(row) if db.is_postgres() => format!("{} ends", row.owner),
        _ => String::new(),
    };
    let counting = usage::counted(&counter, &counted);
    if counting.rows > 0 {
        db.execute_all(counting.statements).await?;
    }
    for row in stored().filter(|row| row.tenant.is_none() && row.status != RunStatus::Running) {
        usage::count_end(db, row.id, row.status, now).await?;
    }
    Ok(recorded.into_iter().collect())
}
