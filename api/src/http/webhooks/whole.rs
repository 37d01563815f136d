//! Reading a body into memory, and where large ones are looked at. Knows nothing about what it means.

use crate::app::App;
use crate::http::error::ApiError;
use crate::http::extract::unread;
use axum::body::{Body, Bytes, HttpBody};
use heddle_execution::blocking::blocking;
use heddle_model::ids::UserId;
use heddle_model::{Code, ServiceError};
use heddle_runtime::is_small;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Handle;

/// Time limit for receiving a body.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);
/// To hash and to read more than this takes milliseconds.
pub const SMALL_BYTES_MAX: usize = 256 << 10;
/// How many times the memory of what was sent is taken by what is made of it on the way to an event: as JSON, a control character has
/// six bytes.
const FACTOR: usize = 14;

/// Reads a body, limited in size and time.
pub async fn read(body: Body, bytes_max: usize) -> Result<Bytes, ApiError> {
    let too_late = || Code::RequestTimeout.with("The body took too long to arrive.");
    let too_large = || Code::PayloadTooLarge.with(format!("The body is larger than {bytes_max} bytes."));
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large().into());
    }
    let mut reading = pin!(Limited::new(body, bytes_max).collect());
    let collected = match soon(reading.as_mut()).await {
        Some(collected) => collected,
        None => {
            let collected = tokio::time::timeout(BODY_TIME_MAX, reading).await;
            collected.map_err(|_| too_late())?
        }
    };
    match collected {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large().into()),
        Err(error) => Err(unread(&*error)),
    }
}

/// What a future gives at once, or once its task has been polled again: a body that has come with its head is there by then, and
/// no timer is set for it.
async fn soon<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    let mut was_polled = false;
    poll_fn(|cx| match Pin::new(&mut future).poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if was_polled => Poll::Ready(None),
        Poll::Pending => {
            was_polled = true;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

/// Does what takes long with a large body that was sent to an owner, where no other request waits for it, and nobody else's does for
/// many of theirs.
pub async fn beside<T, F>(
    app: &App,
    owner: Option<UserId>,
    work: impl FnOnce() -> F + Send + 'static,
) -> Result<T, ApiError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, ApiError>> + 'static,
{
    let place = app.webhooks.turns.take_place(owner).await;
    let runtime = Handle::current();
    let work = move || {
        let done = runtime.block_on(work());
        // Whoever waits for it may have gone: it takes the processor until here all the same.
        drop(place);
        done
    };
    blocking(work).await?
}

/// Does what takes time by so many bytes, which somebody has sent to an owner: here if they are few, or else with the owner's share of
/// memory, where no other request waits for it.
pub async fn computed<T: Send + 'static>(
    app: &App,
    owner: Option<UserId>,
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    if is_small(bytes) {
        return Ok(work());
    }
    let place = match owner {
        Some(owner) => app.webhooks.turns.take_large(owner).await?,
        None => None,
    };
    let work = move || {
        let done = work();
        drop(place);
        done
    };
    app.budget.read(owner, (bytes, FACTOR), work).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};

    #[tokio::test]
    async fn what_is_there_soon_is_given_and_nothing_else_is_waited_for() {
        assert_eq!(soon(ready(1)).await, Some(1));
        let mut polls = 0;
        let second = poll_fn(|_| {
            polls += 1;
            if polls == 2 { Poll::Ready(2) } else { Poll::Pending }
        });
        assert_eq!(soon(second).await, Some(2));
        assert_eq!(soon(pending::<()>()).await, None);
    }
}
