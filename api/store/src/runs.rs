//! Runs: accepted and ended in batches, because these are most of a busy service's writes.

pub(crate) mod event_text;
pub mod journal;
pub mod keys;
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

use self::event_text::event_sql;
use super::usage::{self, Counted, Sums};
use super::{Arg, Db, Load, MeteredLater, Sql, Store, StoreError, inserts, inserts_as, sql, with_rows};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, RunId};
use heddle_model::status::{Phase, RunStatus, TriggeredBy};
use heddle_model::tenant::Tenant;
use heddle_model::usage::Used;
use std::borrow::Cow;
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
    pub event: Option<Arc<str>>,
    /// SHA-256 of its module, in hex.
    pub artifact: Arc<str>,
    /// The pattern's version.
    pub version_number: i64,
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
    /// Of what senders and the run choose.
    pub fn bytes(&self) -> usize {
        let end = self.end.as_ref().map_or(0, |end| end.bytes());
        self.event.as_deref().map_or(0, str::len).saturating_add(end)
    }

    /// What it has used, if it is stored with its end.
    fn counted(&self) -> Option<Counted> {
        let end = self.end.as_ref()?;
        Some(end.counted(self.tenant, self.accepted_at))
    }

    /// What [`ACCEPTED`] names.
    fn cells(self, owner: &Arc<str>, is_embedded: bool) -> [Arg; 29] {
        let (parent_id, parent_key) = self.parent.unzip();
        let has_ended = self.end.is_some();
        let running = || ResultRow::running(self.id, owner.clone(), 1);
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
            owner.clone().into(),
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
            (is_embedded && has_ended).into(),
        ]
    }

    /// Whether [`ENDED`] can store it.
    fn has_ended_at_once(&self) -> bool {
        let is_first = |end: &ResultRow| end.attempt == 1 && end.continued_at.is_none();
        self.parent.is_none() && self.depth == 0 && self.end.as_deref().is_some_and(is_first)
    }

    /// What [`ENDED`] takes.
    fn cells_of_ended(self, owner: &Arc<str>) -> [Arg; 21] {
        let running = || ResultRow::running(self.id, owner.clone(), 1);
        let end = self.end.map_or_else(running, |end| *end);
        [
            self.id.into(),
            self.deployment_id.into(),
            end.status.name().into(),
            self.triggered_by.name().into(),
            self.node_id.into(),
            self.event.into(),
            self.artifact.into(),
            self.version_number.into(),
            owner.clone().into(),
            self.accepted_at.into(),
            end.started_at.into(),
            end.completed_at.into(),
            end.duration_ms.into(),
            end.output.into(),
            end.error.into(),
            end.logs.into(),
            end.trace.into(),
            end.fuel_used.into(),
            end.memory_bytes_peak.into(),
            self.awaited.into(),
            end.failed_input.into(),
        ]
    }
}

/// What is stored of a run first.
const ACCEPTED: &str =
    "runs (id, deployment_id, status, phase, triggered_by, node_id, event, artifact, version_number,
     attempt, owner, takeovers, accepted_at, parent_id, parent_key, depth, awaited, started_at, completed_at,
     duration_ms, output, error, logs, trace, fuel_used, memory_bytes_peak, failed_input, continued_at,
     is_metered_later)";

/// What is stored in an embedded database of runs that have ended at once, as most do without effects: what is the same in all of
/// them is in the text, and the columns are those of the table in its order, which saves a quarter of the time of SQLite.
const ENDED: &str =
    "insert into runs (id, deployment_id, status, phase, triggered_by, node_id, event, artifact, version_number,
     attempt, owner, takeovers, accepted_at, resumes_at, started_at, completed_at, duration_ms, output, error, logs,
     trace, fuel_used, memory_bytes_peak, wake_at, woken, parent_id, parent_key, depth, awaited, suspicion,
     announced_by, failed_input, continued_at, total_fuel, total_memory_kib_ms, total_effects, total_egress_bytes,
     is_metered_later)
     select column1, column2, column3, 'ended', column4, column5, column6, column7, column8,
     1, column9, 0, column10, null, column11, column12, column13, column14, column15, column16,
     column17, column18, column19, null, false, null, null, 0, column20, 0,
     null, column21, null, null, null, null, null,
     true from ";

