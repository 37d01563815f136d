//! One request to a webhook, in two steps: [`admit`] checks everything that is known before the body is read,
//! [`deliver`] does the rest. Both write a line to the webhook log.

use super::admission::{Admitted, find, fit, limit};
use super::answer::{challenge_of_slack, duplicate, not_allowed, proven};
use super::arrival::Arrival;
use super::content::{self, content_type};
use super::encoding;
use super::path;
use super::sender;
use super::steps;
use super::waiting::wait;
use super::whole;
use crate::app::App;
use crate::http::client_ip::untrusted_proxy;
use crate::http::error::ApiError;
use crate::http::forms::page as form_page;
use axum::Json;
use axum::body::Bytes;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use heddle_execution::blocking::computing_if_large;
use heddle_execution::{Accepted, ArrivedFiles, EVENT_BYTES_MAX, IdempotencyKey, NewRun, Ticket};
use heddle_model::Code;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{EndpointId, PatternId, RunId};
use heddle_model::shown::{is_credential, shown};
use heddle_model::signature::{Authentication, event_id};
use heddle_model::status::{TriggeredBy, WebhookStatus};
use heddle_model::webhook::WhenPaused;
use heddle_runtime::{apart, is_small};
use heddle_service::webhooks::body;
use heddle_service::webhooks::event::{self, Added, Received};
use heddle_service::webhooks::journal::{Entry, Tap};
use heddle_store::{StoreError, endpoints};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Once};
use tokio::sync::OwnedSemaphorePermit;

/// What senders to a suspended workspace are told.
const SUSPENDED: &str = "The workspace of this webhook is suspended: the event was not accepted. Its owner can ask the \
    operator of the service.";
/// Bytes of an idempotency key that is stored as it is; of a longer one its hash is.
const KEY_BYTES_MAX: usize = 255;

/// Finds the endpoint and checks what can be checked before the body is read. `Err`: the answer, already logged.
pub async fn admit(app: &App, mut arrival: Arrival, parts: &Parts) -> Result<(Arrival, Admitted), Response> {
    let (pattern, found) = match find(app, &arrival.webhook_id).await {
        Ok(found) => found,
        Err(error) => return Err(error.into_response()),
    };
    let endpoint = found.as_ref().map(|admitted| admitted.endpoint.id);
    if let Some(admitted) = &found {
        arrival.note_page(admitted.webhook(), &parts.headers);
    }
    let limits = &app.webhooks.limits;
    let limited = limits.check_address(endpoint, arrival.ip.limit_key(), arrival.at);
    let Some(mut admitted) = found else {
        return Err(match limited {
            // Not logged, so that nobody fills the log with guesses.
            Err(limited) => ApiError::from(limited).into_response(),
            // As every path answers that does not have such a method: so it does not reveal a webhook.
            Ok(()) if !matches!(parts.method, Method::POST | Method::GET | Method::HEAD) => {
                not_allowed(["GET", "HEAD", "POST"])
            }
            Ok(()) => {
                let unknown = Code::NotFound.with("This webhook does not exist.");
                refuse(app, arrival, pattern, WebhookStatus::NotFound, unknown.into()).await
            }
        });
    };
    if let Err(limited) = limited {
        return Err(refuse_limited(app, arrival, pattern, limited.into(), parts).await);
    }
    if admitted.endpoint.is_suspended {
        let suspended = Code::WorkspaceSuspended.with(SUSPENDED).into();
        return Err(refuse(app, arrival, pattern, WebhookStatus::Inactive, suspended).await);
    }
    match fit(arrival.ip, &admitted, parts) {
        Ok(body) => admitted.body = body,
        Err((status, error)) if error.code() == Code::MethodNotAllowed => {
            // Whether a webhook is there may always be asked.
            let names = admitted.webhook().methods.names();
            let others = names.filter(|name| !matches!(*name, "GET" | "HEAD"));
            let response = not_allowed(["GET", "HEAD"].into_iter().chain(others));
            let answer = (response, error.message().to_owned());
            return Err(refuse_as(app, arrival, pattern, status, answer).await);
        }
        Err((status, error)) => return Err(refuse(app, arrival, pattern, status, error).await),
    }
    // Bodies of strangers are not read, and they take no turn that others wait for: an issuer of tokens may take long to answer.
    if admitted.webhook().authentication.scheme.is_in_head() {
        match sender::by_head(app, &admitted, parts).await {
            Ok(claims) => admitted.claims = claims,
            Err(not_known) => {
                let told = (arrival.refusal(not_known.error), not_known.reason);
                return Err(refuse_as(app, arrival, pattern, WebhookStatus::SignatureInvalid, told).await);
            }
        }
    }
    Ok((arrival, admitted))
}

