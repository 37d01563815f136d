//! Runs that execute while they are accepted. Nobody outside notices what a run without effects does, so it may begin
//! as soon as there is a place for it. One that ends soon is stored once, with its end; one that can't be stored has
//! never been.

use crate::attempt::PlainEnd;
use crate::dispatcher::ExecuteRuns;
use crate::patience::Patience;
use crate::queue::Place;
use crate::run::Run;
use futures_util::future::BoxFuture;
use heddle_model::clock::Clock;
use std::future::ready;
use std::sync::Arc;
use tokio::sync::oneshot;

/// What has become of a run that is not stored yet.
pub(crate) enum Early {
    /// It has ended, from which nothing follows but that it is stored.
    Ended(PlainEnd),
    /// It executes, or something follows from its end: it goes on when it hears that it is stored, and by whom it is
    /// owned.
    Begun(oneshot::Sender<Arc<str>>),
}

/// Begins a run, and waits a little for its end, which its sender may not have asked for.
pub(crate) async fn begin(
    executor: Arc<dyn ExecuteRuns>,
    (clock, patience): (&Clock, &Patience),
    run: Run,
    place: Place,
) -> Early {
    let mut attempt: BoxFuture<'static, _> = executor.clone().attempt(run);
    if let Some(finished) = patience.wait(&mut attempt).await {
        attempt = match finished.plain_end(clock.now()) {
            Ok(end) => return Early::Ended(end),
            Err(finished) => Box::pin(ready(*finished)),
        };
    }
    let (sender, stored) = oneshot::channel();
    executor.finish_once_stored(attempt, stored, place);
    Early::Begun(sender)
}
