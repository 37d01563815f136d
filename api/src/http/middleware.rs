//! What stands around every request: an id, a line in the log, and the answer to a panic.

use crate::error::{ApiError, Code};
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, Method};
use axum::response::{IntoResponse, Response};
use pin_project_lite::pin_project;
use std::any::Any;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tower::{Layer, Service};
use tracing::Instrument;
use tracing::instrument::Instrumented;
use uuid::Uuid;

/// The header with a request's id.
pub static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Id of a request: the client's when it is sane, else a new one.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// Gives every request and answer an id, and writes a line for each. By hand rather than by a function, since axum boxes
/// the futures of those, and clones what is below them.
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
    /// An answer on its way.
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

/// What is noted of a request.
#[derive(Debug)]
struct Facts {
    id: String,
    method: Method,
    /// The route, never the path: a path may have what only its owner should see.
    route: String,
    started: Instant,
}

impl Facts {
    fn of(request: &Request) -> Self {
        let given = request.headers().get(&REQUEST_ID);
        let given = given.and_then(|value| value.to_str().ok());
        let id = match given {
            Some(id) if is_sane(id) => id.to_owned(),
            _ => Uuid::now_v7().to_string(),
        };
        let route = request.extensions().get::<MatchedPath>();
        Facts {
            id,
            method: request.method().clone(),
            route: route.map_or("(no route)", MatchedPath::as_str).to_owned(),
            started: Instant::now(),
        }
    }

    fn note<B>(&self, response: &mut Response<B>) {
        let Facts {
            id, method, route, ..
        } = self;
        let status = response.status().as_u16();
        let labels = [
            ("method", method.to_string()),
            ("route", route.clone()),
            ("status", status.to_string()),
        ];
        metrics::counter!("heddle_http_requests_total", &labels).increment(1);
        metrics::histogram!("heddle_http_request_seconds", &labels[..2]).record(self.started.elapsed());
        tracing::info!(%method, route, status, "{method} {route} {status}");
        if let Ok(value) = HeaderValue::from_str(id) {
            response.headers_mut().insert(REQUEST_ID.clone(), value);
        }
    }
}

fn is_sane(id: &str) -> bool {
    (1..=128).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
}

/// The answer when a handler panicked.
pub fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let message = panic
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    tracing::error!(panic = message, "A handler panicked: {message}");
    ApiError::from(Code::Internal).into_response()
}
