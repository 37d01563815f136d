//! What people see at a callback's URL: a page that asks, and one that says what became of it. Without script, and with every
//! text escaped.

use crate::http::error::ApiError;
use crate::http::pages::{self, Page, escaped};
use axum::Json;
use axum::body::Body;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use heddle_execution::CallbackResponse;
use serde_json::Value;
use std::fmt::Write;

/// Values of a link that are shown, and characters of each.
const VALUES_MAX: usize = 20;
const VALUE_CHARS_MAX: usize = 200;
/// Characters of a pattern's answer that are shown.
const TEXT_CHARS_MAX: usize = 10_000;

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// For pages that patterns make: without an origin and without scripts, and what is filled in goes to the service alone. Nothing is
/// loaded from elsewhere: together with a referrer policy in the page, that would tell others the address, which is the credential.
const POLICY_OF_PATTERNS: &str = "sandbox allow-forms allow-popups; default-src 'none'; style-src 'unsafe-inline'; \
                                  img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Whether whoever asks shows pages.
pub fn is_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

/// Asks whether to go on with what the link says. Programs that follow links, such as those that look for malware in mail,
/// don't send the form.
pub fn question(query: Option<&str>) -> Response {
    let mut values = String::new();
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()).take(VALUES_MAX) {
        let (name, value) = (escaped(&name, VALUE_CHARS_MAX), escaped(&value, VALUE_CHARS_MAX));
        // Writing to a String can't fail.
        let _ = write!(values, "<dt>{name}</dt><dd>{value}</dd>");
    }
    let says = match values.is_empty() {
        true => String::new(),
        false => format!("<dl>{values}</dl>"),
    };
    let body = format!(
        "<p>An automation waits for this answer. It is sent when you confirm, and only once.</p>{says}\
         <form method=\"post\"><button>Confirm</button></form>"
    );
    page(Response::new(Body::empty()), "Send this answer?", &body)
}

/// A page that the pattern has made.
pub fn of_pattern(html: String) -> Response {
    pages::put_html(
        Response::new(Body::empty()),
        html,
        HeaderValue::from_static(POLICY_OF_PATTERNS),
    )
}

/// Says that the answer was taken, and what the pattern says to it.
pub fn thanks(text: &str) -> Response {
    let body = match text {
        "" => "<p>You can close this page.</p>".to_owned(),
        text => format!("<p class=\"text\">{}</p>", escaped(text, TEXT_CHARS_MAX)),
    };
    page(Response::new(Body::empty()), "Your answer has arrived", &body)
}

/// What the caller gets whose call has counted.
pub fn response(answer: CallbackResponse, is_browser: bool) -> Response {
    match answer {
        answer if !is_browser => respond(answer.body),
        CallbackResponse { page: Some(html), .. } => of_pattern(html),
        // In the page, as text: a pattern's response must not act as a page of the service.
        CallbackResponse {
            body: Value::String(text),
            ..
        } => thanks(&text),
        _ => thanks(""),
    }
}

/// Strings are sent as text, anything else as JSON. A pattern's response must not act as a page of the service.
fn respond(body: Value) -> Response {
    let mut response = match body {
        Value::String(text) => Response::new(Body::from(text)),
        other => Json(other).into_response(),
    };
    let headers = response.headers_mut();
    let text = || HeaderValue::from_static("text/plain; charset=utf-8");
    headers.entry(CONTENT_TYPE).or_insert_with(text);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Says why there is nothing to answer.
pub fn refusal(error: ApiError) -> Response {
    let message = escaped(error.message(), TEXT_CHARS_MAX);
    page(
        error.into_response(),
        "There is nothing to answer here",
        &format!("<p>{message}</p>"),
    )
}

fn page(response: Response, title: &str, body: &str) -> Response {
    let page = Page {
        title,
        style: "",
        body: &format!("<h1>{title}</h1>{body}"),
        policy: HeaderValue::from_static(POLICY),
    };
    pages::put(response, page)
}
