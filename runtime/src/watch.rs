//! Reports what a run does as it happens. Onlookers never hold up the run: events for which there is no room are left out and
//! counted.

use crate::secrets::Vault;
use heddle_sandbox::clock::{monotonic, since};
use heddle_sandbox::{LogLine, NodeEvent, NodePhase, WatchEvent, omitted};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;
use tokio::sync::mpsc;

/// Events that wait to be read.
const EVENTS_MAX: usize = 8_192;
/// Bytes of those events.
const BYTES_MAX: usize = 8 << 20;
/// Beyond these, values are left out.
const VALUE_BYTES_MAX: usize = 4 << 20;
/// What an event without texts is taken to weigh.
const EVENT_BYTES: usize = 200;

/// Something that a run did.
#[derive(Clone, Debug)]
pub enum RunEvent {
    /// A node, which is told of runs compiled with a trace.
    Node(NodeEvent),
    /// A line of the log.
    Log(LogLine),
    /// An effect has ended.
    Effect(EffectEvent),
}

/// When something happened, in microseconds since the run's start.
#[derive(Clone, Debug)]
pub struct Timed {
    pub at_us: u64,
    pub event: RunEvent,
}

/// An effect that has ended.
#[derive(Clone, Debug)]
pub struct EffectEvent {
    /// Node that asked for it.
    pub node_id: Option<String>,
    pub kind: String,
    /// Host that it was for, if its request has a URL.
    pub host: Option<String>,
    /// HTTP status of the answer, if it has one.
    pub status: Option<u16>,
    /// Code of the error, if it failed.
    pub error: Option<String>,
    /// Wall time in microseconds until the run saw the result.
    pub duration_us: u64,
}

#[derive(Debug, Default)]
struct Shared {
    bytes: AtomicUsize,
    omitted: AtomicU64,
}

/// The run's end. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Watcher {
    sender: mpsc::Sender<(usize, Timed)>,
    shared: Arc<Shared>,
}

/// The end of whoever looks on.
#[derive(Debug)]
pub struct Watched {
    receiver: mpsc::Receiver<(usize, Timed)>,
    shared: Arc<Shared>,
}

/// Both ends, for one run.
pub fn watch() -> (Watcher, Watched) {
    let (sender, receiver) = mpsc::channel(EVENTS_MAX);
    let shared = Arc::<Shared>::default();
    let watcher = Watcher {
        sender,
        shared: shared.clone(),
    };
    (watcher, Watched { receiver, shared })
}

impl Watcher {
    fn has_room(&self, bytes: usize, bytes_max: usize) -> bool {
        self.shared.bytes.load(Ordering::Relaxed).saturating_add(bytes) <= bytes_max
    }

    fn send(&self, bytes: usize, event: Timed) {
        let has_room = self.has_room(bytes, BYTES_MAX);
        self.shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        if !has_room || self.sender.try_send((bytes, event)).is_err() {
            self.shared.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.shared.omitted.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Watched {
    /// The next event; `None` once the run has ended and all is read.
    pub async fn next(&mut self) -> Option<Timed> {
        let (bytes, event) = self.receiver.recv().await?;
        self.shared.bytes.fetch_sub(bytes, Ordering::Relaxed);
        Some(event)
    }

    /// The next event, if one is there already.
    pub fn next_now(&mut self) -> Option<Timed> {
        let (bytes, event) = self.receiver.try_recv().ok()?;
        self.shared.bytes.fetch_sub(bytes, Ordering::Relaxed);
        Some(event)
    }

    /// How many events were left out since this was asked last.
    pub fn take_omitted(&self) -> u64 {
        self.shared.omitted.swap(0, Ordering::Relaxed)
    }
}

/// An effect that has not ended yet.
struct Started {
    node_id: Option<String>,
    kind: String,
    host: Option<String>,
    began: Instant,
}

/// Tells what one run does, with its secrets masked.
pub(crate) struct Watching {
    watcher: Watcher,
    vault: Arc<Vault>,
    started: Instant,
    effects: HashMap<u32, Started>,
}

impl Watching {
    pub fn new(watcher: Watcher, vault: Arc<Vault>, started: Instant) -> Self {
        Watching {
            watcher,
            vault,
            started,
            effects: HashMap::new(),
        }
    }

    fn send(&self, bytes: usize, event: RunEvent) {
        let at_us = micros(self.started);
        self.watcher
            .send(bytes.saturating_add(EVENT_BYTES), Timed { at_us, event });
    }

    /// Of what its sandbox tells.
    pub fn forward(&self, event: WatchEvent) {
        match event {
            WatchEvent::Node(event) => self.node(event),
            WatchEvent::Log(line) => self.log(line),
            WatchEvent::Omitted(events) => {
                let omitted = &self.watcher.shared.omitted;
                omitted.fetch_add(events.into(), Ordering::Relaxed);
            }
        }
    }

    fn node(&self, mut event: NodeEvent) {
        let mut bytes = event.node_id.len() + event.path.len();
        if let NodePhase::Ended(end) = &mut event.phase {
            for value in [&mut end.output, &mut end.error] {
                let Some(json) = value.take() else { continue };
                let json = match self.watcher.has_room(json.get().len(), VALUE_BYTES_MAX) {
                    true => self.vault.mask_json(json),
                    false => omitted(&json),
                };
                bytes += json.get().len();
                *value = Some(json);
            }
        }
        self.send(bytes, RunEvent::Node(event));
    }

    fn log(&self, mut line: LogLine) {
        line.message = self.vault.mask(&line.message).into_owned();
        self.send(line.message.len(), RunEvent::Log(line));
    }

    pub fn effect_started(&mut self, id: u32, node_id: Option<String>, kind: &str, host: Option<String>) {
        let started = Started {
            node_id,
            kind: kind.to_owned(),
            host,
            began: monotonic(),
        };
        self.effects.insert(id, started);
    }

    pub fn effect_ended(&mut self, id: u32, result: &[u8]) {
        #[derive(Deserialize)]
        struct Ended<'a> {
            #[serde(borrow)]
            ok: Option<&'a RawValue>,
            error: Option<Failed>,
        }
        #[derive(Deserialize)]
        struct Failed {
            code: String,
        }
        #[derive(Deserialize)]
        struct Answer {
            status: u16,
        }
        let Some(started) = self.effects.remove(&id) else {
            return;
        };
        let ended: Option<Ended<'_>> = serde_json::from_slice(result).ok();
        let (ok, error) = ended.map_or((None, None), |ended| (ended.ok, ended.error));
        let answer = ok.filter(|_| started.host.is_some());
        let status = answer.and_then(|ok| serde_json::from_str::<Answer>(ok.get()).ok());
        let event = EffectEvent {
            node_id: started.node_id,
            kind: started.kind,
            host: started.host,
            status: status.map(|answer| answer.status),
            error: error.map(|failed| failed.code),
            duration_us: micros(started.began),
        };
        self.send(0, RunEvent::Effect(event));
    }
}

/// Host of the URL in the request of an effect. One in which a secret stands for it is not told.
pub(crate) fn host(request: Option<&str>) -> Option<String> {
    #[derive(Deserialize)]
    struct Addressed {
        url: String,
    }
    let addressed: Addressed = serde_json::from_str(request?).ok()?;
    let url = reqwest::Url::parse(&addressed.url).ok()?;
    let host = url.host_str().filter(|host| !host.contains('('))?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

fn micros(began: Instant) -> u64 {
    u64::try_from(since(began).as_micros()).unwrap_or(u64::MAX)
}
