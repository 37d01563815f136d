//! A sender of signed webhooks that keeps its connection.

use crate::message;
use crate::server::Server;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Where webhooks are sent to, and what they start.
pub struct Hook {
    pub token: String,
    pub deployment: String,
    webhook: String,
    secret: String,
}

impl Hook {
    /// A deployed pattern that doubles `n` of the body.
    pub fn doubling(server: &Server) -> Hook {
        Hook::of(
            server,
            &json!({
                "nodes": [
                    {"id": "hook", "type": "OnWebhook"},
                    {"id": "end", "type": "Return", "data": {"parameters": {"value": "{{ $input.body.n * 2 }}"}}},
                ],
                "edges": [{"source": "hook", "target": "end"}],
            }),
        )
    }

    /// A deployed pattern that starts at OnWebhook.
    pub fn of(server: &Server, graph: &Value) -> Hook {
        let (token, deployment) = server.deploy(graph);
        let path = format!("/api/deployments/{deployment}/webhook");
        let (status, hook) = server.call("GET", &path, &token, "");
        assert_eq!(status, 200, "{hook}");
        let endpoint = &hook["data"][0];
        let text = |name: &str| endpoint[name].as_str().unwrap().to_owned();
        Hook {
            webhook: text("webhookId"),
            secret: text("webhookSecret"),
            token,
            deployment,
        }
    }

    /// The request that sends `n` under a key.
    pub fn request(&self, key: &str, n: usize) -> String {
        let body = json!({"n": n}).to_string();
        let signature = sign(&self.secret, &body);
        format!(
            "POST /webhooks/{} HTTP/1.1\r\nhost: heddle\r\ncontent-type: application/json\r\n\
             x-webhook-signature: {signature}\r\nx-idempotency-key: {key}\r\ncontent-length: {}\r\n\r\n{body}",
            self.webhook,
            body.len()
        )
    }
}

/// Hex HMAC-SHA256.
pub fn sign(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

/// An answer to a webhook.
pub struct Answer {
    pub status: u16,
    /// Seconds of Retry-After.
    pub retry_after_s: Option<u64>,
    pub body: Value,
}

/// One connection to a server.
pub struct Sender(BufReader<TcpStream>);

impl Sender {
    /// `None`: nobody listens.
    pub fn connect(address: &str) -> Option<Sender> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Sender(BufReader::new(stream)))
    }

    /// Waits no longer for an answer.
    pub fn with_patience(self, patience: Duration) -> Sender {
        self.0.get_ref().set_read_timeout(Some(patience)).unwrap();
        self
    }

    /// `None`: the server was gone before it had answered, or did not answer in time.
    pub fn send(&mut self, hook: &Hook, key: &str, n: usize) -> Option<Answer> {
        self.0.get_mut().write_all(hook.request(key, n).as_bytes()).ok()?;
        let answer = message::read(&mut self.0)?;
        Some(Answer {
            status: answer.first.split(' ').nth(1)?.parse().ok()?,
            retry_after_s: answer.header("retry-after").and_then(|value| value.parse().ok()),
            body: serde_json::from_slice(&answer.body).ok()?,
        })
    }
}
