//! A message on its way to its answer, and how it is answered: as a page, whole, or as it comes.

use super::page::{self, Shown, Transcript};
use super::said;
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::extract::media_type;
use crate::http::webhooks::admission::Admitted;
use crate::http::webhooks::answer::{contain, duplicate, end_of_run, name_run, too_late};
use crate::http::webhooks::streaming;
use crate::http::webhooks::waiting::{later_errors, patience, tells_errors};
use axum::Json;
use axum::body::Body;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use heddle_execution::blocking::computing_if_large;
use heddle_execution::{Answer, Begun, Ended, Ticket};
use heddle_model::chat::Chat;
use heddle_model::clock::{monotonic, since};
use heddle_model::ids::RunId;
use heddle_model::status::RunStatus;
use heddle_model::{ServiceError, entropy};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// A message on its way to its answer.
pub struct Turn {
    pub chat: Arc<Chat>,
    pub session: String,
    pub message: String,
    pub kind: Kind,
}

/// Who has sent it, and so how it is answered.
pub enum Kind {
    /// A page without script, with what was said before.
    Page(Transcript),
    /// A program, or a page's script, that reads the answer as it comes.
    Stream,
    /// A program that waits for all of it.
    Whole,
}

/// Whether a request is that of a page without script.
pub fn is_by_page(headers: &HeaderMap) -> bool {
    media_type(headers).eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Whether whoever sends it reads events.
pub fn takes_events(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(ACCEPT).into_iter();
    let mut accepts = accepts.filter_map(|accept| accept.to_str().ok());
    accepts.any(|accept| accept.contains("text/event-stream"))
}

/// What is streamed within this time, as text, and the run's end; none if it has not come by then.
async fn gathered(
    mut begun: Begun,
    (ticket, patience): (Ticket, Duration),
) -> Result<(String, Option<Arc<Ended>>), ServiceError> {
    let mut text = said::StreamedText::new(begun.head.format);
    let mut ended = std::pin::pin!(ticket.ended());
    let mut late = std::pin::pin!(tokio::time::sleep(patience));
    let ended = loop {
        // Pieces come last, since a run that never stops sending them must not be waited for without end.
        tokio::select! {
            biased;
            ended = &mut ended => break Some(ended?),
            () = &mut late => break None,
            Some(piece) = begun.pieces.next() => text.add(&piece.bytes),
        }
    };
    // All pieces of a run that has ended are there.
    while let Some(piece) = begun.pieces.next_now() {
        text.add(&piece.bytes);
    }
    Ok((text.finish(), ended))
}

/// Whether what a run has streamed is its answer: it has succeeded, or goes on after RespondToWebhook.
fn is_well(ended: &Ended) -> bool {
    match ended.status {
        RunStatus::Success => true,
        RunStatus::Running => ended.response.is_some(),
        _ => false,
    }
}

impl Turn {
    /// The answer to a message whose run was accepted.
    pub async fn answered(self: &Arc<Self>, app: &App, admitted: &Admitted, ticket: Ticket) -> Response {
        let (run, patience) = (ticket.run_id, patience(app, admitted));
        let asked_at = monotonic();
        let answer = tokio::time::timeout(patience, ticket.answer()).await;
        let mut response = match answer {
            Ok(Ok(Answer::Begun(begun, ticket))) if matches!(self.kind, Kind::Stream) => {
                streaming::respond(begun, (ticket, patience), later_errors(admitted))
            }
            Ok(Ok(Answer::Begun(begun, ticket))) => {
                // Waiting for the beginning counts as well.
                let rest = patience.saturating_sub(since(asked_at));
                match gathered(begun, (ticket, rest)).await {
                    Ok((text, Some(ended))) => self.ended(admitted, run, ended, Some(text)).await,
                    // It may have said everything, and wait for something else now.
                    Ok((text, None)) if !text.is_empty() => {
                        let bytes = text.len();
                        let says = move |turn: &Turn| turn.says(run, &text, "running");
                        self.made(admitted, bytes, says).await
                    }
                    Ok((_, None)) => self.refused(too_late(run)),
                    Err(error) => self.refused(error.into()),
                }
            }
            Ok(Ok(Answer::Whole(ended))) => self.ended(admitted, run, ended, None).await,
            Ok(Err(error)) => self.refused(error.into()),
            Err(_) => self.refused(too_late(run)),
        };
        name_run(response.headers_mut(), run);
        if let Ok(session) = HeaderValue::from_str(&self.session) {
            response.headers_mut().insert("x-session-id", session);
        }
        response
    }

    /// An answer that says so many bytes, which a page shows with what was said before: made elsewhere if that is much.
    async fn made(
        self: &Arc<Self>,
        admitted: &Admitted,
        bytes: usize,
        make: impl FnOnce(&Turn) -> Response + Send + 'static,
    ) -> Response {
        let before = match &self.kind {
            Kind::Page(before) => before.bytes(),
            Kind::Stream | Kind::Whole => 0,
        };
        let (turn, bytes) = (self.clone(), bytes.saturating_add(before));
        let made = computing_if_large(admitted.deployed_by(), bytes, move || make(&turn));
        match made.await {
            Ok(response) => response,
            Err(error) => self.refused(error.into()),
        }
    }

    /// The answer of a run that has ended, or that goes on but has answered.
    async fn ended(
        self: &Arc<Self>,
        admitted: &Admitted,
        run: RunId,
        ended: Arc<Ended>,
        streamed: Option<String>,
    ) -> Response {
        let with_details = tells_errors(admitted, &ended);
        let kept = [&ended.output, &ended.response].into_iter().flatten();
        let kept: usize = kept.map(|text| text.get().len()).sum();
        let bytes = streamed.as_ref().map_or(0, String::len).saturating_add(kept);
        let end = move |turn: &Turn| turn.end(run, &ended, streamed, with_details);
        self.made(admitted, bytes, end).await
    }

    fn end(&self, run: RunId, ended: &Ended, streamed: Option<String>, with_details: bool) -> Response {
        let text = match streamed {
            Some(text) if is_well(ended) => Some(text),
            Some(_) => None,
            None => said::answer(ended),
        };
        match text {
            Some(text) => self.says(run, &text, "completed"),
            None => self.failed(run, ended, with_details),
        }
    }

    /// What the run says, and for programs how it does.
    fn says(&self, run: RunId, text: &str, status: &str) -> Response {
        match &self.kind {
            Kind::Page(before) => {
                let token = hex::encode(entropy::random::<[u8; 16]>());
                let transcript = before.with(&self.message, text);
                page::chat(&self.chat, &Shown::new(&self.session, &token), &transcript)
            }
            Kind::Whole => {
                let body = json!({"status": status, "runId": run, "sessionId": self.session, "answer": text});
                Json(body).into_response()
            }
            Kind::Stream => {
                let end = json!({"status": status, "runId": run, "sessionId": self.session});
                events(format!("{}event: end\ndata: {end}\n\n", said::event(text)))
            }
        }
    }

    fn failed(&self, run: RunId, ended: &Ended, with_details: bool) -> Response {
        match &self.kind {
            Kind::Page(_) => page::failed(),
            Kind::Whole => {
                let body = end_of_run(run, ended, with_details);
                (StatusCode::INTERNAL_SERVER_ERROR, Json(body)).into_response()
            }
            Kind::Stream => {
                let body = end_of_run(run, ended, with_details);
                events(format!("event: end\ndata: {body}\n\n"))
            }
        }
    }

    fn refused(&self, error: ApiError) -> Response {
        match &self.kind {
            Kind::Page(_) => page::refusal(error),
            Kind::Whole | Kind::Stream => error.into_response(),
        }
    }

    /// The answer to what was sent twice.
    pub fn sent_before(&self, run: RunId) -> Response {
        match &self.kind {
            Kind::Page(_) => page::sent_before(),
            Kind::Whole | Kind::Stream => duplicate(run),
        }
    }
}

/// Server-sent events that are there already.
fn events(text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    contain(headers);
    response
}
