//! `http`: an HTTP request, or all pages of a list, through the egress guard at every hop.
//!
//! Request: `{method, url, headers: [[name, value]], body?: {text} | {base64} | {file} | {pieces: [those]}, response?: "file" | "lines" | "jsonLines" | "events",
//! auth?: {basic: {user, password}} |
//! {bearer} | {header: {name, value}}, connection?, timeoutMs?, followRedirects, idempotencyKey?, pagination?}`; `url`
//! may be a path below the connection's `baseUrl`, or else below the request's own `baseUrl?`, in which `{apiKey}` is the connection's key. Result: `{status, headers: {name: value | [values]}, text | base64,
//! retryAfter?}`, names in lower case, `base64` for bodies that are not UTF-8, `file` for those of a 2xx status where `response` is
//! `file`, `stream` for those of one where it is another, the id by which [`super::StreamRead`] reads them; `retryAfter` in
//! milliseconds or `"never"`
//! when that is after the run's end; with `pagination` see [`pages`].

mod address;
mod answer;
mod auth;
mod body;
mod context;
mod exchange;
mod failure;
mod headers;
mod oauth;
mod pages;
mod request;
mod sender;

use super::effect::{Effect, Reveals};
use super::progress::EffectResult;
use super::requests::{read, within};
use crate::connections::Connection;
use crate::egress::{EgressPolicy, GuardedHttp};
use crate::secrets::Destination;
use address::{Address, check_granted, place};
pub(super) use address::{destination, url_of};
pub use answer::file_name;
use auth::Credentials;
pub use context::HttpNeeds;
use exchange::Exchange;
use heddle_sandbox::EffectError;
pub use oauth::granted;
pub use pages::next_link;
use request::{Body, BodyUse, Request};
use reqwest::Url;
use sender::Sender;
use serde_json::Value;
use std::sync::Arc;

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
    const KIND: &'static str = "http";
    const REVEALS: Reveals = Reveals::ToHost;

    type Needs = HttpNeeds;
    type Output = Value;

    fn start(
        &self,
        request: Value,
        context: Self::Needs,
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        let http = self.clone();
        async move {
            let connection = match request.get("connection").and_then(Value::as_str) {
                Some(reference) => Some(context.connections.open(reference).await?),
                None => None,
            };
            // The address may be a secret itself, or have one in it: where it leads is known only with it.
            let part = |name| {
                let part = request.get(name).cloned().unwrap_or_default();
                context.vault.reveal(part, Destination::Inside)
            };
            let (url, base) = (part("url")?, part("baseUrl")?);
            let address = url_of(
                url.as_str().unwrap_or_default(),
                base.as_str(),
                connection.as_ref(),
            )?;
            let request: Request = read(context.vault.reveal(request, destination(&address.url))?)?;
            Box::pin(http.in_time(request, connection, &context)).await
        }
    }
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
    pub(super) async fn post(&self, post: Post, connection: Connection, context: &HttpNeeds) -> EffectResult {
        let request = Request {
            method: "POST".to_owned(),
            url: post.path.to_owned(),
            base_url: None,
            headers: post.headers,
            body: Some(Body::Text(post.body)),
            auth: None,
            timeout_ms: post.timeout_ms,
            follow_redirects: false,
            idempotency_key: post.idempotency_key,
            response: BodyUse::Content,
            accepted: None,
            pagination: None,
        };
        Box::pin(self.in_time(request, Some(connection), context)).await
    }

    async fn in_time(
        &self,
        request: Request,
        connection: Option<Connection>,
        context: &HttpNeeds,
    ) -> EffectResult {
        // How long a file takes depends on its size: without a time of its own it has the run's.
        let has_files = matches!(request.body, Some(Body::File(_) | Body::Pieces(_)));
        let timeout_ms = match has_files || request.response == BodyUse::File {
            true => request.timeout_ms.or(Some(f64::INFINITY)),
            false => request.timeout_ms,
        };
        let time_max = context.bounds.time_max(timeout_ms);
        let shown = Url::parse(&request.url).map_or("The service".to_owned(), |url| place(&url));
        let late = |ms| format!("{shown} did not answer within {ms} ms.");
        within(time_max, self.perform(request, connection, context), late).await
    }
}

impl Http {
    async fn perform(
        &self,
        mut request: Request,
        connection: Option<Connection>,
        context: &HttpNeeds,
    ) -> EffectResult {
        let Address {
            url,
            by_connection,
            has_key,
        } = url_of(&request.url, request.base_url.as_deref(), connection.as_ref())?;
        // What the connection itself names needs no further right than that to the connection.
        if !by_connection {
            check_granted(&url, &context.hosts)?;
        }
        // A key in the address is sent whatever else is.
        if let Some(connection) = connection.as_ref().filter(|_| has_key || request.auth.is_none()) {
            connection.check_host(url.host_str().unwrap_or_default(), url.port_or_known_default())?;
        }
        let credentials = match (request.auth.take(), &connection) {
            (Some(auth), _) => Credentials::Fixed(auth),
            (None, Some(connection)) if !has_key => Credentials::of(connection)?,
            (None, _) => Credentials::None,
        };
        let pagination = request.pagination.take();
        let exchange = Exchange::new(request, url, context).await?;
        let sender = Sender {
            clients: &self.clients,
            tokens: &self.tokens,
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
