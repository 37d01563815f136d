//! A request that a webhook has captured, made once more for another address: method, path, query, headers and body as far as the
//! tap has them, and a new proof in the place of the sender's, which nobody keeps. Knows nothing of where events come from.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_catalogue::{Start, started};
use heddle_model::clock::Timestamp;
use heddle_model::shown::MASK;
use heddle_model::signature::Scheme;
use heddle_model::signature::signing::{Outgoing, sign};
use heddle_model::webhook::{BodyKind, Segment, Webhook};
use heddle_model::{entropy, file};
use heddle_service::webhooks::jwt;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a token is good for that is made for a request.
const TOKEN_TTL: Duration = Duration::from_secs(5 * 60);
/// Headers of the connection that the request came by, or of how its body was packed.
const OF_THE_CONNECTION: [&str; 13] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
const FORM: &str = "application/x-www-form-urlencoded";
/// The field in Twilio's addresses by which they stand for a body that is not a form.
const TWILIO_HASH: &str = "bodySHA256";

/// An event as its pattern receives it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Box<RawValue>,
    method: String,
    #[serde(default)]
    query: Map<String, Value>,
    params: Option<Map<String, Value>>,
    raw_body: Option<String>,
}

/// A request that can be sent.
pub struct Request {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// What a node of a graph says of its requests. `None`: there is no such node, or it has no address.
pub fn webhook_of(graph: &Value, node: &str) -> Option<Webhook> {
    let nodes = graph["nodes"].as_array()?;
    let node = nodes.iter().find(|found| found["id"] == node)?;
    let parameters = node["data"]["parameters"].as_object();
    let parameters = parameters.cloned().unwrap_or_default();
    match started(node["type"].as_str()?, &parameters)? {
        (Start::Webhook, parameters) => Some(Webhook::of(&parameters)),
        (Start::Form, parameters) => Some(Webhook::of_form(&parameters)),
        (Start::Chat, parameters) => Some(Webhook::of_chat(&parameters)),
        _ => None,
    }
}

/// The request of an event, for the webhook at `url`. Without a secret it has no proof. `Err`: why it can't be made.
pub fn request(
    event: &RawValue,
    webhook: &Webhook,
    (url, secret): (&str, Option<&str>),
    now: Timestamp,
) -> Result<Request, String> {
    let event: Event =
        serde_json::from_str(event.get()).map_err(|error| format!("it is not that of a request: {error}"))?;
    let method = Method::from_bytes(event.method.as_bytes())
        .map_err(|_| format!("`{}` is not a method", event.method))?;
    let (body, content_type) = body(&event, webhook)?;
    let mut headers = headers(&event);
    if let Some(Ok(value)) = content_type.as_deref().map(HeaderValue::from_str) {
        headers.insert(CONTENT_TYPE, value);
    }
    let is_form = media_type(&event).eq_ignore_ascii_case(FORM);
    let is_hashed = webhook.authentication.scheme == Scheme::Twilio && !is_form && !body.is_empty();
    let url = address(&event, webhook, url, is_hashed.then_some(body.as_slice()))?;
    if let Some(secret) = secret {
        for (name, value) in proof(&event, webhook, secret, (&url, body.as_slice(), is_form), now)? {
            let (Ok(name), Ok(value)) = (
                HeaderName::try_from(name.as_str()),
                HeaderValue::from_bytes(value.as_bytes()),
            ) else {
                return Err(format!("`{name}` can't be sent as a header"));
            };
            headers.insert(name, value);
        }
    }
    Ok(Request {
        method,
        url,
        headers,
        body,
    })
}

fn media_type(event: &Event) -> &str {
    let named = event.headers.get(CONTENT_TYPE.as_str());
    let named = named.map_or("", String::as_str);
    named.split(';').next().unwrap_or_default().trim()
}

/// The sender's headers, without those that were masked.
fn headers(event: &Event) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &event.headers {
        if value == MASK || OF_THE_CONNECTION.contains(&name.as_str()) {
            continue;
        }
        if let (Ok(name), Ok(value)) = (
            HeaderName::try_from(name.as_str()),
            HeaderValue::from_bytes(value.as_bytes()),
        ) {
            headers.insert(name, value);
        }
    }
    headers
}

/// The webhook's address with what followed it.
fn address(event: &Event, webhook: &Webhook, base: &str, hashed: Option<&[u8]>) -> Result<Url, String> {
    let wrong = || format!("`{base}` is not an address that requests can be sent to");
    let mut url = Url::parse(base).map_err(|_| wrong())?;
    if !webhook.path.is_empty() {
        let mut path = url.path_segments_mut().map_err(|()| wrong())?;
        path.pop_if_empty();
        for segment in &webhook.path {
            match segment {
                Segment::Text(text) => path.push(text),
                Segment::Name(name) => {
                    let value = event.params.as_ref().and_then(|params| params.get(name));
                    let value = value.and_then(Value::as_str);
                    path.push(value.ok_or_else(|| format!("it has no `{name}` of the path"))?)
                }
            };
        }
    }
    let hash = hashed.map(|body| hex::encode(Sha256::digest(body)));
    let kept = event
        .query
        .iter()
        .filter(|(name, _)| hash.is_none() || *name != TWILIO_HASH);
    for (name, value) in kept {
        each(value, |value| {
            url.query_pairs_mut()
                .append_pair(name, value.as_str().unwrap_or_default());
        });
    }
    if let Some(hash) = hash {
        url.query_pairs_mut().append_pair(TWILIO_HASH, &hash);
    }
    Ok(url)
}

