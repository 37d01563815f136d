//! An incoming request body: it must make progress, and the memory for all partially received bodies is bounded. Knows
//! nothing about its reader; [`trouble`] recovers its errors for the response.

use super::address::Address;
use super::connection::Connection;
use super::places::Places;
use crate::http::error::ApiError;
use axum::BoxError;
use axum::body::Bytes;
use heddle_model::Code;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

/// What a piece of a body costs beside its bytes, so that many small ones are as dear as they are.
const PIECE_BYTES: usize = 64;

/// Why a body can't be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// It took longer than it may.
    #[error("the body came too slowly")]
    Late,
    /// Too much of other bodies has arrived in part.
    #[error("too many bodies are being received")]
    NoRoom,
}

/// What is told of the trouble with a body that an error comes from.
pub fn trouble(error: &(dyn Error + 'static)) -> Option<ApiError> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        match error.downcast_ref::<BodyError>() {
            Some(BodyError::Late) => return Some(Code::RequestTimeout.into()),
            Some(BodyError::NoRoom) => {
                let message = "Too many large bodies are being received at once: try again shortly.";
                return Some(Code::Unavailable.with(message).retry_after_s(1).into());
            }
            None => cause = error.source(),
        }
    }
    None
}

/// Of the body of a request, in the request's extensions: says that its reader hands on what comes, and keeps nothing of it, so that
/// it is not counted among the bodies that are kept until they are whole.
#[derive(Clone, Debug, Default)]
pub struct Flow(Arc<AtomicBool>);

impl Flow {
    /// Says so. To be called before anything is read.
    pub fn flows(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_flowing(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The body of a request.
pub(super) struct Received {
    /// `None` only while it is being dropped.
    body: Option<Incoming>,
    connection: Arc<Connection>,
    /// Whose it is.
    address: Arc<Address>,
    places: Arc<Places>,
    bytes: usize,
    /// Whether its reader keeps nothing of it; `None`: it is so small that it makes no difference.
    flow: Option<Flow>,
    /// Counted among the unfinished.
    held: usize,
    is_over: bool,
}

impl Received {
    pub fn new(
        body: Incoming,
        (connection, address): (Arc<Connection>, Arc<Address>),
        places: Arc<Places>,
        flow: Option<Flow>,
    ) -> Self {
        Received {
            body: Some(body),
            connection,
            address,
            places,
            bytes: 0,
            flow,
            held: 0,
            is_over: false,
        }
    }

    fn end(&mut self) {
        if !self.is_over {
            self.is_over = true;
            self.connection.body_ended();
        }
        self.release();
    }

    fn release(&mut self) {
        if self.held > 0 {
            self.places.release(&self.address, self.held);
            self.held = 0;
        }
    }

    /// Counts a piece, unless it is the last one.
    fn take(&mut self, bytes: usize) -> Result<(), BodyError> {
        self.connection.body_came(bytes);
        if self.is_end_stream() {
            self.end();
            return Ok(());
        }
        if self.flow.as_ref().is_some_and(Flow::is_flowing) {
            return Ok(());
        }
        let had = self.bytes;
        self.bytes += bytes;
        let cost = bytes + PIECE_BYTES;
        self.held += cost;
        match self.places.hold(&self.address, cost, had) {
            true => Ok(()),
            false => Err(BodyError::NoRoom),
        }
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        match Pin::new(body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                Poll::Ready(Some(match self.take(bytes) {
                    Ok(()) => Ok(frame),
                    Err(trouble) => {
                        metrics::counter!("heddle_http_refused_total", "reason" => "bodies").increment(1);
                        self.connection.spoil();
                        Err(trouble.into())
                    }
                }))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => {
                self.end();
                Poll::Ready(None)
            }
            Poll::Pending if self.connection.is_late() => Poll::Ready(Some(Err(BodyError::Late.into()))),
            Poll::Pending => {
                self.connection.body_starves();
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        self.release();
        if !self.is_over {
            self.connection.body_ended();
            if let Some(body) = self.body.take().filter(|_| !self.connection.is_spoilt()) {
                self.connection.leave(body);
            }
        }
    }
}
