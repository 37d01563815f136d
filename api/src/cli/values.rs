//! Values of flags: sizes, durations, counts, `NAME=VALUE`.

use bytesize::ByteSize;
use std::time::Duration;

/// A size such as `64MiB`, `64M` or a number of bytes.
pub fn size(text: &str) -> Result<usize, String> {
    let size: ByteSize = text
        .parse()
        .map_err(|_| "expected a size such as 64MiB".to_owned())?;
    match usize::try_from(size.as_u64()) {
        Ok(0) | Err(_) => Err("the size is out of range".to_owned()),
        Ok(bytes) => Ok(bytes),
    }
}

/// A duration such as `30s`, `500ms` or `2m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("the duration must not be zero".to_owned()),
        Ok(duration) => Ok(duration),
        Err(_) => Err("expected a duration such as 30s, 500ms or 2m".to_owned()),
    }
}

/// A count such as `1000000`, `1_000_000`, `500k`, `10M` or `2G`.
pub fn count(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    let (digits, factor) = match digits.char_indices().last() {
        Some((at, 'k' | 'K')) => (&digits[..at], 1_000),
        Some((at, 'm' | 'M')) => (&digits[..at], 1_000_000),
        Some((at, 'g' | 'G')) => (&digits[..at], 1_000_000_000),
        _ => (digits.as_str(), 1),
    };
    let count: Option<u64> = digits
        .parse::<u64>()
        .ok()
        .and_then(|count| count.checked_mul(factor));
    count
        .filter(|count| *count > 0)
        .ok_or_else(|| "expected a count such as 500k, 10M or 2G".to_owned())
}

/// `NAME=VALUE`.
pub fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_times_and_counts() {
        assert_eq!(size("64MiB"), Ok(64 << 20));
        assert_eq!(size("4096"), Ok(4096));
        assert!(size("0").is_err() && size("lots").is_err() && size("-1").is_err());
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert!(duration("0s").is_err() && duration("soon").is_err());
        assert_eq!(count("1_000"), Ok(1_000));
        assert_eq!(count("10M"), Ok(10_000_000));
        assert!(count("0").is_err() && count("").is_err() && count("99999999999G").is_err());
        assert_eq!(variable("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        assert!(variable("=x").is_err() && variable("x").is_err());
    }
}
