//! Work that computes for long, on threads that may be blocked.

use crate::held::held;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::UserId;
use heddle_runtime::{aside, is_small};
use std::sync::LazyLock;
use std::thread::available_parallelism;
use tokio::runtime::{Builder, Runtime};

/// How much threads for passwords give way to those that answer webhooks and execute runs: 5 is about a third of their share.
const NICENESS_OF_HASHING: u8 = 5;

/// Does `work` on a thread that may be blocked. The error is [`Code::Internal`]: the
/// work panicked, or the process ends.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(ServiceError::internal)
}

/// Does `work` that a user may ask for in any number: beside what runs of theirs have to be computed, on threads that give way to
/// all others. Whoever has much of it waits for their own, and keeps nobody else waiting.
pub async fn computing<T: Send + 'static>(
    owner: Option<UserId>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    // The work goes on if nobody waits for it any more, and so does what it needs.
    let held = held();
    let work = move || {
        let done = work();
        drop(held);
        done
    };
    let done = aside(owner.map(|owner| owner.as_u128()), work).await;
    done.ok_or_else(|| Code::Internal.into())
}

/// Does `work` that takes time in proportion to `bytes`: as [`computing`] does if they are many, and on this thread if they are few.
pub async fn computing_if_large<T: Send + 'static>(
    owner: Option<UserId>,
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    match is_small(bytes) {
        true => Ok(work()),
        false => computing(owner, work).await,
    }
}

/// Does `work` on passwords, as many at a time as there are processors: no other computation keeps them waiting.
pub async fn hashing<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    on(&HASHING, work).await
}

/// A runtime of which only the threads for blocking work are used.
type Threads = LazyLock<std::io::Result<Runtime>>;

static HASHING: Threads = LazyLock::new(|| threads("hashing", NICENESS_OF_HASHING));

async fn on<T: Send + 'static>(
    threads: &'static Threads,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    match &**threads {
        Ok(threads) => threads.spawn_blocking(work).await.map_err(ServiceError::internal),
        Err(error) => Err(ServiceError::internal(std::io::Error::from(error.kind()))),
    }
}

fn threads(name: &str, niceness: u8) -> std::io::Result<Runtime> {
    let processors = available_parallelism().map_or(1, usize::from);
    Builder::new_current_thread()
        .thread_name(name)
        .max_blocking_threads(processors)
        .on_thread_start(move || heddle_processes::give_way(niceness))
        .build()
}
