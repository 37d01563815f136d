//! What runs use, as it is metered: added up by tenant and hour.

use crate::clock::Timestamp;
use chrono::{DateTime, Datelike, TimeZone, Utc};
use std::ops::AddAssign;

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// What executions of runs have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Runs that have ended.
    pub runs: i64,
    /// Those of them that have failed.
    pub failed_runs: i64,
    /// Fuel of all executions, also of those that a wait or another attempt followed.
    pub fuel: i64,
    /// The sum over all executions of peak memory in whole KiB times time in milliseconds.
    pub memory_kib_ms: i64,
    /// Effects that were begun; not those that an earlier execution had recorded.
    pub effects: i64,
    /// Bytes of the requests that effects were begun with which send something to another host.
    pub egress_bytes: i64,
}

impl AddAssign for Used {
    fn add_assign(&mut self, more: Used) {
        self.runs = self.runs.saturating_add(more.runs);
        self.failed_runs = self.failed_runs.saturating_add(more.failed_runs);
        self.fuel = self.fuel.saturating_add(more.fuel);
        self.memory_kib_ms = self.memory_kib_ms.saturating_add(more.memory_kib_ms);
        self.effects = self.effects.saturating_add(more.effects);
        self.egress_bytes = self.egress_bytes.saturating_add(more.egress_bytes);
    }
}

/// Peak memory of an execution in whole KiB, times how long it took in milliseconds.
pub const fn memory_kib_ms(memory_bytes_peak: i64, duration_ms: i64) -> i64 {
    (memory_bytes_peak / 1_024).saturating_mul(duration_ms)
}

/// Beginning of the hour that a time is in, in UTC.
pub const fn hour_of(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.millis().div_euclid(HOUR_MS).saturating_mul(HOUR_MS))
}

/// Beginning of the month that a time is in, in UTC, and of the next one.
pub fn month_of(at: Timestamp) -> (Timestamp, Timestamp) {
    let date = DateTime::from_timestamp_millis(at.millis()).unwrap_or_default();
    let first = |year, month| {
        let first = Utc.with_ymd_and_hms(year, month, 1, 0, 0, 0).single();
        Timestamp::from_millis(first.unwrap_or_default().timestamp_millis())
    };
    let next = match date.month() {
        12 => first(date.year().saturating_add(1), 1),
        month => first(date.year(), month + 1),
    };
    (first(date.year(), date.month()), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_ends_where_the_next_begins() {
        let at = |text| Timestamp::parse(text).unwrap();
        for (within, begins, ends) in [
            (
                "2026-11-23T19:15:00Z",
                "2026-11-01T00:00:00Z",
                "2026-12-01T00:00:00Z",
            ),
            (
                "2026-12-31T23:59:59Z",
                "2026-12-01T00:00:00Z",
                "2027-01-01T00:00:00Z",
            ),
            (
                "2028-02-29T00:00:00Z",
                "2028-02-01T00:00:00Z",
                "2028-03-01T00:00:00Z",
            ),
        ] {
            assert_eq!(month_of(at(within)), (at(begins), at(ends)), "{within}");
        }
        assert_eq!(hour_of(at("2026-11-23T19:59:59Z")), at("2026-11-23T19:00:00Z"));
    }
}
