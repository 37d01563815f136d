//! Work that computes for long, on threads that may be blocked.

use heddle_model::error::ServiceError;
use std::sync::LazyLock;
use std::thread::available_parallelism;
use tokio::runtime::{Builder, Runtime};

/// How much threads give way to those that answer webhooks and execute runs: 10 is about a tenth of their share, 5 a third.
const NICENESS: u8 = 10;
const NICENESS_OF_HASHING: u8 = 5;

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
    on(&COMPUTING, work).await
}

/// The same for passwords, which no other computation keeps waiting.
pub async fn hashing<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    on(&HASHING, work).await
}

/// A runtime of which only the threads for blocking work are used.
type Threads = LazyLock<std::io::Result<Runtime>>;

static COMPUTING: Threads = LazyLock::new(|| threads("computing", NICENESS));
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
