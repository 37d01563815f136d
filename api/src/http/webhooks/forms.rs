//! Pages of OnForm nodes: who sees them, and what becomes of what people send. Everything else is as for webhooks.

use super::admission::{Admitted, limit};
use super::arrival::Arrival;
use super::content;
use super::ingest::{self, Uploaded};
use super::path;
use super::uploads;
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
use heddle_model::form::{FieldError, Form};
use heddle_model::status::WebhookStatus;
use heddle_model::webhook::WhenPaused;
use heddle_model::{Code, entropy};
use heddle_service::auth::cookie;
use heddle_service::webhooks::event::Added;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

/// Characters of a token at most.
const TOKEN_CHARS_MAX: usize = 64;

/// The page, for whoever opens the form's address.
pub(super) fn show(app: &App, ip: ClientIp, admitted: &Admitted, form: &Form, parts: &Parts) -> Response {
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
    let filled = Filled::by_link(form, query);
    let shown = page::form(form, leads_away(admitted, form), (&token, &filled), &[]);
    known_again(app, &parts.headers, shown)
}

/// Gives the browser a secret, unless it has one: what it sends is told from what others send by that.
fn known_again(app: &App, headers: &HeaderMap, mut page: Response) -> Response {
    let given = || HeaderValue::from_str(&app.cookies.form_given(&cookie::generate())).ok();
    if app.cookies.form(headers).is_none()
        && let Some(given) = given()
    {
        page.headers_mut().append(SET_COOKIE, given);
    }
    page
}

/// By what an answer is known that comes twice. A token alone says nothing of who sends it: others may know it, or have given it.
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
    let (uploaded, bytes) = match received(&app, &arrival, &admitted, (&parts, body)).await {
        Ok(received) => received,
        Err(error) => {
            return ingest::refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await;
        }
    };
    arrival.note_bytes(bytes);
    let form = admitted.webhook().form.clone().unwrap_or_default();
    let given: Map<String, Value> = serde_json::from_str(uploaded.body.get()).unwrap_or_default();
    let token = given
        .get(page::TOKEN)
        .and_then(Value::as_str)
        .filter(|token| is_token(token));
    let values = match form.check(&given) {
        Ok(values) => values,
        Err(mistakes) => {
            let reason = reason(&form, &mistakes);
            let filled = Filled::sent(&form, &given);
            let token = token.map_or_else(new_token, str::to_owned);
            let shown = (token.as_str(), &filled);
            let response = page::form(&form, leads_away(&admitted, &form), shown, &mistakes);
            let told = (response, reason);
            return ingest::refuse_as(&app, arrival, pattern, WebhookStatus::SignatureInvalid, told).await;
        }
    };
    let key = token.map(|token| key(&app, &parts.headers, token));
    let written = to_raw_value(&values).map_err(ApiError::internal);
    let event = written.and_then(|body| ingest::event_with(&admitted, &parts, &body, Added::default()));
    match event {
        Ok(event) => {
            let event = (key, event, uploaded.run);
            ingest::accepted_as(app, arrival, admitted, &parts.headers, event, None).await
        }
        Err(error) => ingest::refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await,
    }
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

/// The fields as they were sent, with references to files, and how many bytes they were.
async fn received(
    app: &App,
    arrival: &Arrival,
    admitted: &Admitted,
    (parts, body): (&Parts, Body),
) -> Result<(Uploaded, u64), ApiError> {
    if let Some(kind) = uploads::kind(admitted) {
        return uploads::stored(app, arrival, admitted, parts, (kind, body)).await;
    }
    let kind = admitted.body.ok_or(Code::UnsupportedMediaType)?;
    limit(app, admitted, arrival.at)?;
    let content = admitted.read(app, body).await?;
    let plain = admitted.unpacked(app, &parts.headers, content.clone()).await?;
    let body = content::value(kind, &parts.headers, &plain).await?;
    let uploaded = Uploaded {
        run: None,
        body: body.into_owned(),
    };
    Ok((uploaded, content.len() as u64))
}