/// Refuses a request whose body could not be read.
pub fn refuse_body<'a>(
    app: &'a App,
    arrival: Arrival,
    admitted: &Admitted,
    error: ApiError,
) -> BoxFuture<'a, Response> {
    let pattern = Some(admitted.endpoint.slot.pattern);
    refuse(app, arrival, pattern, WebhookStatus::SignatureInvalid, error)
}

pub(super) fn refuse(
    app: &App,
    arrival: Arrival,
    pattern: Option<PatternId>,
    status: WebhookStatus,
    error: ApiError,
) -> BoxFuture<'_, Response> {
    let status = match (status, error.code()) {
        // A request that only comes at a bad time has no wrong signature.
        (WebhookStatus::SignatureInvalid, Code::RateLimited | Code::Unavailable) => {
            WebhookStatus::RateLimited
        }
        (status, _) => status,
    };
    let reason = error.message().to_owned();
    let response = arrival.refusal(error);
    refuse_as(app, arrival, pattern, status, (response, reason))
}

/// Refuses one request too many. If all requests may come through a proxy that is not trusted, the log says so.
fn refuse_limited<'a>(
    app: &'a App,
    arrival: Arrival,
    pattern: Option<PatternId>,
    error: ApiError,
    parts: &Parts,
) -> BoxFuture<'a, Response> {
    let mut reason = error.message().to_owned();
    if let Some(proxy) = untrusted_proxy(parts, &app.config.trusted_proxies) {
        let hint = format!(
            "{proxy} sends X-Forwarded-For and is not among trusted_proxies, so that all who come through it are counted \
             as one"
        );
        static TOLD: Once = Once::new();
        TOLD.call_once(|| tracing::warn!("A webhook's request was refused: {hint}"));
        reason = format!("{reason} {hint}.");
    }
    let response = arrival.refusal(error);
    refuse_as(
        app,
        arrival,
        pattern,
        WebhookStatus::RateLimited,
        (response, reason),
    )
}

pub(super) fn refuse_as(
    app: &App,
    arrival: Arrival,
    pattern: Option<PatternId>,
    status: WebhookStatus,
    (response, reason): (Response, String),
) -> BoxFuture<'_, Response> {
    let mut log = arrival.line(pattern, status, response.status());
    log.rejection_reason = Some(reason);
    // Boxed: the future of each request would have to carry it, as many times as there are refusals.
    Box::pin(async move {
        app.webhooks.journal.add(Entry { log, tap: None }).await;
        response
    })
}

/// A body whose files are stored.
pub struct Uploaded {
    /// The run that holds them, if there is to be one.
    pub run: Option<RunId>,
    /// The body with references to them.
    pub body: Box<RawValue>,
    /// They go, unless the event is accepted.
    pub files: ArrivedFiles,
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
    parts: Parts,
    body: Bytes,
) -> Response {
    arrival.content_length = i64::try_from(body.len()).unwrap_or(i64::MAX);
    let endpoint = admitted.endpoint.clone();
    let pattern = Some(endpoint.slot.pattern);
    let turn = match &admitted.deployment {
        Some(deployment) => app.webhooks.turns.take(deployment.owner, arrival.at).await,
        None => Ok(None),
    };
    let turn = match turn {
        Ok(turn) => turn,
        Err(error) => return refuse(&app, arrival, pattern, WebhookStatus::RateLimited, error.into()).await,
    };
    let is_plain = matches!(encoding::of(&parts.headers), Ok(None));
    let event = match body.len() {
        0..=whole::SMALL_BYTES_MAX if is_plain => {
            event_of(&app, (&admitted, arrival.at), &parts, &body).await
        }
        _ => {
            let owner = admitted.deployed_by();
            let (there, at, body) = (app.clone(), arrival.at, body.clone());
            let (admitted, parts) = (admitted.clone(), parts.clone());
            let work = move || async move { event_of(&there, (&admitted, at), &parts, &body).await };
            apart(|| whole::beside(&app, owner, work)).await
        }
    };
    let (key, event) = match event {
        Ok(event) => event,
        Err(error) if error.code() == Code::RateLimited => {
            return refuse_limited(&app, arrival, pattern, error, &parts).await;
        }
        Err(error) => return refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await,
    };
    // Slack's questions are short, and what is long would be read here.
    if admitted.webhook().answers_slack
        && is_small(body.len())
        && let Some(challenge) = challenge_of_slack(&body)
    {
        let response = proven(challenge);
        let log = arrival.line(pattern, WebhookStatus::Accepted, response.status());
        apart(|| app.webhooks.journal.add(Entry { log, tap: None })).await;
        return response;
    }
    drop(body);
    let event = NewEvent::new(key, event, None);
    accept_and_answer(app, arrival, admitted, &parts.headers, event, turn).await
}

