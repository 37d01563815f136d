//! Time as a parameter: all timestamps come from a [`Clock`], which tests can set by hand.

use crate::column;
use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use utoipa::ToSchema;

/// A moment, in milliseconds since 1970 UTC. In JSON an ISO 8601 string with milliseconds and `Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-11-21T09:30:00.000Z")]
pub struct Timestamp(i64);

impl Timestamp {
    /// The end of the year 9999, UTC: what is later can be written, but not read again.
    pub const LAST: Self = Timestamp(253_402_300_799_999);

    /// From milliseconds since 1970 UTC.
    pub const fn from_millis(millis: i64) -> Self {
        Timestamp(millis)
    }

    const fn of_column(millis: i64) -> Result<Self, std::convert::Infallible> {
        Ok(Timestamp(millis))
    }

    /// Milliseconds since 1970 UTC.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Adds a duration, saturating instead of overflowing.
    pub fn plus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_add(millis))
    }

    /// Subtracts a duration, saturating instead of overflowing.
    pub fn minus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_sub(millis))
    }

    /// Parses RFC 3339 text, truncated to milliseconds. `None` also if it is in none of the years 0 to 9999 of UTC, by its offset or
    /// its leap second: what is written of it could not be read again.
    pub fn parse(text: &str) -> Option<Self> {
        const FIRST: i64 = -62_167_219_200_000;
        let millis = DateTime::parse_from_rfc3339(text).ok()?.timestamp_millis();
        (FIRST..=Self::LAST.0)
            .contains(&millis)
            .then_some(Timestamp(millis))
    }

    /// For names and sentences: `23 Nov 2026, 14:02:07 UTC`.
    pub fn for_people(self) -> String {
        let date: DateTime<Utc> = DateTime::from_timestamp_millis(self.0).unwrap_or_default();
        date.format("%-d %b %Y, %H:%M:%S UTC").to_string()
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let date: DateTime<Utc> = DateTime::from_timestamp_millis(self.0).unwrap_or_default();
        f.write_str(&date.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

/// A text is not a time.
#[derive(Debug, thiserror::Error)]
#[error("expected an ISO 8601 time such as 2026-11-21T09:30:00.000Z")]
pub struct NotATime;

impl std::str::FromStr for Timestamp {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        Timestamp::parse(text).ok_or(NotATime)
    }
}

column!(Timestamp: i64, Timestamp::of_column);

/// The current time of the monotonic clock, for measuring durations. Tests can't set it.
#[expect(clippy::disallowed_methods, reason = "all other code calls this function")]
pub fn monotonic() -> Instant {
    Instant::now()
}

/// How long ago a moment of the monotonic clock was; nothing if it lies ahead.
#[expect(clippy::disallowed_methods, reason = "all other code calls this function")]
pub fn since(moment: Instant) -> Duration {
    moment.elapsed()
}

/// A source of the current time.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// Stands still until it is set: for tests.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands still at `time`.
    pub fn manual(time: Timestamp) -> Self {
        Clock::Manual(Arc::new(AtomicI64::new(time.millis())))
    }

    #[expect(clippy::disallowed_methods, reason = "all other code uses a Clock")]
    pub fn now(&self) -> Timestamp {
        match self {
            Clock::System => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Timestamp(i64::try_from(now.as_millis()).unwrap_or(i64::MAX))
            }
            Clock::Manual(millis) => Timestamp(millis.load(Ordering::SeqCst)),
        }
    }

    /// Moves a manual clock forward; the machine's can't be moved.
    pub fn advance(&self, duration: Duration) {
        if let Clock::Manual(millis) = self {
            let step = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
            millis.fetch_add(step, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_as_a_time_is_read_again() {
        for text in [
            "0000-01-01T00:00:00.000Z",
            "1969-12-31T23:59:59.999Z",
            "9999-12-31T23:59:59.999Z",
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "0000-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
            "9999-12-31T23:59:60Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
