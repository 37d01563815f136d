//! The clocks of the machine, by which runs are kept within their limits of time. The one place of this crate and of the
//! runtime that reads them; knows nothing of what is measured.

use std::time::{Duration, Instant, SystemTime};

/// The current time of the monotonic clock, for deadlines, durations, and how long something is kept in memory.
#[expect(clippy::disallowed_methods, reason = "all other code calls this function")]
pub fn monotonic() -> Instant {
    Instant::now()
}

/// How long ago a moment of the monotonic clock was; nothing if it lies ahead.
#[expect(clippy::disallowed_methods, reason = "all other code calls this function")]
pub fn since(moment: Instant) -> Duration {
    moment.elapsed()
}

/// The current time of day, where nobody gives the run another one.
#[expect(clippy::disallowed_methods, reason = "all other code calls this function")]
pub fn wall() -> SystemTime {
    SystemTime::now()
}
