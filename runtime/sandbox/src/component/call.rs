//! One call of a component: it has its own store, with a share of its run's remaining limits, so that a misbehaving
//! component only fails its own node.

use super::output::{Printed, Written};
use super::ready::{ExecuteArguments, ExecuteResults, Ready};
use super::state::{CallState, Sender};
use crate::clock::monotonic;
use crate::digest::sha256;
use crate::effect_error::{EffectCode, EffectError};
use crate::effect_host::{ComponentCall, RequestHost};
use crate::executor::{Foreground, Job, Panicked, Phase, continue_on};
use crate::limiter::RunLimiter;
use crate::memory_budget::MemoryShare;
use crate::report::LogLine;
use crate::stop::{Stop, grouped};
use heddle_contract::abi::code;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use wasmtime::component::ResourceTable;
use wasmtime::{Store, Trap, UpdateDeadline};
use wasmtime_wasi::{HostWallClock, I32Exit, WasiCtx};

/// Calls of one run at work at a time; others wait.
const PLACES: usize = 4;
/// A call gets this part of the run's fuel, but at most half of what is left.
const FUEL_SHARE: u64 = 8;
/// And this part of its memory.
const MEMORY_SHARE: usize = 2;
const TABLE_ELEMENTS_MAX: usize = 100_000;
/// Time for a call whose node has no `timeoutMs`, but at most half of what is left of the run's.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Streams, pollables and the like that a component holds at a time.
const RESOURCES_MAX: usize = 1_000;
const RANDOM_BYTES_MAX: u64 = 64 << 10;
/// Bytes that one call of a host function may carry.
const HOST_CALL_BYTES_MAX: usize = 32 << 20;
const MESSAGE_BYTES_MAX: usize = 4 << 10;
const CODE_BYTES_MAX: usize = 64;

/// Where what a component sees as time and chance comes from.
pub struct Origin {
    /// The value of `$run`, as JSON.
    pub run: Box<RawValue>,
    /// Milliseconds since 1970 UTC.
    pub started_at_ms: i64,
    /// Of what they see as random.
    pub seed: u64,
}

/// What calls are made of, besides the node's own.
pub struct Setting {
    pub origin: Origin,
    /// The run's fuel limit.
    pub fuel_max: u64,
    /// The run's memory limit, in bytes.
    pub memory_bytes_max: usize,
    /// The owner's part of what all runs share.
    pub memory: MemoryShare,
    /// Of an output.
    pub result_bytes_max: usize,
    /// The run's.
    pub deadline: Instant,
    /// Sends the requests of components.
    pub requests: Arc<dyn RequestHost>,
    pub threads: Threads,
}

/// Where calls begin, and where long ones go on.
#[derive(Clone)]
pub struct Threads {
    pub first: Handle,
    pub background: Handle,
    /// Processor time for which a call stays on the first threads.
    pub first_time: Duration,
}

/// The calls of one run.
pub struct Calls {
    setting: Setting,
    places: Arc<Semaphore>,
    ledger: Mutex<Ledger>,
}

/// What calls have used and written that the run does not know of yet.
#[derive(Default)]
struct Ledger {
    /// Shares of calls that have not ended.
    reserved: u64,
    used: u64,
    lines: Vec<LogLine>,
}

impl Calls {
    pub fn new(setting: Setting) -> Arc<Self> {
        Arc::new(Calls {
            setting,
            places: Arc::new(Semaphore::new(PLACES)),
            ledger: Mutex::default(),
        })
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call to be started under this id; `fuel_left` is the run's. It begins when it is first polled.
    pub fn call(
        self: &Arc<Self>,
        id: u32,
        ready: Arc<Ready>,
        node: CallingNode,
        fuel_left: u64,
        request: String,
    ) -> ComponentCall {
        let mut ledger = self.ledger();
        let free = fuel_left.saturating_sub(ledger.reserved.saturating_add(ledger.used));
        let fuel = (self.setting.fuel_max / FUEL_SHARE).min(free / 2);
        ledger.reserved += fuel;
        let prepared = Arc::new(Prepared {
            calls: self.clone(),
            id,
            ready,
            node,
            fuel,
        });
        Box::pin(prepared.perform(request))
    }

    /// Takes what calls have used and written since the last time.
    pub fn settle(&self) -> (u64, Vec<LogLine>) {
        let mut ledger = self.ledger();
        (
            std::mem::take(&mut ledger.used),
            std::mem::take(&mut ledger.lines),
        )
    }
}

/// The node that calls.
pub struct CallingNode {
    pub id: String,
    pub node_type: String,
    /// Whether its component may send requests.
    pub may_send: bool,
}

/// A call that has not begun yet, or is at work.
struct Prepared {
    calls: Arc<Calls>,
    id: u32,
    ready: Arc<Ready>,
    node: CallingNode,
    fuel: u64,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        self.calls.ledger().reserved -= self.fuel;
    }
}

