//! How long a service wants to be left alone, as its answers say.

use heddle_sandbox::clock::wall;
use std::time::Duration;

/// What Retry-After says (RFC 9110, section 10.2.3): seconds, or a date. That is by the service's own clock, which its header Date tells.
pub fn retry_after(value: &str, date: Option<&str>) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u32>() {
        return Some(Duration::from_secs(u64::from(seconds)));
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let now = date.and_then(|date| httpdate::parse_http_date(date.trim()).ok());
    let rest = until.duration_since(now.unwrap_or_else(wall));
    // One that is over by now.
    Some(rest.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read_by_the_clock_of_who_says_them() {
        const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (value, date, seconds) in [
            ("120", None, Some(120)),
            (" 0 ", Some(DATE), Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(DATE), Some(60)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", Some(DATE), Some(60)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(DATE), Some(0)),
            // By this machine's clock, where it is long past.
            ("Sun, 06 Nov 1994 08:50:37 GMT", None, Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some("yesterday"), Some(0)),
            ("-1", None, None),
            ("1e3", None, None),
            ("tomorrow", Some(DATE), None),
            ("", None, None),
        ] {
            let expected = seconds.map(Duration::from_secs);
            assert_eq!(retry_after(value, date), expected, "{value:?}, {date:?}");
        }
    }
}
