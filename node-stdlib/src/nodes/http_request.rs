//! HttpRequest: from parameters to the `http` effect's request, and from its response to the node's output.
//!
//! The host sends; this side never sees a secret, only the references to them.

mod body;
mod form;
mod pagination;
mod response;

pub use response::{refused_status, resume};

use super::file::FILE;
use super::parameters::{boolean, choice, given, integer, mismatch, object, required_text, text};
use crate::failure::Failure;
use crate::node::{Context, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::{Object, Value};

const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const TIMEOUT_MS_MAX: i64 = 3_600_000;

/// HttpRequest: asks the host for the effect `http`. The request is `{method, url, headers: [[name, value]],
/// baseUrl?, body?: {text} | {base64} | {file} | {pieces: [those]}, auth? | connection?, timeoutMs?, followRedirects, idempotencyKey, pagination?, response?, accepted?}`.
pub fn http_request(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let method = choice(parameters, "method", METHODS, "GET")?;
    let mut headers = headers(parameters)?;
    let mut request = Object::new();
    request.insert("method", Value::from(method));
    request.insert("url", Value::from(url(parameters)?));
    if let Some(base) = text(parameters, "baseUrl")? {
        request.insert("baseUrl", Value::from(base));
    }
    if let Some(body) = body::body(parameters, context.execution_key().as_str())? {
        if let Some(content_type) = body.content_type
            && !has(&headers, "content-type")
        {
            headers.push(("content-type".into(), content_type));
        }
        request.insert("body", body.content);
    }
    // What reading the response needs is checked before anything is sent.
    let reading = response::Reading::new(parameters)?;
    let left_outside = reading.left_outside();
    // Services that have both choose by this between events and one answer.
    if left_outside == Some("events") && !has(&headers, "accept") {
        headers.push(("accept".into(), "text/event-stream".into()));
    }
    let pairs = headers
        .into_iter()
        .map(|(name, value)| vec![Value::from(name), Value::from(value)].into());
    request.insert("headers", pairs.collect::<Vec<Value>>().into());
    if let Some(auth) = object(parameters, "auth")? {
        request.insert("auth", Value::Object(checked_auth(auth)?));
    }
    if let Some(connection) = text(parameters, "connection")? {
        if given(parameters, "auth").is_some() {
            let message = "`connection` and `auth` both say how to authenticate: give one of them.";
            return Err(Failure::new(code::PARAMETER, message));
        }
        request.insert("connection", Value::from(connection));
    }
    if let Some(pagination) = pagination::pagination(parameters)? {
        request.insert("pagination", pagination);
    }
    if let Some(timeout_ms) = integer(parameters, "timeoutMs", 1, TIMEOUT_MS_MAX)? {
        request.insert("timeoutMs", Value::Number(timeout_ms as f64));
    }
    request.insert(
        "followRedirects",
        Value::Bool(boolean(parameters, "followRedirects", true)?),
    );
    request.insert("idempotencyKey", Value::from(context.execution_key()));
    if let Some(form) = left_outside {
        if given(parameters, "pagination").is_some() {
            let message = "The pages of a list are read as JSON: leave out `responseType`, or `pagination`.";
            return Err(Failure::new(code::PARAMETER, message));
        }
        if form != FILE {
            if let Some(name) = ["failure", "result"]
                .into_iter()
                .find(|name| given(parameters, name).is_some())
            {
                let message = format!(
                    "A response that is read while it arrives has no body yet for `{name}` to look at: leave out `responseType`, or `{name}`."
                );
                return Err(Failure::new(code::PARAMETER, message));
            }
            request.insert("accepted", reading.accepted());
        }
        request.insert("response", Value::from(form));
    }
    Ok(Outcome::Effect {
        kind: "http",
        request: Value::Object(request),
    })
}

/// The URL with the parameters of `query` added.
fn url(parameters: &Object) -> Result<String, Failure> {
    let mut url = required_text(parameters, "url")?.trim().to_owned();
    let scheme = url.split("://").next().unwrap_or_default().to_ascii_lowercase();
    // Below `baseUrl`, or that of a connection, which only the host knows.
    let has_base = ["baseUrl", "connection"]
        .iter()
        .any(|name| given(parameters, name).is_some());
    let relative = !url.contains("://") && has_base;
    if !relative && (!url.contains("://") || !matches!(scheme.as_str(), "http" | "https")) {
        let message = format!(
            "Parameter `url` takes an address that begins with http:// or https:// (or, with a `baseUrl` or a connection that \
             has one, a path below it), but it is \"{url}\"."
        );
        return Err(Failure::new(code::PARAMETER, message));
    }
    let pairs = form::pairs(parameters, "query")?;
    if pairs.is_empty() {
        return Ok(url);
    }
    let fragment = url.find('#').map(|at| url.split_off(at)).unwrap_or_default();
    let separator = match url.find('?') {
        None => "?",
        Some(at) if at + 1 == url.len() || url.ends_with('&') => "",
        Some(_) => "&",
    };
    Ok(format!("{url}{separator}{}{fragment}", form::encode(&pairs)))
}

/// Headers in order.
fn headers(parameters: &Object) -> Result<Vec<(String, String)>, Failure> {
    form::pairs(parameters, "headers")
}

fn has(headers: &[(String, String)], wanted: &str) -> bool {
    headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted))
}

fn checked_auth(auth: &Object) -> Result<Object, Failure> {
    const TAKES: &str = "{basic: {user, password}}, {bearer} or {header: {name, value}}";
    let whole = || mismatch("auth", TAKES, &Value::Object(auth.clone()));
    let mut checked = Object::new();
    let texts = |kind: &str, names: [&str; 2]| -> Result<Option<Object>, Failure> {
        let Some(fields) = object(auth, kind)? else {
            return Ok(None);
        };
        let text = |name: &str| Ok((name.to_owned(), Value::from(required_text(fields, name)?)));
        names
            .into_iter()
            .map(text)
            .collect::<Result<Object, Failure>>()
            .map(Some)
    };
    if given(auth, "bearer").is_some() {
        checked.insert("bearer", Value::from(required_text(auth, "bearer")?));
    } else if let Some(basic) = texts("basic", ["user", "password"])? {
        checked.insert("basic", Value::Object(basic));
    } else if let Some(header) = texts("header", ["name", "value"])? {
        checked.insert("header", Value::Object(header));
    } else {
        return Err(whole());
    }
    if auth.len() != 1 {
        return Err(whole());
    }
    Ok(checked)
}
