//! Parked runs: rows and nothing else, until their time has come or something has come for them. Then they are taken
//! up, and come by their journals to the place where they were.

use super::poller::keep_looking;
use super::{Inner, recover};
use heddle_model::error::ServiceError;
use heddle_store::runs::{journal, upkeep};
use metrics::counter;
use std::sync::Arc;
use std::time::Duration;

/// Runs taken up at once.
const GROUP_MAX: i64 = 64;
/// What another server has woken, or a clock that was set, is seen within this time.
const PAUSE_MAX: Duration = Duration::from_secs(1);
const PAUSE_MIN: Duration = Duration::from_millis(2);

/// Begins to wake runs, in the background.
pub(super) fn start(inner: &Arc<Inner>) {
    keep_looking(
        inner,
        |inner| &inner.waker,
        "Parked runs could not be taken up",
        look,
    );
}

/// Takes up what is due; how long to rest then.
async fn look(inner: Arc<Inner>) -> Result<Duration, ServiceError> {
    loop {
        if !inner.lease.is_valid().await {
            return Ok(PAUSE_MAX);
        }
        let next = journal::next_wake(&mut inner.store.reader().await?.db()).await?;
        let Some(next) = next else {
            return Ok(PAUSE_MAX);
        };
        let wait_ms = next.millis().saturating_sub(inner.clock.now().millis());
        match u64::try_from(wait_ms) {
            Ok(wait_ms) if wait_ms > 0 => return Ok(Duration::from_millis(wait_ms).min(PAUSE_MAX)),
            // None: another server was faster.
            _ if group(&inner).await? == 0 => return Ok(PAUSE_MIN),
            _ if *inner.stopping.borrow() => return Ok(PAUSE_MIN),
            _ => {}
        }
    }
}

async fn group(inner: &Arc<Inner>) -> Result<usize, ServiceError> {
    let (owner, now) = (inner.lease.owner(), inner.clock.now());
    let waking = owner.clone();
    let due = inner
        .store
        .write(move |db| Box::pin(async move { upkeep::wake_up(db, &waking, now, GROUP_MAX).await }))
        .await?;
    let count = due.len();
    for row in due {
        counter!("heddle_runs_woken_total").increment(1);
        let run = row.id;
        if let Err(error) = recover::go_on(inner, row, &owner).await {
            tracing::error!(%run, "A parked run could not be taken up: {}", error.message());
            let (owner, again) = (owner.clone(), now.plus(PAUSE_MAX));
            inner
                .store
                .write(move |db| Box::pin(async move { upkeep::park_again(db, &owner, run, again).await }))
                .await?;
        }
    }
    Ok(count)
}
