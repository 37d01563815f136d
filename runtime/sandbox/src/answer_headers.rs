//! Headers that a pattern's response must not set: those of the connection, and those that browsers or proxies apply to
//! everything from the same origin. Only checks names; sends nothing.

use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Of the connection (RFC 9110, section 7.6.1), or the service's to write.
const OF_THE_CONNECTION: &[&str] = &[
    "connection",
    "content-length",
    "date",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-request-id",
    "x-run-id",
];

/// What browsers remember for the whole origin, and proxies obey in the service's name.
const OF_THE_ORIGIN: &[&str] = &[
    "accept-ch",
    "alt-svc",
    "clear-site-data",
    "critical-ch",
    "expect-ct",
    "nel",
    "origin-agent-cluster",
    "origin-trial",
    "public-key-pins",
    "public-key-pins-report-only",
    "report-to",
    "reporting-endpoints",
    "sec-session-challenge",
    "sec-session-registration",
    "secure-session-challenge",
    "secure-session-registration",
    "service-worker-allowed",
    "set-cookie",
    "set-cookie2",
    "set-login",
    "shared-storage-write",
    "strict-transport-security",
    "use-as-dictionary",
    "x-lighttpd-send-file",
    "x-lighttpd-send-tempfile",
    "x-sendfile",
    "x-sendfile2",
];

/// Beginnings of names by which a pattern could have a proxy serve what is the proxy's.
const OF_PROXIES: &[&str] = &["x-accel-", "x-litespeed-", "x-reproxy-"];

/// Names told in a warning at most, and characters of each.
const NAMED_MAX: usize = 10;
const TOLD_CHARS_MAX: usize = 64;

/// Why a pattern's answer can't have this header, if it can't. Upper and lower case are the same.
pub fn refusal(name: &str) -> Option<&'static str> {
    let name = name.trim().to_ascii_lowercase();
    if OF_THE_CONNECTION.contains(&name.as_str()) {
        return Some("the service sets it itself");
    }
    let is_wide = OF_THE_ORIGIN.contains(&name.as_str())
        || OF_PROXIES.iter().any(|beginning| name.starts_with(beginning));
    is_wide.then_some("it would apply to everything served from this address")
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default)]
    headers: BTreeMap<Cow<'a, str>, IgnoredAny>,
}

/// What is to be said in the run's log of an answer, `{status, headers, …}` as JSON, whose headers are left out in part.
pub fn warning(answer: &str) -> Option<String> {
    // Most have none, and are not read for it.
    if !answer.contains("\"headers\":{\"") {
        return None;
    }
    let answer: Answer = serde_json::from_str(answer).ok()?;
    let refused = answer.headers.keys().filter_map(|name| {
        let reason = refusal(name)?;
        let name: String = name.chars().take(TOLD_CHARS_MAX).collect();
        Some(format!("`{name}`, because {reason}"))
    });
    let refused: Vec<String> = refused.take(NAMED_MAX).collect();
    (!refused.is_empty()).then(|| format!("The response is sent without the header {}.", refused.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::{refusal, warning};

    #[test]
    fn what_holds_for_the_whole_origin_is_refused_however_it_is_written() {
        for name in [
            "Set-Cookie",
            "set-cookie",
            "STRICT-TRANSPORT-SECURITY",
            "Clear-Site-Data",
            "Secure-Session-Registration",
            "Set-Login",
            "Use-As-Dictionary",
            "X-Accel-Redirect",
            "X-LiteSpeed-Location",
            "X-LiteSpeed-Purge",
            "X-Sendfile2",
            "Connection",
        ] {
            assert!(refusal(name).is_some(), "{name}");
        }
        for name in [
            "Location",
            "Content-Type",
            "Cache-Control",
            "X-Kind",
            "Access-Control-Allow-Origin",
            "Content-Security-Policy",
        ] {
            assert_eq!(refusal(name), None, "{name}");
        }
    }

    #[test]
    fn the_warning_names_what_is_left_out_and_nothing_of_its_value() {
        let answer = r#"{"status":200,"headers":{"Set-Cookie":"a=secret","X-Kind":"b"},"body":null}"#;
        let told = warning(answer).unwrap();
        assert!(
            told.contains("`Set-Cookie`") && !told.contains("secret") && !told.contains("X-Kind"),
            "{told}"
        );
        for answer in [
            r#"{"status":200,"headers":{},"body":1}"#,
            r#"{"status":200,"body":{"headers":{"Set-Cookie":1}}}"#,
            "{\"headers\":{\"a",
        ] {
            assert_eq!(warning(answer), None, "{answer}");
        }
    }
}
