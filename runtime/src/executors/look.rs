//! Whether whoever has given a run to an executor looks for the answer for a moment instead of waiting to be woken, which takes about
//! as long as a short run does. Only while no other run is under way, since the thread has nothing else to do then,
//! and not for long where answers take longer.

use super::process::RemoteRun;
use heddle_sandbox::clock::{monotonic, since};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

/// How long it is looked: the executor has to be woken, and a short run executed.
const LOOK_MAX: Duration = Duration::from_micros(120);
/// Times in a row that nothing came before it is looked for one run of so many only.
const MISSED_MAX: u32 = 8;
const ONE_OF: u32 = 32;
/// Turns of the processor between two looks, each of which is a call of the system.
const PAUSE: u32 = 32;

pub struct Looks {
    runs: AtomicUsize,
    /// Since something came.
    missed: AtomicU32,
    /// Executors have a processor of their own meanwhile.
    is_possible: bool,
}

/// A run that is under way, until it is dropped.
pub struct UnderWay<'l>(&'l Looks);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.runs.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Looks {
    pub fn new() -> Self {
        let processors = std::thread::available_parallelism();
        Looks {
            runs: AtomicUsize::new(0),
            missed: AtomicU32::new(0),
            is_possible: processors.is_ok_and(|processors| processors.get() > 1),
        }
    }

    pub fn begin(&self) -> UnderWay<'_> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        UnderWay(self)
    }
}

impl UnderWay<'_> {
    /// Looks for the first answer of a run that was given just now, if that is worth it.
    pub fn look(&self, run: &RemoteRun) {
        let Looks {
            runs,
            missed,
            is_possible,
        } = self.0;
        if !is_possible || runs.load(Ordering::Relaxed) != 1 {
            return;
        }
        let before = missed.fetch_add(1, Ordering::Relaxed);
        if before >= MISSED_MAX && !before.is_multiple_of(ONE_OF) {
            return;
        }
        let began = monotonic();
        while since(began) < LOOK_MAX {
            if run.has_answer() {
                missed.store(0, Ordering::Relaxed);
                return;
            }
            for _ in 0..PAUSE {
                std::hint::spin_loop();
            }
        }
    }
}
