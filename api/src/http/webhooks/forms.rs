//! Pages of OnForm nodes: who sees them, and what becomes of what people send. Everything else is as for webhooks.

use super::admission::{Admitted, limit};
use super::arrival::Arrival;
use super::content::{Sent, content_type};
use super::ingest::{self, Uploaded};
use super::path;
use super::uploads;
use super::whole::computed;
use crate::app::App;
use crate::http::client_ip::ClientIp;
use crate::http::error::ApiError;
use crate::http::forms::fields::Filled;
use crate::http::forms::page;
use axum::body::Body;
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use heddle_execution::ArrivedFiles;
use heddle_execution::blocking::computing_if_large;
use heddle_model::form::{FieldError, Form};
use heddle_model::ids::RunId;
use heddle_model::status::WebhookStatus;
use heddle_model::webhook::WhenPaused;
use heddle_model::{Code, entropy};
use heddle_service::auth::cookie;
use heddle_service::webhooks::event::Added;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;

/// Characters of a token at most.
const TOKEN_CHARS_MAX: usize = 64;

/// The page, for whoever opens the form's address.
pub(super) async fn show(
    app: &App,
    ip: ClientIp,
    admitted: &Admitted,
    form: Arc<Form>,
    parts: &Parts,
) -> Response {
    let limits = &app.webhooks.limits;
    let limited = limits.check_address(Some(admitted.endpoint.id), ip.limit_key(), app.clock.now());
    if let Err(limited) = limited {
        return page::refusal(limited.into());
    }
    if let Err(closed) = is_open(ip, admitted, parts) {
        return page::refusal(closed);
    }
    let query = parts.uri.query().unwrap_or_default();
    let token = new_token();
    let filled = Filled::by_link(&form, query);
    let (bytes, leads_away) = (page::bytes(&form), leads_away(admitted, &form));
    let shown = move || page::form(&form, leads_away, (&token, &filled), &[]);
    match computing_if_large(admitted.deployed_by(), bytes, shown).await {
        Ok(shown) => known_again(app, &parts.headers, shown),
        Err(error) => page::refusal(error.into()),
    }
}

/// Gives the browser a secret, unless it has one, by which what it sends is told from what others send.
fn known_again(app: &App, headers: &HeaderMap, mut page: Response) -> Response {
    let given = || HeaderValue::from_str(&app.cookies.form_given(&cookie::generate())).ok();
    if app.cookies.form(headers).is_none()
        && let Some(given) = given()
    {
        page.headers_mut().append(SET_COOKIE, given);
    }
    page
}

/// A key by which an answer that comes twice is recognised. A token alone says nothing of who sends it: others may know it, or have given it.
fn key(app: &App, headers: &HeaderMap, token: &str) -> String {
    match app.cookies.form(headers) {
        Some(secret) => format!("form-of:{}", cookie::hash(&format!("{secret}:{token}"))),
        None => format!("form:{token}"),
    }
}

/// Whether this person is shown the page now.
pub(super) fn is_open(ip: ClientIp, admitted: &Admitted, parts: &Parts) -> Result<(), ApiError> {
    let refused = |code: Code| Err(code.into());
    if path::below(parts.uri.path()).is_some() {
        return refused(Code::NotFound);
    }
    if admitted.endpoint.is_suspended {
        return refused(Code::Unavailable);
    }
    let Some((deployment, webhook)) = admitted.deployment.as_ref().zip(admitted.deployed()) else {
        return refused(Code::NotFound);
    };
    if !webhook.lets_in(ip.0) {
        return refused(Code::Forbidden);
    }
    if deployment.is_paused && webhook.when_paused == WhenPaused::Capture {
        return refused(Code::Unavailable);
    }
    Ok(())
}

/// Whether what answers the form may be a page elsewhere.
fn leads_away(admitted: &Admitted, form: &Form) -> bool {
    form.redirect.is_some() || admitted.webhook().is_sync == Some(true) || admitted.has_steps()
}