/// Statements that store runs in an embedded database.
fn embedded(owner: &str, rows: Vec<AcceptedRow>, only_if: Option<(&'static str, &str)>) -> Vec<Sql> {
    // One for all rows.
    let owner: Arc<str> = owner.into();
    // A few that go on don't keep the many from what is made for them.
    let all_have_ended = rows.iter().all(AcceptedRow::has_ended_at_once);
    let (ended, others): (Vec<AcceptedRow>, Vec<AcceptedRow>) = match all_have_ended {
        true => (rows, Vec::new()),
        false => rows.into_iter().partition(AcceptedRow::has_ended_at_once),
    };
    let mut statements = Vec::new();
    if !ended.is_empty() {
        let ended = ended.into_iter().map(|row| row.cells_of_ended(&owner));
        statements.extend(inserts_as((ACCEPTED, ENDED), ended, only_if));
    }
    if !others.is_empty() {
        let others = others.into_iter().map(|row| row.cells(&owner, true));
        statements.extend(inserts(ACCEPTED, others, only_if));
    }
    statements
}

/// With a server's id: that it is one still.
const IS_THERE: &str = " and exists (select 1 from servers s where s.id = ?)";

/// Statements that store runs in a shared database, each with a part of what they have used: all of it, or nothing if the server
/// that has accepted them has lost its lease.
fn shared((server, owner): (&str, &str), (load, rows): (Load, Vec<AcceptedRow>)) -> Vec<Sql> {
    let is_there = Some((IS_THERE, server));
    let counting = usage::counting(&counter(server, load), used_by(&rows), is_there);
    let owner: Arc<str> = owner.into();
    let rows = rows.into_iter().map(|row| row.cells(&owner, false));
    let mut statements = inserts(ACCEPTED, rows, is_there);
    prepend(&mut statements, counting);
    statements
}

/// The owner of runs that any server may take.
pub const NOBODY: &str = "";

/// Stores accepted runs: for the server that has accepted them, or for [`NOBODY`]. `None`: that server has lost
/// its lease, and nothing is to be kept.
pub async fn accept(
    db: &mut Db<'_>,
    server: &str,
    owner: &str,
    (load, rows): (Load, Vec<AcceptedRow>),
) -> Result<Option<MeteredLater>, StoreError> {
    if rows.is_empty() {
        return Ok(Some(MeteredLater::default()));
    }
    let count = rows.len() as u64;
    if db.is_postgres() {
        let statements = shared((server, owner), (load, rows));
        // By several statements, between which the server may have been removed.
        let is_stored = db.execute_all(statements).await? == count;
        return Ok(is_stored.then(MeteredLater::default));
    }
    let later = MeteredLater(used_by(&rows));
    let changed = db
        .execute_all(embedded(owner, rows, Some((IS_THERE, server))))
        .await?;
    Ok((changed == count).then_some(later))
}

/// What a server's task counts as. What is large is stored beside what is small, and counted apart: whoever counts in a row waits
/// for the transaction of the one before, and two that hold what the other needs would never end.
fn counter(name: &str, load: Load) -> Cow<'_, str> {
    match load.is_large() {
        true => Cow::Owned(format!("{name} large")),
        false => Cow::Borrowed(name),
    }
}

/// Accepts runs without keys, for a server of a shared database that executes them itself; whether they are stored. One
/// statement is a transaction by itself, which spares `begin` and `commit`: nearly every group fits into one.
pub async fn accept_shared(
    store: &Store,
    server: &str,
    (load, rows): (Load, Vec<AcceptedRow>),
) -> Result<bool, StoreError> {
    let count = rows.len() as u64;
    let statements = shared((server, server), (load, rows));
    store.execute_wholly(load, statements, count).await
}

