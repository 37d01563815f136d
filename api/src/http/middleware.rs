//! Middleware around every request: the request id, the access log, common response headers, and the response to a
//! panic.

use super::request_metrics;
use crate::http::error::ApiError;
use axum::extract::{FromRequestParts, MatchedPath, Request};
use axum::http::header::{CACHE_CONTROL, Entry, X_CONTENT_TYPE_OPTIONS};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method};
use axum::response::{IntoResponse, Response};
use heddle_model::Code;
use pin_project_lite::pin_project;
use std::any::Any;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
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

/// The request's id: the client's if it is well-formed, otherwise a new one. Whoever asks for it takes it, and the layer keeps
/// its own.
#[derive(Clone, Debug, Default)]
pub struct RequestId(pub String);

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        // Only a router that is called without the layer has none.
        Ok(parts.extensions.remove().unwrap_or_default())
    }
}

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
        let id = id_of(&request);
        let span = tracing::info_span!("request", id = %id);
        let facts = Facts::of(&request, HeaderValue::from_str(&id).ok(), self.slow);
        request.extensions_mut().insert(RequestId(id));
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
    /// As the response carries it.
    id: Option<HeaderValue>,
    method: &'static str,
    /// The route rather than the path, which may contain confidential values.
    route: Option<MatchedPath>,
    /// The path, if it is one of the API: most of these contain only ids.
    path: Option<String>,
    started: Instant,
    slow: Duration,
}

/// Ends of routes where people choose the last part of the path: a key of a kept value may be somebody's address.
const CHOSEN: [&str; 3] = ["{key}", "{name}", "{type}"];

/// Whether the paths of a route contain nothing but ids. What has no route may be anything.
fn has_only_ids(route: &str) -> bool {
    route.starts_with("/api/") && !CHOSEN.iter().any(|end| route.ends_with(end))
}

/// The client's, or a new one.
fn id_of(request: &Request) -> String {
    let given = request.headers().get(&REQUEST_ID);
    let given = given.and_then(|value| value.to_str().ok());
    match given {
        Some(id) if is_sane(id) => id.to_owned(),
        _ => heddle_model::entropy::new_uuid().to_string(),
    }
}

impl Facts {
    fn of(request: &Request, id: Option<HeaderValue>, slow: Duration) -> Self {
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

    fn note<B>(&mut self, response: &mut Response<B>) {
        let method = self.method;
        let route = self.route.as_ref().map_or("(no route)", MatchedPath::as_str);
        let status = response.status().as_u16();
        let took = heddle_model::clock::since(self.started);
        request_metrics::count(method, route, status, took);
        self.log(method, route, status, took);
        let headers = response.headers_mut();
        if let Some(id) = self.id.take() {
            headers.insert(REQUEST_ID.clone(), id);
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
            let path = self.path.as_deref().filter(|_| has_only_ids(route));
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

/// Answers requests whose handlers panic. By hand like the other one: tower's would put the body of every response into two
/// more boxes.
#[derive(Clone, Copy, Debug)]
pub struct CatchPanicsLayer;

impl<S> Layer<S> for CatchPanicsLayer {
    type Service = CatchPanics<S>;

    fn layer(&self, inner: S) -> CatchPanics<S> {
        CatchPanics { inner }
    }
}

/// See [`CatchPanicsLayer`].
#[derive(Clone, Debug)]
pub struct CatchPanics<S> {
    inner: S,
}

impl<S> Service<Request> for CatchPanics<S>
where
    S: Service<Request, Response = Response>,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Caught<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (answer, panic) = match catch_unwind(AssertUnwindSafe(|| self.inner.call(request))) {
            Ok(answer) => (Some(answer), None),
            Err(panic) => (None, Some(panic)),
        };
        Caught { answer, panic }
    }
}

pin_project! {
    /// The future of a response, or of that to a panic.
    #[derive(Debug)]
    pub struct Caught<F> {
        #[pin]
        answer: Option<F>,
        panic: Option<Box<dyn Any + Send>>,
    }
}

impl<F, E> Future for Caught<F>
where
    F: Future<Output = Result<Response, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let panic = match (this.panic.take(), this.answer.as_pin_mut()) {
            (Some(panic), _) => panic,
            (None, Some(answer)) => match catch_unwind(AssertUnwindSafe(|| answer.poll(cx))) {
                Ok(polled) => return polled,
                Err(panic) => panic,
            },
            // It has been answered.
            (None, None) => return Poll::Pending,
        };
        Poll::Ready(Ok(panicked(panic)))
    }
}

/// The response after a handler panicked.
fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let message = panic
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    tracing::error!(panic = message, "A handler panicked: {message}");
    ApiError::from(Code::Internal).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;
    use tower::service_fn;

    #[test]
    fn what_people_choose_is_not_logged_with_slow_requests() {
        assert!(has_only_ids("/api/deployments/{id}/runs/{runId}"));
        for route in [
            "/api/workspaces/{id}/key-values/{key}",
            "/api/workspaces/{id}/environments/{envId}/secrets/{name}",
            "(no route)",
        ] {
            assert!(!has_only_ids(route), "{route}");
        }
    }

    #[tokio::test]
    async fn a_panic_is_answered_whenever_it_comes() {
        let at_once = service_fn(|_: Request| -> std::future::Ready<Result<Response, Infallible>> {
            panic!("at once")
        });
        let answer = CatchPanicsLayer.layer(at_once).call(Request::default()).await;
        assert_eq!(answer.unwrap().status(), StatusCode::INTERNAL_SERVER_ERROR);
        let later = service_fn(|request: Request| async move {
            tokio::task::yield_now().await;
            match request.uri().path() {
                "/" => panic!("later"),
                _ => Ok::<_, Infallible>(Response::default()),
            }
        });
        let mut later = CatchPanicsLayer.layer(later);
        let answer = later.call(Request::default()).await;
        assert_eq!(answer.unwrap().status(), StatusCode::INTERNAL_SERVER_ERROR);
        let mut request = Request::default();
        *request.uri_mut() = "/fine".parse().unwrap();
        assert_eq!(later.call(request).await.unwrap().status(), StatusCode::OK);
    }
}
