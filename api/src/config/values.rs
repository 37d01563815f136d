//! Parsing of durations, sizes, domains and origins.

use bytesize::ByteSize;
use reqwest::Url;
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

/// Such as `mail.example.com`.
pub(super) fn domain(text: &str) -> Result<String, String> {
    let is_label = |label: &str| {
        let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        (1..=63).contains(&label.len()) && label.chars().all(is_part)
    };
    match text.split('.').all(is_label) {
        true => Ok(text.to_owned()),
        false => Err("must be a domain, such as mail.example.com".to_owned()),
    }
}

/// The origin of a page as browsers send it, which has no slash at the end and no default port; `None`: the text is not an origin.
pub(super) fn origin(text: &str) -> Option<String> {
    if matches!(text, "*" | "null") {
        return Some(text.to_owned());
    }
    let url: Url = text.parse().ok()?;
    let is_bare = matches!(url.path(), "" | "/")
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    match url.scheme() {
        _ if !is_bare || url.host_str().is_none() => None,
        "http" | "https" => Some(url.origin().ascii_serialization()),
        // Of apps, and of browsers' extensions.
        _ => Some(text.trim_end_matches('/').to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_as_browsers_send_them() {
        for (text, sent) in [
            ("https://app.example.com", Some("https://app.example.com")),
            ("https://App.example.com/", Some("https://app.example.com")),
            ("https://app.example.com:443", Some("https://app.example.com")),
            ("http://localhost:5173", Some("http://localhost:5173")),
            ("capacitor://localhost", Some("capacitor://localhost")),
            ("*", Some("*")),
            ("https://app.example.com/console", None),
            ("https://ann@app.example.com", None),
            ("app.example.com", None),
            ("https://", None),
        ] {
            assert_eq!(origin(text).as_deref(), sent, "{text}");
        }
    }

    #[test]
    fn domains_are_names_with_dots() {
        for text in ["localhost", "mail.example.com", "größe.example", "a_b.example"] {
            assert_eq!(domain(text).as_deref(), Ok(text));
        }
        for text in [
            "",
            "mail example.com",
            "example.com.",
            "@example.com",
            "https://example.com",
        ] {
            assert!(domain(text).is_err(), "{text}");
        }
    }
}
