//! Events as shown to users: without the credentials and signatures they arrived with. Runs, retries and replays get
//! the original event.

use crate::signature::{SVIX_SIGNATURE, Scheme};
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

/// What stands in place of a header's value.
pub const MASK: &str = "***";
const CREDENTIALS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// Whether a header has credentials.
pub fn is_credential(name: &str) -> bool {
    CREDENTIALS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn is_signature(name: &str) -> bool {
    let mut schemes = Scheme::ALL.iter();
    name.eq_ignore_ascii_case(SVIX_SIGNATURE)
        || schemes.any(|scheme| name.eq_ignore_ascii_case(scheme.header()))
}

/// Levels that are looked into; what is below is hidden if there are headers in it.
const DEPTH_MAX: usize = 64;

/// A value that may hold an event anywhere, with what is in such headers masked wherever something has `headers`, and in the
/// excerpts that traces have of large values.
pub fn shown_within(value: Box<RawValue>) -> Box<RawValue> {
    masked_within(&value, DEPTH_MAX).unwrap_or(value)
}

/// `None`: there is nothing to mask.
fn masked_within(value: &RawValue, depth: usize) -> Option<Box<RawValue>> {
    let text = value.get();
    // The second is how it stands in an excerpt, which is a text.
    if !text.contains("\"headers\"") && !text.contains("\\\"headers\\\"") {
        return None;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return to_raw_value(MASK).ok();
    };
    let mut is_masked = false;
    if text.starts_with('[') {
        let mut elements: Vec<Box<RawValue>> = serde_json::from_str(text).ok()?;
        for element in &mut elements {
            if let Some(masked) = masked_within(element, depth) {
                *element = masked;
                is_masked = true;
            }
        }
        return is_masked.then(|| to_raw_value(&elements).ok()).flatten();
    }
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).ok()?;
    let is_cut = members.get("truncated").is_some_and(|it| it.get() == "true");
    for (name, value) in &mut members {
        let masked = match is_cut && name == "excerpt" {
            true => masked_excerpt(value),
            false => masked_within(value, depth),
        };
        if let Some(masked) = masked {
            *value = masked;
            is_masked = true;
        }
        if name == "headers"
            && let Some(masked) = masked_headers(value)
        {
            *value = masked;
            is_masked = true;
        }
    }
    is_masked.then(|| to_raw_value(&members).ok()).flatten()
}

/// The beginning of a value's JSON, in which such headers are found by their names, wherever they are. `None`: there is nothing to
/// mask.
fn masked_excerpt(excerpt: &RawValue) -> Option<Box<RawValue>> {
    let text: String = serde_json::from_str(excerpt.get()).ok()?;
    let mut masked = String::with_capacity(text.len());
    let mut rest = text.as_str();
    let mut is_masked = false;
    while let Some((before, after)) = rest.split_once('"') {
        let (name, behind) = string(after);
        masked.extend([before, "\"", name]);
        rest = behind;
        if let Some(value) = rest.strip_prefix("\":")
            && (is_credential(name) || is_signature(name))
        {
            masked.extend(["\":\"", MASK]);
            is_masked = true;
            // A value that is not text (a list of several values) is left out together with what follows it.
            rest = value.strip_prefix('"').map_or("", |value| string(value).1);
        }
        if let Some(behind) = rest.strip_prefix('"') {
            masked.push('"');
            rest = behind;
        }
    }
    masked.push_str(rest);
    is_masked.then(|| to_raw_value(&masked).ok()).flatten()
}

/// A string of JSON without its quotes, and what follows it, the quote first. `text` is behind the first quote.
fn string(text: &str) -> (&str, &str) {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    text.split_at(end.unwrap_or(text.len()))
}

/// The event with what is in such headers masked.
pub fn shown(event: Box<RawValue>) -> Box<RawValue> {
    // Most events of other triggers have no headers at all.
    if !event.get().contains("\"headers\"") {
        return event;
    }
    masked(&event).unwrap_or(event)
}

/// `None`: there is nothing to mask.
fn masked(event: &RawValue) -> Option<Box<RawValue>> {
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(event.get()).ok()?;
    let headers = masked_headers(members.get("headers")?)?;
    members.insert("headers".to_owned(), headers);
    to_raw_value(&members).ok()
}

