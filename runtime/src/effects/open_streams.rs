//! The responses that a run reads while they arrive, between the effects that read from them. Nothing is read from a connection
//! before it is asked for, but for the rest of what came with it.

use super::framing::{ENTRY_BYTES_MAX, Frames, Framing};
use heddle_sandbox::clock::monotonic;
use heddle_sandbox::{EffectCode, EffectError};
use reqwest::Response;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex as TableMutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Streams that a run reads at a time: each holds a connection, and up to an entry in the service's memory.
const OPEN_MAX: usize = 8;

/// Bytes of one read that are no entry, such as the comments of events, after which the run is asked whether it goes on.
const SKIPPED_MAX: usize = 64 << 20;

/// The streams of a run. Dropping the last clone closes them.
#[derive(Clone)]
pub struct OpenStreams(Arc<Table>);

struct Table {
    places: Arc<Semaphore>,
    /// Those that have ended stay as such. A run has no more of them than effects.
    streams: TableMutex<HashMap<String, Arc<Shared>>>,
}

/// A stream, for those who read from it or close it.
struct Shared {
    framing: Framing,
    /// Has no permits, and is closed with the stream: whoever reads it meanwhile stops.
    open: Semaphore,
    stream: Mutex<Stream>,
}

/// Room for a stream, for as long as it is open.
#[derive(Clone)]
pub(super) struct Place {
    _permit: Arc<OwnedSemaphorePermit>,
}

/// A response whose body is to be read while it arrives.
pub(super) struct Live {
    pub response: Response,
    pub framing: Framing,
    pub _place: Place,
    /// Says why no more can be read.
    pub failure: Box<dyn Fn(&reqwest::Error) -> EffectError + Send + Sync>,
}

/// What is wanted of a stream.
pub(super) struct ReadBounds {
    /// Entries at most.
    pub count: usize,
    /// Once these are read, the rest is for later.
    pub bytes: usize,
    /// How long the first entry is waited for.
    pub wait: Duration,
    /// How long more of them are, once there is one.
    pub gather: Duration,
}

/// What was read of a stream.
#[derive(Debug)]
pub(super) struct Read {
    pub entries: Vec<Value>,
    /// Whether nothing more comes.
    pub done: bool,
    pub framing: Framing,
}

struct Stream {
    framing: Framing,
    state: State,
}

enum State {
    Open(Box<Open>),
    Ended,
    Failed(EffectError),
}

struct Open {
    live: Live,
    frames: Frames,
    /// Whether all of the body has arrived.
    is_over: bool,
}

impl Default for OpenStreams {
    fn default() -> Self {
        OpenStreams(Arc::new(Table {
            places: Arc::new(Semaphore::new(OPEN_MAX)),
            streams: TableMutex::default(),
        }))
    }
}

impl fmt::Debug for OpenStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenStreams")
    }
}

impl OpenStreams {
    fn table(&self) -> MutexGuard<'_, HashMap<String, Arc<Shared>>> {
        self.0.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for one more.
    pub(super) fn place(&self) -> Result<Place, EffectError> {
        match self.0.places.clone().try_acquire_owned() {
            Ok(permit) => Ok(Place {
                _permit: Arc::new(permit),
            }),
            Err(_) => {
                let message = format!(
                    "A run has at most {OPEN_MAX} streams open at a time: read one to its end, or close one with ReadStream's \
                     `operation: \"close\"`."
                );
                Err(EffectError::new(EffectCode::StreamLimit, message))
            }
        }
    }

    /// Keeps a response open; its id. No id comes twice, so that one of a former execution never means another response.
    pub(super) fn keep(&self, live: Live) -> String {
        let id = crate::entropy::nonce();
        let framing = live.framing;
        let stream = Stream {
            framing,
            state: State::Open(Box::new(Open {
                frames: Frames::new(framing),
                live,
                is_over: false,
            })),
        };
        let shared = Shared {
            framing,
            open: Semaphore::new(0),
            stream: Mutex::new(stream),
        };
        self.table().insert(id.clone(), Arc::new(shared));
        id
    }

    fn get(&self, id: &str) -> Result<Arc<Shared>, EffectError> {
        let found = self.table().get(id).cloned();
        found.ok_or_else(|| {
            let message = "The stream is not open here. A stream belongs to the run that requested it, and closes when the run waits \
                           for long or goes on after a stop of the server: request it again, and read it without long waits.";
            EffectError::new(EffectCode::StreamGone, message)
        })
    }