/// Makes the run of a request whose files are stored.
pub(super) async fn deliver_uploaded(
    app: App,
    arrival: Arrival,
    admitted: Admitted,
    parts: Parts,
    uploaded: Uploaded,
) -> Response {
    let Uploaded { run, body, mut files } = uploaded;
    let event = match event_of_upload(&app, &admitted, &parts, body).await {
        Ok(event) => event,
        Err(error) => {
            let pattern = Some(admitted.endpoint.slot.pattern);
            return refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await;
        }
    };
    files.keep();
    let key = idempotency_key(&admitted.webhook().authentication, &parts.headers, &[]);
    let event = NewEvent::new(key, event, run);
    accept_and_answer(app, arrival, admitted, &parts.headers, event, None).await
}

/// Its event: made where no other request waits for it, if its fields are large.
async fn event_of_upload(
    app: &App,
    admitted: &Admitted,
    parts: &Parts,
    body: Box<RawValue>,
) -> Result<Box<RawValue>, ApiError> {
    fn made(admitted: &Admitted, parts: &Parts, body: &RawValue) -> Result<Box<RawValue>, ApiError> {
        let added = Added {
            params: params(admitted, parts),
            raw_body: None,
            claims: admitted.claims.clone(),
        };
        event_with(admitted, parts, body, added)
    }
    if is_small(body.get().len()) {
        return made(admitted, parts, &body);
    }
    let owner = admitted.deployed_by();
    let (admitted, parts) = (admitted.clone(), parts.clone());
    let work = move || async move { made(&admitted, &parts, &body) };
    apart(|| whole::beside(app, owner, work)).await
}

/// An event that is to start a run.
pub(super) struct NewEvent {
    /// What the sender says to make a second one the same run.
    idempotency_key: Option<String>,
    event: Box<RawValue>,
    /// The run's id, if files were stored for it already.
    run: Option<RunId>,
}

impl NewEvent {
    pub fn new(idempotency_key: Option<String>, event: Box<RawValue>, run: Option<RunId>) -> Self {
        NewEvent {
            idempotency_key,
            event,
            run,
        }
    }
}

/// Accepts an event and answers its sender. `turn` is given back once the event is accepted.
pub(super) async fn accept_and_answer(
    app: App,
    arrival: Arrival,
    admitted: Admitted,
    headers: &HeaderMap,
    new: NewEvent,
    turn: Option<OwnedSemaphorePermit>,
) -> Response {
    let endpoint = admitted.endpoint.clone();
    let form = admitted.webhook().form.clone();
    let pattern = Some(endpoint.slot.pattern);
    let is_paused = admitted
        .deployment
        .as_ref()
        .is_some_and(|active| active.is_paused);
    let leads_on = form.is_some() && !is_paused && admitted.has_steps();
    let has_credentials = headers.keys().any(|name| is_credential(name.as_str()));
    // One copy, for what is stored of the run and for the tap.
    let text = Arc::<str>::from(new.event.get());
    // The tap is only looked at, and the sender may wait for long: what has no room is not kept for it.
    let room = app.webhooks.journal.tap_room(admitted.deployed_by(), text.len());
    let to_mask = (has_credentials && room.is_some()).then(|| new.event.clone());
    let outcome = accept(&app, &admitted, new, text.clone()).await;
    // Its sender may wait for long.
    drop(turn);
    // The tap gets the event with its credentials masked.
    let tapped: Arc<str> = match to_mask {
        Some(event) => {
            // Its sender may wait for long, as above.
            drop(text);
            let (owner, bytes) = (admitted.deployed_by(), event.get().len());
            let masked = apart(|| computing_if_large(owner, bytes, move || shown(event))).await;
            masked.map_or_else(|_| RawValue::NULL.get().into(), |masked| masked.get().into())
        }
        None => text,
    };
    let tap = room.map(|room| Tap {
        endpoint: endpoint.id,
        event: tapped,
        room,
    });
    let (response, status, run_id, tap) = match outcome {
        Outcome::Refused(status, error) => return refuse(&app, arrival, pattern, status, error).await,
        Outcome::Run(ticket, waits) => {
            let run = ticket.run_id;
            let response = match (&form, &arrival.turn) {
                (_, Some(turn)) => apart(|| turn.answered(&app, &admitted, ticket)).await,
                (Some(_), None) if leads_on => apart(|| steps::first(&app, &admitted, (ticket, waits))).await,
                _ if waits => wait(&app, &admitted, ticket).await,
                (Some(form), None) => form_page::sent(form),
                (None, None) => accepted(run),
            };
            (response, WebhookStatus::Accepted, Some(run), tap)
        }
        // It was closed a moment ago.
        Outcome::Captured(_) if form.is_some() || arrival.turn.is_some() => {
            let closed = Code::Unavailable.into();
            return refuse(&app, arrival, pattern, WebhookStatus::Inactive, closed).await;
        }
        Outcome::Captured(message) => (captured(message), WebhookStatus::Inactive, None, tap),
        Outcome::Duplicate(run) => {
            let response = match (&arrival.turn, form) {
                (Some(turn), _) => turn.sent_before(run),
                // Whoever only knows a form's token is led to nobody's pages.
                (None, Some(_)) if leads_on && app.cookies.form(headers).is_some() => {
                    apart(|| steps::again(&app, run)).await
                }
                (None, Some(_)) => form_page::sent_before(),
                (None, None) => duplicate(run),
            };
            (response, WebhookStatus::Accepted, Some(run), None)
        }
    };
    let mut log = arrival.line(pattern, status, response.status());
    log.run_id = run_id;
    app.webhooks.journal.add(Entry { log, tap }).await;
    response
}