/// Accepts runs without keys, for a database's only server, which is always there.
pub async fn accept_alone(
    store: &Store,
    server: &str,
    (load, rows): (Load, Vec<AcceptedRow>),
) -> Result<(), StoreError> {
    let later = MeteredLater(used_by(&rows));
    store
        .execute_metered(load, embedded(server, rows, None), later)
        .await
}

/// What those have used that are stored with their ends. These execute without effects, so it can be read from their rows.
fn used_by(rows: &[AcceptedRow]) -> Sums {
    usage::sums(rows.iter().filter_map(AcceptedRow::counted))
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
    let query = sql("select ")
        .push(event_sql!(whole "r", db))
        .push(" from runs r where r.id = ?");
    let found: Option<(Option<String>,)> = db.optional(query.bind(run)).await?;
    Ok(found.map(|(event,)| event))
}

/// What became of an attempt: the run's end, or that it waits for its next attempt.
#[derive(Clone, Debug)]
pub struct ResultRow {
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
    pub fuel_used: i64,
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
            continued_at: None,
            output: None,
            error: None,
            logs: None,
            trace: None,
            failed_input: None,
            fuel_used: 0,
            memory_bytes_peak: 0,
            tenant: None,
            memory_kib_ms: 0,
            effects: 0,
            egress_bytes: 0,
        }
    }

    /// Of what the run has made.
    pub fn bytes(&self) -> usize {
        let made = [
            &self.output,
            &self.error,
            &self.logs,
            &self.trace,
            &self.failed_input,
        ];
        made.into_iter().flatten().map(String::len).sum()
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

    /// What the attempt has used, to be metered at its end, or else at this time.
    fn counted(&self, tenant: Tenant, at: Timestamp) -> Counted {
        Counted {
            tenant,
            at: self.completed_at.unwrap_or(at),
            used: self.used(),
        }
    }

    /// What [`RECORD`] takes.
    fn cells(&self) -> [Arg; 21] {
        [
            self.id.into(),
            self.status.name().into(),
            self.phase().name().into(),
            self.attempt.into(),
            self.resumes_at.into(),
            self.started_at.into(),
            self.completed_at.into(),
            self.duration_ms.into(),
            self.output.clone().into(),
            self.error.clone().into(),
            self.logs.clone().into(),
            self.trace.clone().into(),
            self.fuel_used.into(),
            self.memory_bytes_peak.into(),
            self.wake_at.into(),
            self.owner.clone().into(),
            self.failed_input.clone().into(),
            self.continued_at.into(),
            self.memory_kib_ms.into(),
            self.effects.into(),
            self.egress_bytes.into(),
        ]
    }

    const fn phase(&self) -> Phase {
        match self.status {
            RunStatus::Running => Phase::Waiting,
            _ => Phase::Ended,
        }
    }
}

/// Changes a run as [`ResultRow::cells`] say, between these two texts.
const RECORD: (&str, &str) = (
    "update runs set status = v.column2, phase = v.column3, attempt = v.column4, resumes_at = v.column5,
     started_at = v.column6, completed_at = v.column7, duration_ms = v.column8, output = v.column9, error = v.column10,
     logs = v.column11, trace = v.column12, fuel_used = v.column13, memory_bytes_peak = v.column14,
     wake_at = case when v.column15 is null then null when runs.woken then 0 else v.column15 end,
     woken = case when v.column15 is null then runs.woken else false end,
     takeovers = case when v.column15 is null then runs.takeovers else 0 end,
     failed_input = v.column17, continued_at = v.column18,
     total_fuel = coalesce(runs.total_fuel, 0) + v.column13,
     total_memory_kib_ms = coalesce(runs.total_memory_kib_ms, 0) + v.column19,
     total_effects = coalesce(runs.total_effects, 0) + v.column20,
     total_egress_bytes = coalesce(runs.total_egress_bytes, 0) + v.column21,
     suspicion = 0, announced_by = null from ",
    " where runs.id = v.column1 and runs.status = 'running' and runs.owner = v.column16 returning runs.id",
);

