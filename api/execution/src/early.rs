//! Runs that execute while they are accepted. Nobody outside notices what a run without effects does, so it may begin
//! as soon as there is a place for it. One that ends soon is stored once, with its end; one that can't be stored has
//! never been.

use super::Inner;
use super::acceptor::Request;
use super::journal;
use super::live::Ended;
use super::queue::Place;
use super::worker::{self, Attempted, Job};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use heddle_store::runs::ResultRow;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long a sender may wait for an end that it has not asked for.
const PATIENCE: Duration = Duration::from_millis(10);

/// What has become of a run that is not stored yet.
pub(super) enum Early {
    /// It has ended, from which nothing follows but that it is stored.
    Ended(Box<ResultRow>, Ended),
    /// It executes, or something follows from its end: it goes on when it is told that it is stored, and by whom it is
    /// owned.
    Begun(oneshot::Sender<Arc<str>>),
}

impl Inner {
    /// Whether a run may begin before it is stored.
    pub(super) fn may_begin_early(&self, request: &Request) -> bool {
        let deployment = &request.deployment;
        self.lease.executes()
            && !deployment.is_struck
            && !journal::is_needed(&deployment.manifest().rights)
            && !self.paused().contains(&deployment.id)
    }
}

/// Begins a run, and waits a little for its end.
pub(super) async fn begin(inner: &Arc<Inner>, job: Job, place: Place) -> Early {
    let this = inner.clone();
    let mut attempt: BoxFuture<'static, Attempted> =
        Box::pin(async move { worker::perform(&this, job).await });
    if let Ok(attempted) = tokio::time::timeout(PATIENCE, &mut attempt).await {
        attempt = match attempted.plain_end(inner.clock.now()) {
            Ok((row, ended)) => return Early::Ended(row, ended),
            Err(attempted) => Box::pin(ready(*attempted)),
        };
    }
    let (told, stored) = oneshot::channel();
    let inner = inner.clone();
    tokio::spawn(async move {
        // Whatever it does is of no use when it is not stored.
        if let Ok((owner, attempted)) = tokio::try_join!(stored, attempt.map(Ok)) {
            worker::finish(&inner, attempted.owned_by(owner)).await;
        }
        drop(place);
    });
    Early::Begun(told)
}