/// `None`: there is nothing to mask.
fn masked_headers(headers: &RawValue) -> Option<Box<RawValue>> {
    let mut headers: BTreeMap<String, Box<RawValue>> = serde_json::from_str(headers.get()).ok()?;
    let mut is_masked = false;
    for (name, value) in &mut headers {
        if is_credential(name) || is_signature(name) {
            *value = to_raw_value(MASK).ok()?;
            is_masked = true;
        }
    }
    is_masked.then(|| to_raw_value(&headers).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::{DEPTH_MAX, shown, shown_within};
    use serde_json::json;
    use serde_json::value::{RawValue, to_raw_value};

    #[test]
    fn credentials_and_signatures_are_masked() {
        let event = to_raw_value(&json!({
            "headers": {
                "authorization": "Bearer x", "Cookie": ["a", "b"], "PROXY-AUTHORIZATION": "x", "x-slack-signature": "v0=1",
                "stripe-signature": "t=1,v1=2", "x-hub-signature-256": "sha256=1", "webhook-signature": "v1,x",
                "x-shopify-hmac-sha256": "x", "x-webhook-signature": "ab", "x-authorization-id": "7", "svix-signature": "v1,x",
            },
            "body": {"headers": {"authorization": "kept"}}, "method": "POST", "query": {"cookie": "kept"},
        }));
        let shown: serde_json::Value = serde_json::from_str(shown(event.unwrap()).get()).unwrap();
        for (name, value) in shown["headers"].as_object().unwrap() {
            let expected = if name == "x-authorization-id" { "7" } else { "***" };
            assert_eq!(value, expected, "{name}");
        }
        assert_eq!(shown["body"], json!({"headers": {"authorization": "kept"}}));
        assert_eq!(shown["query"], json!({"cookie": "kept"}));
    }

    #[test]
    fn events_within_values_are_masked_too() {
        let value = to_raw_value(&json!({
            "event": {"headers": {"authorization": "Bearer x", "accept": "*/*"}},
            "all": [{"headers": {"cookie": "a", "headers": {"cookie": "b"}}}], "cookie": "kept", "headers": "kept",
        }));
        let shown: serde_json::Value = serde_json::from_str(shown_within(value.unwrap()).get()).unwrap();
        assert_eq!(
            shown,
            json!({
                "event": {"headers": {"authorization": "***", "accept": "*/*"}},
                "all": [{"headers": {"cookie": "***", "headers": {"cookie": "***"}}}], "cookie": "kept", "headers": "kept",
            })
        );
        let deep = |levels: usize| {
            let text = format!(
                "{}{}{}",
                "[".repeat(levels),
                r#"{"headers":{"cookie":"a"}}"#,
                "]".repeat(levels)
            );
            shown_within(RawValue::from_string(text).unwrap())
                .get()
                .to_owned()
        };
        assert!(deep(DEPTH_MAX - 1).contains(r#"{"headers":{"cookie":"***"}}"#));
        assert!(deep(DEPTH_MAX).contains(r#"["***"]"#));
        for text in ["\"headers\"", r#"{"headers": {"a": "b"}, "n": 1.10}"#] {
            let value = RawValue::from_string(text.to_owned()).unwrap();
            assert_eq!(shown_within(value).get(), text);
        }
    }

    #[test]
    fn excerpts_of_events_are_masked_too() {
        let cut = |excerpt: &str| {
            let entry = json!([{"output": {"truncated": true, "bytes": 20_000, "excerpt": excerpt}}]);
            let shown = shown_within(to_raw_value(&entry).unwrap());
            let shown: serde_json::Value = serde_json::from_str(shown.get()).unwrap();
            shown[0]["output"]["excerpt"].as_str().unwrap().to_owned()
        };
        for (excerpt, expected) in [
            (
                r#"{"headers":{"accept":"*/*","authorization":"Bearer \"x\"","Cookie":"a","host":"\\"},"body":"cut o"#,
                r#"{"headers":{"accept":"*/*","authorization":"***","Cookie":"***","host":"\\"},"body":"cut o"#,
            ),
            (
                r#"{"headers":{"authorization":"cut o"#,
                r#"{"headers":{"authorization":"***"#,
            ),
            (
                r#"[{"headers":{"cookie":["a","b"],"#,
                r#"[{"headers":{"cookie":"***"#,
            ),
            (
                r#"{"headers":{"x":"authorization","coo"#,
                r#"{"headers":{"x":"authorization","coo"#,
            ),
            (
                r#"{"say":"\"headers\":{\"cookie\":\"a\"}"}"#,
                r#"{"say":"\"headers\":{\"cookie\":\"a\"}"}"#,
            ),
        ] {
            assert_eq!(cut(excerpt), expected);
        }
    }

    #[test]
    fn everything_else_stays_as_it_came() {
        for text in [
            "null",
            "[1]",
            "\"headers\"",
            r#"{"headers": 1}"#,
            r#"{"headers": {"a": "b"}, "body": 12345678901234567890.10}"#,
        ] {
            let event = RawValue::from_string(text.to_owned()).unwrap();
            assert_eq!(shown(event).get(), text);
        }
        let digits = r#"{"headers":{"cookie":"a"},"body":12345678901234567890.10}"#;
        let event = RawValue::from_string(digits.to_owned()).unwrap();
        assert!(shown(event).get().contains("12345678901234567890.10"));
    }
}