/// The values of a name that may have come several times.
fn each<'v>(value: &'v Value, mut take: impl FnMut(&'v Value)) {
    match value {
        Value::Array(several) => several.iter().for_each(take),
        one => take(one),
    }
}

/// The body, and its content type if that has become another one.
fn body(event: &Event, webhook: &Webhook) -> Result<(Vec<u8>, Option<String>), String> {
    let media_type = media_type(event);
    let kind = webhook.accept.kind_of(media_type);
    let as_utf8 = |text: &str| {
        let content_type = format!("{media_type}; charset=utf-8");
        (text.as_bytes().to_vec(), Some(content_type))
    };
    match (&event.raw_body, kind) {
        (Some(text), Some(BodyKind::Text)) => return Ok(as_utf8(text)),
        (Some(text), _) => return Ok((text.as_bytes().to_vec(), None)),
        (None, Some(BodyKind::Json)) => return Ok((event.body.get().as_bytes().to_vec(), None)),
        (None, _) => {}
    }
    let value: Value = serde_json::from_str(event.body.get()).unwrap_or_default();
    let missing = |what: &str| format!("its body is not {what}");
    match (kind, &value) {
        (_, Value::Null) => Ok((Vec::new(), None)),
        // In UTF-8, whatever character set it came in.
        (Some(BodyKind::Form), Value::Object(fields)) => Ok((form(fields), Some(FORM.to_owned()))),
        (Some(BodyKind::Multipart), Value::Object(fields)) => {
            let boundary = format!("heddle-{}", hex::encode(entropy::random::<[u8; 16]>()));
            let body = multipart(fields, &boundary)?;
            Ok((body, Some(format!("multipart/form-data; boundary={boundary}"))))
        }
        (Some(BodyKind::Text), Value::String(text)) => Ok(as_utf8(text)),
        (Some(BodyKind::Binary), file) => Ok((bytes_of(file)?, None)),
        (Some(BodyKind::Form | BodyKind::Multipart), _) => Err(missing("a form")),
        (Some(BodyKind::Text), _) => Err(missing("a text")),
        // A node that takes other bodies by now: the JSON is all that there is.
        (Some(BodyKind::Json) | None, _) => Ok((event.body.get().as_bytes().to_vec(), None)),
    }
}

fn form(fields: &Map<String, Value>) -> Vec<u8> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    for (name, value) in fields {
        each(value, |value| {
            form.append_pair(name, value.as_str().unwrap_or_default());
        });
    }
    form.finish().into_bytes()
}

/// A form with files, of which the event has the bytes.
fn multipart(fields: &Map<String, Value>, boundary: &str) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let quoted = |text: &str| text.replace(['\r', '\n'], " ").replace('"', "%22");
    for (name, value) in fields {
        let values = match value {
            Value::Array(several) => several.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            let mut head = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
                quoted(name)
            );
            let bytes = match value {
                Value::String(text) => text.as_bytes().to_vec(),
                // No file was chosen.
                Value::Null => {
                    head.push_str("; filename=\"\"\r\nContent-Type: application/octet-stream");
                    Vec::new()
                }
                file => {
                    if let Some(filename) = file["filename"].as_str() {
                        head.push_str(&format!("; filename=\"{}\"", quoted(filename)));
                    }
                    if let Some(content_type) = file["contentType"].as_str() {
                        head.push_str(&format!("\r\nContent-Type: {}", quoted(content_type)));
                    }
                    bytes_of(file)?
                }
            };
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(b"\r\n\r\n");
            body.extend(bytes);
            body.extend_from_slice(b"\r\n");
        }
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(body)
}

fn bytes_of(file: &Value) -> Result<Vec<u8>, String> {
    let text = file["base64"].as_str();
    let bytes = text.and_then(|text| STANDARD.decode(text).ok());
    bytes.ok_or_else(|| match file.get(file::MARK) {
        Some(_) => "it has stored files, which stay on their server".to_owned(),
        None => "its body is not in the event".to_owned(),
    })
}

