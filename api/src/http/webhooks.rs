//! `/webhooks/:webhookId`: receives events. Needs no token, because requests are signed.

mod answer;
mod ingest;

use super::client_ip::ClientIp;
use super::extract::{Path, unread};
use super::middleware::RequestId;
use super::to_the_end::ToTheEnd;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::Json;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{DefaultBodyLimit, Extension, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};
use heddle_model::Code;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use ingest::Arrival;
use serde::Serialize;
use std::time::Duration;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Time limit for receiving a body.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);

/// The routes.
pub fn routes() -> OpenApiRouter<App> {
    // The body has a limit of its own, which is checked after what comes before it.
    OpenApiRouter::new()
        .routes(routes!(receive, verify))
        .layer(DefaultBodyLimit::disable())
}

/// The outcome for an event.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Received {
    /// `accepted`, `captured` or `duplicate`; for a synchronous run `completed` or `failed`.
    #[schema(example = "accepted")]
    status: String,
    /// The run that was started; for a duplicate, the original run.
    run_id: Option<String>,
    /// A message for people.
    message: Option<String>,
}

/// Receives an event. The sender signs the raw body with the endpoint's secret, as the node's `scheme` specifies.
/// `X-Idempotency-Key` (or else `X-Request-Id`) ensures that an event that is sent again within 24 hours starts only
/// one run. A synchronous webhook responds with RespondToWebhook's response.
#[utoipa::path(
    post, path = "/webhooks/{webhookId}", operation_id = "send_webhook", tag = "Webhooks",
    params(
        ("webhookId" = String, Path, description = "The last part of the endpoint's URL"),
        ("X-Webhook-Signature" = Option<String>, Header, description = "Hex HMAC-SHA256 of the raw body, for the scheme `heddle`"),
        ("X-Idempotency-Key" = Option<String>, Header, description = "Identifies the event (idempotency)"),
        ("X-Request-Id" = Option<String>, Header, description = "Identifies the event if the other header is missing"),
    ),
    request_body(
        content = serde_json::Value, content_type = "application/json", description = "Any JSON",
        example = json!({"order": 17})
    ),
    responses(
        (status = 200, description = "A duplicate, or the answer of a synchronous run", body = Received),
        (status = 202, description = "Accepted, or captured when no deployment is active", body = Received),
        (status = 400, description = "VALIDATION: the body is not valid JSON", body = ErrorBody),
        (status = 401, description = "SIGNATURE_INVALID", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 413, description = "PAYLOAD_TOO_LARGE", body = ErrorBody),
        (status = 415, description = "UNSUPPORTED_MEDIA_TYPE", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
        (status = 500, description = "A synchronous run failed", body = Received),
        (status = 503, description = "UNAVAILABLE: too many runs are waiting", body = ErrorBody),
        (status = 504, description = "EXECUTION_TIMEOUT: a synchronous run took too long", body = ErrorBody),
    )
)]
async fn receive(
    State(app): State<App>,
    ip: ClientIp,
    Extension(RequestId(request_id)): Extension<RequestId>,
    Path(webhook_id): Path<String>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let arrival = Arrival::new(&app, &webhook_id, ip, request_id, &parts.headers);
    let (arrival, admitted) = match ingest::admit(&app, arrival, &parts.headers).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let body = match read(body, app.config.webhook_body_bytes_max).await {
        Ok(body) => body,
        Err(error) => return ingest::refuse_body(&app, arrival, &admitted, error).await,
    };
    let query = parts.uri.query().map(str::to_owned);
    ToTheEnd::new(ingest::deliver(
        app,
        arrival,
        admitted,
        parts.headers,
        query,
        body,
    ))
    .await
}

/// Reads a body, limited in size and time.
pub(super) async fn read(body: Body, bytes_max: usize) -> Result<Bytes, ApiError> {
    let too_late = || Code::RequestTimeout.with("The body took too long to arrive.");
    let too_large = || Code::PayloadTooLarge.with(format!("The body is larger than {bytes_max} bytes."));
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large().into());
    }
    let collected = tokio::time::timeout(BODY_TIME_MAX, Limited::new(body, bytes_max).collect()).await;
    match collected.map_err(|_| too_late())? {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large().into()),
        Err(error) => Err(unread(&*error)),
    }
}

/// A webhook that exists.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Verified {
    #[schema(example = "ok")]
    status: &'static str,
    /// The id in the endpoint's URL.
    webhook_id: String,
}

/// Checks whether the webhook exists and is active, which some senders do before their first event.
#[utoipa::path(
    get, path = "/webhooks/{webhookId}", operation_id = "verify_webhook", tag = "Webhooks",
    params(
        ("webhookId" = String, Path, description = "The last part of the endpoint's URL"),
        ("challenge" = Option<String>, Query, description = "Returned as plain text"),
        ("hub.challenge" = Option<String>, Query, description = "Returned as plain text"),
    ),
    responses(
        (status = 200, description = "The webhook exists; the body is the challenge alone, if one was sent",
            content((Verified = "application/json"), (String = "text/plain"))),
        (status = 404, description = "NOT_FOUND: it does not exist, or is not active", body = ErrorBody),
    )
)]
async fn verify(
    State(app): State<App>,
    Path(webhook_id): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    if !ingest::is_active(&app, &webhook_id).await? {
        return Err(Code::NotFound
            .with("This webhook does not exist, or is not active.")
            .into());
    }
    let query = request.uri().query().unwrap_or_default().as_bytes();
    let value = |name| {
        form_urlencoded::parse(query)
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    };
    let response = match value("challenge").or_else(|| value("hub.challenge")) {
        Some(challenge) => {
            let headers = [
                (CONTENT_TYPE, "text/plain; charset=utf-8"),
                (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            ];
            (StatusCode::OK, headers, challenge).into_response()
        }
        None => Json(Verified {
            status: "ok",
            webhook_id,
        })
        .into_response(),
    };
    Ok(response)
}
