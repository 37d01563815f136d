//! Effects: what a run does to the world outside. Each kind is one [`Effect`]; a run starts them by kind, they
//! work on the I/O threads, and their results come back to the sandbox as JSON.
//!
//! Knows nothing of wasmtime.

mod digest;
mod http;
mod sleep;

use crate::TRACE_TARGET;
use crate::limits::Stop;
use crate::secrets::Vault;
use heddle_node_stdlib::abi::code;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tracing::field::Empty;
use tracing::{Instrument, Span};

pub use digest::{Hash, Hmac};
pub use http::Http;
pub use sleep::Sleep;

/// Effects of one run that hold a request or an untaken result at the same time; others wait.
const IN_FLIGHT_MAX: usize = 32;
/// Requests of one run that wait or are at work, together.
const REQUEST_BYTES_MAX: usize = 64 << 20;

/// Result of an effect.
pub type EffectResult = Result<Value, EffectError>;
/// An effect at work.
pub type EffectFuture = Pin<Box<dyn Future<Output = EffectResult> + Send>>;

/// One kind of effect.
pub trait Effect: Send + Sync + 'static {
    /// The name by which runs start it and manifests list it.
    fn kind(&self) -> &'static str;

    /// Does the work. Dropping the future cancels it.
    fn start(&self, request: Value, context: EffectContext) -> EffectFuture;

    /// Whether it only waits, so that any number may be in flight.
    fn only_waits(&self) -> bool {
        false
    }

    /// Whether secrets are put in place of their references in its requests.
    fn reveals_secrets(&self) -> bool {
        true
    }
}

/// What an effect is given besides its request.
#[derive(Clone, Debug)]
pub struct EffectContext {
    /// Larger results are refused, in bytes.
    pub result_bytes_max: usize,
    /// The run's deadline.
    pub deadline: Instant,
    /// The same for a repetition of the same effect of the same run.
    pub idempotency_key: String,
    /// Hosts that the manifest grants; `*` is any.
    pub hosts: Arc<[String]>,
    /// Hides secrets in what is not text, such as a binary body.
    pub vault: Arc<Vault>,
}

/// Why an effect failed; the node's `onError` decides what that means.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct EffectError {
    /// One of [`code`], or `HTTP_<status>`.
    pub code: String,
    /// For a person.
    pub message: String,
}

impl EffectError {
    /// An error with this code and message.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        EffectError {
            code: code.into(),
            message: message.into(),
        }
    }
}