/// Takes what somebody has sent. To be done to the end, as for webhooks.
pub(super) async fn submit(
    app: App,
    mut arrival: Arrival,
    admitted: Admitted,
    (parts, body): (Parts, Body),
) -> Response {
    let pattern = Some(admitted.endpoint.slot.pattern);
    if let Err(closed) = is_open(arrival.ip, &admitted, &parts) {
        return ingest::refuse(&app, arrival, pattern, WebhookStatus::Inactive, closed).await;
    }
    // Unless a run comes of it, the files are removed.
    let (sent, bytes, came) = match received(&app, &arrival, &admitted, (&parts, body)).await {
        Ok(received) => received,
        Err(error) => {
            return ingest::refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await;
        }
    };
    arrival.note_bytes(bytes);
    let parts = Arc::new(parts);
    match check_answers(&app, &admitted, &parts, sent).await {
        Ok(Checked::Taken(token, event)) => {
            let run = came.and_then(|mut came| {
                came.files.keep();
                came.run
            });
            let key = token.map(|token| key(&app, &parts.headers, &token));
            let event = ingest::NewEvent::new(key, event, run);
            ingest::accept_and_answer(app, arrival, admitted, &parts.headers, event, None).await
        }
        Ok(Checked::Again(page, reason)) => {
            let refusal = (page, reason);
            ingest::refuse_as(&app, arrival, pattern, WebhookStatus::SignatureInvalid, refusal).await
        }
        Err(error) => ingest::refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await,
    }
}

/// Files that came, and the run that is to have them.
struct Files {
    run: Option<RunId>,
    files: ArrivedFiles,
}

/// The outcome of checking what was sent.
enum Checked {
    /// The page's token, and the event.
    Taken(Option<String>, Box<RawValue>),
    /// The page again, and what the webhook log says.
    Again(Response, String),
}

/// Checks what was sent: where no other request waits for it if it is large, or the form is.
async fn check_answers(
    app: &App,
    admitted: &Admitted,
    parts: &Arc<Parts>,
    sent: Sent,
) -> Result<Checked, ApiError> {
    let owner = admitted.deployed_by();
    let form = admitted.webhook().form.clone().unwrap_or_default();
    let bytes = sent.bytes().saturating_add(page::bytes(&form));
    let (admitted, parts) = (admitted.clone(), parts.clone());
    let work = move || look_at(&admitted, &form, &parts, sent);
    computed(app, owner, bytes, work).await?
}

fn look_at(admitted: &Admitted, form: &Form, parts: &Parts, sent: Sent) -> Result<Checked, ApiError> {
    let given = sent.fields(content_type(&parts.headers))?.unwrap_or_default();
    let token = given
        .get(page::TOKEN)
        .and_then(Value::as_str)
        .filter(|token| is_token(token));
    let values = match form.check(&given) {
        Ok(values) => values,
        Err(mistakes) => {
            let filled = Filled::sent(form, &given);
            let token = token.map_or_else(new_token, str::to_owned);
            let shown = (token.as_str(), &filled);
            let page = page::form(form, leads_away(admitted, form), shown, &mistakes);
            return Ok(Checked::Again(page, reason(form, &mistakes)));
        }
    };
    let token = token.map(str::to_owned);
    drop(given);
    let body = to_raw_value(&values).map_err(ApiError::internal)?;
    drop(values);
    let event = ingest::event_with(admitted, parts, &body, Added::default())?;
    Ok(Checked::Taken(token, event))
}

pub(super) fn new_token() -> String {
    hex::encode(entropy::random::<[u8; 16]>())
}

pub(super) fn is_token(token: &str) -> bool {
    (1..=TOKEN_CHARS_MAX).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// What the webhook log says of mistakes; what was typed is nobody else's business.
fn reason(form: &Form, mistakes: &[FieldError]) -> String {
    let names = mistakes
        .iter()
        .filter_map(|mistake| form.fields.get(mistake.field));
    let names: Vec<&str> = names.map(|field| field.name.as_str()).collect();
    format!("Not filled in as asked: {}.", names.join(", "))
}

/// What was sent, how many bytes it was, and its files.
async fn received(
    app: &App,
    arrival: &Arrival,
    admitted: &Admitted,
    (parts, body): (&Parts, Body),
) -> Result<(Sent, u64, Option<Files>), ApiError> {
    if let Some(kind) = uploads::kind(admitted) {
        let (uploaded, bytes) = uploads::stored(app, arrival, admitted, parts, (kind, body)).await?;
        let Uploaded { run, body, files } = uploaded;
        return Ok((Sent::Stored(body), bytes, Some(Files { run, files })));
    }
    let kind = admitted.body.ok_or(Code::UnsupportedMediaType)?;
    limit(app, admitted, arrival.at)?;
    let content = admitted.read(app, body).await?;
    let bytes = content.len() as u64;
    let plain = admitted.unpacked(app, &parts.headers, content).await?;
    Ok((Sent::Whole(kind, plain), bytes, None))
}
