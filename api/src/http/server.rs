//! Connections: from `accept` to the routes, HTTP/1.1 only. The time, places and memory that an unauthenticated client
//! may take are bounded here; what exceeds a limit is answered if that is cheap, otherwise closed, and counted. Knows
//! nothing about what the routes do.
//!
//! No request waits for a lock or sets a timer: connections record what they do (`connection`), and one task checks
//! all of them periodically (`places`).

mod address;
mod connection;
mod exchange;
mod pace;
mod pieces;
mod places;
mod received;
mod rest;
mod socket;
mod tls;

pub use received::{Flow, trouble};
pub use tls::{Tls, TlsError};

use crate::config::http::{CONNECTIONS_MIN, HttpLimits};
use crate::http::error::ApiError;
use axum::Router;
use axum::http::header::CONTENT_LENGTH;
use axum::response::IntoResponse;
use connection::{Closing, Connection, Phase};
use exchange::Exchange;
use heddle_model::Code;
use heddle_runtime::apart;
use heddle_store::panics::unless_it_panics;
use http_body_util::BodyExt;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use ipnet::IpNet;
use places::{Place, Places, Refusal};
use socket::{Socket, Transport};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Bytes of a request's line and headers.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// Bytes of a connection that wait to be read or written.
const BUFFER_BYTES_MAX: usize = 128 << 10;
/// How long nothing is accepted when the system has nothing left to accept it with.
const EXHAUSTED_FOR: Duration = Duration::from_millis(50);
/// How often, and how long each time, a new connection waits for another one to give way.
const WAITS_MAX: u32 = 10;
const WAIT: Duration = Duration::from_millis(20);
/// How long, and how many bytes, of a body are read that nobody wants any more.
const LINGER_MAX: Duration = Duration::from_secs(1);
const LINGER_BYTES_MAX: usize = 16 << 20;
/// How often it is logged that nothing can be accepted.
const LOGGED_EVERY: Duration = Duration::from_secs(5);

/// Where connections come from.
pub struct Listener {
    socket: TcpListener,
    tls: Option<Tls>,
}

impl Listener {
    /// With TLS, nothing else is spoken.
    pub fn new(socket: TcpListener, tls: Option<Tls>) -> Self {
        Listener { socket, tls }
    }
}

impl From<TcpListener> for Listener {
    fn from(socket: TcpListener) -> Self {
        Listener::new(socket, None)
    }
}

/// Descriptors that connections of these limits may take.
pub fn descriptors(connections_max: usize) -> usize {
    connections_max + 2 * places::reserve(connections_max)
}

/// As many connections as so many descriptors do for, at least a few.
pub fn connections_within(descriptors_max: usize) -> usize {
    let mut connections = descriptors_max;
    while connections > CONNECTIONS_MIN && descriptors(connections) > descriptors_max {
        connections -= 1;
    }
    connections
}

/// Serves until `stop` ends, and then until all that has begun is answered. Ends never before, whatever happens to the
/// listener.
pub async fn serve(
    listener: impl Into<Listener>,
    router: Router,
    limits: &HttpLimits,
    trusted: &[IpNet],
    stop: impl Future<Output = ()>,
) {
    let Listener {
        socket: listener,
        tls,
    } = listener.into();
    let places = Places::new(limits, trusted);
    let watched = places.clone();
    // Without whoever watches, clients that keep others waiting would never be told to go: it begins again after a panic.
    let watching = async move { while unless_it_panics(watched.watch()).await.is_none() {} };
    let _watch = AbortOnDrop(tokio::spawn(watching).abort_handle());
    let _renewal = tls
        .clone()
        .map(|tls| AbortOnDrop(tokio::spawn(tls.watch()).abort_handle()));
    let refusals = Refusals::new().await;
    let mut builder = http1::Builder::new();
    builder
        .max_buf_size(BUFFER_BYTES_MAX)
        .max_header_size(HEAD_BYTES_MAX);
    let accepting = async {
        let mut logged_at = None;
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    not_accepted(&error, &places, &mut logged_at).await;
                    continue;
                }
            };
            match unless_it_panics(placed(&places, peer.ip())).await {
                Some(Ok(place)) => {
                    let visit = Visit {
                        builder: builder.clone(),
                        peer,
                        router: router.clone(),
                        place,
                        places: places.clone(),
                    };
                    tokio::spawn(admit(visit, stream, tls.clone()));
                }
                // With TLS, a client would understand nothing before its handshake.
                Some(Err(refusal)) => refusals.answer(tls.is_none().then_some(&stream), refusal),
                // A panic, which was told: only this connection is lost by it.
                None => {}
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop => {}
    }
    drop(listener);
    places.stop().await;
}

/// A place for a new connection. While others have been told to give way, it is waited for them to go: meanwhile
/// further ones wait in the system's own queue, and nobody is refused for whom there is about to be room.
async fn placed(places: &Arc<Places>, peer: IpAddr) -> Result<Place, Refusal> {
    for _ in 0..WAITS_MAX {
        match places.take(peer) {
            Err(Refusal::Full) if places.are_some_leaving() => {
                // Over or not: it is looked again.
                let _ = tokio::time::timeout(WAIT, places.one_left()).await;
            }
            taken => return taken,
        }
    }
    places.take(peer)
}

/// What a client did is its own affair; what the system lacks gets time to come back.
async fn not_accepted(error: &io::Error, places: &Places, logged_at: &mut Option<Instant>) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    if matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted
    ) {
        return;
    }
    metrics::counter!("heddle_http_accept_errors_total").increment(1);
    if logged_at.is_none_or(|at| heddle_model::clock::since(at) > LOGGED_EVERY) {
        *logged_at = Some(heddle_model::clock::monotonic());
        tracing::error!(%error, "Can't accept connections for now: {error}");
    }
    places.shrink();
    tokio::time::sleep(EXHAUSTED_FOR).await;
}