/// All kinds of effects.
#[derive(Clone, Default)]
pub struct Registry(Arc<BTreeMap<&'static str, Arc<dyn Effect>>>);

impl Registry {
    /// Adds a kind, or replaces the one of the same name.
    pub fn add(&mut self, effect: impl Effect) {
        Arc::make_mut(&mut self.0).insert(effect.kind(), Arc::new(effect));
    }

    /// The effect of this kind.
    pub fn get(&self, kind: &str) -> Option<Arc<dyn Effect>> {
        self.0.get(kind).cloned()
    }
}

/// The effects of one run. Dropping it cancels those that are at work.
pub struct RunEffects {
    io: Handle,
    tasks: JoinSet<Done>,
    ids: HashMap<tokio::task::Id, u32>,
    in_flight: Arc<Semaphore>,
    results: HashMap<u32, Done>,
    /// Bytes of requests that wait or are at work.
    request_bytes: Arc<AtomicUsize>,
    started: u32,
    /// The run's.
    span: Span,
}

/// Counts a request for as long as it is held.
struct Held {
    total: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.total.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A result, and the place in the queue that it holds until the sandbox has taken it.
struct Done {
    json: Vec<u8>,
    _permit: Option<OwnedSemaphorePermit>,
}

/// An effect about to start: permitted work, or the reason why it is not.
pub enum Prepared {
    /// To be done.
    Work {
        effect: Arc<dyn Effect>,
        request: String,
        context: EffectContext,
    },
    /// Refused.
    Refused(EffectError),
}

impl RunEffects {
    pub fn new(io: Handle) -> Self {
        RunEffects {
            io,
            tasks: JoinSet::new(),
            ids: HashMap::new(),
            in_flight: Arc::new(Semaphore::new(IN_FLIGHT_MAX)),
            results: HashMap::new(),
            request_bytes: Arc::default(),
            started: 0,
            span: Span::current(),
        }
    }

    /// A span for the effect that starts next.
    pub fn span(&self, kind: &str, node_id: impl FnOnce() -> String) -> Span {
        tracing::info_span!(
            target: TRACE_TARGET, parent: &self.span, "effect",
            otel.name = kind, otel.kind = "client", otel.status_code = Empty,
            heddle.node_id = node_id(), error.type = Empty,
        )
    }

    /// The I/O threads.
    pub fn io(&self) -> &Handle {
        &self.io
    }

    /// How many have been started.
    pub fn started(&self) -> u32 {
        self.started
    }

    /// Starts an effect on the I/O threads and gives its id.
    pub fn start(&mut self, prepared: Prepared, span: Span) -> Result<u32, Stop> {
        let id = self.started;
        self.started = self.started.saturating_add(1);
        let bytes = match &prepared {
            Prepared::Work { request, .. } => request.len(),
            Prepared::Refused(_) => 0,
        };
        let before = self.request_bytes.fetch_add(bytes, Ordering::Relaxed);
        let held = Held {
            total: self.request_bytes.clone(),
            bytes,
        };
        if before.saturating_add(bytes) > REQUEST_BYTES_MAX {
            return Err(Stop::new(
                code::EFFECT_LIMIT,
                format!(
                    "The run's effects in flight hold more than {} MiB of requests",
                    REQUEST_BYTES_MAX >> 20
                ),
                "Send less at the same time.",
            ));
        }
        let in_flight = self.in_flight.clone();
        let work = async move {
            let done = perform(prepared, in_flight).await;
            drop(held);
            done
        };
        let work = work.instrument(span);
        let task = self.tasks.spawn_on(work, &self.io);
        self.ids.insert(task.id(), id);
        Ok(id)
    }

    /// Waits until one has ended: its id and the length of its result.
    pub async fn wait(&mut self) -> Result<(u32, usize), Stop> {
        let (task, done) = match self.tasks.join_next_with_id().await {
            Some(Ok((task, done))) => (task, done),
            Some(Err(error)) => {
                tracing::error!(%error, "An effect panicked");
                let failed = EffectError::new(code::INTERNAL, "The effect failed by a bug in heddle.");
                (
                    error.id(),
                    Done {
                        json: to_json(Err(failed)),
                        _permit: None,
                    },
                )
            }
            None => {
                return Err(Stop::broken_guest(
                    "The run waited for an effect, but none was started",
                ));
            }
        };
        let Some(id) = self.ids.remove(&task) else {
            return Err(Stop::broken_guest("An effect without an id ended"));
        };
        let length = done.json.len();
        self.results.insert(id, done);
        Ok((id, length))
    }

    /// The result of an effect that [`RunEffects::wait`] has named.
    pub fn take(&mut self, id: u32) -> Result<Vec<u8>, Stop> {
        let done = self.results.remove(&id);
        done.map(|done| done.json)
            .ok_or_else(|| Stop::broken_guest(format!("Effect {id} has no result")))
    }
}

async fn perform(prepared: Prepared, in_flight: Arc<Semaphore>) -> Done {
    let (effect, request, context) = match prepared {
        Prepared::Work {
            effect,
            request,
            context,
        } => (effect, request, context),
        Prepared::Refused(error) => {
            note_failure(&error);
            return Done {
                json: to_json(Err(error)),
                _permit: None,
            };
        }
    };
    let vault = context.vault.clone();
    let permit = if effect.only_waits() {
        None
    } else {
        in_flight.acquire_owned().await.ok()
    };
    let result = match serde_json::from_str(&request) {
        Ok(request) if !effect.reveals_secrets() => effect.start(request, context).await,
        Ok(request) => match vault.reveal(request) {
            Ok(request) => effect.start(request, context).await,
            Err(error) => Err(error),
        },
        Err(error) => Err(EffectError::new(
            code::PARAMETER,
            format!("The request is no JSON: {error}"),
        )),
    };
    let masked = match result {
        Ok(value) => Ok(vault.mask_value(value)),
        Err(error) => {
            note_failure(&error);
            Err(EffectError {
                code: error.code,
                message: vault.mask(&error.message).into_owned(),
            })
        }
    };
    Done {
        json: to_json(masked),
        _permit: permit,
    }
}

/// Codes only: messages may hold what the service said.
fn note_failure(error: &EffectError) {
    let span = Span::current();
    span.record("error.type", error.code.as_str());
    span.record("otel.status_code", "ERROR");
}

fn to_json(result: EffectResult) -> Vec<u8> {
    let value = match result {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "error": { "code": error.code, "message": error.message } }),
    };
    value.to_string().into_bytes()
}
