//! A content type on the first line, before an empty line and a body of it: whatever comes is read or refused with a reason,
//! and what is read is no larger than what was sent, but for base64 and escapes.

use heddle_model::webhook::Webhook;
use heddle_service::webhooks::body::{raw, read};
use serde_json::Value;

/// Fields that a form may have, and with each what a value can be.
const FIELDS_MAX: usize = 1_000;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some(at) = data.windows(2).position(|two| two == b"\n\n") else {
        return;
    };
    let content_type = String::from_utf8_lossy(&data[..at]);
    let body = data[at + 2..].to_vec().into();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    let all = Webhook::of_json(r#"{"accept": ["json", "form", "multipart", "text", "binary"]}"#);
    let Some(kind) = all.accept.kind_of(media_type) else {
        panic!("every type is accepted: {media_type}");
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let value = match runtime.block_on(read(kind, &content_type, &body)) {
        Ok(value) => value,
        Err(problem) => {
            assert!(!problem.is_empty());
            return;
        }
    };
    // What is nested more deeply than this reads was JSON when it came.
    let read: Option<Value> = serde_json::from_str(value.get()).ok();
    if let (Some(Value::Object(fields)), "form" | "multipart") = (read, family(media_type)) {
        let count = |value: &Value| value.as_array().map_or(1, Vec::len);
        assert!(fields.values().map(count).sum::<usize>() <= FIELDS_MAX);
    }
    if let Ok(Some(text)) = raw(kind, &content_type, &body) {
        assert!(text.len() <= 3 * body.len());
    }
}

fn family(media_type: &str) -> &'static str {
    match media_type.to_ascii_lowercase().as_str() {
        "application/x-www-form-urlencoded" => "form",
        "multipart/form-data" => "multipart",
        _ => "other",
    }
}
