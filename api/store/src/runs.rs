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

use super::{Arg, Db, Store, StoreError, inserts, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, RunId};
use heddle_model::status::{Phase, RunStatus, TriggeredBy};
use serde::ser::SerializeTuple;
use serde::{Serialize, Serializer};
use sqlx::FromRow;
use std::sync::Arc;

/// An accepted run.
#[derive(Clone, Debug)]
pub struct AcceptedRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: RunId,
    /// The deployment that the run belongs to.
    pub deployment_id: DeploymentId,
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
    fn cells(self, owner: &str) -> [Arg; 28] {
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
            end.failed_input.into(),
            end.continued_at.into(),
        ]
    }
}

/// What is stored of a run first.
const ACCEPTED: &str =
    "runs (id, deployment_id, status, phase, triggered_by, node_id, event, artifact, version_number,
     attempt, owner, takeovers, accepted_at, parent_id, parent_key, depth, awaited, started_at, completed_at,
     duration_ms, output, error, logs, trace, fuel_used, memory_bytes_peak, failed_input, continued_at)";

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
    let rows = rows.into_iter().map(|row| row.cells(owner));
    // By several statements, between which the server may have been removed.
    Ok(db.execute_all(inserts(ACCEPTED, rows, Some(is_there))).await? == count)
}

/// The same for a database's only server, which is always there, and without keys.
pub async fn accept_alone(store: &Store, server: &str, rows: Vec<AcceptedRow>) -> Result<(), StoreError> {
    let rows = rows.into_iter().map(|row| row.cells(server));
    store.execute_all(inserts(ACCEPTED, rows, None)).await
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
    /// How long it took, waits included.
    pub duration_ms: Option<i64>,
    /// When its last execution began, if it went on after a wait.
    pub continued_at: Option<Timestamp>,
    /// JSON.
    pub output: Option<String>,
    /// JSON: `{code, message, nodeId}`.
    pub error: Option<String>,
    /// JSON: `[{level, message, nodeId}]`.
    pub logs: Option<String>,
    /// JSON: what each node did.
    pub trace: Option<String>,
    /// JSON: `{path, input, truncated}` of the node that failed.
    pub failed_input: Option<String>,
    /// Fuel used.
    pub fuel_used: i64,
    /// Peak memory in bytes.
    pub memory_bytes_peak: i64,
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
            continued_at: None,
            output: None,
            error: None,
            logs: None,
            trace: None,
            failed_input: None,
            fuel_used: 0,
            memory_bytes_peak: 0,
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
        let mut cells = serializer.serialize_tuple(18)?;
        cells.serialize_element(&self.id)?;
        cells.serialize_element(&self.status.name())?;
        cells.serialize_element(&self.phase().name())?;
        cells.serialize_element(&self.attempt)?;
        cells.serialize_element(&self.resumes_at.map(Timestamp::millis))?;
        cells.serialize_element(&self.started_at.map(Timestamp::millis))?;
        cells.serialize_element(&self.completed_at.map(Timestamp::millis))?;
        cells.serialize_element(&self.duration_ms)?;
        cells.serialize_element(&self.output)?;
        cells.serialize_element(&self.error)?;
        cells.serialize_element(&self.logs)?;
        cells.serialize_element(&self.trace)?;
        cells.serialize_element(&self.fuel_used)?;
        cells.serialize_element(&self.memory_bytes_peak)?;
        cells.serialize_element(&self.wake_at.map(Timestamp::millis))?;
        cells.serialize_element(&self.owner)?;
        cells.serialize_element(&self.failed_input)?;
        cells.serialize_element(&self.continued_at.map(Timestamp::millis))?;
        cells.end()
    }
}

/// Stores what became of runs, as far as they are running and their owner's, and gives those that were.
pub async fn record(db: &mut Db<'_>, rows: &[&ResultRow]) -> Result<Vec<RunId>, StoreError> {
    let query = sql(
        "update runs set status = x.status, phase = x.phase, attempt = x.attempt,
         resumes_at = x.resumes_at, started_at = x.started_at, completed_at = x.completed_at,
         duration_ms = x.duration_ms, output = x.output, error = x.error, logs = x.logs, trace = x.trace,
         failed_input = x.failed_input, continued_at = x.continued_at,
         fuel_used = x.fuel_used, memory_bytes_peak = x.memory_bytes_peak,
         wake_at = case when x.wake_at is null then null when runs.woken then 0 else x.wake_at end,
         woken = case when x.wake_at is null then runs.woken else false end,
         takeovers = case when x.wake_at is null then runs.takeovers else 0 end, suspicion = 0, announced_by = null
         from (select r.value->>0 as id, r.value->>1 as status, r.value->>2 as phase,
               cast(r.value->>3 as bigint) as attempt, cast(r.value->>4 as bigint) as resumes_at,
               cast(r.value->>5 as bigint) as started_at, cast(r.value->>6 as bigint) as completed_at,
               cast(r.value->>7 as bigint) as duration_ms, r.value->>8 as output, r.value->>9 as error,
               r.value->>10 as logs, r.value->>11 as trace, cast(r.value->>12 as bigint) as fuel_used,
               cast(r.value->>13 as bigint) as memory_bytes_peak, cast(r.value->>14 as bigint) as wake_at,
               r.value->>15 as owner, r.value->>16 as failed_input, cast(r.value->>17 as bigint) as continued_at",
    )
    .push(elements(db))
    .bind(json(rows)?)
    .push(") x where runs.id = x.id and runs.status = 'running' and runs.owner = x.owner returning runs.id");
    let recorded: Vec<(RunId,)> = db.all(query).await?;
    Ok(recorded.into_iter().map(|(run,)| run).collect())
}
