//! Finding the run that brings servers down. Runs that may have are tried one after another, each announced before it
//! begins, and as long as possible while nothing else executes: then the next death says which one it was. Who waits
//! and is innocent ends as ever; who is found out is a dead letter, and counts against its deployment.
//!
//! How long this takes: a run that brings a server down within [`patience`] of its beginning does so once before anything
//! is known, and once while it is tried alone. Later ones are found out as the times grow with the suspicion: from the third
//! death on after the server has begun to listen, since a start may not take that long.

use crate::attempt::EndingRun;
use crate::dispatcher::Dispatcher;
use crate::executor::Executor;
use crate::lease::Lease;
use crate::live::{self, End, Ended};
use crate::queue::{Hold, Queue};
use crate::resume::Resumer;
use crate::retry::retry_while_unavailable;
use crate::run_error::run_error;
use crate::stop::Stop;
use heddle_model::error::{ServiceError, chain};
use heddle_model::status::RunStatus;
use heddle_runtime::INTERRUPTED;
use heddle_store::runs::left::LeftRow;
use heddle_store::runs::suspects;
use heddle_store::{Store, StoreError};
use metrics::counter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Runs that may be under way at once while runs are tried: those that are slow.
const SLOW_MAX: usize = 64;
/// Runs ended by one look.
const GUILTY_MAX: i64 = 64;
/// How long nothing else executes because of runs that may have brought down a server once or twice.
const ALONE_MAX: Duration = Duration::from_secs(3);
/// How long what executes gets to end before, the first time.
const DRAIN_MIN: Duration = Duration::from_secs(1);

/// How long a run may take that is tried beside others, before the next one is.
const PATIENCE_BESIDE: Duration = Duration::from_millis(50);

/// How long a run may take that is tried while nothing else executes.
fn patience(suspicion: i64) -> Duration {
    match suspicion {
        ..=1 => Duration::from_millis(500),
        2 => Duration::from_secs(2),
        _ => Duration::MAX,
    }
}

/// Tries runs under suspicion.
pub(crate) struct Trials {
    pub store: Store,
    pub lease: Arc<Lease>,
    pub queue: Queue,
    pub resumer: Resumer,
    pub dispatcher: Arc<Dispatcher>,
    pub executor: Arc<Executor>,
    pub stop: Stop,
    /// How long a run may take.
    pub deadline: Duration,
    /// How often what executed did not end in time, by looks before.
    pub failures: AtomicU32,
}

impl Trials {
    /// Tries what is to be tried before this server does anything else. What could not be tried is by [`Trials::look`].
    pub async fn before_all(&self) {
        if !self.lease.is_valid().await {
            return;
        }
        let hold = self.queue.hold();
        let tried = match self.end_guilty().await {
            Ok(()) => self.at_start(hold).await,
            Err(error) => Err(error),
        };
        if let Err(error) = tried {
            tracing::error!("Runs under suspicion could not be tried: {}", chain(&error));
        }
    }

