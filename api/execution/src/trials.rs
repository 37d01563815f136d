//! Finding the run that brings servers down. Runs that may have are tried one after another, each announced before it
//! begins, and as long as possible while nothing else executes: then the next death says which one it was. Who waits
//! and is innocent ends as ever; who is found out is a dead letter, and counts against its deployment.
//!
//! How long this takes: a run that brings a server down within [`patience`] of its beginning does so once before anything
//! is known, and once while it is tried alone. Later ones are found out as the times grow with the suspicion.

use super::live;
use super::queue::{Class, Hold};
use super::recover;
use super::retry::retry_while_unavailable;
use super::worker;
use super::{Inner, recover::End};
use heddle_model::error::ServiceError;
use heddle_model::status::RunStatus;
use heddle_store::StoreError;
use heddle_store::runs::suspects;
use heddle_store::runs::upkeep::LeftRow;
use metrics::counter;
use std::sync::Arc;
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

/// The same while nothing else executes.
fn patience(suspicion: i64) -> Duration {
    match suspicion {
        ..=1 => Duration::from_millis(500),
        2 => Duration::from_secs(2),
        _ => Duration::MAX,
    }
}

/// What is known from looks before.
#[derive(Debug, Default)]
pub(super) struct Trials {
    /// How often what executed did not end in time.
    failures: u32,
}

/// Tries what is to be tried before this server does anything else. What could not be tried is by [`Trials::look`].
pub(super) async fn before_all(inner: &Arc<Inner>) {
    if !inner.lease.is_valid().await {
        return;
    }
    let hold = inner.queue.hold();
    let tried = match end_guilty(inner).await {
        Ok(()) => alone(inner, hold, ALONE_MAX).await.map(drop),
        Err(error) => Err(error),
    };
    if let Err(error) = tried {
        tracing::error!("Runs under suspicion could not be tried: {}", error.message());
    }
}

impl Trials {
    /// Tries what is to be tried, while nothing else executes if that can be had.
    pub async fn look(&mut self, inner: &Arc<Inner>) -> Result<(), ServiceError> {
        end_guilty(inner).await?;
        let Some(strongest) = strongest(inner).await? else {
            self.failures = 0;
            return Ok(());
        };
        let hold = inner.queue.hold();
        if drained(inner, DRAIN_MIN.saturating_mul(1 << self.failures.min(9))).await {
            self.failures = 0;
            if !alone(inner, hold, alone_max(inner, strongest)).await? {
                return Ok(());
            }
        } else {
            self.failures += 1;
            drop(hold);
        }
        // The others have done no more than to be there once.
        while !*inner.stopping.borrow() {
            let Some(row) = take(inner, 1).await? else { break };
            let owner = inner.lease.owner();
            if let Some(end) = recover::go_on(inner, row, &owner).await? {
                // Slow ones go on while the next one begins.
                let _ = tokio::time::timeout(PATIENCE_BESIDE, live::wait(end)).await;
            }
        }
        Ok(())
    }
}

/// How long nothing else may execute: with a run that was there at many deaths until that one has ended.
fn alone_max(inner: &Inner, strongest: i64) -> Duration {
    match strongest {
        ..=2 => ALONE_MAX,
        3 | 4 => ALONE_MAX * 8,
        _ => inner.limits.deadline + ALONE_MAX,
    }
}