/// The headers that prove the sender, by the secret of whom it is sent to.
fn proof(
    event: &Event,
    webhook: &Webhook,
    secret: &str,
    (url, body, is_form): (&Url, &[u8], bool),
    now: Timestamp,
) -> Result<Vec<(String, String)>, String> {
    let id = event
        .headers
        .get("webhook-id")
        .or_else(|| event.headers.get("svix-id"));
    let id = id.cloned();
    let id = id.unwrap_or_else(|| format!("msg_{}", hex::encode(entropy::random::<[u8; 12]>())));
    let outgoing = Outgoing {
        url: url.as_str(),
        id: &id,
        body,
        is_form,
    };
    let authentication = &webhook.authentication;
    if let Some(headers) = sign(authentication, secret, &outgoing, now) {
        return Ok(headers);
    }
    let token = jwt::example(&authentication.jwt, secret, now.plus(TOKEN_TTL));
    let token = token.ok_or("its node takes tokens that only their issuer can make")?;
    Ok(vec![(
        authentication.header().to_owned(),
        format!("Bearer {token}"),
    )])
}

#[cfg(test)]
mod tests {
    use super::{Request, request, webhook_of};
    use heddle_model::clock::Timestamp;
    use heddle_model::signature::{Incoming, verify};
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_123);

    /// The request of an event for a node with these parameters, if a server of this secret lets it in.
    fn made(parameters: &Value, event: &str) -> Result<Request, String> {
        let graph =
            json!({"nodes": [{"id": "hook", "type": "OnWebhook", "data": {"parameters": parameters}}]});
        let webhook = webhook_of(&graph, "hook").unwrap();
        let event = RawValue::from_string(event.to_owned()).unwrap();
        let to = ("http://127.0.0.1:8080/webhooks/abc", Some("a secret"));
        let made = request(&event, &webhook, to, NOW)?;
        let incoming = Incoming {
            headers: &made.headers,
            base_url: "http://127.0.0.1:8080",
            target: &made.url.as_str()["http://127.0.0.1:8080".len()..],
            body: &made.body,
        };
        verify(&webhook.authentication, "a secret", &incoming, NOW).map_err(|refusal| refusal.to_string())?;
        Ok(made)
    }

    fn text(request: &Request) -> &str {
        std::str::from_utf8(&request.body).unwrap()
    }

    #[test]
    fn json_keeps_its_text_and_headers_what_the_tap_has_of_them() {
        let event = r#"{"headers": {"content-type": "application/json", "x-github-event": "push", "host": "heddle.example.com",
            "x-hub-signature-256": "***", "authorization": "***", "content-length": "7"},
            "body": {"n":  12345678901234567890.10}, "method": "POST", "query": {"a": ["1", "2"], "b": "c d"}}"#;
        let made = made(&json!({"scheme": "github"}), event).unwrap();
        assert_eq!(text(&made), r#"{"n":  12345678901234567890.10}"#);
        assert_eq!(
            made.url.as_str(),
            "http://127.0.0.1:8080/webhooks/abc?a=1&a=2&b=c+d"
        );
        let names: Vec<&str> = made.headers.keys().map(|name| name.as_str()).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert_eq!(made.headers["x-github-event"], "push");
        assert_ne!(made.headers["x-hub-signature-256"], "***");
    }

    #[test]
    fn paths_and_forms_are_written_again() {
        let parameters = json!({"scheme": "twilio", "path": "/orders/:order", "methods": ["PUT"]});
        let event = json!({
            "headers": {"content-type": "application/x-www-form-urlencoded"}, "method": "PUT", "query": {},
            "params": {"order": "A/1 é"}, "body": {"b": "2 + 2", "a": ["x", "y"]},
        });
        let made = made(&parameters, &event.to_string()).unwrap();
        assert_eq!(made.url.path(), "/webhooks/abc/orders/A%2F1%20%C3%A9");
        assert_eq!((made.method.as_str(), text(&made)), ("PUT", "b=2+%2B+2&a=x&a=y"));
    }

    #[test]
    fn files_in_the_event_are_sent_and_stored_ones_are_refused() {
        let parameters = json!({"scheme": "bearer", "accept": ["multipart"]});
        let with = |file: Value| {
            let event = json!({"headers": {"content-type": "multipart/form-data; boundary=old"}, "method": "POST", "query": {},
                "body": {"name": "Ann", "photo": file}});
            made(&parameters, &event.to_string())
        };
        let sent =
            with(json!({"filename": "a.txt", "contentType": "text/plain", "size": 2, "base64": "aGk="}));
        let sent = sent.unwrap();
        let content_type = sent.headers["content-type"].to_str().unwrap();
        let (_, boundary) = content_type.split_once("boundary=").unwrap();
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nAnn\r\n--{boundary}\r\n\
             Content-Disposition: form-data; name=\"photo\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhi\r\n\
             --{boundary}--\r\n"
        );
        assert_eq!(text(&sent), expected);
        // No file was chosen.
        let none = text(&with(json!(null)).unwrap()).to_owned();
        assert!(
            none.contains("; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n--"),
            "{none}"
        );
        let refused = with(json!({"$file": "019a", "name": "a.txt", "size": 2})).err();
        assert!(refused.unwrap().contains("stay on their server"));
    }
}