/// Checks who signed the body and how much they send, then what it says, and gives the event with its idempotency key.
async fn event_of(
    app: &App,
    (admitted, at): (&Admitted, Timestamp),
    parts: &Parts,
    body: &Bytes,
) -> Result<(Option<String>, Box<RawValue>), ApiError> {
    let webhook = admitted.webhook();
    if !webhook.authentication.scheme.is_in_head() {
        sender::by_signature(app, admitted, parts, body)?;
    }
    limit(app, admitted, at)?;
    let unpacked = match encoding::of(&parts.headers) {
        Ok(Some(encoding)) => Some(encoding::decoded(encoding, body, admitted.bytes_max(app).0)?),
        // Unknown ones were refused, unless there is no body.
        Ok(None) | Err(_) => None,
    };
    let body = unpacked.as_ref().unwrap_or(body);
    let (value, raw_body) = match admitted.body {
        Some(kind) => {
            let raw = || body::raw(kind, content_type(&parts.headers), body);
            let raw = webhook.raw_body.then(raw).transpose();
            let raw = raw.map_err(content::unreadable)?.flatten();
            (content::value(kind, &parts.headers, body).await?, raw)
        }
        None if body.is_empty() => (Cow::Borrowed(RawValue::NULL), None),
        None => {
            return Err(Code::UnsupportedMediaType
                .with("The body has no content type.")
                .into());
        }
    };
    let added = Added {
        params: params(admitted, parts),
        raw_body,
        claims: admitted.claims.clone(),
    };
    let event = event_with(admitted, parts, &value, added)?;
    Ok((
        idempotency_key(&webhook.authentication, &parts.headers, body),
        event,
    ))
}

/// What stands in the path for each of its names.
fn params<'a>(admitted: &'a Admitted, parts: &Parts) -> Option<BTreeMap<&'a str, String>> {
    let webhook = admitted.webhook();
    match webhook.path.is_empty() {
        true => None,
        false => path::params(&webhook.path, path::below(parts.uri.path())),
    }
}

pub(super) fn event_with(
    admitted: &Admitted,
    parts: &Parts,
    body: &RawValue,
    added: Added<'_>,
) -> Result<Box<RawValue>, ApiError> {
    let raw_bytes = added.raw_body.as_deref().map_or(0, event::bytes_as_json);
    if body.get().len().saturating_add(raw_bytes) > EVENT_BYTES_MAX {
        let mib = EVENT_BYTES_MAX >> 20;
        let message =
            format!("The body is larger than {mib} MiB as JSON, which is more than a run may begin with.");
        return Err(Code::PayloadTooLarge.with(message).into());
    }
    let received = Received {
        method: parts.method.as_str(),
        headers: &parts.headers,
        proof: &admitted.webhook().authentication,
        query: parts.uri.query(),
        body,
    };
    event::of_request(&received, added).map_err(ApiError::internal)
}

