//! Pages for people who have no account here: how they look, what a browser may do with them, and escaping. Without script.

use crate::http::error::ApiError;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use heddle_model::Code;

/// How all of them look.
pub const STYLE: &str = ":root{color-scheme:light dark}body{margin:0;min-height:100vh;display:grid;place-items:center;\
    background:light-dark(#f3f5f7,#0f1216);color:light-dark(#1c2430,#e3e8ee);font:16px/1.5 system-ui,sans-serif}\
    main{box-sizing:border-box;width:min(30rem,100vw);padding:2rem;border-radius:10px;\
    background:light-dark(#fff,#1c2229);overflow-wrap:anywhere}h1{margin:0 0 .5rem;font-size:1.25rem}\
    p,dl{margin:0 0 1.25rem}dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem}\
    dt{color:light-dark(#566172,#9aa6b5)}dd{margin:0;font-weight:600}.text{white-space:pre-wrap}\
    button{padding:.6rem 1.4rem;border:0;border-radius:6px;background:light-dark(#0b6e6e,#5cc8c0);\
    color:light-dark(#fff,#0b1c1b);font:inherit;font-weight:600;cursor:pointer}\
    button:focus-visible{outline:3px solid light-dark(#0b7f7f,#5cc8c0);outline-offset:3px}";

/// A page: the title and what stands in `main` are HTML, in which every text is escaped.
pub struct Page<'p> {
    pub title: &'p str,
    /// What is added to [`STYLE`].
    pub style: &'p str,
    pub body: &'p str,
    pub policy: HeaderValue,
}

/// How a kind of page says that something was refused: titles, and texts below them.
pub struct Refusals {
    pub missing: &'static str,
    pub forbidden: (&'static str, &'static str),
    pub closed: (&'static str, &'static str),
    pub too_much: &'static str,
    pub too_large: &'static str,
    /// What is being done with what has arrived.
    pub longer: &'static str,
    pub not_taken: &'static str,
}

impl Refusals {
    /// Title and text, as HTML.
    pub fn of(&self, error: &ApiError) -> (&'static str, String) {
        let (title, text) = match error.code() {
            Code::NotFound => (self.missing, "It is not open, or its address has changed."),
            Code::Forbidden => self.forbidden,
            Code::Unavailable | Code::WorkspaceSuspended => self.closed,
            Code::RateLimited | Code::WorkspaceQuotaExceeded => ("Too much at once", self.too_much),
            Code::PayloadTooLarge => ("That is too large", self.too_large),
            Code::ExecutionTimeout => ("This takes longer", self.longer),
            Code::Internal => ("Something went wrong", "Please try again later."),
            _ => (self.not_taken, error.message()),
        };
        (title, escaped(text, usize::MAX))
    }
}

/// The page in place of a response's body.
pub fn put(response: Response, page: Page<'_>) -> Response {
    let Page {
        title,
        style,
        body,
        policy,
    } = page;
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"robots\" content=\"noindex\">\
         <style>{STYLE}{style}</style></head><body><main>{body}</main></body></html>"
    );
    put_html(response, html, policy)
}

/// A whole document in place of a response's body.
pub fn put_html(mut response: Response, html: String, policy: HeaderValue) -> Response {
    *response.body_mut() = Body::from(html);
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(CONTENT_TYPE, "text/html; charset=utf-8");
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(CACHE_CONTROL, "no-store");
    // The address is the credential.
    set(REFERRER_POLICY, "no-referrer");
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// A text as it stands in HTML, between tags or in a quoted attribute.
pub fn escaped(text: &str, chars_max: usize) -> String {
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
