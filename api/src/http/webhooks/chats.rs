//! Chats of OnChat nodes: a message comes from the page or from a program, and its answer goes back to it. Everything else is as for
//! webhooks.

pub(super) mod page;
mod said;
pub(super) mod turn;

use super::admission::{Admitted, limit};
use super::arrival::Arrival;
use super::content::{Sent, content_type};
use super::forms::{is_open, is_token, new_token};
use super::ingest;
use super::whole::computed;
use crate::app::App;
use crate::http::client_ip::ClientIp;
use crate::http::error::ApiError;
use axum::body::Body;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use heddle_execution::blocking::computing_if_large;
use heddle_model::Code;
use heddle_model::chat::{self, Chat, Message};
use heddle_model::error::Detail;
use heddle_model::status::WebhookStatus;
use heddle_service::webhooks::event::Added;
use page::{Shown, Transcript};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use std::sync::Arc;
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
        let refused = (page::from_elsewhere(), FROM_ELSEWHERE.to_owned());
        return ingest::refuse_as(&app, arrival, pattern, WebhookStatus::SignatureInvalid, refused).await;
    }
    let given = match received(&app, &mut arrival, &admitted, (&parts, body)).await {
        Ok(given) => given,
        Err(error) => {
            return ingest::refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await;
        }
    };
    let of_node = admitted.webhook().chat.clone().unwrap_or_default();
    let message = match given.message {
        Ok(message) => message,
        Err((field, problem)) => {
            let detail = Detail {
                path: field.to_owned(),
                message: problem.clone(),
            };
            // A sentence of its own, which a page shows as it is.
            let error = ApiError::from(Code::Validation.with(problem.clone()).with_details(vec![detail]));
            if !by_page {
                return ingest::refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await;
            }
            let session = given.session.unwrap_or_else(new_token);
            let (bytes, before) = (given.before.bytes(), given.before);
            let again = move || page_again(&of_node, &session, &problem, &before);
            let made = computing_if_large(admitted.deployed_by(), bytes, again).await;
            let response = made.unwrap_or_else(|error| page::refusal(error.into()));
            let refused = (response, error.message().to_owned());
            return ingest::refuse_as(&app, arrival, pattern, WebhookStatus::SignatureInvalid, refused).await;
        }
    };
    let key = match by_page {
        true => given.token.map(|token| format!("chat:{token}")),
        false => ingest::idempotency_key(&admitted.webhook().authentication, &parts.headers, &[]),
    };
    let session = message.session.unwrap_or_else(new_token);
    let kind = match by_page {
        true => Kind::Page(given.before),
        false if takes_events(&parts.headers) => Kind::Stream,
        false => Kind::Whole,
    };
    let written = to_raw_value(&json!({"message": message.text, "sessionId": session}));
    let event = written
        .map_err(ApiError::internal)
        .and_then(|body| ingest::event_with(&admitted, &parts, &body, Added::default()));
    arrival.turn = Some(Arc::new(Turn {
        chat: of_node,
        session,
        message: message.text,
        kind,
    }));
    match event {
        Ok(event) => {
            let event = ingest::NewEvent::new(key, event, None);
            ingest::accept_and_answer(app, arrival, admitted, &parts.headers, event, None).await
        }
        Err(error) => ingest::refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await,
    }
}

/// The page again, with what is wrong with a message.
fn page_again(chat: &Chat, session: &str, problem: &str, before: &Transcript) -> Response {
    let token = new_token();
    let shown = Shown::new(session, &token).with_mistake(problem);
    let mut response = page::chat(chat, &shown, before);
    *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    response
}

/// What was sent, as far as a chat has a use for it.
struct Given {
    /// The message, or of which field what is wrong.
    message: Result<Message, (&'static str, String)>,
    session: Option<String>,
    /// The page's.
    token: Option<String>,
    /// What a page says was said before.
    before: Transcript,
}

impl Given {
    fn of(given: &Map<String, Value>, by_page: bool) -> Self {
        let token = given.get(page::TOKEN).and_then(Value::as_str);
        Given {
            message: Message::of(given),
            session: chat::session(given),
            token: token.filter(|token| is_token(token)).map(str::to_owned),
            before: match by_page {
                true => Transcript::of(given),
                false => Transcript::default(),
            },
        }
    }
}

/// Reads what was sent: where no other request waits for it if it is large.
async fn received(
    app: &App,
    arrival: &mut Arrival,
    admitted: &Admitted,
    (parts, body): (&Parts, Body),
) -> Result<Given, ApiError> {
    let kind = admitted.body.ok_or(Code::UnsupportedMediaType)?;
    limit(app, admitted, arrival.at)?;
    let content = admitted.read(app, body).await?;
    arrival.note_bytes(content.len() as u64);
    let content = admitted.unpacked(app, &parts.headers, content).await?;
    let (bytes, sent) = (content.len(), Sent::Whole(kind, content));
    let content_type = content_type(&parts.headers).to_owned();
    let by_page = is_by_page(&parts.headers);
    let work = move || {
        let given = sent.fields(&content_type)?;
        let given =
            given.ok_or_else(|| ApiError::field("", "the body must be an object with a `message`"))?;
        Ok::<_, ApiError>(Given::of(&given, by_page))
    };
    computed(app, admitted.deployed_by(), bytes, work).await?
}
