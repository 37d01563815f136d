//! A request as the pattern receives it: `{headers, body, method, query}`, and what its webhook adds to that.

use crate::auth::cookie;
use heddle_model::ids::UserId;
use heddle_model::names::full_name;
use heddle_model::shown::MASK;
use heddle_model::signature::{Authentication, Scheme};
use heddle_store::accounts::UserRow;
use http::HeaderMap;
use http::header::COOKIE;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    headers: Headers<'a>,
    /// As it came, so that no number loses a digit.
    body: &'a RawValue,
    method: &'a str,
    query: BTreeMap<String, Values>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<BTreeMap<&'a str, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claims: Option<Box<RawValue>>,
    /// Who answered, if the service knows: nobody can claim it in a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a Answerer>,
}

/// By name, in the order of names. Borrowed from the request as far as it goes: this is done for each.
struct Headers<'a>(Vec<(&'a str, Cow<'a, str>)>);

impl Serialize for Headers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|header| (header.0, &header.1)))
    }
}

/// What a webhook adds to an event.
#[derive(Debug, Default)]
pub struct Added<'a> {
    /// What stands in the path for each of its names.
    pub params: Option<BTreeMap<&'a str, String>>,
    /// The body as text.
    pub raw_body: Option<String>,
    /// The claims of the sender's token.
    pub claims: Option<Box<RawValue>>,
}

/// A request that was let in.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    pub method: &'a str,
    pub headers: &'a HeaderMap,
    /// What has let it in: the values of its headers go no further.
    pub proof: &'a Authentication,
    pub query: Option<&'a str>,
    /// Its body as JSON.
    pub body: &'a RawValue,
}

/// A user who answered a callback through the API.
#[derive(Clone, Debug, Serialize)]
pub struct Answerer {
    pub id: UserId,
    /// First and last name; the email address, if there are none.
    pub name: String,
    /// Email address.
    pub email: String,
}

impl From<UserRow> for Answerer {
    fn from(user: UserRow) -> Self {
        let name = full_name(&user.first_name, &user.last_name);
        let name = if name.is_empty() { user.email.clone() } else { name };
        Answerer {
            id: user.id,
            name,
            email: user.email,
        }
    }
}

/// The event of a callback that a user answered through the API: that of a POST request without headers.
pub fn of_answer(
    query: Option<&str>,
    body: &RawValue,
    by: &Answerer,
) -> Result<Box<RawValue>, serde_json::Error> {
    serde_json::value::to_raw_value(&Event {
        headers: Headers(Vec::new()),
        body,
        method: "POST",
        query: by_key(query),
        params: None,
        raw_body: None,
        claims: None,
        by: Some(by),
    })
}

/// The values of a query's key: a text, or an array of them when the key is repeated.
struct Values(Vec<String>);

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

/// The event of a request to a webhook. With the proof and the body, anybody could repeat the request with different
/// unsigned headers and another query, so that the proof is masked.
pub fn of_request(received: &Received<'_>, added: Added<'_>) -> Result<Box<RawValue>, serde_json::Error> {
    written(received, added)
}

/// Bytes of a text as JSON, in quotes: a control character has six, and so a body may be much larger in an event than it was sent.
pub fn bytes_as_json(text: &str) -> usize {
    let escaped = |byte: u8| -> usize {
        match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
            ..b' ' => 6,
            _ => 1,
        }
    };
    2 + text.bytes().map(escaped).sum::<usize>()
}

/// The event of a request whose body was read.
pub fn with_body(
    headers: &HeaderMap,
    query: Option<&str>,
    method: &str,
    body: &RawValue,
) -> Result<Box<RawValue>, serde_json::Error> {
    let received = Received {
        method,
        headers,
        proof: &Authentication::from(Scheme::Open),
        query,
        body,
    };
    written(&received, Added::default())
}

fn written(received: &Received<'_>, added: Added<'_>) -> Result<Box<RawValue>, serde_json::Error> {
    serde_json::value::to_raw_value(&Event {
        headers: by_name(received),
        body: received.body,
        method: received.method,
        query: by_key(received.query),
        params: added.params,
        raw_body: added.raw_body,
        claims: added.claims,
        by: None,
    })
}

