//! A response that leaves piece by piece while its run goes on, from the run to whoever waits for it on this server. What the
//! reader has not taken is bounded: a run that is faster waits.

use bytes::Bytes;
use heddle_runtime::response_stream::{
    PIECE_BYTES_MAX, ResponseStream, SendFuture, Sent, StreamFormat, StreamHead,
};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Bytes of pieces that are not read yet.
const ROOM: usize = PIECE_BYTES_MAX;
/// What a piece counts at least, so that many small ones are bounded too.
const PIECE_COST_MIN: usize = 1 << 10;

/// A response that has begun.
#[derive(Debug)]
pub struct Begun {
    /// How it begins.
    pub head: StreamHead,
    /// What follows.
    pub pieces: Pieces,
}

/// The pieces of a response, in order. Dropping it tells the run that nobody reads any more.
#[derive(Debug)]
pub struct Pieces(mpsc::UnboundedReceiver<Piece>);

/// One piece. As long as it is held, it takes room from those that follow.
#[derive(Debug)]
pub struct Piece {
    /// As it is sent.
    pub bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl Pieces {
    /// The next one, once it is there; `None`: there are no more.
    pub async fn next(&mut self) -> Option<Piece> {
        self.0.recv().await
    }

    /// The next one, if it is there already.
    pub fn next_now(&mut self) -> Option<Piece> {
        self.0.try_recv().ok()
    }
}

/// By which whoever waits hears that the response has begun.
pub(crate) type Beginning = oneshot::Receiver<Begun>;

/// The run's end of its response. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct AnswerStream(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    room: Arc<Semaphore>,
    /// Digests of the keys of what was sent: another attempt, or another process that continues the run, sends it once more.
    /// As many as the run's journal may have entries.
    sent: Mutex<HashSet<[u8; 16]>>,
}

#[derive(Debug)]
enum State {
    Offered(oneshot::Sender<Begun>),
    Open(StreamFormat, mpsc::UnboundedSender<Piece>),
    Unheard,
}

impl AnswerStream {
    /// One that has not begun, and what tells of its beginning.
    pub fn new() -> (Self, Beginning) {
        let (begins, beginning) = oneshot::channel();
        let shared = Shared {
            state: Mutex::new(State::Offered(begins)),
            room: Arc::new(Semaphore::new(ROOM)),
            sent: Mutex::default(),
        };
        (AnswerStream(Arc::new(shared)), beginning)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sent(&self) -> MutexGuard<'_, HashSet<[u8; 16]>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where pieces go, which begins the response if it has not begun.
    fn begin(&self, head: StreamHead) -> Result<mpsc::UnboundedSender<Piece>, Sent> {
        let mut state = self.state();
        let format = head.format;
        match std::mem::replace(&mut *state, State::Unheard) {
            State::Offered(begins) => {
                let (sender, pieces) = mpsc::unbounded_channel();
                let pieces = Pieces(pieces);
                if begins.send(Begun { head, pieces }).is_err() {
                    return Err(Sent::Unheard);
                }
                *state = State::Open(format, sender.clone());
                Ok(sender)
            }
            State::Open(begun, sender) => {
                let sent = match begun == format {
                    true => Ok(sender.clone()),
                    false => Err(Sent::Begun(begun)),
                };
                *state = State::Open(begun, sender);
                sent
            }
            State::Unheard => Err(Sent::Unheard),
        }
    }
}

impl ResponseStream for AnswerStream {
    fn send(&self, key: &str, head: StreamHead, piece: Bytes) -> SendFuture {
        let stream = self.0.clone();
        let key = digest(key);
        Box::pin(async move {
            if stream.sent().contains(&key) {
                return Sent::Taken;
            }
            let sender = match stream.begin(head) {
                Ok(sender) => sender,
                Err(sent) => return sent,
            };
            let cost = piece.len().clamp(PIECE_COST_MIN, ROOM) as u32;
            // The order of pieces is that in which they ask: a semaphore is fair.
            let room = tokio::select! {
                room = stream.room.clone().acquire_many_owned(cost) => room,
                () = sender.closed() => return Sent::Unheard,
            };
            // Never closed.
            let Ok(room) = room else {
                return Sent::Unheard;
            };
            let piece = Piece {
                bytes: piece,
                _room: room,
            };
            match sender.send(piece) {
                Ok(()) => {
                    stream.sent().insert(key);
                    Sent::Taken
                }
                Err(_) => Sent::Unheard,
            }
        })
    }
}

fn digest(key: &str) -> [u8; 16] {
    let digest = Sha256::digest(key.as_bytes());
    digest.first_chunk().copied().unwrap_or_default()
}
