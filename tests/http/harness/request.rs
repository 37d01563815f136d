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
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
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

    pub async fn send(self) -> Reply {
        let response = self.0.send().await.unwrap();
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
