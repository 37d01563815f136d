//! `http`: one HTTP request, through the egress guard at every hop.
//!
//! Request: `{method, url, headers: [[name, value]], body?: {text} | {base64}, auth?: {basic: {user, password}} |
//! {bearer} | {header: {name, value}}, timeoutMs?, followRedirects, idempotencyKey?}`. Result: `{status, headers:
//! {name: value | [values]}, text | base64}`, names in lower case, `base64` for bodies that are not UTF-8.

mod failure;

use super::{Effect, EffectContext, EffectError, EffectFuture, EffectResult};
use crate::egress::{EgressPolicy, GuardedHttp};
use crate::secrets::Vault;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use failure::{failed, guarded, parameter, send_error};
use heddle_node_stdlib::abi::code;
use reqwest::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName,
    HeaderValue, LOCATION,
};
use reqwest::{Method, Response, StatusCode, Url};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(60);
const REDIRECTS_MAX: usize = 10;
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// What the connection itself decides.
const OWN_HEADERS: [&str; 8] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// The effect; clones share their connections.
#[derive(Clone)]
pub struct Http(GuardedHttp);

impl Http {
    pub fn new(policy: &EgressPolicy) -> Self {
        Http(GuardedHttp::new(policy))
    }
}

impl Effect for Http {
    fn kind(&self) -> &'static str {
        "http"
    }

    fn start(&self, request: Value, context: EffectContext) -> EffectFuture {
        let clients = self.0.clone();
        Box::pin(async move {
            let request: Request =
                serde_json::from_value(request).map_err(|error| parameter(error.to_string()))?;
            let timeout = request
                .timeout_ms
                .map_or(TIMEOUT, |ms| Duration::from_millis(ms.clamp(0.0, 1e12) as u64));
            let exchange = Exchange::new(request, &context)?;
            let url = exchange.url.clone();
            let timeout = timeout.min(context.deadline.saturating_duration_since(Instant::now()));
            tokio::time::timeout(timeout, exchange.perform(&clients, &context))
                .await
                .unwrap_or_else(|_| {
                    let message = format!(
                        "{} did not answer within {} ms.",
                        place(&url),
                        timeout.as_millis()
                    );
                    Err(EffectError::new(code::TIMEOUT, message))
                })
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: Option<Body>,
    #[serde(default)]
    auth: Option<Auth>,
    #[serde(default)]
    timeout_ms: Option<f64>,
    #[serde(default = "yes")]
    follow_redirects: bool,
    #[serde(default)]
    idempotency_key: Option<String>,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Body {
    Text(String),
    Base64(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Auth {
    Basic { user: String, password: String },
    Bearer(String),
    Header { name: String, value: String },
}

/// One request with the redirects that follow it.
struct Exchange {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    /// The header that `auth` set, if it is not Authorization.
    auth_header: Option<HeaderName>,
    follow_redirects: bool,
}

impl Exchange {
    fn new(request: Request, context: &EffectContext) -> Result<Self, EffectError> {
        let method = Method::from_bytes(request.method.to_ascii_uppercase().as_bytes())
            .ok()
            .filter(|method| *method != Method::CONNECT && *method != Method::TRACE)
            .ok_or_else(|| parameter(format!("`{}` is no method for a request.", request.method)))?;
        let url = Url::parse(&request.url)
            .map_err(|error| parameter(format!("`{}` is no URL: {error}.", request.url)))?;
        check_granted(&url, &context.hosts)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            if !OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                headers.append(header_name(name)?, header_value(name, value)?);
            }
        }
        let auth_header = request
            .auth
            .map(|auth| set_auth(&mut headers, auth, &context.vault))
            .transpose()?;
        if !headers.contains_key(IDEMPOTENCY_KEY) {
            let key = request
                .idempotency_key
                .as_deref()
                .unwrap_or(&context.idempotency_key);
            headers.insert(IDEMPOTENCY_KEY, header_value("Idempotency-Key", key)?);
        }
        let body = match request.body {
            None => None,
            Some(Body::Text(text)) => Some(text.into_bytes()),
            Some(Body::Base64(text)) => Some(
                STANDARD
                    .decode(text)
                    .map_err(|error| parameter(format!("The body is no base64: {error}.")))?,
            ),
        };
        Ok(Exchange {
            method,
            url,
            headers,
            body,
            auth_header,
            follow_redirects: request.follow_redirects,
        })
    }

    async fn perform(mut self, clients: &GuardedHttp, context: &EffectContext) -> EffectResult {
        for _ in 0..=REDIRECTS_MAX {
            let response = self.send(clients).await?;
            match self.redirect(&response, &context.vault)? {
                true => continue,
                false => return self.read(response, context).await,
            }
        }
        Err(failed(format!(
            "{} redirected more than {REDIRECTS_MAX} times.",
            place(&self.url)
        )))
    }

    async fn send(&self, clients: &GuardedHttp) -> Result<Response, EffectError> {
        let mut request = clients
            .client(&self.url)
            .map_err(guarded)?
            .request(self.method.clone(), self.url.clone())
            .headers(self.headers.clone());
        if let Some(body) = &self.body {
            request = request.body(body.clone());
        }
        request
            .send()
            .await
            .map_err(|error| send_error(&error, &self.url))
    }

    /// Turns this into the request that follows `response`, if one does. Credentials stay with their origin.
    fn redirect(&mut self, response: &Response, vault: &Vault) -> Result<bool, EffectError> {
        let status = response.status();
        let followed = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) && self.follow_redirects;
        let Some(location) = response.headers().get(LOCATION).filter(|_| followed) else {
            return Ok(false);
        };
        let next = location
            .to_str()
            .ok()
            .and_then(|location| self.url.join(location).ok())
            .ok_or_else(|| {
                failed(format!(
                    "{} redirected to something that is no URL.",
                    place(&self.url)
                ))
            })?;
        let to_get = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        if to_get {
            self.method = Method::GET;
            self.body = None;
            self.headers.remove(CONTENT_TYPE);
            self.headers.remove(CONTENT_ENCODING);
        }
        if next.origin() != self.url.origin() {
            self.leave_origin(&next, vault)?;
        }
        self.url = next;
        Ok(true)
    }

    fn leave_origin(&mut self, next: &Url, vault: &Vault) -> Result<(), EffectError> {
        if self
            .body
            .as_ref()
            .is_some_and(|body| vault.mask_bytes(body.clone()) != *body)
        {
            let message = format!(
                "{} redirected to {}, but the body holds a secret, which only goes where it was addressed to.",
                place(&self.url),
                place(next)
            );
            return Err(failed(message));
        }
        let secret = |value: &HeaderValue| vault.mask_bytes(value.as_bytes().to_vec()) != value.as_bytes();
        let names: Vec<HeaderName> = self
            .headers
            .iter()
            .filter(|(_, value)| secret(value))
            .map(|(name, _)| name.clone())
            .collect();
        for name in names
            .into_iter()
            .chain([AUTHORIZATION, COOKIE])
            .chain(self.auth_header.take())
        {
            self.headers.remove(name);
        }
        Ok(())
    }

    async fn read(&self, mut response: Response, context: &EffectContext) -> EffectResult {
        let max = context.result_bytes_max;
        let (status, headers) = (response.status().as_u16(), header_object(response.headers()));
        let mut body = Vec::new();
        // Sizes are those after decompression, so a small answer can't become a large one.
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| send_error(&error, &self.url))?
        {
            if chunk.len() > max.saturating_sub(body.len()) {
                return Err(failed(format!(
                    "The answer of {} has more than the {} KiB allowed.",
                    place(&self.url),
                    max >> 10
                )));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(match String::from_utf8(body) {
            Ok(text) => json!({ "status": status, "headers": headers, "text": text }),
            Err(error) => {
                let body = context.vault.mask_bytes(error.into_bytes());
                json!({ "status": status, "headers": headers, "base64": STANDARD.encode(body) })
            }
        })
    }
}

/// Refuses hosts that the manifest does not list.
fn check_granted(url: &Url, hosts: &[String]) -> Result<(), EffectError> {
    let host = url.host_str().unwrap_or_default();
    let authority = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    if hosts
        .iter()
        .any(|granted| granted == "*" || granted.eq_ignore_ascii_case(&authority))
    {
        return Ok(());
    }
    let message = format!("The pattern's manifest does not list the host `{authority}`.");
    Err(EffectError::new(code::NOT_PERMITTED, message))
}

fn set_auth(headers: &mut HeaderMap, auth: Auth, vault: &Vault) -> Result<HeaderName, EffectError> {
    let (name, value) = match auth {
        Auth::Basic { user, password } => {
            let credentials = STANDARD.encode(format!("{user}:{password}"));
            if vault.mask(&password) != password || vault.mask(&user) != user {
                vault.note_use(&credentials);
            }
            (
                AUTHORIZATION,
                header_value("Authorization", &format!("Basic {credentials}"))?,
            )
        }
        Auth::Bearer(token) => (
            AUTHORIZATION,
            header_value("Authorization", &format!("Bearer {token}"))?,
        ),
        Auth::Header { name, value } => (header_name(&name)?, header_value(&name, &value)?),
    };
    let mut value = value;
    value.set_sensitive(true);
    headers.insert(name.clone(), value);
    Ok(name)
}

fn header_name(name: &str) -> Result<HeaderName, EffectError> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| parameter(format!("`{name}` is no name of a header.")))
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, EffectError> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
        parameter(format!(
            "The header `{name}` has a value with line breaks or control characters."
        ))
    })
}

fn header_object(headers: &HeaderMap) -> Map<String, Value> {
    let mut object = Map::new();
    for name in headers.keys() {
        let mut values: Vec<Value> = headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned().into())
            .collect();
        let value = if values.len() == 1 {
            values.remove(0)
        } else {
            Value::Array(values)
        };
        object.insert(name.as_str().to_owned(), value);
    }
    // Lengths of what was compressed mean nothing any more.
    object.remove(CONTENT_LENGTH.as_str());
    object
}

/// Scheme, host and port, for messages: paths and queries may hold what is private.
fn place(url: &Url) -> String {
    url.origin().ascii_serialization()
}
