//! Metering of runs that are stored together with their end, in an embedded database. To change a row of `usage_hours` with
//! each group of them would be a further page of the write-ahead log, so they are added up in memory, and the sums are stored
//! about once a second and before somebody reads them. What a crash leaves out is found when a server starts: rows say whether they are
//! metered in this way, and `metering` up to which row that has been done.

use super::db::{Db, Sql, sql};
use super::error::StoreError;
use super::usage::{self, Sums};
use super::writer::{Done, Job};
use heddle_model::clock::{monotonic, since};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How old sums in memory become while runs end.
const AGE_MAX: Duration = Duration::from_secs(1);

/// Adds up what a crash left out.
const RECOVER: &str = "insert into usage_hours (tenant_id, hour, counter, runs, failed_runs, fuel, memory_kib_ms, effects, egress_bytes)
     select coalesce(d.workspace_id, d.user_id),
     coalesce(r.completed_at, r.accepted_at) - coalesce(r.completed_at, r.accepted_at) % 3600000, '', count(*),
     sum(r.status in ('failure', 'dead_letter')), sum(coalesce(r.fuel_used, 0)),
     sum(coalesce(r.memory_bytes_peak, 0) / 1024 * coalesce(r.duration_ms, 0)), 0, 0
     from runs r join deployments d on d.id = r.deployment_id
     where r.rowid > (select until_row from metering) and r.is_metered_later
     group by 1, 2 on conflict (tenant_id, hour, counter) do update set runs = usage_hours.runs + excluded.runs,
     failed_runs = usage_hours.failed_runs + excluded.failed_runs, fuel = usage_hours.fuel + excluded.fuel,
     memory_kib_ms = usage_hours.memory_kib_ms + excluded.memory_kib_ms";
/// Says so of all rows that there are.
const METERED: &str = "update metering set until_row = coalesce((select max(rowid) from runs), 0)";

/// What runs have used that a transaction stores with their ends: it is metered once that is committed.
#[derive(Debug, Default)]
pub struct MeteredLater(pub(super) Sums);

/// What is stored and not in `usage_hours` yet.
#[derive(Debug)]
pub(super) struct Unmetered(Mutex<State>);

#[derive(Debug)]
struct State {
    sums: Sums,
    /// Transactions under way that store sums.
    storing: usize,
    /// Whether one is asked for in the background and has not begun.
    is_asked: bool,
    /// When sums were taken last.
    taken_at: Instant,
}

impl Unmetered {
    pub fn new() -> Self {
        Unmetered(Mutex::new(State {
            sums: Sums::new(),
            storing: 0,
            is_asked: false,
            taken_at: monotonic(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what has been committed, in the order in which the writer commits.
    pub fn add(&self, later: MeteredLater) {
        usage::add_up(&mut self.state().sums, later.0);
    }

    /// Whether sums are old and nobody is about to store them: whoever asks is to.
    pub fn falls_due(&self) -> bool {
        let mut state = self.state();
        let is_due = !state.sums.is_empty()
            && state.storing == 0
            && !state.is_asked
            && since(state.taken_at) >= AGE_MAX;
        state.is_asked |= is_due;
        is_due
    }

    /// What was due could not be begun.
    pub fn give_up(&self) {
        self.state().is_asked = false;
    }

    pub fn is_settled(&self) -> bool {
        let state = self.state();
        state.sums.is_empty() && state.storing == 0
    }

    /// A write that stores the sums, for a transaction of its own: when it begins, they are those of all rows that are there.
    pub fn job(self: Arc<Self>, done: oneshot::Sender<Result<(), StoreError>>) -> Job {
        Box::new(move |db| {
            Box::pin(async move {
                let sums = self.take();
                let stored = match db {
                    Ok(mut db) => store(&mut db, &sums).await,
                    Err(error) => Err(error),
                };
                Done {
                    keep: stored.is_ok(),
                    answer: Box::new(move |settled| {
                        let settled = settled.and(stored);
                        self.settle(settled.is_err().then_some(sums));
                        // Nobody listens any more when the caller has gone.
                        let _ = done.send(settled);
                    }),
                }
            })
        })
    }

    fn take(&self) -> Sums {
        let mut state = self.state();
        state.storing += 1;
        state.is_asked = false;
        state.taken_at = monotonic();
        std::mem::take(&mut state.sums)
    }

    /// Ends what [`Unmetered::take`] began, and takes back what was not stored.
    fn settle(&self, refused: Option<Sums>) {
        let mut state = self.state();
        state.storing = state.storing.saturating_sub(1);
        usage::add_up(&mut state.sums, refused.unwrap_or_default());
    }
}

async fn store(db: &mut Db<'_>, sums: &Sums) -> Result<(), StoreError> {
    if sums.is_empty() {
        return Ok(());
    }
    let mut statements = usage::counting("", sums.clone(), None);
    statements.push(sql(METERED));
    db.execute_all(statements).await.map(drop)
}

/// Statements that meter what a crash has left out.
pub(super) fn recovery() -> Vec<Sql> {
    vec![sql(RECOVER), sql(METERED)]
}
