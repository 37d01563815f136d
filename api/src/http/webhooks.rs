//! `/webhooks/:webhookId`: receives events. Needs no token: each webhook says how senders prove who they are.

mod admission;
mod answer;
mod arrival;
mod chats;
pub(super) mod content;
mod cors;
pub(super) mod encoding;
mod forms;
mod ingest;
mod path;
mod sender;
mod steps;
mod streaming;
mod uploads;
mod waiting;
mod whole;

use super::client_ip::ClientIp;
use super::extract::Path;
use super::middleware::RequestId;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use admission::Checked;
use arrival::Arrival;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::ORIGIN;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, options};
use heddle_execution::ToTheEnd;
use heddle_model::Code;
use heddle_runtime::apart;
use serde::Serialize;
pub(super) use steps::{FROM_CALLBACK, shown as shown_step};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
pub(super) use whole::{computed, read};

pub fn routes() -> OpenApiRouter<App> {
    // Without a layer, which would cost each request a box: handlers take the whole request, which axum limits nowhere. The
    // body has a limit of its own, which is checked after what comes before it.
    OpenApiRouter::new()
        .routes(routes!(
            receive,
            verify,
            receive_put,
            receive_patch,
            receive_delete
        ))
        .route("/webhooks/{webhookId}", options(receive_other))
        .route("/webhooks/{webhookId}/{*path}", any(receive_below))
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

/// Receives an event. The sender signs the raw body with the endpoint's secret, as the node's `scheme` specifies; the node
/// may take other proofs, methods, bodies and paths below this one. `X-Idempotency-Key` (or else `X-Request-Id`, or what the
/// scheme's senders have) ensures that an event that is sent again within 24 hours starts only
/// one run. A synchronous webhook responds with RespondToWebhook's response. At the address of a form, what people send from
/// its page, which is answered by pages.
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
        (status = 400, description = "VALIDATION: the body is not what its content type says", body = ErrorBody),
        (status = 401, description = "SIGNATURE_INVALID", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the webhook takes no requests from this address", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 405, description = "METHOD_NOT_ALLOWED: the webhook does not take POST", body = ErrorBody),
        (status = 413, description = "PAYLOAD_TOO_LARGE", body = ErrorBody),
        (status = 415, description = "UNSUPPORTED_MEDIA_TYPE", body = ErrorBody),
        (status = 422, description = "The form again, with what is wrong in its fields", body = String, content_type = "text/html"),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
        (status = 500, description = "A synchronous run failed", body = Received),
        (status = 503, description = "UNAVAILABLE: too many runs are waiting", body = ErrorBody),
        (status = 504, description = "EXECUTION_TIMEOUT: a synchronous run took too long", body = ErrorBody),
    )
)]
async fn receive(
    State(app): State<App>,
    ip: ClientIp,
    request_id: RequestId,
    Path(webhook_id): Path<String>,
    request: Request,
) -> Response {
    answered(app, (ip, request_id), webhook_id, request).await
}

macro_rules! further_methods {
    ($($(#[$doc:meta])* $name:ident $method:ident),*) => {$(
        $(#[$doc])*
        #[utoipa::path(
            $method, path = "/webhooks/{webhookId}", tag = "Webhooks",
            params(("webhookId" = String, Path, description = "The last part of the endpoint's URL")),
            request_body(
                content = serde_json::Value, content_type = "application/json", description = "What the node accepts",
                example = json!({"order": 17})
            ),
            responses(
                (status = 200, description = "A duplicate, or the answer of a synchronous run", body = Received),
                (status = 202, description = "Accepted, or captured when no deployment is active", body = Received),
                (status = 400, description = "VALIDATION: the body is not what its content type says", body = ErrorBody),
                (status = 401, description = "SIGNATURE_INVALID", body = ErrorBody),
                (status = 403, description = "FORBIDDEN: the webhook takes no requests from this address", body = ErrorBody),
                (status = 404, description = "NOT_FOUND", body = ErrorBody),
                (status = 405, description = "METHOD_NOT_ALLOWED: the webhook does not take this method", body = ErrorBody),
                (status = 429, description = "RATE_LIMITED", body = ErrorBody),
                (status = 504, description = "EXECUTION_TIMEOUT: a synchronous run took too long", body = ErrorBody),
            )
        )]
        async fn $name(
            State(app): State<App>,
            ip: ClientIp,
            request_id: RequestId,
            Path(webhook_id): Path<String>,
            request: Request,
        ) -> Response {
            answered(app, (ip, request_id), webhook_id, request).await
        }
    )*};
}
further_methods! {
    /// Receives an event, as `POST` does, if the webhook's node lists this method.
    receive_put put,
    /// Receives an event, as `POST` does, if the webhook's node lists this method.
    receive_patch patch,
    /// Receives an event, as `POST` does, if the webhook's node lists this method.
    receive_delete delete
}

/// OPTIONS, which browsers send before requests of other origins' pages.
async fn receive_other(
    State(app): State<App>,
    ip: ClientIp,
    request_id: RequestId,
    Path(webhook_id): Path<String>,
    request: Request,
) -> Response {
    answered(app, (ip, request_id), webhook_id, request).await
}

/// The paths of webhooks that have some, with all methods.
async fn receive_below(
    State(app): State<App>,
    ip: ClientIp,
    request_id: RequestId,
    Path((webhook_id, _)): Path<(String, String)>,
    request: Request,
) -> Response {
    answered(app, (ip, request_id), webhook_id, request).await
}