async fn accept(app: &App, admitted: &Admitted, new: NewEvent, text: Arc<str>) -> Outcome {
    let endpoint = &admitted.endpoint;
    let idempotency = new.idempotency_key.map(|key| (endpoint.id, key));
    let Some((deployment, webhook)) = admitted.deployment.as_ref().zip(admitted.deployed()) else {
        return apart(|| capture(app, admitted, idempotency)).await;
    };
    if deployment.is_paused && webhook.when_paused == WhenPaused::Capture {
        return apart(|| capture(app, admitted, idempotency)).await;
    }
    if deployment.is_paused {
        // An event whose run waits already does not count again.
        match apart(|| existing_run(app, idempotency.as_ref())).await {
            Ok(Some(run)) => return Outcome::Duplicate(run),
            Ok(None) => {}
            Err(error) => return Outcome::Refused(WebhookStatus::RateLimited, error.into()),
        }
    }
    // Nobody waits for what can't begin.
    let waits = webhook.is_sync == Some(true) && !deployment.is_paused;
    let run = NewRun {
        deployment: deployment.clone(),
        triggered_by: TriggeredBy::Webhook,
        node_id: Some(endpoint.node_id.clone()),
        event: new.event,
        text: Some(text),
        idempotency: idempotency.map(|(endpoint, key)| IdempotencyKey::of_endpoint(endpoint, key)),
        wait: waits,
        caller: None,
        id: new.run,
    };
    let accepted = match deployment.is_paused {
        true => apart(|| app.executions.accept_paused(run)).await,
        false => app.executions.accept(run).await,
    };
    match accepted {
        Ok(Accepted::New(ticket)) => Outcome::Run(ticket, waits),
        Ok(Accepted::Duplicate(run)) => Outcome::Duplicate(run),
        Err(error) => Outcome::Refused(WebhookStatus::RateLimited, error.into()),
    }
}

/// Captures an event that comes while nothing is deployed. It is a duplicate if it had a run before.
async fn capture(app: &App, admitted: &Admitted, idempotency: Option<(EndpointId, String)>) -> Outcome {
    match existing_run(app, idempotency.as_ref()).await {
        Ok(Some(run)) => return Outcome::Duplicate(run),
        Ok(None) => {}
        Err(error) => return Outcome::Refused(WebhookStatus::RateLimited, error.into()),
    }
    Outcome::Captured(match &admitted.deployment {
        Some(deployment) if !deployment.is_paused => {
            "The deployed version does not have this webhook yet: the event was captured, and no run was \
             started."
        }
        _ => "No deployment of the pattern is active: the event was captured, and no run was started.",
    })
}

/// The run that an event with this key has had.
async fn existing_run(app: &App, key: Option<&(EndpointId, String)>) -> Result<Option<RunId>, StoreError> {
    let Some((endpoint, key)) = key else {
        return Ok(None);
    };
    let now = app.clock.now();
    let mut reader = app.store.reader().await?;
    endpoints::key_holder_for_ingestion(&mut reader.db(), *endpoint, key, now).await
}

fn accepted(run_id: RunId) -> Response {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Begun {
        status: &'static str,
        run_id: RunId,
    }
    let status = "accepted";
    (StatusCode::ACCEPTED, Json(Begun { status, run_id })).into_response()
}

fn captured(message: &str) -> Response {
    (
        StatusCode::ACCEPTED,
        Json(json!({"status": "captured", "message": message})),
    )
        .into_response()
}

/// What is signed besides the body comes first, so that a request that was overheard can't be sent again under another
/// key; then the headers by which the scheme's senders name an event.
pub(super) fn idempotency_key(
    authentication: &Authentication,
    headers: &HeaderMap,
    body: &[u8],
) -> Option<String> {
    if let Some(id) = event_id::signed_id(authentication, headers, body) {
        return Some(id);
    }
    let given = |name: &&str| {
        headers
            .get(*name)
            .map(|value| value.as_bytes().trim_ascii())
            .filter(|key| !key.is_empty())
    };
    let key = authentication.scheme.event_ids().iter().find_map(given)?;
    let text = std::str::from_utf8(key)
        .ok()
        .filter(|text| text.len() <= KEY_BYTES_MAX);
    Some(text.map_or_else(
        || format!("sha256:{}", hex::encode(Sha256::digest(key))),
        str::to_owned,
    ))
}