/// Waits until nothing executes any more.
async fn drained(inner: &Inner, patience: Duration) -> bool {
    let idle = async {
        while inner.queue.counts().1 > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(patience, idle).await.is_ok()
}

async fn strongest(inner: &Inner) -> Result<Option<i64>, ServiceError> {
    Ok(suspects::strongest(&mut inner.store.reader().await?.db()).await?)
}

async fn take(inner: &Inner, suspicion_max: i64) -> Result<Option<LeftRow>, ServiceError> {
    let owner = inner.lease.owner();
    let taken = inner
        .store
        .write(move |db| Box::pin(async move { suspects::take(db, &owner, suspicion_max).await }));
    let taken: Result<_, StoreError> = taken.await;
    Ok(taken?)
}

/// Tries one run after another while nothing else executes. `false`: another server is at it.
async fn alone(inner: &Arc<Inner>, hold: Hold, time: Duration) -> Result<bool, ServiceError> {
    if strongest(inner).await?.is_none() {
        return Ok(true);
    }
    let owner = inner.lease.owner();
    if !set_trying(inner, &owner, true).await? {
        return Ok(false);
    }
    let until = Instant::now() + time;
    let tried = one_by_one(inner, &owner, until).await;
    // Before anything else executes.
    set_trying(inner, &owner, false).await?;
    drop(hold);
    tried.map(|()| true)
}

async fn one_by_one(inner: &Arc<Inner>, owner: &Arc<str>, until: Instant) -> Result<(), ServiceError> {
    while !*inner.stopping.borrow() && Instant::now() < until && inner.queue.counts().1 < SLOW_MAX {
        let Some(row) = take(inner, i64::MAX).await? else {
            break;
        };
        counter!("heddle_runs_taken_up_total").increment(1);
        let patience = patience(row.suspicion);
        if let Some(end) = begin(inner, row, owner).await? {
            let patience = patience.min(until.saturating_duration_since(Instant::now()));
            // Slow ones go on.
            let _ = tokio::time::timeout(patience, live::wait(end)).await;
        }
    }
    Ok(())
}

/// Begins a run past the queue; gives its end to wait for, unless it is not due.
async fn begin(inner: &Arc<Inner>, row: LeftRow, owner: &Arc<str>) -> Result<Option<End>, ServiceError> {
    if row.resumes_at.is_some_and(|at| at > inner.clock.now().millis()) {
        return recover::go_on(inner, row, owner).await;
    }
    let Some(job) = recover::prepare(inner, row, owner).await? else {
        return Ok(None);
    };
    let end = job.live.watch();
    let place = inner.queue.admit(job.deployment.share(), Class::of(job.wait));
    tokio::spawn(worker::begin(inner.clone(), job, Some(place)));
    Ok(Some(end))
}

async fn set_trying(inner: &Inner, owner: &Arc<str>, is_trying: bool) -> Result<bool, ServiceError> {
    let write = || {
        let owner = owner.clone();
        inner
            .store
            .write(move |db| Box::pin(async move { suspects::set_trying(db, &owner, is_trying).await }))
    };
    let waits = |reason: &str| tracing::warn!("Runs under suspicion have to wait: {reason}");
    Ok(retry_while_unavailable(write, waits).await?)
}

/// Ends the runs that were found to bring servers down.
async fn end_guilty(inner: &Arc<Inner>) -> Result<(), ServiceError> {
    let owner = inner.lease.owner();
    let taking = owner.clone();
    let guilty = inner
        .store
        .write(move |db| Box::pin(async move { suspects::take_guilty(db, &taking, GUILTY_MAX).await }));
    let guilty: Result<Vec<LeftRow>, StoreError> = guilty.await;
    for row in guilty? {
        let (run, deployment, deaths) = (row.id, row.deployment_id, row.suspicion.saturating_neg());
        tracing::error!(
            %run, %deployment,
            "A run has brought down a server {deaths} times, the last time as the only one that executed: it is given up"
        );
        counter!("heddle_runs_quarantined_total").increment(1);
        let message = format!(
            "A server died {deaths} times while this run executed, the last time when it was the only one, so it is not \
             executed any more. The log of the server has what it died of. When that is put right, retry the run."
        );
        if let Some(job) = recover::prepare(inner, row, &owner).await? {
            let error = recover::error("INTERRUPTED", message);
            worker::end_without_executing(inner, job, RunStatus::DeadLetter, error).await;
        }
    }
    Ok(())
}
