//! Threads that hash and encrypt: as many as there are processors, and behind those that answer webhooks and execute runs, however
//! many files come at a time.

use crate::error::FileError;
use std::io;
use std::sync::LazyLock;
use std::thread::available_parallelism;
use tokio::runtime::{Builder, Runtime};

/// How much they give way to others: 5 is about a third of their share.
const NICENESS: u8 = 5;

/// A runtime of which only the threads for blocking work are used.
static THREADS: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
    let processors = available_parallelism().map_or(1, usize::from);
    Builder::new_current_thread()
        .thread_name("sealing")
        .max_blocking_threads(processors)
        .on_thread_start(|| heddle_processes::give_way(NICENESS))
        .build()
});

/// Does this on one of them.
pub async fn sealing<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, FileError> {
    match &*THREADS {
        Ok(threads) => threads.spawn_blocking(work).await.map_err(FileError::bytes),
        Err(error) => Err(FileError::bytes(io::Error::from(error.kind()))),
    }
}
