//! What a trigger's subscription says: the requests by which a service is told to send to a webhook, or to stop, and where its answers
//! have what matters. Knows nothing of deployments, of times, and of how requests are sent.

mod filling;
mod step;

pub use filling::Known;
pub use step::{Remote, Step, said};

use crate::poll::{texts, with_query};
use filling::{Filling, filled};
use http::Uri;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::net::IpAddr;

/// Time for an answer.
const TIMEOUT_MS: u32 = 30_000;

/// How a service is told of a webhook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Subscription {
    /// Whose it is: `GitHub`.
    pub service: String,
    /// Id or name of the connection whose credentials the requests have.
    pub connection: String,
    /// What the requests' addresses begin with; none: the connection's base URL.
    base_url: Option<String>,
    headers: Map<String, Value>,
    /// Whose the secret is by which the service proves who it is.
    pub secret: SecretOf,
    /// A request whose answer the others need.
    pub first: Option<Step>,
    /// What is there already; none: `create` and `remove` need no id, and can be repeated.
    pub find: Option<Step>,
    pub create: Step,
    pub renew: Option<Step>,
    pub remove: Step,
}

/// Whose the secret is by which a service proves who it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SecretOf {
    /// The endpoint's own, which the service is told.
    #[default]
    Heddle,
    /// The service gives it with its answer.
    Service,
    /// Something of an account's, which people set themselves.
    Account,
}

/// Tells subscriptions that differ from each other.
pub fn fingerprint(subscription: &Map<String, Value>) -> String {
    hex::encode(Sha256::digest(Value::Object(subscription.clone()).to_string()))
}

/// Whether an address leads nowhere but to the machine itself.
pub fn is_loopback(base_url: &str) -> bool {
    let host = base_url.parse::<Uri>().ok();
    let host = host.as_ref().and_then(Uri::host).unwrap_or_default();
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost"),
    }
}

impl Subscription {
    /// From what the compiler has written.
    pub fn of(written: &Map<String, Value>) -> Option<Self> {
        serde_json::from_value(Value::Object(written.clone())).ok()
    }

    /// A request of it, as the effect `http` takes it.
    pub fn request(&self, step: &Step, known: &Known<'_>) -> Value {
        let filling = Filling(known);
        let of = |fields: &Map<String, Value>| match filled(&Value::Object(fields.clone()), &filling) {
            Value::Object(fields) => texts(&fields),
            _ => Vec::new(),
        };
        let mut headers = of(&self.headers);
        let mut says = |name: &str, value: &str| {
            if !headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                headers.push((name.to_owned(), value.to_owned()));
            }
        };
        says("Accept", "application/json");
        let mut body = None;
        if let Some(json) = &step.body {
            says("Content-Type", "application/json");
            body = Some(filled(json, &filling).to_string());
        } else if !step.form.is_empty() {
            says("Content-Type", "application/x-www-form-urlencoded");
            let pairs = of(&step.form);
            let mut form = form_urlencoded::Serializer::new(String::new());
            body = Some(form.extend_pairs(&pairs).finish());
        }
        let mut request = json!({
            "method": step.method.as_deref().unwrap_or("GET"),
            "url": with_query(&filling.address(&step.url), &of(&step.query)),
            "headers": headers,
            "timeoutMs": TIMEOUT_MS,
            "connection": self.connection,
        });
        if let Some(base) = &self.base_url {
            request["baseUrl"] = base.clone().into();
        }
        if let Some(body) = body {
            request["body"] = json!({ "text": body });
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn only_addresses_of_the_machine_alone_are_loopbacks() {
        for url in [
            "http://127.0.0.1:8080",
            "http://LOCALHOST",
            "https://[::1]:443",
            "http://0.0.0.0:8080",
            "http://heddle.localhost",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "https://heddle.example.com",
            "http://10.0.0.7:8080",
            "http://localhost.example.com",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
