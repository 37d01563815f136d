//! Work that computes for long beside runs and their effects, as masking large results does. Its threads give way to those that
//! answer webhooks and execute runs, and an owner has as many of them at a time as there are processors: whoever has much to be
//! done waits for their own, and keeps nobody else's waiting. Knows nothing of what is computed.

use heddle_processes::give_way;
use heddle_processes::places::PerOwner;
use std::sync::LazyLock;
use std::thread::available_parallelism;
use tokio::runtime::{Builder, Runtime};

/// What has no more bytes is done where it comes.
pub const SMALL_BYTES_MAX: usize = 64 << 10;
/// How much its threads give way: 10 is about a tenth of others' share.
const NICENESS: u8 = 10;
/// Owners who have all of their threads at the same time; beyond that, the first come first.
const OWNERS_AT_ONCE: usize = 8;

/// Those of the process. `None`: the system has none for it.
static ASIDE: LazyLock<Option<Aside>> = LazyLock::new(|| {
    let processors = available_parallelism().map_or(1, usize::from);
    Aside::new(processors).ok()
});

/// Does this for an owner, as runs' owners are numbered. What the service does for itself is nobody's, and has a share like an
/// owner. `None`: it panicked.
pub async fn aside<T: Send + 'static>(
    owner: Option<u128>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    match &*ASIDE {
        Some(aside) => aside.perform(owner, work).await,
        None => Some(work()),
    }
}

/// Does what takes time in proportion to `bytes`: aside if they are many, and on this thread if they are few.
pub async fn aside_if_large<T: Send + 'static>(
    owner: Option<u128>,
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    match is_small(bytes) {
        true => Some(work()),
        false => aside(owner, work).await,
    }
}

/// Whether what takes time by so many bytes is done where it comes.
pub const fn is_small(bytes: usize) -> bool {
    bytes <= SMALL_BYTES_MAX
}

struct Aside {
    /// Of which only the threads for blocking work are used.
    threads: Runtime,
    turns: PerOwner<Option<u128>>,
}

impl Aside {
    fn new(per_owner: usize) -> std::io::Result<Self> {
        let threads = Builder::new_current_thread()
            .thread_name("heddle-aside")
            .max_blocking_threads(per_owner.saturating_mul(OWNERS_AT_ONCE))
            .on_thread_start(|| give_way(NICENESS))
            .build()?;
        Ok(Aside {
            threads,
            turns: PerOwner::new(per_owner),
        })
    }

    async fn perform<T: Send + 'static>(
        &self,
        owner: Option<u128>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        // They are never closed.
        let turn = self.turns.of(owner).acquire_owned().await.ok();
        let done = self.threads.spawn_blocking(move || {
            // It ends with the work, also if nobody waits for that any more.
            let _turn = turn;
            work()
        });
        done.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use heddle_processes::places::REMEMBERED_MAX;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;

    const PER_OWNER: usize = 2;

    /// Threads must not be dropped where futures execute.
    fn with(test: impl AsyncFnOnce(&Aside)) {
        let aside = Aside::new(PER_OWNER).unwrap();
        let here = Builder::new_current_thread().build().unwrap();
        here.block_on(test(&aside));
    }

    #[test]
    fn whoever_has_much_to_be_done_waits_for_their_own() {
        with(async |aside| {
            let (mut under_way, mut holds) = (Vec::new(), Vec::new());
            for _ in 0..PER_OWNER {
                let (hold, held) = mpsc::channel::<()>();
                let mut work = Box::pin(aside.perform(Some(1), move || held.recv().is_err()));
                assert!((&mut work).now_or_never().is_none());
                under_way.push(work);
                holds.push(hold);
            }
            let has_begun = Arc::new(AtomicBool::new(false));
            let begins = has_begun.clone();
            let mut waiting = Box::pin(aside.perform(Some(1), move || begins.store(true, Ordering::SeqCst)));
            assert!((&mut waiting).now_or_never().is_none());
            for other in [Some(2), None] {
                assert_eq!(aside.perform(other, || 7).await, Some(7));
            }
            assert!(!has_begun.load(Ordering::SeqCst));
            drop(holds);
            for work in under_way {
                assert_eq!(work.await, Some(true));
            }
            assert_eq!(waiting.await, Some(()));
            assert!(has_begun.load(Ordering::SeqCst));
        });
    }

    fn panics() {
        panic!("as it is told to");
    }

    #[test]
    fn what_panics_gives_its_turn_back_and_owners_are_forgotten() {
        with(async |aside| {
            for _ in 0..=PER_OWNER {
                assert_eq!(aside.perform(Some(1), panics).await, None);
            }
            for owner in 0..3 * REMEMBERED_MAX as u128 {
                drop(aside.turns.of(Some(owner)));
            }
            assert!(aside.turns.remembered() <= REMEMBERED_MAX);
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn its_threads_give_way() {
        with(async |aside| {
            let read = || std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            let stat = aside.perform(None, read).await.unwrap();
            // The 19th field; the second is the name.
            let (_, after_name) = stat.rsplit_once(')').unwrap();
            let niceness: i32 = after_name.split_whitespace().nth(16).unwrap().parse().unwrap();
            assert!(niceness >= i32::from(NICENESS), "{stat}");
        });
    }
}
