//! Work that computes for long, on threads that may be blocked.

use heddle_model::error::ServiceError;
use std::sync::LazyLock;
use std::thread::available_parallelism;
use tokio::runtime::{Builder, Runtime};

/// How much its threads give way to those that answer webhooks and execute runs: 10 is about a tenth of their share.
const NICENESS: u8 = 10;

/// Does `work` on a thread that may be blocked. The error is [`Code::Internal`](heddle_model::error::Code::Internal): the
/// work panicked, or the process ends.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(ServiceError::internal)
}

/// The same for what a user may ask for in any number and nobody else waits for: as many at a time as there are
/// processors, on threads that give way to all others.
pub async fn computing<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    match &*THREADS {
        Ok(threads) => threads.spawn_blocking(work).await.map_err(ServiceError::internal),
        Err(error) => Err(ServiceError::internal(std::io::Error::from(error.kind()))),
    }
}

/// A runtime of which only the threads for blocking work are used.
static THREADS: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    let processors = available_parallelism().map_or(1, usize::from);
    Builder::new_current_thread()
        .thread_name("computing")
        .max_blocking_threads(processors)
        .on_thread_start(|| heddle_processes::give_way(NICENESS))
        .build()
});
