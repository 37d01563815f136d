//! A request and its answer, between hyper and the routes. Refusals for too many requests are held back if there are many.

use super::address::Address;
use super::connection::Connection;
use super::pieces::InPieces;
use super::places::{ALWAYS_BYTES, Begun, Places, Refusal, SMALL_ANSWER_BYTES, Unsent};
use super::received::{Flow, Received};
use super::rest::Rest;
use crate::http::error::{ApiError, TooMany};
use crate::http::middleware::{PROBES, REQUEST_ID};
use crate::http::reply::SharedBody;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::header::{CACHE_CONTROL, CONNECTION, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Request, Response};
use axum::response::IntoResponse;
use axum::routing::future::RouteFuture;
use heddle_model::Code;
use heddle_model::clock::monotonic;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use pin_project_lite::pin_project;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::time::Sleep;

/// Bytes of a piece that are not counted of an answer that is made while it is sent: those of files have no more.
const SMALL_PIECE_BYTES: usize = 1 << 20;

/// Serves the requests of one connection.
pub(super) struct Exchange {
    pub router: Router,
    pub peer: SocketAddr,
    pub connection: Arc<Connection>,
    pub places: Arc<Places>,
}

impl hyper::service::Service<Request<Incoming>> for Exchange {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, mut request: Request<Incoming>) -> Answering {
        let connection = self.connection.clone();
        let has_body = !request.body().is_end_stream();
        connection.has_request(has_body);
        // These are answered also when all ordinary places are taken.
        if connection.is_reserve && !PROBES.contains(&request.uri().path()) {
            return refused(connection, Refusal::Full);
        }
        let begun = self
            .places
            .begin(&connection.address, self.peer.ip(), request.headers());
        let Some(begun) = begun else {
            if has_body {
                // Nobody reads it.
                connection.spoil();
            }
            return refused(connection, Refusal::Address);
        };
        request.extensions_mut().insert(ConnectInfo(self.peer));
        let is_large = |hint: SizeHint| hint.upper().is_none_or(|bytes| bytes > ALWAYS_BYTES as u64);
        let flow = (has_body && is_large(request.body().size_hint())).then(Flow::default);
        if let Some(flow) = &flow {
            request.extensions_mut().insert(flow.clone());
        }
        let request = request.map(|body| match has_body {
            true => {
                let by = (connection.clone(), begun.address.clone());
                Body::new(Received::new(body, by, self.places.clone(), flow))
            }
            false => Body::empty(),
        });
        // A router is one pointer, and always ready.
        let answer = tower::Service::call(&mut self.router.clone(), request);
        Answering::Routed {
            answer,
            connection,
            places: self.places.clone(),
            begun: Some(begun),
        }
    }
}

fn refused(connection: Arc<Connection>, refusal: Refusal) -> Answering {
    metrics::counter!("heddle_http_refused_total", "reason" => refusal.name()).increment(1);
    Answering::Refused { connection, refusal }
}

pin_project! {
    /// An answer on its way.
    #[project = AnsweringProjected]
    pub(super) enum Answering {
        Routed {
            #[pin]
            answer: RouteFuture<Infallible>,
            connection: Arc<Connection>,
            places: Arc<Places>,
            // There until it is answered.
            begun: Option<Begun>,
        },
        Refused { connection: Arc<Connection>, refusal: Refusal },
        Held { response: Option<Response<Body>>, hold: Hold, begun: Option<Begun> },
    }
}

/// What an answer waits for that is held back.
pub(super) struct Hold {
    until: Pin<Box<Sleep>>,
    connection: Arc<Connection>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.connection.address.pace.waited();
    }
}

impl Future for Answering {
    type Output = Result<Response<Answer>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (response, connection, begun) = loop {
            match self.as_mut().project() {
                AnsweringProjected::Routed {
                    answer,
                    connection,
                    places,
                    begun,
                } => {
                    let response = ready!(answer.poll(cx))?;
                    let begun = begun.take();
                    let whose = begun.as_ref().map_or(&connection.address, |begun| &begun.address);
                    let response = with_room(response, whose, places);
                    let Some(hold) = hold(&response, connection) else {
                        break (response, connection.clone(), begun);
                    };
                    self.set(Answering::Held {
                        response: Some(response),
                        hold,
                        begun,
                    });
                }
                AnsweringProjected::Refused { connection, refusal } => {
                    let response = match refusal {
                        Refusal::Full => full(),
                        Refusal::Address => too_many(),
                    };
                    break (response, connection.clone(), None);
                }
                AnsweringProjected::Held {
                    response,
                    hold,
                    begun,
                } => {
                    ready!(hold.until.as_mut().poll(cx));
                    // It is there until it is given.
                    let response = response.take().unwrap_or_else(full);
                    break (response, hold.connection.clone(), begun.take());
                }
            }
        };
        let is_cut = Rest::of(&connection).is_some_and(|rest| !rest.begin_to_drop());
        let closes = connection.is_reserve || connection.is_spoilt() || is_cut;
        let mut response = response.map(|body| Answer {
            body,
            connection,
            _begun: begun,
        });
        if closes {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        Poll::Ready(Ok(response))
    }
}

