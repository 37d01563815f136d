//! A response that StreamResponse makes: its pieces as they come, until the run ends. What a slow reader has not taken yet
//! holds the run up, and a reader who goes is noticed by the run.

use super::answer::{add_headers, contain, end_of_run, name_run};
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::stream;
use heddle_execution::{Begun, Ended, Piece, Pieces, Ticket};
use heddle_model::ServiceError;
use heddle_model::clock::{monotonic, since};
use heddle_model::ids::RunId;
use heddle_model::status::RunStatus;
use heddle_runtime::response_stream::StreamFormat;
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::yield_now;
use tokio::time::sleep;

/// How often a silent stream of events says that it is there, for proxies that close what is silent.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// What a run's end is told by.
type TellsErrors = dyn Fn(&Ended) -> bool + Send + Sync;

/// A response under way.
struct Streaming {
    run: RunId,
    format: StreamFormat,
    /// None once all of them were read.
    pieces: Option<Pieces>,
    end: End,
    /// How long the run may be silent.
    patience: Duration,
    spoke_at: Instant,
    tells: Box<TellsErrors>,
    /// What was given last takes room until the next is asked for.
    last: Option<Piece>,
    is_over: bool,
}

enum End {
    Awaited(BoxFuture<'static, Result<Arc<Ended>, ServiceError>>),
    /// None: it goes on without this.
    Known(Option<Arc<Ended>>),
}

/// The response that has begun. `tells` says of an end whether the sender is told what its error says.
pub(super) fn respond(
    begun: Begun,
    (ticket, patience): (Ticket, Duration),
    tells: impl Fn(&Ended) -> bool + Send + Sync + 'static,
) -> Response {
    let run = ticket.run_id;
    let format = begun.head.format;
    let streaming = Streaming {
        run,
        format,
        pieces: Some(begun.pieces),
        end: End::Awaited(Box::pin(ticket.ended())),
        patience,
        spoke_at: monotonic(),
        tells: Box::new(tells),
        last: None,
        is_over: false,
    };
    let pieces = stream::unfold(streaming, |mut streaming| async move {
        let piece = streaming.next().await?;
        Some((piece, streaming))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    *response.status_mut() = StatusCode::from_u16(begun.head.status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    let content_type = match format {
        StreamFormat::Sse => "text/event-stream",
        StreamFormat::JsonLines => "application/x-ndjson",
        StreamFormat::Text => "text/plain; charset=utf-8",
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    add_headers(headers, begun.head.headers);
    // nginx would collect the pieces.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    contain(headers);
    name_run(headers, run);
    response
}

impl Streaming {
    /// What is sent next; an error breaks the response off.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        self.last = None;
        if self.is_over {
            return None;
        }
        loop {
            if let End::Known(ended) = &self.end {
                // All pieces of a run that has ended are there.
                let ended = ended.clone();
                return match self.pieces.as_mut().and_then(Pieces::next_now) {
                    Some(piece) => Some(Ok(self.sends(piece))),
                    None => {
                        // What was given before is on its way first, also if the response is broken off now.
                        yield_now().await;
                        self.conclusion(ended.as_deref())
                    }
                };
            }
            let until_late = self.patience.saturating_sub(since(self.spoke_at));
            let beats = self.format == StreamFormat::Sse;
            let End::Awaited(end) = &mut self.end else {
                continue;
            };
            tokio::select! {
                biased;
                piece = next_of(&mut self.pieces) => match piece {
                    Some(piece) => return Some(Ok(self.sends(piece))),
                    None => self.pieces = None,
                },
                ended = end => self.end = End::Known(ended.ok()),
                () = sleep(until_late) => self.end = End::Known(None),
                () = sleep(HEARTBEAT), if beats => return Some(Ok(Bytes::from_static(b":\n\n"))),
            }
        }
    }

    fn sends(&mut self, piece: Piece) -> Bytes {
        let bytes = piece.bytes.clone();
        self.last = Some(piece);
        self.spoke_at = monotonic();
        bytes
    }

    /// What is sent at last: events end by one that says how the run did, others are broken off where it did not succeed.
    fn conclusion(&mut self, ended: Option<&Ended>) -> Option<io::Result<Bytes>> {
        self.is_over = true;
        self.pieces = None;
        let ended = ended.filter(|ended| ended.status != RunStatus::Running);
        if self.format == StreamFormat::Sse {
            let data: Value = match ended {
                Some(ended) => end_of_run(self.run, ended, (self.tells)(ended)),
                None => json!({"status": "running", "runId": self.run}),
            };
            return Some(Ok(format!("event: end\ndata: {data}\n\n").into()));
        }
        match ended {
            Some(ended) if ended.status == RunStatus::Success => None,
            _ => Some(Err(io::Error::other(
                "the run did not end well while it was watched",
            ))),
        }
    }
}

/// The next piece; never, where all were read.
async fn next_of(pieces: &mut Option<Pieces>) -> Option<Piece> {
    match pieces {
        Some(pieces) => pieces.next().await,
        None => std::future::pending().await,
    }
}