    /// Tries runs while nothing else executes, unless the strongest suspicion asks for longer than a start may take: such a run brings
    /// its server down late, and begun here it would go on beside others by then, with nothing proved.
    async fn at_start(&self, hold: Hold) -> Result<(), ServiceError> {
        match self.strongest().await? {
            Some(strongest) if self.alone_max(strongest) <= ALONE_MAX => {
                self.alone(hold, ALONE_MAX).await.map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Tries what is to be tried, while nothing else executes if that can be had.
    pub async fn look(&self) -> Result<(), ServiceError> {
        self.end_guilty().await?;
        let Some(strongest) = self.strongest().await? else {
            self.failures.store(0, Ordering::Relaxed);
            return Ok(());
        };
        let hold = self.queue.hold();
        let patience = DRAIN_MIN.saturating_mul(1 << self.failures.load(Ordering::Relaxed).min(9));
        if self.drained(patience).await {
            self.failures.store(0, Ordering::Relaxed);
            if !self.alone(hold, self.alone_max(strongest)).await? {
                return Ok(());
            }
        } else {
            self.failures.fetch_add(1, Ordering::Relaxed);
            drop(hold);
        }
        self.beside_others().await
    }

    /// Tries runs that have done no more than to be there once, one after another.
    async fn beside_others(&self) -> Result<(), ServiceError> {
        while !self.stop.has_begun() {
            let Some(row) = self.take(1).await? else { break };
            if let Some(end) = self.resumer.resume(row, &self.lease.owner()).await? {
                // Slow ones go on while the next one begins.
                let _ = tokio::time::timeout(PATIENCE_BESIDE, live::wait(end)).await;
            }
        }
        Ok(())
    }

    /// How long nothing else may execute: with a run that was there at many deaths until that one has ended.
    fn alone_max(&self, strongest: i64) -> Duration {
        match strongest {
            ..=2 => ALONE_MAX,
            3 | 4 => ALONE_MAX * 8,
            _ => self.deadline + ALONE_MAX,
        }
    }

    /// Waits until nothing executes any more.
    async fn drained(&self, patience: Duration) -> bool {
        let idle = async {
            while self.queue.counts().1 > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(patience, idle).await.is_ok()
    }

    async fn strongest(&self) -> Result<Option<i64>, ServiceError> {
        Ok(suspects::strongest(&mut self.store.reader().await?.db()).await?)
    }

    async fn take(&self, suspicion_max: i64) -> Result<Option<LeftRow>, ServiceError> {
        let owner = self.lease.owner();
        let taken = self
            .store
            .write(move |db| Box::pin(async move { suspects::take(db, &owner, suspicion_max).await }));
        let taken: Result<_, StoreError> = taken.await;
        Ok(taken?)
    }

    /// Tries one run after another while nothing else executes. `false`: another server is at it.
    async fn alone(&self, hold: Hold, time: Duration) -> Result<bool, ServiceError> {
        if self.strongest().await?.is_none() {
            return Ok(true);
        }
        let owner = self.lease.owner();
        if !self.set_trying(&owner, true).await? {
            return Ok(false);
        }
        let until = heddle_model::clock::monotonic() + time;
        let tried = self.one_by_one(&owner, until).await;
        // Before anything else executes.
        self.set_trying(&owner, false).await?;
        drop(hold);
        tried.map(|()| true)
    }

    async fn one_by_one(&self, owner: &Arc<str>, until: Instant) -> Result<(), ServiceError> {
        while !self.stop.has_begun()
            && heddle_model::clock::monotonic() < until
            && self.queue.counts().1 < SLOW_MAX
        {
            let Some(row) = self.take(i64::MAX).await? else {
                break;
            };
            counter!("heddle_runs_taken_up_total").increment(1);
            let patience = patience(row.suspicion);
            if let Some(end) = self.begin(row, owner).await? {
                let patience =
                    patience.min(until.saturating_duration_since(heddle_model::clock::monotonic()));
                // Slow ones go on.
                let _ = tokio::time::timeout(patience, live::wait(end)).await;
            }
        }
        Ok(())
    }

    /// Begins a run past the queue; gives its end to wait for, unless it is not due.
    async fn begin(&self, row: LeftRow, owner: &Arc<str>) -> Result<Option<End>, ServiceError> {
        if self.resumer.until_due(&row).is_some() {
            return self.resumer.resume(row, owner).await;
        }
        let Some(run) = self.resumer.prepare(row, owner).await? else {
            return Ok(None);
        };
        let end = run.live.watch();
        self.dispatcher.execute_now(run);
        Ok(Some(end))
    }

    async fn set_trying(&self, owner: &Arc<str>, is_trying: bool) -> Result<bool, ServiceError> {
        let write = || {
            let owner = owner.clone();
            self.store
                .write(move |db| Box::pin(async move { suspects::set_trying(db, &owner, is_trying).await }))
        };
        let on_wait = |reason: &str| tracing::warn!("Runs under suspicion have to wait: {reason}");
        Ok(retry_while_unavailable(write, on_wait).await?)
    }

    /// Ends the runs that were found to bring servers down.
    async fn end_guilty(&self) -> Result<(), ServiceError> {
        let owner = self.lease.owner();
        let taking = owner.clone();
        let guilty = self
            .store
            .write(move |db| Box::pin(async move { suspects::take_guilty(db, &taking, GUILTY_MAX).await }));
        let guilty: Result<Vec<LeftRow>, StoreError> = guilty.await;
        for row in guilty? {
            let (run, deployment, deaths) = (row.id, row.deployment_id, row.suspicion.saturating_neg());
            tracing::error!(
                %run, %deployment,
                "A run has crashed a server {deaths} times, the last time as the only run executing: it is \
                    given up"
            );
            counter!("heddle_runs_quarantined_total").increment(1);
            let message = format!(
                "A server crashed {deaths} times while executing this run, the last time while executing no \
                    other, so the run is not executed again. The server's log says why it crashed. Fix the \
                    cause, then retry the run."
            );
            if let Some(run) = self.resumer.prepare(row, &owner).await? {
                let ended = Ended::failed(RunStatus::DeadLetter, run_error(INTERRUPTED, message));
                self.executor.end(EndingRun::without_executing(run, ended)).await;
            }
        }
        Ok(())
    }
}
