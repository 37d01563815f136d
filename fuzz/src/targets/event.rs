//! Headers of a webhook request, one a line, with the name of a scheme and the query on the first two, before an empty line
//! and the body: the event is JSON with the body as it was, and what lets a sender or a browser in is not in it.

use super::signatures::headers;
use heddle_model::signature::{Authentication, Scheme};
use heddle_service::webhooks::event::{Added, Received, of_request};
use http::header::{HeaderName, HeaderValue};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// What must not be in the event.
const SECRET: &str = "8b1a9953c4611296a827abf8c47804d7";

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some(at) = data.windows(2).position(|two| two == b"\n\n") else {
        return;
    };
    let (head, body) = (&data[..at], &data[at + 2..]);
    let mut lines = head.split(|byte| *byte == b'\n');
    let mut text = || std::str::from_utf8(lines.next().unwrap_or_default()).unwrap_or_default();
    let scheme = Scheme::named(text()).unwrap_or_default();
    let query = text();
    let mut headers = headers(lines);
    if data
        .windows(SECRET.len())
        .any(|window| window == SECRET.as_bytes())
    {
        return;
    }
    let scheme = match scheme {
        // There is nothing to hide.
        Scheme::Open => Scheme::Header,
        scheme => scheme,
    };
    let proof = Authentication {
        header: "x-api-key".to_owned(),
        ..scheme.into()
    };
    let Ok(name) = HeaderName::try_from(proof.header()) else {
        return;
    };
    headers.append(name, HeaderValue::from_static(SECRET));
    for cookie in [
        "heddle=8b1a9953c4611296a827abf8c47804d7; theme=dark",
        "lang=en;__Host-heddle=8b1a9953c4611296a827abf8c47804d7",
    ] {
        headers.append(http::header::COOKIE, HeaderValue::from_static(cookie));
    }
    let sent: Result<&RawValue, _> = serde_json::from_slice(body);
    let Ok(sent) = sent else {
        return;
    };
    let received = Received {
        method: "POST",
        headers: &headers,
        proof: &proof,
        query: Some(query),
        body: sent,
    };
    let event = of_request(&received, Added::default()).expect("headers, query and JSON can be written");
    assert!(!event.get().contains(SECRET), "{event}");
    let parts: BTreeMap<&str, &RawValue> = serde_json::from_str(event.get()).expect("an event is JSON");
    assert_eq!(parts["body"].get(), sent.get());
    let parts = ["headers", "query"].map(|part| serde_json::from_str::<Value>(parts[part].get()));
    let [Ok(written), Ok(Value::Object(query))] = parts else {
        panic!("{event}");
    };
    for value in query.values() {
        assert!(value.is_string() || value.as_array().is_some_and(|all| all.len() > 1));
    }
    for name in headers.keys() {
        assert!(written[name.as_str()].is_string(), "{name} is missing");
    }
}
