//! `/callbacks/:runId/:token/:place`: callbacks to waiting runs. They need no token: the URL itself is the credential.

mod page;

use super::client_ip::ClientIp;
use super::extract::{Path, media_type};
use super::webhooks::read;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::Json;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, RawQuery, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::{IntoResponse, Response};
use heddle_execution::CallbackResponse;
use heddle_model::Code;
use heddle_model::ids::RunId;
use heddle_service::webhooks::event;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(call_back, ask))
        .layer(DefaultBodyLimit::disable())
}

/// Resumes a run that waits for this call; its WaitForCallback node emits the request. The run creates the URL
/// (`$run.callbackUrls`), which works once. The response is the node's `respondBody`, for a browser in a page, or its
/// `respondPage`. The body is read as JSON, a form or text, depending on its content type.
#[utoipa::path(
    post, path = "/callbacks/{runId}/{token}/{place}", tag = "Webhooks",
    params(
        ("runId" = RunId, Path, description = "The run"),
        ("token" = String, Path, description = "What makes the URL unguessable"),
        ("place" = String, Path, description = "The node and its iteration"),
    ),
    request_body(
        content = serde_json::Value, content_type = "application/json", description = "Any JSON",
        example = json!({"approved": true})
    ),
    responses(
        (status = 200, description = "The run goes on", body = serde_json::Value),
        (status = 400, description = "VALIDATION: the body does not match its content type", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no run created this URL", body = ErrorBody),
        (status = 409, description = "CONFLICT: the URL was called before", body = ErrorBody),
        (status = 410, description = "GONE: the run has ended, or no longer waits", body = ErrorBody),
        (status = 413, description = "PAYLOAD_TOO_LARGE", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn call_back(
    State(app): State<App>,
    ip: ClientIp,
    Path(target): Path<(RunId, String, String)>,
    request: Request,
) -> Result<Response, ApiError> {
    if !page::is_browser(request.headers()) {
        return answer(app, ip, target, request)
            .await
            .map(|told| respond(told.body));
    }
    Ok(match answer(app, ip, target, request).await {
        Ok(CallbackResponse { page: Some(html), .. }) => page::of_pattern(html),
        // In the page, as text: a pattern's response must not act as a page of the service.
        Ok(CallbackResponse {
            body: Value::String(text),
            ..
        }) => page::thanks(&text),
        Ok(_) => page::thanks(""),
        Err(error) => page::refusal(error),
    })
}

/// The page that people see who follow the URL as a link: it asks, and its button sends a POST request to the same URL with the
/// link's query. Once the run waits, it is the node's `page`, if there is one. Following a link by itself decides nothing, since
/// programs that look for malware in mail do that, too.
#[utoipa::path(
    get, path = "/callbacks/{runId}/{token}/{place}", operation_id = "show_callback", tag = "Webhooks",
    params(
        ("runId" = RunId, Path, description = "The run"),
        ("token" = String, Path, description = "What makes the URL unguessable"),
        ("place" = String, Path, description = "The node and its iteration"),
    ),
    responses(
        (status = 200, description = "The page", body = String, content_type = "text/html"),
        (status = 404, description = "NOT_FOUND: no run created this URL", body = String, content_type = "text/html"),
        (status = 409, description = "CONFLICT: the URL was called before", body = String, content_type = "text/html"),
        (status = 410, description = "GONE: the run has ended, or no longer waits", body = String,
         content_type = "text/html"),
        (status = 429, description = "RATE_LIMITED", body = String, content_type = "text/html"),
    )
)]
async fn ask(
    State(app): State<App>,
    ip: ClientIp,
    target: Result<Path<(RunId, String, String)>, ApiError>,
    RawQuery(query): RawQuery,
    method: Method,
) -> Response {
    let look = async {
        let Path((run, token, place)) = target?;
        if method == Method::HEAD {
            return Err(Code::MethodNotAllowed.into());
        }
        app.webhooks
            .limits
            .check_address(None, ip.limit_key(), app.clock.now())?;
        known(&app, run, &token, &place).await?;
        Ok::<_, ApiError>(app.executions.look_at_callback(run, &place).await?)
    };
    match look.await {
        Ok(Some(html)) => page::of_pattern(html),
        Ok(None) => page::question(query.as_deref()),
        Err(error) => page::refusal(error),
    }
}

/// 404 unless a run has made this URL.
async fn known(app: &App, run: RunId, token: &str, place: &str) -> Result<(), ApiError> {
    match app.executions.is_callback(run, token, place).await? {
        true => Ok(()),
        false => Err(Code::NotFound.with("No run created this URL.").into()),
    }
}

async fn answer(
    app: App,
    ip: ClientIp,
    (run, token, place): (RunId, String, String),
    request: Request,
) -> Result<CallbackResponse, ApiError> {
    app.webhooks
        .limits
        .check_address(None, ip.limit_key(), app.clock.now())?;
    known(&app, run, &token, &place).await?;
    let (parts, body) = request.into_parts();
    let body = read(body, app.config.webhook_body_bytes_max).await?;
    let body = content(&parts.headers, &body)?;
    let event = event::with_body(&parts.headers, parts.uri.query(), parts.method.as_str(), &body);
    let event = event.map_err(ApiError::internal)?;
    let called = app.executions.call_back(run, place, event.get().to_owned());
    Ok(called.await?)
}

/// The body, read by its content type; an empty body is null.
fn content(headers: &HeaderMap, body: &[u8]) -> Result<Box<RawValue>, ApiError> {
    if body.is_empty() {
        return Ok(RawValue::NULL.to_owned());
    }
    let media_type = media_type(headers).to_ascii_lowercase();
    if media_type == "application/json" || media_type.ends_with("+json") {
        return serde_json::from_slice(body).map_err(|error| {
            Code::Validation
                .with(format!("The body is not valid JSON: {error}."))
                .into()
        });
    }
    let value = match media_type.as_str() {
        "application/x-www-form-urlencoded" => {
            let fields = form_urlencoded::parse(body);
            let fields = fields.map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())));
            Value::Object(fields.collect())
        }
        _ => match std::str::from_utf8(body) {
            Ok(text) => Value::String(text.to_owned()),
            Err(_) => {
                return Err(Code::Validation
                    .with("The body is neither JSON, a form nor UTF-8 text.")
                    .into());
            }
        },
    };
    to_raw_value(&value).map_err(ApiError::internal)
}

/// Strings are sent as text, anything else as JSON. A pattern's response must not act as a page of the service.
fn respond(told: Value) -> Response {
    let mut response = match told {
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