fn by_name<'a>(received: &Received<'a>) -> Headers<'a> {
    let mut by_name: Vec<(&'a str, Cow<'a, str>)> = Vec::with_capacity(received.headers.len());
    for (name, value) in received.headers {
        let value = match received.proof.is_proof(name.as_str()) {
            true => Cow::Borrowed(MASK),
            false => String::from_utf8_lossy(value.as_bytes()),
        };
        let value = match name == COOKIE {
            true => match cookie::without_sessions(&value) {
                Some(others) => Cow::Owned(others),
                None => continue,
            },
            false => value,
        };
        match by_name.last_mut() {
            // The values of one name follow each other.
            Some((last, held)) if *last == name.as_str() => {
                let held = held.to_mut();
                held.push_str(", ");
                held.push_str(&value);
            }
            _ => by_name.push((name.as_str(), value)),
        }
    }
    by_name.sort_unstable_by(|a, b| a.0.cmp(b.0));
    Headers(by_name)
}

fn by_key(query: Option<&str>) -> BTreeMap<String, Values> {
    let mut by_key: BTreeMap<String, Values> = BTreeMap::new();
    for (key, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let values = by_key
            .entry(key.into_owned())
            .or_insert_with(|| Values(Vec::new()));
        values.0.push(value.into_owned());
    }
    by_key
}

#[cfg(test)]
mod tests {
    use super::{Added, Received, Scheme};
    use http::{HeaderMap, HeaderValue};
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    fn of_request(
        headers: &HeaderMap,
        query: Option<&str>,
        body: &[u8],
    ) -> Result<Box<RawValue>, serde_json::Error> {
        let received = Received {
            method: "POST",
            headers,
            proof: &Scheme::Github.into(),
            query,
            body: serde_json::from_slice(body)?,
        };
        super::of_request(&received, Added::default())
    }

    #[test]
    fn the_signature_that_was_checked_goes_no_further() {
        let mut headers = HeaderMap::new();
        headers.append("X-Hub-Signature-256", HeaderValue::from_static("sha256=ab"));
        headers.append("X-Slack-Signature", HeaderValue::from_static("of another"));
        let event = of_request(&headers, None, b"1").unwrap();
        let event: Value = serde_json::from_str(event.get()).unwrap();
        let expected = json!({"x-hub-signature-256": "***", "x-slack-signature": "of another"});
        assert_eq!(event["headers"], expected);
    }

    #[test]
    fn the_session_of_whoever_follows_a_link_stays_out() {
        let mut headers = HeaderMap::new();
        headers.append("Cookie", HeaderValue::from_static("theme=dark; heddle=secret"));
        let event = of_request(&headers, None, b"1").unwrap();
        let event: Value = serde_json::from_str(event.get()).unwrap();
        assert_eq!(event["headers"], json!({"cookie": "theme=dark"}));
    }

    #[test]
    fn headers_and_query_keys_may_be_repeated() {
        let mut headers = HeaderMap::new();
        headers.append("X-One", HeaderValue::from_static("a"));
        headers.append("X-Two", HeaderValue::from_static("b"));
        headers.append("X-Two", HeaderValue::from_static("c"));
        headers.append("X-Latin", HeaderValue::from_bytes(b"caf\xe9").unwrap());
        let event = of_request(&headers, Some("a=1&b=2&a=3&c&d=%C3%A9+%26"), b"[1]").unwrap();
        let expected = json!({
            "headers": {"x-latin": "caf\u{fffd}", "x-one": "a", "x-two": "b, c"},
            "body": [1],
            "method": "POST",
            "query": {"a": ["1", "3"], "b": "2", "c": "", "d": "é &"},
        });
        assert_eq!(serde_json::from_str::<Value>(event.get()).unwrap(), expected);
    }

    #[test]
    fn texts_are_counted_as_they_are_written() {
        let text: String = ('\0'..'\u{180}').collect();
        assert_eq!(
            super::bytes_as_json(&text),
            serde_json::to_string(&text).unwrap().len()
        );
    }

    #[test]
    fn the_body_keeps_its_digits() {
        let event = of_request(&HeaderMap::new(), None, b" {\"n\": 12345678901234567890.10 } ").unwrap();
        assert!(event.get().contains("12345678901234567890.10"));
    }
}
