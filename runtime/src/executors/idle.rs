//! Executors that take what they have no right to, and tell nothing of it: they compute although they have no run, keep the place
//! of a run that was cancelled, or do not end one whose time is over.

use super::process::Executor;
use heddle_processes::processor_time;
use heddle_sandbox::clock::monotonic;
use std::sync::Weak;
use std::time::{Duration, Instant};

/// How often it is looked at.
const INTERVAL: Duration = Duration::from_secs(1);
/// Of the time without a run, an executor may compute for one part in so many, since it puts things away.
const ALLOWED_PART: u32 = 100;
/// And for so long beyond that.
const SURPLUS_MAX: Duration = Duration::from_secs(1);

/// Looks at an executor until it is gone, and ends it when it computes without a run, or does not let go of one.
pub async fn watch(executor: Weak<Executor>) {
    let mut idleness = Idleness::default();
    let mut before: Option<Look> = None;
    loop {
        let living = executor.upgrade().filter(|executor| !executor.is_gone());
        let Some(executor) = living else {
            return;
        };
        let now = monotonic();
        let look = Look::at(&executor, now);
        if let (Some(before), Some(look)) = (before, look)
            && look.idle_since.is_some()
            && look.idle_since == before.idle_since
            && idleness.note(look.used.saturating_sub(before.used), look.at - before.at)
        {
            tracing::error!("An executor process computes although it has no run: it is ended");
            return executor.give_up();
        }
        if executor.keeps_cancelled(now) {
            tracing::error!("An executor process does not let go of a run that was cancelled: it is ended");
            return executor.give_up();
        }
        if executor.keeps_overdue(now) {
            tracing::error!("An executor process does not end a run whose time is over: it is ended");
            return executor.give_up();
        }
        drop(executor);
        before = look;
        tokio::time::sleep(INTERVAL).await;
    }
}

/// What is seen of an executor.
#[derive(Clone, Copy)]
struct Look {
    at: Instant,
    /// What it had been given when it came to have no run; `None`: it has one.
    idle_since: Option<u64>,
    /// Processor time, in its life.
    used: Duration,
}

impl Look {
    /// `None`: the system does not say what it uses.
    fn at(executor: &Executor, at: Instant) -> Option<Self> {
        Some(Look {
            at,
            used: processor_time(executor.process_id()?)?,
            idle_since: executor.idle_since(),
        })
    }
}

/// Processor time without a run.
#[derive(Default)]
struct Idleness {
    surplus: Duration,
}

impl Idleness {
    /// It had no run for `time`, and has computed for `used` of that. Whether that is too much.
    fn note(&mut self, used: Duration, time: Duration) -> bool {
        let allowed = time / ALLOWED_PART;
        self.surplus = self.surplus.saturating_add(used).saturating_sub(allowed);
        self.surplus > SURPLUS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(used: Duration) -> Option<usize> {
        let mut idleness = Idleness::default();
        (1..=100_000).find(|_| idleness.note(used, INTERVAL))
    }

    #[test]
    fn who_computes_without_a_run_is_found_however_little_it_is() {
        assert_eq!(intervals(INTERVAL), Some(2));
        assert_eq!(intervals(INTERVAL * 8), Some(1));
        assert_eq!(intervals(INTERVAL / 10), Some(12));
    }

    #[test]
    fn who_puts_things_away_is_not() {
        assert_eq!(intervals(INTERVAL / 100), None);
        let mut idleness = Idleness::default();
        for _ in 0..1_000 {
            assert!(!idleness.note(INTERVAL / 2, INTERVAL));
            for _ in 0..50 {
                assert!(!idleness.note(Duration::ZERO, INTERVAL));
            }
        }
    }
}
