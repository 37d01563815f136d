//! Work that goes on when its request is given up, as when a sender goes away.

use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::runtime::Handle;

/// Is polled by the request's own task, which costs less than a task of its own would; when it is dropped before its
/// end, it goes on on such a task.
pub struct ToTheEnd<T: 'static>(Option<Work<T>>);

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<T> ToTheEnd<T> {
    /// Does nothing before it is polled.
    pub fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        ToTheEnd(Some(Box::pin(work)))
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