/// The run of this row, which parks, if that is stored already, as when the answer to it got lost: it may have been woken since, by
/// this server too. What its executions have used tells then, whose sum with the last one is `fuel`; `None`: that is not known.
pub async fn parked_before(
    db: &mut Db<'_>,
    row: &ResultRow,
    fuel: Option<i64>,
) -> Result<Option<RunId>, StoreError> {
    let query = sql(
        "select id from runs where id = ? and owner = ? and status = 'running' and (wake_at is not null or total_fuel = ?)",
    );
    let query = query.bind(row.id).bind(row.owner.as_ref()).bind(fuel);
    settled(db, query).await
}

/// The run of this row, which has another attempt, if that is stored already, as when the answer to it got lost: what the attempt before
/// has used would count twice.
pub async fn retried_before(db: &mut Db<'_>, row: &ResultRow) -> Result<Option<RunId>, StoreError> {
    let query = sql("select id from runs where id = ? and owner = ? and status = 'running' and attempt = ?");
    let query = query.bind(row.id).bind(row.owner.as_ref()).bind(row.attempt);
    settled(db, query).await
}

/// The run of this row, which has ended, if that is stored already: whoever waits for it is to hear of it.
pub async fn ended_before(db: &mut Db<'_>, row: &ResultRow) -> Result<Option<RunId>, StoreError> {
    // Nobody else ends a run at the same time with the same fuel.
    let query = sql(
        "select id from runs where id = ? and owner = ? and status = ? and completed_at = ?
         and coalesce(fuel_used, 0) = ?",
    );
    let query = query.bind(row.id).bind(row.owner.as_ref()).bind(row.status);
    let query = query.bind(row.completed_at).bind(row.fuel_used);
    settled(db, query).await
}

/// The run that a query finds. A commit whose answer got lost may be under way still, and is waited for.
async fn settled(db: &mut Db<'_>, query: Sql) -> Result<Option<RunId>, StoreError> {
    let query = query.push(if db.is_postgres() { " for update" } else { "" });
    let found: Option<(RunId,)> = db.optional(query).await?;
    Ok(found.map(|(run,)| run))
}

/// Stores what became of runs by now, as far as they are running and their owner's, and meters what they have used; gives
/// those that were. The load is that of all that is stored together.
pub async fn record(
    db: &mut Db<'_>,
    (load, rows): (Load, &[&ResultRow]),
    now: Timestamp,
) -> Result<Vec<RunId>, StoreError> {
    let (before, after) = RECORD;
    let changes = with_rows((before, before), rows.iter().map(|row| row.cells()), after);
    let recorded: Vec<(RunId,)> = db.all_of(changes).await?;
    let recorded: HashSet<RunId> = recorded.into_iter().map(|(run,)| run).collect();
    let stored = || rows.iter().filter(|row| recorded.contains(&row.id));
    let sums = usage::sums(stored().filter_map(|row| Some(row.counted(row.tenant?, now))));
    // No other task writes ends of this size in the name of this server.
    let counter = match rows.first() {
        Some(row) if db.is_postgres() => counter(&format!("{} ends", row.owner), load).into_owned(),
        _ => String::new(),
    };
    let counting = usage::counting(&counter, sums, None);
    if !counting.is_empty() {
        db.execute_all(counting).await?;
    }
    for row in stored().filter(|row| row.tenant.is_none() && row.status != RunStatus::Running) {
        usage::count_end(db, row.id, row.status, now).await?;
    }
    Ok(recorded.into_iter().collect())
}
