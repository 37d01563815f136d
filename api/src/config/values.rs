//! Parsing of durations and sizes.

use bytesize::ByteSize;
use std::str::FromStr;
use std::time::Duration;

/// Sets a field if there is a value for it.
pub(super) fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// Such as `24h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "must be a duration, such as 24h or 30d".to_owned())
}

/// Such as `8MiB`.
pub(super) fn bytes(text: &str) -> Result<usize, String> {
    let size = ByteSize::from_str(text).map_err(|_| "must be a size, such as 8MiB".to_owned())?;
    usize::try_from(size.as_u64()).map_err(|_| "is too large".to_owned())
}
