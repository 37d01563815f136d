//! The state of one connection: what it is doing and since when. The connection's own task writes it with atomic
//! stores, without locks unless a body is left unread; the task that supervises all connections reads it periodically. Knows nothing about sockets.

use super::address::Address;
use hyper::body::Incoming;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// Bytes a second that bodies and answers have to move at least, once their time is over.
pub(super) const PACE_BYTES: u64 = 16 << 10;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// Nothing has come on it yet.
    New,
    /// It waits for the next request.
    Idle,
    /// A request's headers are on their way.
    Head,
    /// A request's body is.
    Body,
    /// A request is being answered.
    Busy,
}

impl Phase {
    const ALL: [Phase; 5] = [Phase::New, Phase::Idle, Phase::Head, Phase::Body, Phase::Busy];
}

/// Why a connection is closed before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Closing {
    /// The headers took too long.
    SlowHeaders = 1,
    /// Nothing came for too long.
    Idle,
    /// The client does not take its answer.
    Stalled,
    /// Others need its place.
    Evicted,
}

impl Closing {
    const ALL: [Closing; 4] = [
        Closing::SlowHeaders,
        Closing::Idle,
        Closing::Stalled,
        Closing::Evicted,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Closing::SlowHeaders => "slow_headers",
            Closing::Idle => "idle",
            Closing::Stalled => "stalled",
            Closing::Evicted => "evicted",
        }
    }
}

/// How long things may take, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub header: u64,
    pub body: u64,
    pub idle: u64,
    pub stall: u64,
}

/// What is to be done about a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Fine,
    /// Its body is late: whoever reads it is told.
    LateBody,
    Close(Closing),
}

/// A connection. Times are milliseconds of the server's coarse clock.
#[derive(Debug)]
pub(super) struct Connection {
    pub address: Arc<Address>,
    /// It has a place of those that are kept for questions about health.
    pub is_reserve: bool,
    now: Arc<AtomicU64>,
    phase: AtomicU8,
    since: AtomicU64,
    /// The body is waited for: its reader has taken all that has come.
    is_starving: AtomicBool,
    body_bytes: AtomicUsize,
    heard_at: AtomicU64,
    is_late: AtomicBool,
    /// Its body was not read to the end and never will be, so nothing can follow it.
    is_spoilt: AtomicBool,
    /// Its reader has left the body before its end.
    is_left: AtomicBool,
    left: Mutex<Option<Incoming>>,
    /// The client takes nothing more for now; since then so many bytes, the last of them then.
    is_blocked: AtomicBool,
    blocked_at: AtomicU64,
    taken_bytes: AtomicU64,
    taken_at: AtomicU64,
    is_stopping: AtomicBool,
    closing: AtomicU8,
    waker: Mutex<Option<Waker>>,
}

impl Connection {
    pub fn new(address: Arc<Address>, is_reserve: bool, now: Arc<AtomicU64>) -> Self {
        let at = now.load(Relaxed);
        Connection {
            address,
            is_reserve,
            now,
            phase: AtomicU8::new(Phase::New as u8),
            since: AtomicU64::new(at),
            is_starving: AtomicBool::new(false),
            body_bytes: AtomicUsize::new(0),
            heard_at: AtomicU64::new(at),
            is_late: AtomicBool::new(false),
            is_spoilt: AtomicBool::new(false),
            is_left: AtomicBool::new(false),
            left: Mutex::default(),
            is_blocked: AtomicBool::new(false),
            blocked_at: AtomicU64::new(at),
            taken_bytes: AtomicU64::new(0),
            taken_at: AtomicU64::new(at),
            is_stopping: AtomicBool::new(false),
            closing: AtomicU8::new(0),
            waker: Mutex::default(),
        }
    }

    fn at(&self) -> u64 {
        self.now.load(Relaxed)
    }

    pub fn phase(&self) -> Phase {
        let phase = usize::from(self.phase.load(Relaxed));
        Phase::ALL.get(phase).copied().unwrap_or(Phase::Busy)
    }

    fn enter(&self, phase: Phase) {
        self.since.store(self.at(), Relaxed);
        self.phase.store(phase as u8, Relaxed);
    }

    /// Milliseconds in this phase.
    pub fn waited(&self, now: u64) -> u64 {
        now.saturating_sub(self.since.load(Relaxed))
    }

    /// Bytes have come.
    pub fn has_read(&self) {
        if matches!(self.phase(), Phase::New | Phase::Idle) {
            self.enter(Phase::Head);
        }
    }

    /// The handshake with which it began is over; nothing has been asked yet.
    pub fn has_shaken_hands(&self) {
        self.enter(Phase::New);
    }

    /// A request's headers are there.
    pub fn has_request(&self, has_body: bool) {
        self.body_bytes.store(0, Relaxed);
        self.heard_at.store(self.at(), Relaxed);
        self.is_starving.store(false, Relaxed);
        self.enter(if has_body { Phase::Body } else { Phase::Busy });
    }

