//! Middleware around every request: the request id, the access log, common response headers, and the response to a
//! panic.

use super::request_metrics;
use crate::http::error::ApiError;
use axum::extract::{MatchedPath, Request};
use axum::http::header::{CACHE_CONTROL, Entry, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue, Method};
use axum::response::{IntoResponse, Response};
use heddle_model::Code;
use pin_project_lite::pin_project;
use std::any::Any;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tower::{Layer, Service};
use tracing::Instrument;
use tracing::instrument::Instrumented;

/// The header that carries a request's id.
pub static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Paths that programs ask every few seconds.
pub const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// The request's id: the client's if it is well-formed, otherwise a new one.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// Gives every request and response an id, and writes a log line for each: at debug level for probes that succeed, as a
/// warning for requests that take longer than `slow` (zero: never). Implemented as a tower layer by hand,
/// because axum boxes the futures of function middleware and clones the inner service.
#[derive(Clone, Copy, Debug)]
pub struct IdentifyLayer {
    /// See above.
    pub slow: Duration,
}

impl<S> Layer<S> for IdentifyLayer {
    type Service = Identify<S>;

    fn layer(&self, inner: S) -> Identify<S> {
        let slow = self.slow;
        Identify { inner, slow }
    }
}

/// See [`IdentifyLayer`].
#[derive(Clone, Debug)]
pub struct Identify<S> {
    inner: S,
    slow: Duration,
}

impl<S, B> Service<Request> for Identify<S>
where
    S: Service<Request, Response = Response<B>>,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let facts = Facts::of(&request, self.slow);
        request.extensions_mut().insert(RequestId(facts.id.clone()));
        let span = tracing::info_span!("request", id = %facts.id);
        let answer = span.in_scope(|| self.inner.call(request));
        Answering {
            answer: answer.instrument(span),
            facts,
        }
    }
}

pin_project! {
    /// The future of a response.
    #[derive(Debug)]
    pub struct Answering<F> {
        #[pin]
        answer: Instrumented<F>,
        facts: Facts,
    }
}

impl<F, B, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let mut answered = ready!(this.answer.as_mut().poll(cx));
        if let Ok(response) = &mut answered {
            this.answer.span().in_scope(|| this.facts.note(response));
        }
        Poll::Ready(answered)
    }
}

/// The facts that are logged about a request.
#[derive(Debug)]
struct Facts {
    id: String,
    method: &'static str,
    /// The route rather than the path, which may contain confidential values.
    route: Option<MatchedPath>,
    /// Of the API, whose paths contain only ids.
    path: Option<String>,
    started: Instant,
    slow: Duration,
}

impl Facts {
    fn of(request: &Request, slow: Duration) -> Self {
        let given = request.headers().get(&REQUEST_ID);
        let given = given.and_then(|value| value.to_str().ok());
        let id = match given {
            Some(id) if is_sane(id) => id.to_owned(),
            _ => heddle_model::entropy::new_uuid().to_string(),
        };
        let path = request.uri().path();
        Facts {
            id,
            method: name_of(request.method()),
            route: request.extensions().get::<MatchedPath>().cloned(),
            path: path.starts_with("/api/").then(|| path.to_owned()),
            started: heddle_model::clock::monotonic(),
            slow,
        }
    }

    fn note<B>(&self, response: &mut Response<B>) {
        let method = self.method;
        let route = self.route.as_ref().map_or("(no route)", MatchedPath::as_str);
        let status = response.status().as_u16();
        let took = self.started.elapsed();
        request_metrics::count(method, route, status, took);
        self.log(method, route, status, took);
        let headers = response.headers_mut();
        if let Ok(value) = HeaderValue::from_str(&self.id) {
            headers.insert(REQUEST_ID.clone(), value);
        }
        // Responses contain tokens and private data: they must not be cached, nor sniffed for another content type.
        for (name, value) in [(CACHE_CONTROL, "no-store"), (X_CONTENT_TYPE_OPTIONS, "nosniff")] {
            if let Entry::Vacant(vacant) = headers.entry(name) {
                vacant.insert(HeaderValue::from_static(value));
            }
        }
    }
}

impl Facts {
    fn log(&self, method: &str, route: &str, status: u16, took: Duration) {
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if !self.slow.is_zero() && took > self.slow {
            let path = self.path.as_deref();
            tracing::warn!(
                method,
                route,
                path,
                status,
                ms,
                "{method} {route} {status}: slow, {ms} ms"
            );
        } else if PROBES.contains(&route) && status < 400 {
            tracing::debug!(method, route, status, ms, "{method} {route} {status}");
        } else {
            tracing::info!(method, route, status, ms, "{method} {route} {status}");
        }
    }
}

/// The method as a metrics label: all non-standard methods share one label, because clients could invent any number of
/// them.
fn name_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::CONNECT => "CONNECT",
        Method::TRACE => "TRACE",
        _ => "(other)",
    }
}

fn is_sane(id: &str) -> bool {
    (1..=128).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
}

/// The response after a handler panicked.
pub fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let message = panic
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    tracing::error!(panic = message, "A handler panicked: {message}");
    ApiError::from(Code::Internal).into_response()
}
