//! What people see at a callback's URL: a page that asks, and one that says what became of it. Without script, and with every
//! text escaped.

use crate::http::error::ApiError;
use axum::body::Body;
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use std::fmt::Write;

/// Values of a link that are shown, and characters of each.
const VALUES_MAX: usize = 20;
const VALUE_CHARS_MAX: usize = 200;
/// Characters of a pattern's answer that are shown.
const TEXT_CHARS_MAX: usize = 10_000;

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";
const STYLE: &str = ":root{color-scheme:light dark}body{margin:0;min-height:100vh;display:grid;place-items:center;\
    background:light-dark(#f3f5f7,#0f1216);color:light-dark(#1c2430,#e3e8ee);font:16px/1.5 system-ui,sans-serif}\
    main{box-sizing:border-box;width:min(30rem,100vw);padding:2rem;border-radius:10px;\
    background:light-dark(#fff,#1c2229);overflow-wrap:anywhere}h1{margin:0 0 .5rem;font-size:1.25rem}\
    p,dl{margin:0 0 1.25rem}dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem}\
    dt{color:light-dark(#566172,#9aa6b5)}dd{margin:0;font-weight:600}.text{white-space:pre-wrap}\
    button{padding:.6rem 1.4rem;border:0;border-radius:6px;background:light-dark(#0b6e6e,#5cc8c0);\
    color:light-dark(#fff,#0b1c1b);font:inherit;font-weight:600;cursor:pointer}\
    button:focus-visible{outline:3px solid light-dark(#0b7f7f,#5cc8c0);outline-offset:3px}";

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

/// Says that the answer was taken, and what the pattern says to it.
pub fn thanks(text: &str) -> Response {
    let body = match text {
        "" => "<p>You can close this page.</p>".to_owned(),
        text => format!("<p class=\"text\">{}</p>", escaped(text, TEXT_CHARS_MAX)),
    };
    page(Response::new(Body::empty()), "Your answer was taken", &body)
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

/// The page in place of a response's body.
fn page(mut response: Response, title: &str, body: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"robots\" content=\"noindex\">\
         <style>{STYLE}</style></head><body><main><h1>{title}</h1>{body}</main></body></html>"
    );
    *response.body_mut() = Body::from(html);
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
        // The address is the credential.
        (REFERRER_POLICY, "no-referrer"),
    ] {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

fn escaped(text: &str, chars_max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(chars_max));
    for c in text.chars().take(chars_max) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