/// What the node asks for; texts are JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    input: String,
    parameters: String,
    #[serde(default)]
    item: Option<Value>,
    key: String,
    #[serde(default)]
    timeout_ms: Option<f64>,
}

impl Prepared {
    async fn perform(self: Arc<Self>, request: String) -> Result<String, EffectError> {
        let request: Request = serde_json::from_str(&request)
            .map_err(|error| EffectError::new(EffectCode::Parameter, error.to_string()))?;
        // Never closed.
        let _place = self.calls.places.clone().acquire_owned().await.ok();
        let asked = request
            .timeout_ms
            .map_or(TIMEOUT, |ms| Duration::from_millis(ms.clamp(0.0, 1e12) as u64));
        let left = self.calls.setting.deadline.saturating_duration_since(monotonic());
        let timeout = asked.min(left / 2);
        let Threads {
            first,
            background,
            first_time,
        } = self.calls.setting.threads.clone();
        let job: Job<Result<String, EffectError>> = Box::pin(self.execute(request));
        let work: Job<Result<String, EffectError>> = Box::pin(async move {
            let result = match Foreground::new(job, first_time).await {
                Phase::Done(result) => result,
                Phase::Long(job) => continue_on(&background, job).await,
            };
            result.unwrap_or_else(|Panicked| Err(failed_by_bug()))
        });
        let timer = {
            let _threads = first.enter();
            tokio::time::timeout(timeout, continue_on(&first, work))
        };
        match timer.await {
            Ok(result) => result.unwrap_or_else(|Panicked| Err(failed_by_bug())),
            Err(_) => Err(EffectError::new(
                EffectCode::Timeout,
                format!(
                    "The component took longer than its {} ms.",
                    grouped(timeout.as_millis() as u64)
                ),
            )),
        }
    }

    async fn execute(self: Arc<Self>, request: Request) -> Result<String, EffectError> {
        let facts = json!({
            "run": self.calls.setting.origin.run,
            "node": {"id": self.node.id, "type": self.node.node_type},
            "key": request.key,
            "item": request.item,
        });
        let result_bytes_max = self.calls.setting.result_bytes_max;
        let mut running = Running::new(self, &request.key);
        let texts = (
            request.input.as_str(),
            request.parameters.as_str(),
            &*facts.to_string(),
        );
        match running.drive(texts).await {
            Ok((Ok(output),)) if output.len() > result_bytes_max => Err(EffectError::new(
                EffectCode::OutputLimit,
                format!(
                    "The component's output is {} KiB, more than the {} KiB allowed.",
                    output.len() >> 10,
                    result_bytes_max >> 10
                ),
            )),
            Ok((Ok(output),)) => Ok(output),
            Ok((Err(failure),)) => {
                let code = failure.code.filter(|code| !code.is_empty());
                let code = code.map(|code| EffectCode::from(cut(code, CODE_BYTES_MAX).as_str()));
                let code = code.unwrap_or(EffectCode::Component);
                Err(EffectError::new(code, cut(failure.message, MESSAGE_BYTES_MAX)))
            }
            Err(error) => Err(running.stopped(&error)),
        }
    }
}

fn failed_by_bug() -> EffectError {
    EffectError::new(
        EffectCode::Internal,
        "The component's call failed because of a bug in heddle.",
    )
}