    /// The next entries. Those who read from one stream at the same time take turns; whose turn does not come in time has read
    /// nothing.
    pub(super) async fn read(&self, id: &str, wanted: &ReadBounds) -> Result<Read, EffectError> {
        let shared = self.get(id)?;
        let nothing = |done| Read {
            entries: Vec::new(),
            done,
            framing: shared.framing,
        };
        let Ok(mut stream) = timeout(wanted.wait, shared.stream.lock()).await else {
            return Ok(nothing(false));
        };
        tokio::select! {
            biased;
            _ = shared.open.acquire() => Ok(nothing(true)),
            read = stream.read(wanted) => read,
        }
    }

    /// Closes one, which then is at its end. Who reads from it at the moment has read nothing.
    pub(super) async fn close(&self, id: &str) -> Result<Read, EffectError> {
        let shared = self.get(id)?;
        shared.open.close();
        let mut stream = shared.stream.lock().await;
        stream.state = State::Ended;
        Ok(stream.given(Vec::new(), true))
    }
}

impl Stream {
    fn given(&self, entries: Vec<Value>, done: bool) -> Read {
        Read {
            entries,
            done,
            framing: self.framing,
        }
    }

    async fn read(&mut self, wanted: &ReadBounds) -> Result<Read, EffectError> {
        let open = match &mut self.state {
            State::Open(open) => open,
            State::Ended => return Ok(self.given(Vec::new(), true)),
            State::Failed(error) => return Err(error.clone()),
        };
        let mut entries = Vec::new();
        match open.fill(&mut entries, wanted).await {
            Ok(false) => Ok(self.given(entries, false)),
            Ok(true) => {
                self.state = State::Ended;
                Ok(self.given(entries, true))
            }
            Err(error) => {
                self.state = State::Failed(error.clone());
                // What has come before is given first.
                match entries.is_empty() {
                    true => Err(error),
                    false => Ok(self.given(entries, false)),
                }
            }
        }
    }
}

impl Open {
    /// Takes what is wanted; whether the stream has ended.
    async fn fill(&mut self, entries: &mut Vec<Value>, wanted: &ReadBounds) -> Result<bool, EffectError> {
        let after = |wait: Duration| {
            let now = monotonic();
            now.checked_add(wait).unwrap_or(now)
        };
        let mut until = after(wanted.wait);
        let (mut bytes, mut skipped, mut has_looked) = (0_usize, 0_usize, false);
        loop {
            while entries.len() < wanted.count && bytes < wanted.bytes {
                let Some(entry) = self.frames.entry().map_err(|_| too_long())? else {
                    break;
                };
                if entries.is_empty() {
                    until = after(wanted.gather);
                }
                bytes = bytes.saturating_add(entry.bytes);
                entries.push(entry.value);
            }
            if entries.len() >= wanted.count || bytes >= wanted.bytes {
                return Ok(false);
            }
            if self.is_over {
                return Ok(true);
            }
            let left = until.saturating_duration_since(monotonic());
            // What is there already is taken in any case. A service may send without a pause what is not an entry.
            if has_looked && left.is_zero() {
                return Ok(false);
            }
            has_looked = true;
            // A decoder gives piece after piece without ever waiting: others, and whoever ends the run, come in between.
            tokio::task::yield_now().await;
            match timeout(left, self.live.response.chunk()).await {
                Err(_) => return Ok(false),
                Ok(Ok(Some(piece))) => {
                    skipped = match entries.is_empty() {
                        true => skipped.saturating_add(piece.len()),
                        false => 0,
                    };
                    self.frames.push(&piece);
                    if skipped > SKIPPED_MAX {
                        return Ok(false);
                    }
                }
                Ok(Ok(None)) => {
                    self.is_over = true;
                    self.frames.end();
                }
                Ok(Err(error)) => return Err((self.live.failure)(&error)),
            }
        }
    }
}

fn too_long() -> EffectError {
    let message = format!(
        "An entry of the stream has more than {} KiB. Store the response with `responseType: \"file\"` if it is that large.",
        ENTRY_BYTES_MAX >> 10
    );
    EffectError::new(EffectCode::StreamLimit, message)
}