/// The answer to any request, for pages of other origins with the headers that let them read it.
async fn answered(
    app: App,
    (ip, RequestId(request_id)): (ClientIp, RequestId),
    webhook_id: String,
    request: Request,
) -> Response {
    let origin = request.headers().get(ORIGIN).cloned();
    if origin.is_none() && request.method() != Method::OPTIONS {
        return received(app, (ip, request_id), webhook_id, request).await;
    }
    let by = (ip, request_id);
    apart(|| answered_across(app, by, webhook_id, (request, origin))).await
}

/// The answer for pages of other origins, also to the question that browsers ask before (CORS).
async fn answered_across(
    app: App,
    by: (ClientIp, String),
    webhook_id: String,
    (request, origin): (Request, Option<HeaderValue>),
) -> Response {
    if request.method() == Method::OPTIONS {
        return cors::preflight(&app, (webhook_id.as_str(), by.0), request.headers(), origin).await;
    }
    let mut response = received(app.clone(), by, webhook_id.clone(), request).await;
    if let Some(origin) = origin {
        cors::allow(&app, &webhook_id, &origin, &mut response).await;
    }
    response
}

async fn received(
    app: App,
    (ip, request_id): (ClientIp, String),
    webhook_id: String,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    if matches!(parts.method, Method::GET | Method::HEAD) {
        match apart(|| verified(&app, &webhook_id, ip, &parts)).await {
            Ok(Some(response)) => return response,
            Ok(None) => {}
            Err(error) => return error.into_response(),
        }
    }
    let arrival = Arrival::new(&app, &webhook_id, ip, request_id, &parts.headers);
    let (arrival, admitted) = match ingest::admit(&app, arrival, &parts).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    if admitted.webhook().chat.is_some() {
        return apart(|| ToTheEnd::new(chats::submit(app, arrival, admitted, (parts, body)))).await;
    }
    if admitted.webhook().form.is_some() {
        return apart(|| ToTheEnd::new(forms::submit(app, arrival, admitted, (parts, body)))).await;
    }
    if let Some(kind) = uploads::kind(&admitted) {
        let body = (kind, body);
        return apart(|| ToTheEnd::new(uploads::deliver(app, arrival, admitted, parts, body))).await;
    }
    let body = match admitted.read(&app, body).await {
        Ok(body) => body,
        Err(error) => return ingest::refuse_body(&app, arrival, &admitted, error).await,
    };
    ToTheEnd::made(|| ingest::deliver(app, arrival, admitted, parts, body)).await
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

/// Checks whether the webhook exists and is active, which some senders do before their first event. If the webhook's node
/// lists GET, a request without a challenge is an event, as with `POST`. At the address of a form, its page; `name=value` fills
/// in fields.
#[utoipa::path(
    get, path = "/webhooks/{webhookId}", operation_id = "verify_webhook", tag = "Webhooks",
    params(
        ("webhookId" = String, Path, description = "The last part of the endpoint's URL"),
        ("challenge" = Option<String>, Query, description = "Returned as plain text"),
        ("hub.challenge" = Option<String>, Query, description = "Returned as plain text"),
    ),
    responses(
        (status = 200, description = "The webhook exists; the body is the challenge alone, if one was sent. Of a form: its page",
            content((Verified = "application/json"), (String = "text/plain"), (String = "text/html"))),
        (status = 202, description = "An event: accepted, or captured", body = Received),
        (status = 403, description = "FORBIDDEN: the form takes no answers from this address", body = String,
         content_type = "text/html"),
        (status = 401, description = "SIGNATURE_INVALID: an event", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED: an event", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: it does not exist, or is not active", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: too many requests at a time. Of a form: it is closed for now",
            content((ErrorBody = "application/json"), (String = "text/html"))),
    )
)]
async fn verify(
    State(app): State<App>,
    ip: ClientIp,
    request_id: RequestId,
    Path(webhook_id): Path<String>,
    request: Request,
) -> Response {
    answered(app, (ip, request_id), webhook_id, request).await
}

/// The answer to a check, which a GET is unless the webhook takes it as an event.
async fn verified(
    app: &App,
    webhook_id: &str,
    ip: ClientIp,
    parts: &Parts,
) -> Result<Option<Response>, ApiError> {
    let query = parts.uri.query().unwrap_or_default().as_bytes();
    let value = |name| {
        form_urlencoded::parse(query)
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    };
    let challenge = value("challenge").or_else(|| value("hub.challenge"));
    match admission::check(app, webhook_id, parts).await? {
        Checked::Page(admitted) => {
            if let Some(chat) = &admitted.webhook().chat {
                return Ok(Some(chats::show(app, ip, &admitted, chat, parts)));
            }
            let form = admitted.webhook().form.clone().unwrap_or_default();
            return Ok(Some(forms::show(app, ip, &admitted, form, parts).await));
        }
        Checked::Event { .. } if challenge.is_none() => return Ok(None),
        Checked::Event { is_active: true } | Checked::Active => {}
        Checked::Event { is_active: false } | Checked::Inactive => {
            // A guess, as far as anybody knows.
            let limits = &app.webhooks.limits;
            limits.check_address(None, ip.limit_key(), app.clock.now())?;
            let message = "This webhook does not exist, or is not active.";
            return Err(Code::NotFound.with(message).into());
        }
    }
    Ok(Some(match challenge {
        Some(challenge) => answer::proven(challenge),
        None => Json(Verified {
            status: "ok",
            webhook_id: webhook_id.to_owned(),
        })
        .into_response(),
    }))
}
