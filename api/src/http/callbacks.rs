//! `/callbacks/:runId/:token/:place`: callbacks to waiting runs. They need no token: the URL itself is the credential.

mod asking;
mod page;

use super::client_ip::ClientIp;
use super::extract::{Path, media_type};
use super::webhooks::{computed, encoding, read};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::{DefaultBodyLimit, RawQuery, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use heddle_execution::{CallbackKind, CallbackResponse};
use heddle_model::Code;
use heddle_model::ids::RunId;
use heddle_runtime::is_small;
use heddle_service::webhooks::body::unmarked;
use heddle_service::webhooks::event;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Fields of a form that is sent, as of those that webhooks are sent.
const FIELDS_MAX: usize = 1_000;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(call_back, ask))
        .layer(DefaultBodyLimit::disable())
}

/// Resumes a run that waits for this call; its WaitForCallback node emits the request. The run creates the URL
/// (`$run.callbackUrls`), which works once. The response is the node's `respondBody`, for a browser in a page, or its
/// `respondPage`. The body is read as JSON, a form or text, depending on its content type. If the node has a `form`, its fields
/// are checked, and a browser is led to the next page.
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
        (status = 303, description = "The run goes on, and its next page is there"),
        (status = 400, description = "VALIDATION: the body does not match its content type or the form", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no run created this URL", body = ErrorBody),
        (status = 409, description = "CONFLICT: the URL was called before", body = ErrorBody),
        (status = 410, description = "GONE: the run has ended, or no longer waits", body = ErrorBody),
        (status = 413, description = "PAYLOAD_TOO_LARGE", body = ErrorBody),
        (status = 415, description = "UNSUPPORTED_MEDIA_TYPE: of a form", body = ErrorBody),
        (status = 422, description = "The form again, with what is wrong in its fields", body = String, content_type = "text/html"),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn call_back(
    State(app): State<App>,
    ip: ClientIp,
    Path(target): Path<(RunId, String, String)>,
    request: Request,
) -> Result<Response, ApiError> {
    let is_browser = page::is_browser(request.headers());
    let called = async {
        let kind = callback_kind(&app, ip, &target).await?;
        let (run, _, place) = target;
        match kind {
            CallbackKind::Call => {
                let answered = answer(&app, (run, place), request).await?;
                Ok::<_, ApiError>(page::response(answered, is_browser))
            }
            kind => Box::pin(asking::submit(&app, kind, (run, place), request)).await,
        }
    };
    match called.await {
        Err(error) if is_browser => Ok(page::refusal(error)),
        called => called,
    }
}

/// The page that people see who follow the URL as a link: it asks, and its button sends a POST request to the same URL with the
/// link's query. Once the run waits, it is the node's `form` or `page`, if there is one. Following a link by itself decides
/// nothing, since programs that look for malware in mail do that, too.
#[utoipa::path(
    get, path = "/callbacks/{runId}/{token}/{place}", operation_id = "show_callback", tag = "Webhooks",
    params(
        ("runId" = RunId, Path, description = "The run"),
        ("token" = String, Path, description = "What makes the URL unguessable"),
        ("place" = String, Path, description = "The node and its iteration"),
    ),
    responses(
        (status = 200, description = "The page", body = String, content_type = "text/html"),
        (status = 303, description = "This page was sent, and another one is open"),
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
        let Path(target) = target?;
        if method == Method::HEAD {
            return Err(Code::MethodNotAllowed.into());
        }
        let kind = callback_kind(&app, ip, &target).await?;
        let (run, _, place) = target;
        if kind != CallbackKind::Call {
            return asking::show(&app, kind, (run, &place), query.as_deref()).await;
        }
        let asked = app.executions.look_at_callback(run, &place).await?;
        Ok::<_, ApiError>(match asked.page {
            Some(html) => page::of_pattern(html),
            None => page::question(query.as_deref()),
        })
    };
    look.await.unwrap_or_else(page::refusal)
}

/// What the URL is for; 404 unless a run has made it.
async fn callback_kind(
    app: &App,
    ip: ClientIp,
    (run, token, place): &(RunId, String, String),
) -> Result<CallbackKind, ApiError> {
    let limits = &app.webhooks.limits;
    limits.check_address(None, ip.limit_key(), app.clock.now())?;
    let kind = app.executions.callback_kind(*run, token, place).await?;
    Ok(kind.ok_or_else(|| Code::NotFound.with("No run created this URL."))?)
}

async fn answer(
    app: &App,
    (run, place): (RunId, String),
    request: Request,
) -> Result<CallbackResponse, ApiError> {
    let (parts, body) = request.into_parts();
    let bytes_max = app.config.webhook_body_bytes_max;
    let body = read(body, bytes_max).await?;
    // It may be called before it is there: then what is unpacked for it is nobody's.
    let mut owner = match encoding::of(&parts.headers)? {
        Some(_) => app.executions.run_asking(run).await.ok().map(|run| run.owner),
        None => None,
    };
    let body = encoding::unpacked((app, owner), &parts.headers, body, bytes_max).await?;
    let bytes = body.len();
    if owner.is_none() && !is_small(bytes) {
        // What is sent for a run that is not there comes to nobody, so it is not read in nobody's turn, either.
        owner = Some(app.executions.run_asking(run).await?.owner);
    }
    let event = computed(app, owner, bytes, move || event_of(&parts, &body)).await??;
    Ok(app.executions.call_back(run, place, event).await?)
}

fn event_of(parts: &Parts, body: &[u8]) -> Result<String, ApiError> {
    let body = content(&parts.headers, body)?;
    let event = event::with_body(&parts.headers, parts.uri.query(), parts.method.as_str(), &body);
    let event: Box<str> = event.map_err(ApiError::internal)?.into();
    Ok(event.into())
}

/// The body, read by its content type; an empty body is null.
fn content(headers: &HeaderMap, body: &[u8]) -> Result<Box<RawValue>, ApiError> {
    if body.is_empty() {
        return Ok(RawValue::NULL.to_owned());
    }
    let media_type = media_type(headers).to_ascii_lowercase();
    if media_type == "application/json" || media_type.ends_with("+json") {
        return serde_json::from_slice(unmarked(body)).map_err(|error| {
            Code::Validation
                .with(format!("The body is not valid JSON: {error}."))
                .into()
        });
    }
    let value = match media_type.as_str() {
        "application/x-www-form-urlencoded" => {
            if form_urlencoded::parse(body).nth(FIELDS_MAX).is_some() {
                return Err(Code::Validation
                    .with(format!("The body has more than {FIELDS_MAX} fields."))
                    .into());
            }
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