fn cut(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

/// A call at work. Dropping it, at its end or before, tells the run what it has used.
struct Running {
    prepared: Arc<Prepared>,
    store: Store<CallState>,
}

impl Running {
    fn new(prepared: Arc<Prepared>, key: &str) -> Self {
        let setting = &prepared.calls.setting;
        let printed = Printed::new();
        let mut resources = ResourceTable::new();
        resources.set_max_capacity(RESOURCES_MAX);
        let state = CallState {
            written: Written::default(),
            sender: prepared.node.may_send.then(|| Sender {
                host: setting.requests.clone(),
                call: prepared.id,
                request_bytes_max: setting.result_bytes_max,
            }),
            limiter: RunLimiter::of_component(
                setting.memory_bytes_max / MEMORY_SHARE,
                TABLE_ELEMENTS_MAX,
                setting.memory.clone(),
            ),
            wasi: empty_wasi(&setting.origin, key, &printed),
            printed,
            resources,
        };
        let mut store = Store::new(prepared.ready.instance.engine(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(HOST_CALL_BYTES_MAX);
        store.set_epoch_deadline(1);
        // The deadline is kept by whoever waits for the call: it is dropped at a yield.
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
        Running { prepared, store }
    }

    async fn drive(&mut self, texts: ExecuteArguments<'_>) -> wasmtime::Result<ExecuteResults> {
        let store = &mut self.store;
        store.set_fuel(self.prepared.fuel)?;
        let ready = &self.prepared.ready;
        let instance = ready.instance.instantiate_async(&mut *store).await?;
        let execute =
            instance.get_typed_func::<ExecuteArguments<'_>, ExecuteResults>(&mut *store, &ready.execute)?;
        execute.call_async(&mut *store, texts).await
    }

    /// Why the call did not come to its end.
    fn stopped(&self, error: &wasmtime::Error) -> EffectError {
        let trap = error.downcast_ref::<Trap>();
        let stop = match (error.downcast_ref::<Stop>(), trap) {
            (Some(stop), _) => stop.clone(),
            (_, Some(Trap::OutOfFuel)) => Stop::new(
                code::OUT_OF_FUEL,
                format!(
                    "The component used its {} units of fuel",
                    grouped(self.prepared.fuel)
                ),
                "Look for a loop that does not end, or raise `computeSeconds` in the pattern's settings: a call may use an eighth of it.",
            ),
            (_, Some(Trap::StackOverflow)) => Stop::new(
                code::STACK_OVERFLOW,
                "The component nested function calls too deeply",
                "Look for unbounded recursion.",
            ),
            _ if self.store.data().printed.is_full() => Printed::too_much(),
            (_, Some(trap)) => Stop::new(
                code::TRAP,
                format!("The component was stopped by a trap ({trap})"),
                "Its earlier output is in the run's log.",
            ),
            _ if error.downcast_ref::<I32Exit>().is_some() => Stop::new(
                code::TRAP,
                "The component exited by itself",
                "Its earlier output is in the run's log.",
            ),
            _ => {
                return EffectError::new(
                    EffectCode::Trap,
                    format!("The component could not continue: {error:#}."),
                );
            }
        };
        EffectError::new(EffectCode::from(&*stop.code), stop.to_string())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let left = self.store.get_fuel().unwrap_or(0);
        let state = self.store.data_mut();
        state.printed.add_to(&mut state.written);
        let node_id = &self.prepared.node.id;
        let lines = state.written.lines.drain(..).map(|(level, message)| LogLine {
            level,
            message,
            node_id: Some(node_id.clone()),
        });
        let mut ledger = self.prepared.calls.ledger();
        ledger.used += self.prepared.fuel.saturating_sub(left);
        ledger.lines.extend(lines);
    }
}

/// No files, arguments, variables, input or sockets. The wall clock stands still at the run's start, and what is
/// random comes from the run's seed and the place of the execution.
fn empty_wasi(origin: &Origin, key: &str, printed: &Printed) -> WasiCtx {
    let mut seed = origin.seed.to_le_bytes().to_vec();
    seed.extend_from_slice(key.as_bytes());
    let seed = sha256(&seed);
    let [insecure, ..] = *seed.as_chunks::<16>().0 else {
        unreachable!("a digest has two halves")
    };
    WasiCtx::builder()
        .stdout(printed.out.clone())
        .stderr(printed.err.clone())
        .wall_clock(FixedClock(origin.started_at_ms))
        .secure_random(StdRng::from_seed(seed))
        .insecure_random(StdRng::from_seed(seed))
        .insecure_random_seed(u128::from_le_bytes(insecure))
        .max_random_size(RANDOM_BYTES_MAX)
        .allow_tcp(false)
        .allow_udp(false)
        .build()
}

/// Milliseconds since 1970 UTC.
struct FixedClock(i64);

impl HostWallClock for FixedClock {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.0).unwrap_or(0))
    }
}