    /// The reader of the body waits for more of it.
    pub fn body_starves(&self) {
        if !self.is_starving.swap(true, Relaxed) {
            self.heard_at.store(self.at(), Relaxed);
        }
    }

    /// Some of the body has come.
    pub fn body_came(&self, bytes: usize) {
        self.is_starving.store(false, Relaxed);
        self.body_bytes.fetch_add(bytes, Relaxed);
    }

    /// The body is refused in the middle.
    pub fn spoil(&self) {
        self.is_spoilt.store(true, Relaxed);
    }

    pub fn is_spoilt(&self) -> bool {
        self.is_spoilt.load(Relaxed)
    }

    /// The body's reader leaves it before its end.
    pub fn leave(&self, body: Incoming) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        self.is_left.store(true, SeqCst);
    }

    /// What a reader has left of a body, once.
    pub fn left(&self) -> Option<Incoming> {
        // Nearly always nothing: no lock is taken for it.
        if !self.is_left.load(SeqCst) {
            return None;
        }
        self.is_left.store(false, SeqCst);
        self.left.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The body has come to its end, or nobody reads it any more.
    pub fn body_ended(&self) {
        self.enter(Phase::Busy);
    }

    /// Whether the body took longer than it may.
    pub fn is_late(&self) -> bool {
        self.is_late.load(Relaxed)
    }

    /// The answer was handed over.
    pub fn has_answered(&self) {
        self.enter(Phase::Idle);
    }

    /// The client took so much.
    pub fn has_written(&self, bytes: usize) {
        if self.is_blocked.load(Relaxed) {
            self.taken_bytes.fetch_add(bytes as u64, Relaxed);
            self.taken_at.store(self.at(), Relaxed);
        }
    }

    /// All that there was to be written is.
    pub fn has_flushed(&self) {
        if self.is_blocked.load(Relaxed) {
            self.is_blocked.store(false, Relaxed);
        }
    }

    /// The client takes nothing more for now.
    pub fn is_not_taken(&self) {
        if !self.is_blocked.load(Relaxed) {
            let at = self.at();
            self.blocked_at.store(at, Relaxed);
            self.taken_at.store(at, Relaxed);
            self.taken_bytes.store(0, Relaxed);
            self.is_blocked.store(true, Relaxed);
        }
    }

    /// What is to be done about it at this time.
    pub fn judge(&self, now: u64, patience: &Patience) -> Verdict {
        if self.is_blocked.load(Relaxed) {
            let taken_at = self.taken_at.load(Relaxed);
            let begun_at = self.blocked_at.load(Relaxed);
            let longest = patience.stall + moved_in(self.taken_bytes.load(Relaxed));
            if now.saturating_sub(taken_at) > patience.stall || now.saturating_sub(begun_at) > longest {
                return Verdict::Close(Closing::Stalled);
            }
        }
        let waited = self.waited(now);
        match self.phase() {
            Phase::New | Phase::Head if waited > patience.header => Verdict::Close(Closing::SlowHeaders),
            Phase::Idle if waited > patience.idle => Verdict::Close(Closing::Idle),
            Phase::Body if self.is_starving.load(Relaxed) && !self.is_late() => {
                let silent = now.saturating_sub(self.heard_at.load(Relaxed));
                let longest = patience.body + moved_in(self.body_bytes.load(Relaxed) as u64);
                match silent > patience.stall || waited > longest {
                    true => Verdict::LateBody,
                    false => Verdict::Fine,
                }
            }
            _ => Verdict::Fine,
        }
    }

    /// Whether its body has not come on for so long.
    pub fn is_starved(&self, now: u64, since: u64) -> bool {
        self.phase() == Phase::Body
            && self.is_starving.load(Relaxed)
            && now.saturating_sub(self.heard_at.load(Relaxed)) > since
    }

    /// Tells the reader of the body that it is late.
    pub fn give_body_up(&self) {
        self.is_late.store(true, SeqCst);
        self.spoil();
        self.wake();
    }

    /// Has it closed.
    pub fn close(&self, closing: Closing) {
        // The first reason is the one that is told.
        let first = self
            .closing
            .compare_exchange(0, closing as u8, SeqCst, Relaxed)
            .is_ok();
        if first {
            metrics::counter!("heddle_http_closed_total", "reason" => closing.name()).increment(1);
            self.wake();
        }
    }

    /// Why it is to be closed, if it is.
    pub fn closing(&self) -> Option<Closing> {
        let closing = self.closing.load(SeqCst);
        Closing::ALL.into_iter().find(|one| *one as u8 == closing)
    }

    /// Has it closed once what it does is done.
    pub fn stop(&self) {
        self.is_stopping.store(true, SeqCst);
        self.wake();
    }

    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(SeqCst)
    }

    /// Who is to be woken when it is to be closed. To be said before that is asked.
    pub fn set_waker(&self, waker: &Waker) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }

    fn wake(&self) {
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Milliseconds that so many bytes may take besides.
fn moved_in(bytes: u64) -> u64 {
    bytes.saturating_mul(1_000) / PACE_BYTES
}

/// A duration in milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
