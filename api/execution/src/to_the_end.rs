//! Work that continues when its request is aborted, for example because the client disconnects.

use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::runtime::Handle;

/// Polled by the request's own task, which is cheaper than a separate one. If it is dropped before it is done, it
/// continues on a new task.
pub struct ToTheEnd<T: 'static>(Option<Work<T>>);

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<T> ToTheEnd<T> {
    /// Does nothing before it is polled.
    pub fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        ToTheEnd(Some(Box::pin(work)))
    }

    /// Makes the work in its final place: a future that is handed over is copied whole, however little is in it yet.
    pub fn made<F>(make: impl FnOnce() -> F) -> Self
    where
        F: Future<Output = T> + Send + 'static,
    {
        let place = Box::new_uninit();
        let work = Box::write(place, make());
        ToTheEnd(Some(Box::into_pin(work)))
    }
}

impl<T> Future for ToTheEnd<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // Taken out, so that one that panics is not polled again.
        let Some(mut work) = self.0.take() else {
            return Poll::Pending;
        };
        let poll = work.as_mut().poll(cx);
        if poll.is_pending() {
            self.0 = Some(work);
        }
        poll
    }
}

impl<T> Drop for ToTheEnd<T> {
    fn drop(&mut self) {
        if let (Some(work), Ok(executor)) = (self.0.take(), Handle::try_current()) {
            executor.spawn(async move { drop(work.await) });
        }
    }
}
