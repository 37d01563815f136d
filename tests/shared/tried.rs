//! Cases of somebody who means harm, a few at a time, without taking memory.

use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinSet;

/// By which memory may grow while strangers answer, in KiB: a few answers at a time, each of which is cut off at tens of MiB, and what
/// tests beside take meanwhile, some of which fill the memory of a run or two, or compile. It was several GiB.
const GROWTH_KIB_MAX: u64 = 768 << 10;
/// Cases of a protocol at a time. Most of a case is waiting for what a server doesn't say.
const TOGETHER: usize = 32;

/// One test at a time measures memory.
static MEASURING: Mutex<()> = Mutex::const_new(());

/// Memory of this process, from now on.
pub struct Memory {
    before: u64,
    _measuring: MutexGuard<'static, ()>,
}

impl Memory {
    pub async fn measured() -> Self {
        let measuring = MEASURING.lock().await;
        // The peak begins anew. Where the system does not allow that, an earlier one hides later ones.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        Memory {
            before: memory_peak(),
            _measuring: measuring,
        }
    }

    /// Refuses growth beyond the bound. The kernel sums up what its processors count from time to time, so that a peak may be read
    /// as a little less than before.
    pub fn assert_bounded(&self, what: &str) {
        let grown = memory_peak().saturating_sub(self.before);
        assert!(grown < GROWTH_KIB_MAX, "{what}: {grown} KiB");
    }
}

/// The most memory that this process has had, in KiB.
fn memory_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse().unwrap())
}

/// Tries so many cases. A case gets its seed, and tells whether anything was spoilt.
pub async fn tried<F>(what: &str, count: u64, case: impl Fn(u64) -> F)
where
    F: Future<Output = bool> + Send + 'static,
{
    let memory = Memory::measured().await;
    let mut together = JoinSet::new();
    let mut spoilt = 0;
    for seed in 0..count {
        if together.len() >= TOGETHER {
            spoilt += u64::from(together.join_next().await.unwrap().unwrap());
        }
        together.spawn(case(seed));
    }
    while let Some(ended) = together.join_next().await {
        spoilt += u64::from(ended.unwrap());
    }
    // Otherwise most cases would try nothing.
    assert!(spoilt * 10 >= count * 8, "{what}: {spoilt} of {count} are spoilt");
    memory.assert_bounded(what);
}
