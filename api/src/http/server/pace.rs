//! How fast an address is refused what is too much: so many answers a second at once, and each beyond that a little later. So
//! whoever goes on all the same, as fast as the answers come, keeps nobody busy. Knows nothing of requests.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Refusals in a second that are answered at once.
const AT_ONCE_MAX: f64 = 100.0;
/// How much later each other one is.
const LATER: Duration = Duration::from_millis(250);
/// Answers that are late at a time, where many clients have one address: each takes a connection of their proxy, which has to have
/// some for the others.
const LATE_MAX: usize = 128;

/// The pace of one address.
#[derive(Debug)]
pub(super) struct Pace(Mutex<Left>);

/// How many may be answered at once, as of a time.
#[derive(Debug)]
struct Left {
    count: f64,
    at: Option<Instant>,
    /// Answers that are late at the moment.
    late: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Pace(Mutex::new(Left {
            count: AT_ONCE_MAX,
            at: None,
            late: 0,
        }))
    }
}

impl Pace {
    fn left(&self) -> MutexGuard<'_, Left> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long the answer of a refusal waits, until [`Pace::waited`]; `None`: not at all. `is_shared`: by many clients.
    pub fn wait(&self, now: Instant, is_shared: bool) -> Option<Duration> {
        let mut left = self.left();
        let passed = left
            .at
            .map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        left.at = Some(now);
        left.count = (left.count + passed.as_secs_f64() * AT_ONCE_MAX).min(AT_ONCE_MAX);
        if left.count >= 1.0 {
            left.count -= 1.0;
            return None;
        }
        if is_shared && left.late >= LATE_MAX {
            return None;
        }
        left.late += 1;
        Some(LATER)
    }

    /// One of those that wait does so no more.
    pub fn waited(&self) {
        let mut left = self.left();
        left.late = left.late.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_model::clock::monotonic;

    #[test]
    fn a_hundred_a_second_are_answered_at_once() {
        let (pace, began) = (Pace::default(), monotonic());
        let waits = |after: u64, count: usize| {
            let now = began + Duration::from_millis(after);
            (0..count).filter(|_| pace.wait(now, false).is_some()).count()
        };
        assert_eq!(waits(0, 150), 50);
        assert_eq!(waits(500, 100), 50);
        assert_eq!(waits(10_000, 100), 0);
        assert_eq!(waits(10_000, 1), 1);
    }

    #[test]
    fn not_all_of_a_proxy_s_connections_wait() {
        let (pace, now) = (Pace::default(), monotonic());
        let waits = |count: usize| {
            let refused = 0..count;
            refused.filter(|_| pace.wait(now, true).is_some()).count()
        };
        assert_eq!(waits(1_000), LATE_MAX);
        pace.waited();
        assert_eq!(waits(10), 1);
    }
}