/// A connection that has been let in.
struct Visit {
    builder: http1::Builder,
    peer: SocketAddr,
    router: Router,
    place: Place,
    places: Arc<Places>,
}

/// One connection, to its end: its handshake, if it begins with one, and its requests.
async fn admit(visit: Visit, stream: TcpStream, tls: Option<Tls>) {
    let connection = visit.place.connection.clone();
    let socket = Socket::new(stream, connection.clone());
    let Some(tls) = tls else {
        return converse(visit, socket).await;
    };
    match unless_closed(&connection, tls.acceptor().accept(socket)).await {
        Some(Ok(stream)) => {
            connection.has_shaken_hands();
            apart(|| converse(visit, stream)).await;
        }
        Some(Err(_)) => metrics::counter!("heddle_http_tls_failures_total").increment(1),
        None => {}
    }
}

/// Does what a connection begins with, unless it is to be closed before.
async fn unless_closed<T>(connection: &Connection, mut work: impl Future<Output = T> + Unpin) -> Option<T> {
    std::future::poll_fn(|cx| {
        connection.set_waker(cx.waker());
        if connection.closing().is_some() || connection.is_stopping() {
            return Poll::Ready(None);
        }
        Pin::new(&mut work).poll(cx).map(Some)
    })
    .await
}

/// The requests of one connection, and its end.
async fn converse(visit: Visit, transport: impl Transport) {
    let Visit {
        builder,
        peer,
        router,
        place,
        places,
    } = visit;
    let connection = place.connection.clone();
    let io = TokioIo::new(transport);
    let exchange = Exchange {
        router,
        peer,
        connection: connection.clone(),
        places,
    };
    let mut exchanges = builder.serve_connection(io, exchange);
    let mut known: Option<Waker> = None;
    let mut is_stopping = false;
    let closing = std::future::poll_fn(|cx| {
        if !known.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            known = Some(cx.waker().clone());
            connection.set_waker(cx.waker());
        }
        if let Some(closing) = connection.closing() {
            return Poll::Ready(Some(closing));
        }
        if !is_stopping && connection.is_stopping() {
            is_stopping = true;
            if connection.phase() == Phase::New {
                // Nothing has begun that could be finished.
                return Poll::Ready(None);
            }
            Pin::new(&mut exchanges).graceful_shutdown();
        }
        // How it ends is the client's affair.
        Pin::new(&mut exchanges).poll(cx).map(|_| None)
    })
    .await;
    let is_answered = closing.is_none() && connection.phase() != Phase::New && !is_stopping;
    match closing {
        Some(Closing::SlowHeaders) if connection.phase() == Phase::Head => {
            let slow = Code::RequestTimeout.with("The request's headers took too long to arrive.");
            let answer = as_bytes(slow.into()).await;
            exchanges.into_parts().io.into_inner().send_last(&answer);
        }
        None if is_answered => {
            apart(|| linger(exchanges.into_parts().io.into_inner().into_stream())).await;
        }
        _ => drop(exchanges),
    }
    // Not before its descriptor is closed.
    drop(place);
}

/// Reads for a moment what a client still sends after its answer. Closed at once, the connection would be reset, and a
/// client in the midst of a body that is too large would lose the answer that says so.
async fn linger(mut stream: TcpStream) {
    let mut dropped = [0; 16 << 10];
    let reading = async {
        let mut left = LINGER_BYTES_MAX;
        while let Ok(read @ 1..) = stream.read(&mut dropped).await {
            match left.checked_sub(read) {
                Some(less) => left = less,
                None => break,
            }
        }
    };
    // A client that sends nothing and does not close either has its answer by now.
    let _ = tokio::time::timeout(LINGER_MAX, reading).await;
}

/// Answers for those who get no place: made once, and sent without waiting.
struct Refusals {
    address: Vec<u8>,
    full: Vec<u8>,
}

impl Refusals {
    async fn new() -> Self {
        let address = Code::RateLimited
            .with("Your IP address has too many open connections: close some, or reuse them.");
        let full = Code::Unavailable.with("All of the service's connections are in use: try again shortly.");
        Refusals {
            address: as_bytes(address.retry_after_s(1).into()).await,
            full: as_bytes(full.retry_after_s(1).into()).await,
        }
    }

    fn answer(&self, stream: Option<&TcpStream>, refusal: Refusal) {
        metrics::counter!("heddle_http_refused_total", "reason" => refusal.name()).increment(1);
        let answer = match refusal {
            Refusal::Address => &self.address,
            Refusal::Full => &self.full,
        };
        // An empty buffer takes it; what happens then is the client's affair.
        let _ = stream.map(|stream| stream.try_write(answer));
    }
}

/// An error as the last thing that is said on a connection.
async fn as_bytes(error: ApiError) -> Vec<u8> {
    let (parts, body) = error.into_response().into_parts();
    let body = body
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    let mut response = format!(
        "HTTP/1.1 {}\r\nconnection: close\r\ncontent-length: {}\r\n",
        parts.status,
        body.len()
    );
    for (name, value) in &parts.headers {
        if name != CONTENT_LENGTH {
            response.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap_or_default()));
        }
    }
    response.push_str("\r\n");
    let mut response = response.into_bytes();
    response.extend_from_slice(&body);
    response
}

/// Ends a task with this value.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
