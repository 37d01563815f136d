//! A small HTTP client: one connection for each request, and all of the answer to look at.

use serde_json::Value;
use std::fmt;
use std::net::SocketAddr;

/// A request to the service.
pub struct Request(reqwest::RequestBuilder);

impl Request {
    pub fn new(address: SocketAddr, method: &str, path: &str) -> Request {
        // Already installed after the first request.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().no_gzip();
        // The service speaks plain HTTP here: without this each request reads all of the system's root certificates.
        let client = client.tls_certs_only([]).build().unwrap();
        let method = method.parse().unwrap();
        Request(client.request(method, format!("http://{address}{path}")))
    }

    pub fn bearer(self, token: &str) -> Request {
        Request(self.0.bearer_auth(token))
    }

    pub fn header(self, name: &str, value: &str) -> Request {
        Request(self.0.header(name, value))
    }

    pub fn json(self, body: &Value) -> Request {
        self.header("content-type", "application/json")
            .body(body.to_string())
    }

    pub fn body(self, body: impl Into<reqwest::Body>) -> Request {
        Request(self.0.body(body))
    }

    /// Sends it; the answer is read piece by piece.
    pub async fn begin(self) -> reqwest::Response {
        self.0.send().await.unwrap()
    }

    /// Headers and body as they came; the client decompresses nothing.
    pub async fn bytes(self) -> (reqwest::header::HeaderMap, Vec<u8>) {
        let response = self.0.send().await.unwrap();
        let headers = response.headers().clone();
        (headers, response.bytes().await.unwrap().to_vec())
    }

    /// Server-sent events, as they come.
    pub async fn events(self) -> Events {
        let response = self.0.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events {
            response,
            text: String::new(),
        }
    }

    pub async fn send(self) -> Reply {
        let response = self.begin().await;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Reply {
            status,
            headers,
            text,
            body,
        }
    }
}

/// A stream of server-sent events.
pub struct Events {
    response: reqwest::Response,
    text: String,
}

impl Events {
    /// Name, id and data of the next one.
    pub async fn next(&mut self) -> (String, String, Value) {
        self.received().await.expect("the stream has ended")
    }

    /// Name and data of the next one; none if the stream has ended.
    pub async fn next_or_end(&mut self) -> Option<(String, Value)> {
        let (name, _, data) = self.received().await?;
        Some((name, data))
    }

    async fn received(&mut self) -> Option<(String, String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let lines = event.lines();
                    let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                    values.next().map(str::to_owned)
                };
                let found = (field("event"), field("id"), field("data"));
                self.text = rest.to_owned();
                if let (Some(name), id, Some(data)) = found {
                    return Some((name, id.unwrap_or_default(), serde_json::from_str(&data).unwrap()));
                }
                continue;
            }
            let chunk = self.response.chunk().await.ok()??;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

/// An answer.
pub struct Reply {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
    /// The text as JSON, null if it is none.
    pub body: Value,
}

impl Reply {
    /// The error's code; empty without an error.
    pub fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default()
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.text)
    }
}

impl Reply {
    /// The data of an enveloped answer, after all else of it was checked.
    pub fn data(&self, status: u16) -> &Value {
        assert_eq!(self.status, status, "{self}");
        assert_eq!(self.keys(&self.body), ["success", "data", "timestamp"], "{self}");
        assert_eq!(self.body["success"], true, "{self}");
        self.assert_dated();
        &self.body["data"]
    }

    /// Checks all of an error answer but its message.
    pub fn assert_refused(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code()), (status, code), "{self}");
        assert_eq!(self.keys(&self.body), ["success", "error", "timestamp"], "{self}");
        assert_eq!(self.body["success"], false, "{self}");
        self.assert_dated();
        let error = &self.body["error"];
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|message| !message.is_empty()),
            "{self}"
        );
        let has_details = matches!(
            code,
            "VALIDATION"
                | "TESTS_FAILED"
                | "REPLAY_DIFFERS"
                | "RIGHTS_NOT_APPROVED"
                | "ENVIRONMENT_INCOMPLETE"
                | "ENVIRONMENT_PROTECTED"
        ) && error["details"].as_array().is_some_and(|all| !all.is_empty());
        let expected: &[&str] = if has_details {
            &["code", "message", "details"]
        } else {
            &["code", "message"]
        };
        assert_eq!(self.keys(error), expected, "{self}");
        assert!(self.headers.contains_key("x-request-id"), "{self}");
        let challenged = matches!(code, "UNAUTHORIZED" | "TOKEN_EXPIRED");
        let challenge = self
            .headers
            .get("www-authenticate")
            .map(|value| value.to_str().unwrap());
        assert_eq!(challenge, challenged.then_some("Bearer"), "{self}");
    }

    /// The fields that a VALIDATION error names.
    pub fn wrong_fields(&self) -> Vec<&str> {
        self.assert_refused(400, "VALIDATION");
        let details = self.body["error"]["details"].as_array().into_iter().flatten();
        details.filter_map(|detail| detail["path"].as_str()).collect()
    }

    fn assert_dated(&self) {
        let timestamp = self.body["timestamp"].as_str().unwrap_or_default();
        assert!(timestamp.len() == 24 && timestamp.ends_with('Z'), "{self}");
    }

    fn keys<'a>(&self, value: &'a Value) -> Vec<&'a str> {
        value
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, _)| key.as_str())
            .collect()
    }
}
