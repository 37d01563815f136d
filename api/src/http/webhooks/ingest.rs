//! One request to a webhook, in two steps: [`admit`] checks everything that is known before the body is read,
//! [`deliver`] does the rest. Both write a line to the webhook log.

use super::answer::{to_sender, too_late};
use crate::app::App;
use crate::http::client_ip::ClientIp;
use crate::http::error::ApiError;
use crate::http::extract::media_type;
use axum::Json;
use axum::body::Bytes;
use axum::http::header::{CONTENT_LENGTH, USER_AGENT};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use heddle_catalogue::{Role, Start};
use heddle_contract::manifest::Trigger;
use heddle_execution::{Accepted, ActiveDeployment, Ended, IdempotencyKey, NewRun, Ticket};
use heddle_model::Code;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{EndpointId, PatternId, RunId, WebhookLogId};
use heddle_model::shown::{is_credential, shown};
use heddle_model::signature::{self, Scheme};
use heddle_model::status::{TriggeredBy, WebhookStatus};
use heddle_service::webhooks::journal::Entry;
use heddle_service::webhooks::{Endpoint, event};
use heddle_store::deployments::{self, DeploymentRow};
use heddle_store::endpoints;
use heddle_store::webhook_logs::LogRow;
use secrecy::ExposeSecret;
use serde_json::json;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;

/// Characters of what is logged of a request; the rest is cut off.
const LOGGED_CHARS_MAX: usize = 500;
/// Bytes of an idempotency key that is stored as it is; of a longer one its hash is.
const KEY_BYTES_MAX: usize = 255;

/// What is logged of a request, whatever becomes of it.
pub struct Arrival {
    webhook_id: String,
    ip: ClientIp,
    user_agent: Option<String>,
    request_id: String,
    content_length: i64,
    at: Timestamp,
}

impl Arrival {
    /// Records the arrival of a request at the current time.
    pub fn new(app: &App, webhook_id: &str, ip: ClientIp, request_id: String, headers: &HeaderMap) -> Self {
        let text = |name| Some(String::from_utf8_lossy(headers.get(name)?.as_bytes()).into_owned());
        let declared = text(CONTENT_LENGTH).and_then(|length| length.parse().ok());
        Arrival {
            webhook_id: loggable(webhook_id),
            ip,
            user_agent: text(USER_AGENT).as_deref().map(loggable),
            request_id,
            content_length: declared.unwrap_or_default(),
            at: app.clock.now(),
        }
    }

    fn line(self, pattern_id: Option<PatternId>, status: WebhookStatus, status_code: StatusCode) -> LogRow {
        LogRow {
            id: WebhookLogId::new(),
            webhook_id: self.webhook_id,
            pattern_id,
            status,
            status_code: status_code.as_u16().into(),
            rejection_reason: None,
            ip_address: self.ip.0.to_string(),
            user_agent: self.user_agent,
            content_length: self.content_length,
            request_id: self.request_id,
            run_id: None,
            created_at: self.at,
        }
    }
}

fn loggable(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(LOGGED_CHARS_MAX)
        .collect()
}

/// An endpoint that takes the request, and what is deployed behind it.
pub struct Admitted {
    endpoint: Arc<Endpoint>,
    active: Option<Arc<ActiveDeployment>>,
}

impl Admitted {
    /// The deployed node, if there is one.
    fn trigger(&self) -> Option<&Trigger> {
        trigger(self.active.as_deref()?, &self.endpoint.node_id)
    }

    fn scheme(&self) -> Scheme {
        match self.trigger() {
            Some(trigger) => parameter(trigger, "scheme")
                .and_then(Scheme::named)
                .unwrap_or_default(),
            None => self.endpoint.scheme,
        }
    }
}

fn trigger<'d>(active: &'d ActiveDeployment, node_id: &str) -> Option<&'d Trigger> {
    let mut triggers = active.manifest().triggers.iter();
    triggers.find(|trigger| trigger.node_type == Start::Webhook.type_name() && trigger.node_id == node_id)
}

fn parameter<'t>(trigger: &'t Trigger, name: &str) -> Option<&'t str> {
    trigger.parameters.get(name)?.as_str()
}

/// Whether there is such an endpoint with an active deployment behind it.
pub async fn is_active(app: &App, webhook_id: &str) -> Result<bool, ApiError> {
    let Some(endpoint) = app.webhooks.endpoint(webhook_id).await? else {
        return Ok(false);
    };
    let active = app.executions.active_for(endpoint.slot).await?;
    Ok(active.is_some_and(|active| trigger(&active, &endpoint.node_id).is_some()))
}

