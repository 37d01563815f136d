//! `http`: an HTTP request, or all pages of a list, through the egress guard at every hop.
//!
//! Request: `{method, url, headers: [[name, value]], body?: {text} | {base64}, auth?: {basic: {user, password}} |
//! {bearer} | {header: {name, value}}, connection?, timeoutMs?, followRedirects, idempotencyKey?, pagination?}`; `url`
//! may be relative to the connection's `baseUrl`. Result: `{status, headers: {name: value | [values]}, text | base64,
//! retryAfter?}`, names in lower case, `base64` for bodies that are not UTF-8, `retryAfter` in milliseconds or `"never"`
//! when that is after the run's end; with `pagination` see [`pages`].

mod auth;
mod exchange;
mod failure;
mod oauth;
mod pages;

use super::{Effect, EffectContext, EffectError, EffectFuture, EffectResult, Reveals, read, within};
use crate::connections::Connection;
use crate::egress::{EgressPolicy, GuardedHttp};
use crate::secrets::Destination;
pub(super) use auth::url_of;
use auth::{Auth, Credentials};
use exchange::{Answer, Exchange};
use heddle_contract::abi::code;
use pages::Pagination;
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

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
pub struct Http {
    clients: GuardedHttp,
    tokens: Arc<oauth::Tokens>,
}

impl Http {
    pub fn new(policy: &EgressPolicy) -> Self {
        Http {
            clients: GuardedHttp::new(policy),
            tokens: Arc::default(),
        }
    }
}

impl Effect for Http {
    fn kind(&self) -> &'static str {
        "http"
    }

    fn start(&self, request: Value, context: EffectContext) -> EffectFuture {
        let http = self.clone();
        Box::pin(async move {
            let connection = match request.get("connection").and_then(Value::as_str) {
                Some(reference) => Some(context.connections.open(reference).await?),
                None => None,
            };
            // The address may be a secret itself: where it leads is known only with it.
            let url = request.get("url").cloned().unwrap_or_default();
            let url = context.vault.reveal(url, Destination::Inside)?;
            let (url, _) = url_of(url.as_str().unwrap_or_default(), connection.as_ref())?;
            let request: Request = read(context.vault.reveal(request, destination(&url))?)?;
            http.in_time(request, connection, &context).await
        })
    }

    fn reveals(&self) -> Reveals {
        Reveals::ToHost
    }
}

/// Where a request to this URL goes.
pub(super) fn destination(url: &Url) -> Destination<'_> {
    Destination::Host(url.host_str().unwrap_or_default(), url.port_or_known_default())
}

/// A request that another effect sends by a connection with a `baseUrl`.
pub(super) struct Post {
    pub path: &'static str,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub timeout_ms: Option<f64>,
    pub idempotency_key: Option<String>,
}

impl Http {
    /// Sends JSON; the result is that of the effect.
    pub(super) async fn post(
        &self,
        post: Post,
        connection: Connection,
        context: &EffectContext,
    ) -> EffectResult {
        let request = Request {
            method: "POST".to_owned(),
            url: post.path.to_owned(),
            headers: post.headers,
            body: Some(Body::Text(post.body)),
            auth: None,
            timeout_ms: post.timeout_ms,
            follow_redirects: false,
            idempotency_key: post.idempotency_key,
            pagination: None,
        };
        self.in_time(request, Some(connection), context).await
    }

    async fn in_time(
        &self,
        request: Request,
        connection: Option<Connection>,
        context: &EffectContext,
    ) -> EffectResult {
        let time_max = context.time_max(request.timeout_ms);
        let shown = Url::parse(&request.url).map_or("The service".to_owned(), |url| place(&url));
        let late = |ms| format!("{shown} did not answer within {ms} ms.");
        within(time_max, self.perform(request, connection, context), late).await
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
    #[serde(default)]
    pagination: Option<Pagination>,
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

impl Http {
    async fn perform(
        &self,
        mut request: Request,
        connection: Option<Connection>,
        context: &EffectContext,
    ) -> EffectResult {
        let (url, by_connection) = url_of(&request.url, connection.as_ref())?;
        // What the connection itself names needs no further right than that to the connection.
        if !by_connection {
            check_granted(&url, &context.hosts)?;
        }
        let credentials = match (request.auth.take(), &connection) {
            (Some(auth), _) => Credentials::Fixed(auth),
            (None, Some(connection)) => {
                connection.check_host(url.host_str().unwrap_or_default(), url.port_or_known_default())?;
                Credentials::of(connection)?
            }
            (None, None) => Credentials::None,
        };
        let pagination = request.pagination.take();
        let exchange = Exchange::new(request, url, context)?;
        let sender = Sender {
            http: self,
            context,
            origin: exchange.url.clone(),
            credentials,
        };
        match pagination {
            None => sender.send(exchange).await?.into_value(context),
            Some(pagination) => pages::all(&sender, exchange, &pagination).await,
        }
    }
}

/// Sends requests with the same credentials, which go to the origin of the first one only.
struct Sender<'a> {
    http: &'a Http,
    context: &'a EffectContext,
    origin: Url,
    credentials: Credentials,
}

impl Sender<'_> {
    /// A request with its redirects. A token that is refused is replaced once.
    async fn send(&self, exchange: Exchange) -> Result<Answer, EffectError> {
        let at_origin = exchange.url.origin() == self.origin.origin();
        let grant = match &self.credentials {
            Credentials::Fixed(auth) if at_origin => {
                return self.send_with(exchange, Some(auth.clone())).await;
            }
            Credentials::OAuth(grant) if at_origin => grant,
            _ => return self.send_with(exchange, None).await,
        };
        let vault = &self.context.vault;
        let (tokens, clients) = (&self.http.tokens, &self.http.clients);
        let token = tokens.get(clients, grant, None, vault).await?;
        let answer = self
            .send_with(exchange.clone(), Some(Auth::Bearer(token.clone())))
            .await?;
        if answer.status != 401 || answer.url.origin() != self.origin.origin() {
            return Ok(answer);
        }
        let token = tokens.get(clients, grant, Some(&token), vault).await?;
        self.send_with(exchange, Some(Auth::Bearer(token))).await
    }

    async fn send_with(&self, mut exchange: Exchange, auth: Option<Auth>) -> Result<Answer, EffectError> {
        if let Some(auth) = auth {
            exchange.authorize(auth, &self.context.vault)?;
        }
        exchange.perform(&self.http.clients, self.context).await
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

fn header_name(name: &str) -> Result<HeaderName, EffectError> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| EffectError::parameter(format!("`{name}` is no name of a header.")))
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, EffectError> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
        EffectError::parameter(format!(
            "The header `{name}` has a value with line breaks or control characters."
        ))
    })
}

/// Scheme, host and port, for messages: paths and queries may hold what is private.
fn place(url: &Url) -> String {
    url.origin().ascii_serialization()
}
