//! Events as shown to users: without the credentials and signatures they arrived with. Runs, retries and replays get
//! the original event.

use crate::signature::Scheme;
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
    schemes.any(|scheme| name.eq_ignore_ascii_case(scheme.header()))
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
    let headers = members.get("headers")?;
    let mut headers: BTreeMap<String, Box<RawValue>> = serde_json::from_str(headers.get()).ok()?;
    let mut is_masked = false;
    for (name, value) in &mut headers {
        if is_credential(name) || is_signature(name) {
            *value = to_raw_value(MASK).ok()?;
            is_masked = true;
        }
    }
    if !is_masked {
        return None;
    }
    members.insert("headers".to_owned(), to_raw_value(&headers).ok()?);
    to_raw_value(&members).ok()
}

#[cfg(test)]
mod tests {
    use super::shown;
    use serde_json::json;
    use serde_json::value::{RawValue, to_raw_value};

    #[test]
    fn credentials_and_signatures_are_masked() {
        let event = to_raw_value(&json!({
            "headers": {
                "authorization": "Bearer x", "Cookie": ["a", "b"], "PROXY-AUTHORIZATION": "x", "x-slack-signature": "v0=1",
                "stripe-signature": "t=1,v1=2", "x-hub-signature-256": "sha256=1", "webhook-signature": "v1,x",
                "x-shopify-hmac-sha256": "x", "x-webhook-signature": "ab", "x-authorization-id": "7",
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