/// Finds the endpoint and checks what can be checked before the body is read. `Err`: the answer, already logged.
pub async fn admit(
    app: &App,
    arrival: Arrival,
    headers: &HeaderMap,
) -> Result<(Arrival, Admitted), Response> {
    let limited = app.webhooks.limit(arrival.ip.limit_key(), arrival.at);
    let (pattern, found) = match find(app, &arrival.webhook_id).await {
        Ok(found) => found,
        Err(error) => return Err(error.into_response()),
    };
    let Some(admitted) = found else {
        return Err(match limited {
            // Not logged, so that nobody fills the log with guesses.
            Err(limited) => ApiError::from(limited).into_response(),
            Ok(()) => {
                let unknown = Code::NotFound.with("This webhook does not exist.");
                refuse(app, arrival, pattern, WebhookStatus::NotFound, unknown.into()).await
            }
        });
    };
    if let Err(limited) = limited {
        return Err(refuse(app, arrival, pattern, WebhookStatus::RateLimited, limited.into()).await);
    }
    if !media_type(headers).eq_ignore_ascii_case("application/json") {
        let error = Code::UnsupportedMediaType.into();
        return Err(refuse(app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await);
    }
    Ok((arrival, admitted))
}

/// The pattern of the endpoint, if the endpoint ever existed, and the endpoint itself, if it is in use.
async fn find(app: &App, webhook_id: &str) -> Result<(Option<PatternId>, Option<Admitted>), ApiError> {
    let Some(endpoint) = app.webhooks.endpoint(webhook_id).await? else {
        return Ok((None, None));
    };
    let active = app.executions.active_for(endpoint.slot).await?;
    let pattern = Some(endpoint.slot.pattern);
    let admitted = Admitted { endpoint, active };
    if admitted.endpoint.is_present || admitted.trigger().is_some() {
        return Ok((pattern, Some(admitted)));
    }
    // An endpoint whose node is neither in the newest version nor deployed, were it paused, waits for its return.
    let mut reader = app.store.reader().await?;
    let deployment = deployments::in_slot_for_system(&mut reader.db(), admitted.endpoint.slot).await?;
    let holds =
        |deployment: DeploymentRow| deployment.holds(Start::Webhook.type_name(), &admitted.endpoint.node_id);
    Ok((pattern, deployment.is_some_and(holds).then_some(admitted)))
}

/// Refuses a request whose body could not be read.
pub async fn refuse_body(app: &App, arrival: Arrival, admitted: &Admitted, error: ApiError) -> Response {
    let pattern = Some(admitted.endpoint.slot.pattern);
    refuse(app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await
}

async fn refuse(
    app: &App,
    arrival: Arrival,
    pattern: Option<PatternId>,
    status: WebhookStatus,
    error: ApiError,
) -> Response {
    let reason = error.message().to_owned();
    let response = error.into_response();
    let mut log = arrival.line(pattern, status, response.status());
    log.rejection_reason = Some(reason);
    app.webhooks.journal.add(Entry { log, tap: None }).await;
    response
}

/// What becomes of a request whose sender is known.
enum Outcome {
    Run(Ticket, bool),
    Captured(&'static str),
    Duplicate(RunId),
    Refused(WebhookStatus, ApiError),
}

/// Checks the body and makes the run. To be done to the end: a sender that goes away stops nothing.
pub async fn deliver(
    app: App,
    mut arrival: Arrival,
    admitted: Admitted,
    headers: HeaderMap,
    query: Option<String>,
    body: Bytes,
) -> Response {
    arrival.content_length = i64::try_from(body.len()).unwrap_or(i64::MAX);
    let endpoint = admitted.endpoint.clone();
    let pattern = Some(endpoint.slot.pattern);
    let event = match check(&app, &admitted, &headers, query.as_deref(), &body) {
        Ok(event) => event,
        Err(error) => return refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await,
    };
    let key = idempotency_key(admitted.scheme(), &headers, &body);
    drop(body);
    let has_credentials = headers.keys().any(|name| is_credential(name.as_str()));
    let outcome = accept(&app, &admitted, key, event.clone()).await;
    // The tap is only looked at: what is masked there need not be kept.
    let event = if has_credentials { shown(event) } else { event };
    let tap = Some((endpoint.id, String::from(Box::<str>::from(event))));
    let (response, status, run_id, tap) = match outcome {
        Outcome::Refused(status, error) => return refuse(&app, arrival, pattern, status, error).await,
        Outcome::Run(ticket, waits) => {
            let run = ticket.run_id;
            let response = if waits {
                wait(&app, &admitted, ticket).await
            } else {
                accepted(run)
            };
            (response, WebhookStatus::Accepted, Some(run), tap)
        }
        Outcome::Captured(message) => (captured(message), WebhookStatus::Inactive, None, tap),
        Outcome::Duplicate(run) => (duplicate(run), WebhookStatus::Accepted, Some(run), None),
    };
    let mut log = arrival.line(pattern, status, response.status());
    log.run_id = run_id;
    app.webhooks.journal.add(Entry { log, tap }).await;
    response
}

fn check(
    app: &App,
    admitted: &Admitted,
    headers: &HeaderMap,
    query: Option<&str>,
    body: &[u8],
) -> Result<Box<RawValue>, ApiError> {
    let secret = admitted.endpoint.secret.expose_secret();
    signature::verify(admitted.scheme(), secret, headers, body, app.clock.now()).map_err(|refusal| {
        Code::SignatureInvalid.with(format!("The request's signature was rejected: {refusal}."))
    })?;
    event::of_request(headers, query, body, admitted.scheme())
        .map_err(|error| ApiError::field("", format!("the body is not valid JSON: {error}")))
}

async fn accept(app: &App, admitted: &Admitted, key: Option<String>, event: Box<RawValue>) -> Outcome {
    let endpoint = &admitted.endpoint;
    let idempotency = key.map(|key| (endpoint.id, key));
    let Some((active, trigger)) = admitted.active.as_ref().zip(admitted.trigger()) else {
        return capture(app, admitted, idempotency).await;
    };
    let waits = match parameter(trigger, "responseMode") {
        Some("sync") => true,
        Some("async") => false,
        _ => trigger.responds,
    };
    let run = NewRun {
        deployment: active.clone(),
        triggered_by: TriggeredBy::Webhook,
        node_id: Some(endpoint.node_id.clone()),
        event,
        idempotency: idempotency.map(|(endpoint, key)| IdempotencyKey::of_endpoint(endpoint, key)),
        wait: waits,
        caller: None,
    };
    match app.executions.accept(run).await {
        Ok(Accepted::New(ticket)) => Outcome::Run(ticket, waits),
        Ok(Accepted::Duplicate(run)) => Outcome::Duplicate(run),
        Err(error) => Outcome::Refused(WebhookStatus::RateLimited, error.into()),
    }
}

/// What comes while nothing is deployed is a duplicate too, if it had its run before.
async fn capture(app: &App, admitted: &Admitted, idempotency: Option<(EndpointId, String)>) -> Outcome {
    if let Some((endpoint, key)) = idempotency {
        let now = app.clock.now();
        let holder = async {
            let mut reader = app.store.reader().await?;
            endpoints::key_holder_for_ingestion(&mut reader.db(), endpoint, &key, now).await
        };
        match holder.await {
            Ok(Some(run)) => return Outcome::Duplicate(run),
            Ok(None) => {}
            Err(error) => return Outcome::Refused(WebhookStatus::RateLimited, error.into()),
        }
    }
    Outcome::Captured(match admitted.active {
        Some(_) => {
            "The deployed version does not have this webhook yet: the event was captured, and no run was \
             started."
        }
        None => "No deployment of the pattern is active: the event was captured, and no run was started.",
    })
}

async fn wait(app: &App, admitted: &Admitted, ticket: Ticket) -> Response {
    let run = ticket.run_id;
    let of_node = admitted
        .trigger()
        .and_then(|trigger| trigger.parameters.get("timeoutMs")?.as_f64());
    let patience = of_node.map_or(app.config.run_timeout, |ms| Duration::from_millis(ms as u64));
    match tokio::time::timeout(patience, ticket.ended()).await {
        Ok(Ok(ended)) => to_sender(run, &ended, tells_errors(admitted, &ended)),
        Ok(Err(error)) => ApiError::from(error).into_response(),
        Err(_) => too_late(run).into_response(),
    }
}

/// Whether the sender is told what the error of a failed run says: if the trigger has it so, or if the words are those of the
/// pattern's author.
fn tells_errors(admitted: &Admitted, ended: &Ended) -> bool {
    let asked = |trigger: &Trigger| trigger.parameters.get("errorDetails")?.as_bool();
    if admitted.trigger().and_then(asked).unwrap_or(false) {
        return true;
    }
    let failed_at = ended.error.as_ref().and_then(|error| error.node_id.as_deref());
    let mut nodes = admitted.active.iter().flat_map(|active| &active.manifest().nodes);
    let node = nodes.find(|node| Some(node.id.as_str()) == failed_at);
    let node_type = node.and_then(|node| heddle_catalogue::node_type(&node.node_type));
    node_type.is_some_and(|node_type| node_type.role == Role::Throw)
}

fn accepted(run: RunId) -> Response {
    (
        StatusCode::ACCEPTED,
        Json(json!({"status": "accepted", "runId": run})),
    )
        .into_response()
}

fn captured(message: &str) -> Response {
    (
        StatusCode::ACCEPTED,
        Json(json!({"status": "captured", "message": message})),
    )
        .into_response()
}

fn duplicate(run: RunId) -> Response {
    let message = "An event with this idempotency key has already been accepted.";
    Json(json!({"status": "duplicate", "message": message, "runId": run})).into_response()
}

/// What is signed besides the body comes first, so that a request that was overheard can't be sent again under another
/// key; then `X-Idempotency-Key`, or else `X-Request-Id`.
fn idempotency_key(scheme: Scheme, headers: &HeaderMap, body: &[u8]) -> Option<String> {
    if let Some(id) = signature::signed_id(scheme, headers, body) {
        return Some(id);
    }
    let given = |name| {
        headers
            .get(name)
            .map(|value| value.as_bytes().trim_ascii())
            .filter(|key| !key.is_empty())
    };
    let key = given("x-idempotency-key").or_else(|| given("x-request-id"))?;
    let text = std::str::from_utf8(key)
        .ok()
        .filter(|text| text.len() <= KEY_BYTES_MAX);
    Some(text.map_or_else(
        || format!("sha256:{}", hex::encode(Sha256::digest(key))),
        str::to_owned,
    ))
}
