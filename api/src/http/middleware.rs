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
use std::time::Instant;
use tower::{Layer, Service};
use tracing::Instrument;
use tracing::instrument::Instrumented;

/// The header that carries a request's id.
pub static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The request's id: the client's if it is well-formed, otherwise a new one.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// Gives every request and response an id, and writes a log line for each. Implemented as a tower layer by hand,
/// because axum boxes the futures of function middleware and clones the inner service.
#[derive(Clone, Copy, Debug)]
pub struct IdentifyLayer;

impl<S> Layer<S> for IdentifyLayer {
    type Service = Identify<S>;

    fn layer(&self, inner: S) -> Identify<S> {
        Identify { inner }
    }
}

/// See [`IdentifyLayer`].
#[derive(Clone, Debug)]
pub struct Identify<S> {
    inner: S,
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
        let facts = Facts::of(&request);
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
    started: Instant,
}

impl Facts {
    fn of(request: &Request) -> Self {
        let given = request.headers().get(&REQUEST_ID);
        let given = given.and_then(|value| value.to_str().ok());
        let id = match given {
            Some(id) if is_sane(id) => id.to_owned(),
            _ => heddle_model::entropy::new_uuid().to_string(),
        };
        Facts {
            id,
            method: name_of(request.method()),
            route: request.extensions().get::<MatchedPath>().cloned(),
            started: heddle_model::clock::monotonic(),
        }
    }

    fn note<B>(&self, response: &mut Response<B>) {
        let method = self.method;
        let route = self.route.as_ref().map_or("(no route)", MatchedPath::as_str);
        let status = response.status().as_u16();
        request_metrics::count(method, route, status, self.started.elapsed());
        tracing::info!(method, route, status, "{method} {route} {status}");
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
