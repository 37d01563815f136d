//! Which pages may send requests to a webhook from a browser: those that may use the API, and those that its node names. With
//! cookies nobody may.

use super::admission;
use super::answer::not_allowed;
use crate::app::App;
use crate::http::client_ip::ClientIp;
use crate::http::error::ApiError;
use crate::http::middleware::REQUEST_ID;
use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use heddle_model::webhook::METHODS;

/// How long browsers may keep the response to a preflight, in seconds.
const PREFLIGHT_AGE_MAX_S: u64 = 600;

/// Answers the question that a browser asks before a request of another origin's page.
pub(super) async fn preflight(
    app: &App,
    (webhook_id, ip): (&str, ClientIp),
    headers: &HeaderMap,
    origin: Option<HeaderValue>,
) -> Response {
    let asks = headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let Some(origin) = origin.filter(|_| asks) else {
        return not_allowed(["GET", "HEAD", "POST"]);
    };
    let may = may(app, webhook_id, &origin).await;
    if may.is_none() {
        // Whoever guesses addresses is counted, whatever they ask.
        let limits = &app.webhooks.limits;
        if let Err(limited) = limits.check_address(None, ip.limit_key(), app.clock.now()) {
            return ApiError::from(limited).into_response();
        }
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let may = may == Some(true);
    mark(&mut response, &origin, may);
    if may {
        let headers_wanted = headers.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
        let response_headers = response.headers_mut();
        if let Ok(methods) = HeaderValue::from_str(&METHODS.join(",")) {
            response_headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        }
        if let Some(wanted) = headers_wanted {
            response_headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted);
        }
        response_headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(PREFLIGHT_AGE_MAX_S));
    }
    response
}

/// Lets a page of this origin read the response, if it may.
pub(super) async fn allow(app: &App, webhook_id: &str, origin: &HeaderValue, response: &mut Response) {
    let may = may(app, webhook_id, origin).await == Some(true);
    mark(response, origin, may);
}

/// Whether pages of this origin may send requests; `None`: that is a matter of the webhook, and there is none.
async fn may(app: &App, webhook_id: &str, origin: &HeaderValue) -> Option<bool> {
    let of_service = &app.config.cors_origins;
    let is_one = |known: &String| known == "*" || known.as_bytes() == origin.as_bytes();
    if of_service.iter().any(is_one) {
        return Some(true);
    }
    match origin.to_str() {
        // What can't be found out is not allowed; the response itself tells of the failure.
        Ok(origin) => admission::is_origin(app, webhook_id, origin)
            .await
            .unwrap_or(Some(false)),
        Err(_) => Some(false),
    }
}

/// Says in a response whether a page of this origin may read it.
fn mark(response: &mut Response, origin: &HeaderValue, may: bool) {
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("origin"));
    if may {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        // By the session's id a page goes on with its conversation.
        let exposed = format!("{},retry-after,x-run-id,x-session-id", REQUEST_ID.as_str());
        if let Ok(exposed) = HeaderValue::from_str(&exposed) {
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
    }
}
