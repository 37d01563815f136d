//! One request to a provider and its answer, within a time and a size.

use super::error::ConsentError;
use crate::egress::{EgressPolicy, GuardedHttp, body_within};
use crate::secrets::told_by_stranger;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Map, Value};
use std::time::Duration;

/// Characters of what a provider says that people are shown.
const SHOWN_CHARS_MAX: usize = 300;

/// The beginning of what a provider says who was told these secrets.
pub(super) fn shown(said: &str, secrets: &[&str]) -> String {
    told_by_stranger(said, secrets, SHOWN_CHARS_MAX)
}

/// For a request and all of its answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);
const ANSWER_BYTES_MAX: usize = 256 << 10;
/// All but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

pub(super) struct Ask {
    pub method: Method,
    pub url: Url,
    pub authorization: Option<String>,
    pub body: Body,
}

pub(super) enum Body {
    None,
    Form(String),
    Json(Vec<(String, Value)>),
}

impl Body {
    pub fn form(fields: &[(&str, &str)]) -> Body {
        let pairs = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)));
        Body::Form(pairs.collect::<Vec<_>>().join("&"))
    }
}

pub(super) struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

pub(super) fn url(text: &str) -> Result<Url, ConsentError> {
    Url::parse(text).map_err(|error| {
        let shown = shown(text, &[]);
        ConsentError::Unavailable(format!("`{shown}` is not a URL ({error})."))
    })
}

/// Scheme, host and port only: queries may contain confidential values.
pub(super) fn place(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// What talks to providers. Cheap to clone.
#[derive(Clone)]
pub struct ConsentHttp {
    http: GuardedHttp,
}

impl ConsentHttp {
    pub fn new(policy: &EgressPolicy) -> Self {
        ConsentHttp {
            http: GuardedHttp::new(policy),
        }
    }

    pub(super) async fn ask(&self, ask: Ask) -> Result<Answer, ConsentError> {
        let place = place(&ask.url);
        tokio::time::timeout(TIMEOUT, self.send(ask))
            .await
            .unwrap_or_else(|_| {
                let waited_s = TIMEOUT.as_secs();
                Err(ConsentError::Unavailable(format!(
                    "{place} did not answer within {waited_s} s."
                )))
            })
    }

    async fn send(&self, ask: Ask) -> Result<Answer, ConsentError> {
        let place = place(&ask.url);
        self.check_scheme(&ask.url)?;
        let unavailable = |reason: String| ConsentError::Unavailable(format!("{place}: {reason}."));
        let client = self.http.client(&ask.url);
        let client = client.map_err(|error| unavailable(error.to_string()))?;
        let mut request = client
            .request(ask.method, ask.url)
            .header(ACCEPT, "application/json");
        if let Some(authorization) = ask.authorization {
            let mut value = HeaderValue::from_str(&authorization)
                .map_err(|_| unavailable("what it gave can't be sent in a header".to_owned()))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        request = match ask.body {
            Body::None => request,
            Body::Form(form) => request
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(form),
            Body::Json(fields) => {
                let fields: Map<String, Value> = fields.into_iter().collect();
                request
                    .header(CONTENT_TYPE, "application/json")
                    .body(Value::Object(fields).to_string())
            }
        };
        // The URL of an error may hold a token.
        let failed = |error: reqwest::Error| unavailable(chain(&error.without_url()));
        let response = request.send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let body = body_within(response, ANSWER_BYTES_MAX).await.map_err(failed)?;
        let body = body.ok_or_else(|| unavailable("its answer is larger than 256 KiB".to_owned()))?;
        Ok(Answer { status, body })
    }

    /// Whether an address that a provider publishes is one that people, and what is secret, may be sent to.
    pub(super) fn check_published(&self, name: &str, address: &str) -> Result<(), ConsentError> {
        if Url::parse(address).is_ok_and(|url| self.http.may_trust(&url)) {
            return Ok(());
        }
        let address = shown(address, &[]);
        Err(ConsentError::Unavailable(format!(
            "The `{name}` that the provider publishes is `{address}`: only addresses with https:// are used, and with http:// those \
             of hosts that the operator lists in HEDDLE_EGRESS_ALLOW."
        )))
    }

    /// Secrets travel encrypted, except to hosts that the operator lists.
    fn check_scheme(&self, url: &Url) -> Result<(), ConsentError> {
        if self.http.may_trust(url) {
            return Ok(());
        }
        let place = place(url);
        Err(ConsentError::Unavailable(format!(
            "{place} is not encrypted: tokens are only requested over https."
        )))
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
