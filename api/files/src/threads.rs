//! Threads that hash and encrypt: as many as there are processors, and behind those that answer webhooks and execute runs, however
//! many files come at a time. Those of one owner wait for each other, and for one piece of others' at most.

use crate::error::FileError;
use heddle_processes::places::PerOwner;
use std::io;
use std::sync::LazyLock;
use std::thread::available_parallelism;
use tokio::runtime::{Builder, Runtime};

/// How much they give way to others: 5 is about a third of their share.
const NICENESS: u8 = 5;

static THREADS: LazyLock<io::Result<Threads>> = LazyLock::new(|| {
    let processors = available_parallelism().map_or(1, usize::from);
    Threads::new(processors, processors)
});

struct Threads {
    /// Only its threads for blocking work are used.
    runtime: Runtime,
    turns: PerOwner<u128>,
}

impl Threads {
    fn new(threads: usize, per_owner: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .thread_name("sealing")
            .max_blocking_threads(threads)
            .on_thread_start(|| heddle_processes::give_way(NICENESS))
            .build()?;
        Ok(Threads {
            runtime,
            turns: PerOwner::new(per_owner),
        })
    }

    async fn perform<T: Send + 'static>(
        &self,
        owner: u128,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, FileError> {
        // They are never closed.
        let turn = self.turns.of(owner).acquire_owned().await.ok();
        let done = self.runtime.spawn_blocking(move || {
            // It ends with the work, also if nobody waits for that any more.
            let _turn = turn;
            work()
        });
        done.await.map_err(FileError::bytes)
    }
}

/// Does this on one of them, in this owner's turn.
pub async fn sealing<T: Send + 'static>(
    owner: u128,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, FileError> {
    match &*THREADS {
        Ok(threads) => threads.perform(owner, work).await,
        Err(error) => Err(FileError::bytes(io::Error::from(error.kind()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::sync::mpsc;

    #[test]
    fn files_of_an_owner_wait_for_their_own_only() {
        // Threads must not be dropped where futures execute.
        let threads = Threads::new(2, 1).unwrap();
        let here = Builder::new_current_thread().build().unwrap();
        here.block_on(async {
            let (hold, held) = mpsc::channel::<()>();
            let mut first = Box::pin(threads.perform(1, move || held.recv().is_err()));
            assert!((&mut first).now_or_never().is_none());
            let mut second = Box::pin(threads.perform(1, || 2));
            assert!((&mut second).now_or_never().is_none());
            assert_eq!(threads.perform(2, || 7).await.unwrap(), 7);
            assert_eq!(threads.turns.of(1).available_permits(), 0);
            drop(hold);
            assert!(first.await.unwrap());
            assert_eq!(second.await.unwrap(), 2);
        });
    }
}
