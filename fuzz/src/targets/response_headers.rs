//! An address and, on the next lines, headers of what it answers: names of files, links to next pages and times to wait are parts of them, and no longer
//! than they are.

use heddle_runtime::foreign::{Url, file_name, next_link};
use heddle_runtime::retry_after;
use http::header::{DATE, LINK, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;

/// No date of HTTP is later.
const WAIT_MAX: Duration = Duration::from_secs(10_000 * 366 * 24 * 60 * 60);

/// Checks an input.
pub fn check(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let url = lines.next().and_then(|line| std::str::from_utf8(line).ok());
    let Some(url) = url.and_then(|url| Url::parse(url).ok()) else {
        return;
    };
    let headers: HeaderMap = lines.filter_map(header).collect();

    let name = file_name(&headers, &url);
    // A byte that is no text becomes three.
    assert!(name.len() <= 3 * (data.len() + url.as_str().len()));
    if let Some(next) = next_link(&headers) {
        let mut links = headers.get_all(LINK).iter();
        assert!(links.any(|link| {
            link.to_str()
                .is_ok_and(|link| link.contains(&format!("<{next}>")))
        }));
    }
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let wait = text(RETRY_AFTER).and_then(|value| retry_after(value, text(DATE)));
    assert!(wait.is_none_or(|wait| wait <= WAIT_MAX));
}

/// One line, if it is one that a client reads.
fn header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let at = line.iter().position(|byte| *byte == b':')?;
    let name = HeaderName::from_bytes(&line[..at]).ok()?;
    let value = HeaderValue::from_bytes(line[at + 1..].trim_ascii()).ok()?;
    Some((name, value))
}