/// Holds an answer back, if it is one of too many refusals.
fn hold(response: &Response<Body>, connection: &Arc<Connection>) -> Option<Hold> {
    response.extensions().get::<TooMany>()?;
    let address = &connection.address;
    let wait = address.pace.wait(monotonic(), address.is_exempt)?;
    Some(Hold {
        until: Box::pin(tokio::time::sleep(wait)),
        connection: connection.clone(),
    })
}

/// The answer, which has room until its client has taken it if it is large, and in memory. What is made while it is sent does not know
/// its size here: each of its pieces has room for itself.
fn with_room(response: Response<Body>, address: &Arc<Address>, places: &Arc<Places>) -> Response<Body> {
    let Some(bytes) = response.body().size_hint().exact() else {
        return response.map(|body| {
            let room = BodyRoom::Pieces {
                address: address.clone(),
                places: places.clone(),
            };
            Body::new(InPieces::new(Counted { body, room }))
        });
    };
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    if bytes <= SMALL_ANSWER_BYTES || response.extensions().get::<SharedBody>().is_some() {
        return response;
    }
    match places.send(address, bytes) {
        Some(unsent) => response.map(|body| {
            let room = BodyRoom::Whole(Arc::new(unsent));
            Body::new(InPieces::new(Counted { body, room }))
        }),
        None => {
            count_refused_answer();
            let message = "Too many large answers are being sent, so this one was not: try again shortly. \
                           The request itself may have been carried out.";
            let mut refusal =
                ApiError::from(Code::Unavailable.with(message).retry_after_s(1)).into_response();
            let headers = refusal.headers_mut();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            // The request's number is in the log.
            if let Some(id) = response.headers().get(&REQUEST_ID) {
                headers.insert(REQUEST_ID.clone(), id.clone());
            }
            refusal
        }
    }
}

/// A body whose large bytes have room until they are sent.
struct Counted {
    body: Body,
    room: BodyRoom,
}

enum BodyRoom {
    /// For all of it together.
    Whole(Arc<Unsent>),
    /// For each large piece of a body that is made while it is sent, such as a live tail, whose first event may be a whole run. The body
    /// ends at the first one for which there is none.
    Pieces {
        address: Arc<Address>,
        places: Arc<Places>,
    },
}

impl BodyRoom {
    /// Has a frame's bytes keep their room until they are sent.
    fn keep(&self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, axum::Error> {
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        let unsent = match self {
            BodyRoom::Whole(unsent) => unsent.clone(),
            BodyRoom::Pieces { .. } if bytes <= SMALL_PIECE_BYTES => return Ok(frame),
            BodyRoom::Pieces { address, places } => {
                let Some(unsent) = places.send(address, bytes) else {
                    count_refused_answer();
                    return Err(axum::Error::new("too many large answers are being sent"));
                };
                Arc::new(unsent)
            }
        };
        Ok(frame.map_data(|bytes| {
            Bytes::from_owner(OfLarge {
                bytes,
                _unsent: unsent,
            })
        }))
    }
}

/// Bytes that have room.
struct OfLarge {
    bytes: Bytes,
    _unsent: Arc<Unsent>,
}

impl AsRef<[u8]> for OfLarge {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl hyper::body::Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        Poll::Ready(frame.map(|frame| frame.and_then(|frame| self.room.keep(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn count_refused_answer() {
    metrics::counter!("heddle_http_refused_total", "reason" => "answers").increment(1);
}

fn full() -> Response<Body> {
    let message = "All of the service's connections are in use: try again shortly.";
    ApiError::from(Code::Unavailable.with(message).retry_after_s(1)).into_response()
}

/// To a client behind a proxy, whose other requests take as long as they do.
fn too_many() -> Response<Body> {
    let message =
        "Too many requests of your IP address are being answered at the same time: wait for some of them.";
    ApiError::from(Code::RateLimited.with(message).retry_after_s(1)).into_response()
}

/// The body of an answer: its end is that of the exchange.
pub(super) struct Answer {
    body: Body,
    connection: Arc<Connection>,
    _begun: Option<Begun>,
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.connection.has_answered();
    }
}
