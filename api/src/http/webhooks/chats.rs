//! Chats of OnChat nodes: a message comes from the page or from a program, and its answer goes back to it. Everything else is as for
//! webhooks.

pub(super) mod page;
mod said;
pub(super) mod turn;

use super::admission::{Admitted, limit};
use super::arrival::Arrival;
use super::content;
use super::forms::{is_open, is_token, new_token};
use super::ingest;
use crate::app::App;
use crate::http::client_ip::ClientIp;
use crate::http::error::ApiError;
use axum::body::Body;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use heddle_model::Code;
use heddle_model::chat::{self, Chat, Message};
use heddle_model::status::WebhookStatus;
use heddle_service::webhooks::event::Added;
use page::{Shown, Transcript};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use turn::{Kind, Turn, is_by_page, takes_events};

/// What the webhook log says of a form that is not the chat's own.
const FROM_ELSEWHERE: &str = "The message was sent by a form on a page of another site.";

/// The page, for whoever opens the chat's address.
pub(super) fn show(app: &App, ip: ClientIp, admitted: &Admitted, chat: &Chat, parts: &Parts) -> Response {
    let limits = &app.webhooks.limits;
    let limited = limits.check_address(Some(admitted.endpoint.id), ip.limit_key(), app.clock.now());
    if let Err(limited) = limited {
        return page::refusal(limited.into());
    }
    if let Err(closed) = is_open(ip, admitted, parts) {
        return page::refusal(closed);
    }
    let (session, token) = (new_token(), new_token());
    page::chat(chat, &Shown::new(&session, &token), &Transcript::default())
}

/// Takes a message. To be done to the end, as for webhooks.
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
    let by_page = is_by_page(&parts.headers);
    // Such a form brings what was said before, too: it could have the chat say anything.
    if by_page && app.cookies.is_form_from_elsewhere(&parts.headers) {
        let told = (page::from_elsewhere(), FROM_ELSEWHERE.to_owned());
        return ingest::refuse_as(&app, arrival, pattern, WebhookStatus::SignatureInvalid, told).await;
    }
    let given = match received(&app, &mut arrival, &admitted, (&parts, body)).await {
        Ok(given) => given,
        Err(error) => {
            return ingest::refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await;
        }
    };
    let of_node = admitted.webhook().chat.clone().unwrap_or_default();
    let message = match Message::of(&given) {
        Ok(message) => message,
        Err((field, problem)) => {
            let error = ApiError::field(field, problem.clone());
            if !by_page {
                return ingest::refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await;
            }
            let (session, token) = (chat::session(&given).unwrap_or_else(new_token), new_token());
            let shown = Shown::new(&session, &token).with_mistake(&problem);
            let mut response = page::chat(&of_node, &shown, &Transcript::of(&given));
            *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            let told = (response, error.message().to_owned());
            return ingest::refuse_as(&app, arrival, pattern, WebhookStatus::SignatureInvalid, told).await;
        }
    };
    let key = match by_page {
        true => given
            .get(page::TOKEN)
            .and_then(Value::as_str)
            .filter(|token| is_token(token))
            .map(|token| format!("chat:{token}")),
        false => ingest::idempotency_key(&admitted.webhook().authentication, &parts.headers, &[]),
    };
    let session = message.session.unwrap_or_else(new_token);
    let kind = match by_page {
        true => Kind::Page(Transcript::of(&given)),
        false if takes_events(&parts.headers) => Kind::Stream,
        false => Kind::Whole,
    };
    let written = to_raw_value(&json!({"message": message.text, "sessionId": session}));
    let event = written
        .map_err(ApiError::internal)
        .and_then(|body| ingest::event_with(&admitted, &parts, &body, Added::default()));
    arrival.turn = Some(Turn {
        chat: of_node,
        session,
        message: message.text,
        kind,
    });
    match event {
        Ok(event) => {
            ingest::accepted_as(app, arrival, admitted, &parts.headers, (key, event, None), None).await
        }
        Err(error) => ingest::refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await,
    }
}

/// What was sent, by names.
async fn received(
    app: &App,
    arrival: &mut Arrival,
    admitted: &Admitted,
    (parts, body): (&Parts, Body),
) -> Result<Map<String, Value>, ApiError> {
    let kind = admitted.body.ok_or(Code::UnsupportedMediaType)?;
    limit(app, admitted, arrival.at)?;
    let content = admitted.read(app, body).await?;
    arrival.note_bytes(content.len() as u64);
    let content = admitted.unpacked(app, &parts.headers, content).await?;
    let body = content::value(kind, &parts.headers, &content).await?;
    serde_json::from_str(body.get())
        .map_err(|_| ApiError::field("", "the body must be an object with a `message`".to_owned()))
}
