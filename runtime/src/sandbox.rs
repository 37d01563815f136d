//! One run: its store and instances, which nothing survives, and what it has said so far.
//!
//! Knows nothing of threads; see `executor` for where a run is polled.

use crate::component::{CallingNode, Calls, Origin, Setting, Threads};
use crate::connections::Granted;
use crate::context::{CallbackFacts, Context, RunFacts, iso_time};
use crate::effects::{self, Effect, EffectContext, EffectError, Prepared, Registry, RunEffects, Waited};
use crate::ending::{mask, outcome, refused};
use crate::javascript::{JavaScript, Running};
use crate::journal::{Record, bounded_key};
use crate::key_values::KeyValues;
use crate::limits::{RunLimiter, Stop, grouped};
use crate::outcome::{LogLine, Outcome, RunError};
use crate::program::{Loaded, Program};
use crate::request::{Limits, RunRequest};
use crate::secrets::Vault;
use crate::stdlib::Stdlib;
use crate::trace::Trace;
use heddle_contract::abi::{self, code};
use heddle_contract::manifest::Manifest;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use wasmtime::{Engine, Extern, Instance, Memory, Store, UpdateDeadline, Val};

/// What every run needs of the runtime.
pub struct Surroundings {
    pub engine: Engine,
    pub stdlib: Arc<Stdlib>,
    pub effects: Registry,
    pub javascript: Arc<JavaScript>,
    pub component_threads: Threads,
    pub io: Handle,
}

/// How the guest said that the run ended.
pub enum Finish {
    Completed(Box<RawValue>),
    Failed(Box<RawValue>),
    Paused(Box<RawValue>),
}

/// An effect that the guest asks for.
pub struct Asked<'a> {
    pub kind: &'a str,
    /// See the run loop (`machine`) of `heddle-node-stdlib`.
    pub key: &'a str,
    /// `None`: it was too large to be copied.
    pub request: Option<String>,
    /// Of the run's fuel.
    pub fuel_left: u64,
}

/// The host's side of one run.
pub struct RunState {
    pub limits: Limits,
    pub effects: RunEffects,
    pub logs: Vec<LogLine>,
    pub log_bytes: usize,
    pub response: Option<Box<RawValue>>,
    pub finish: Option<Finish>,
    /// Only effects that have parked are left.
    pub has_parked: bool,
    pub trace: Trace,
    pub limiter: RunLimiter,
    /// Once it has been started.
    pub engine: Option<Running>,
    javascript: Arc<JavaScript>,
    registry: Registry,
    /// Of components, if the pattern has any.
    calls: Option<Arc<Calls>>,
    program: Arc<Loaded>,
    event: Box<RawValue>,
    context: String,
    vault: Arc<Vault>,
    connections: Arc<Granted>,
    key_values: Arc<dyn KeyValues>,
    hosts: Arc<[String]>,
    patterns: Arc<[String]>,
    pattern_calls: Option<Arc<dyn effects::Calls>>,
    run_id: String,
    attempt: u32,
    memory: Option<Memory>,
    deadline: Instant,
}

impl RunState {
    /// The text of input `which`.
    pub fn input(&self, which: i32) -> Result<&str, Stop> {
        match which {
            0 => Ok(self.event.get()),
            1 => Ok(&self.context),
            _ => Err(Stop::broken_guest(format!("There is no input {which}"))),
        }
    }

    pub fn memory(&self) -> Result<Memory, Stop> {
        self.memory
            .ok_or_else(|| Stop::broken_guest("The standard library has no memory"))
    }

    pub fn javascript(&self) -> Arc<JavaScript> {
        self.javascript.clone()
    }

    /// Whether the pattern has code for the JavaScript engine.
    pub fn may_run_javascript(&self) -> bool {
        self.program.manifest.rights.javascript
    }

    /// Id of a node by plan index.
    pub fn node_id(&self, node: u32) -> Option<String> {
        self.program
            .manifest
            .nodes
            .get(node as usize)
            .map(|node| node.id.clone())
    }

    /// Name of an output port of the node with this id.
    pub fn output_name(&self, node_id: &str, port: usize) -> String {
        let nodes = &self.program.manifest.nodes;
        let node = nodes.iter().find(|node| node.id == node_id);
        let name = node.and_then(|node| node.outputs.get(port));
        name.cloned().unwrap_or_else(|| "error".into())
    }

    /// Name of the output port through which an entry of the trace ended.
    pub fn port_name(&self, token: i32, port: i32) -> Option<String> {
        let port = usize::try_from(port).ok()?;
        let node = self
            .program
            .manifest
            .nodes
            .get(self.trace.node(token)? as usize)?;
        Some(node.outputs.get(port).cloned().unwrap_or_else(|| "error".into()))
    }

    /// Bytes that may still be logged; refuses when the lines are used up.
    pub fn log_room(&self) -> Result<usize, Stop> {
        if self.logs.len() >= self.limits.log_lines_max {
            return Err(Stop::new(
                code::LOG_LIMIT,
                format!(
                    "The run wrote more than {} lines of log",
                    grouped(self.limits.log_lines_max as u64)
                ),
                "Log less in loops.",
            ));
        }
        Ok(self.limits.log_bytes_max.saturating_sub(self.log_bytes))
    }

    /// Starts an effect for a node.
    pub fn start_effect(&mut self, node: u32, asked: Asked<'_>) -> Result<u32, Stop> {
        if self.effects.started() >= self.limits.effects_max {
            return Err(Stop::new(
                code::EFFECT_LIMIT,
                format!(
                    "The run started more than {} effects",
                    grouped(u64::from(self.limits.effects_max))
                ),
                "Work in batches, or raise the limit.",
            ));
        }
        let key = bounded_key(asked.key);
        let kind = asked.kind;
        let prepared = self.prepare(node, &key, asked).unwrap_or_else(Prepared::Refused);
        let span = self.effects.span(kind, || self.node_id(node).unwrap_or_default());
        self.effects.start(node, key, prepared, span)
    }

    fn prepare(&self, node: u32, key: &str, asked: Asked<'_>) -> Result<Prepared, EffectError> {
        let Asked {
            kind,
            request,
            fuel_left,
            ..
        } = asked;
        let rights = &self.program.manifest.rights;
        // Waiting between attempts needs no right: it reaches nothing.
        if kind != "sleep" && !rights.effects.iter().any(|granted| granted == kind) {
            let message = format!("The pattern's manifest does not list the effect `{kind}`.");
            return Err(EffectError::new(code::NOT_PERMITTED, message));
        }
        let effect = match &self.calls {
            Some(calls) if kind == "component" => self.component(calls, node, request.as_deref(), fuel_left),
            _ => self.registry.get(kind),
        };
        let effect = effect.ok_or_else(|| {
            EffectError::new(
                code::NOT_PERMITTED,
                format!("This heddle has no effect `{kind}`."),
            )
        })?;
        let request = request.ok_or_else(|| {
            let max = self.limits.effect_result_bytes_max >> 10;
            EffectError::new(code::PARAMETER, format!("The request has more than {max} KiB."))
        })?;
        let record = self.effects.record();
        let context = Box::new(EffectContext {
            result_bytes_max: self.limits.effect_result_bytes_max,
            deadline: self.deadline,
            key: key.to_owned(),
            idempotency_key: format!("{}/{key}", self.run_id),
            attempt: self.attempt,
            hosts: self.hosts.clone(),
            patterns: self.patterns.clone(),
            vault: self.vault.clone(),
            connections: self.connections.clone(),
            key_values: self.key_values.clone(),
            calls: self.pattern_calls.clone(),
            signals: record.map(Record::signals).unwrap_or_default(),
            parked: record.and_then(|record| record.parked(key)),
            journal: record.map(Record::journal),
            parks: Arc::default(),
        });
        Ok(Prepared::Work {
            effect,
            request,
            context,
        })
    }

    /// The call of a component that a request asks for.
    fn component(
        &self,
        calls: &Arc<Calls>,
        node: u32,
        request: Option<&str>,
        fuel_left: u64,
    ) -> Option<Arc<dyn Effect>> {
        #[derive(Deserialize)]
        struct Named {
            component: usize,
        }
        // A request that is too large is refused whichever component it names.
        let number = match request {
            Some(request) => serde_json::from_str::<Named>(request).ok()?.component,
            None => 0,
        };
        let ready = self.program.components.get(number)?;
        let listed = self.program.manifest.components.get(number)?;
        let node = CallingNode {
            id: self.node_id(node).unwrap_or_default(),
            node_type: listed.node_type.clone(),
            hosts: listed.hosts.clone().into(),
        };
        Some(Arc::new(calls.call(ready.clone(), node, fuel_left)))
    }

    /// Takes over what components have written, as far as there is room, and gives the fuel that they have used.
    pub fn settle_components(&mut self) -> u64 {
        let Some(calls) = &self.calls else { return 0 };
        let (fuel, lines) = calls.settle();
        for line in lines {
            let room = self.limits.log_bytes_max.saturating_sub(self.log_bytes);
            if self.logs.len() >= self.limits.log_lines_max || line.message.len() > room {
                break;
            }
            self.log_bytes += line.message.len();
            self.logs.push(line);
        }
        fuel
    }

    /// Waits for any effect, at most until the run's deadline.
    pub async fn wait_for_effect(&mut self) -> Result<(u32, usize), Stop> {
        // Bound to the I/O threads' clock, so that the caller's executor needs none.
        let expired = {
            let _io = self.effects.io().enter();
            tokio::time::sleep_until(self.deadline.into())
        };
        let limits = &self.limits;
        tokio::select! {
            biased;
            waited = self.effects.wait() => match waited? {
                Waited::Ended(id, length) => Ok((id, length)),
                Waited::Parked => {
                    self.has_parked = true;
                    Err(Stop::parked())
                }
            },
            () = expired => Err(Stop::timeout(limits)),
        }
    }
}

/// Executes a run to its end. Never fails: whatever happens is in the outcome. Keeps `held` as long as it lives.
pub async fn execute(
    held: impl Send,
    surroundings: Arc<Surroundings>,
    program: Program,
    request: RunRequest,
) -> Outcome {
    let started = Instant::now();
    let mut run = match Run::new(&surroundings, program, request, started) {
        Ok(run) => run,
        Err(error) => return refused(error, started),
    };
    let mut current_node = None;
    let result = drive(
        &mut run.store,
        &surroundings.stdlib,
        run.trigger,
        &mut current_node,
    )
    .await;
    let outcome = run.end(result, current_node, started);
    drop(held);
    outcome
}

/// A run that can begin. Apart from [`execute`], so that what it takes to make and to end one is on the stack, and not in
/// the future that is moved about.
struct Run {
    store: Store<RunState>,
    trigger: u32,
    fuel_max: u64,
}

impl Run {
    fn new(
        surroundings: &Surroundings,
        program: Program,
        request: RunRequest,
        started: Instant,
    ) -> Result<Self, RunError> {
        let trigger = trigger(&program.0.manifest, &request)?;
        let fuel_max = request.limits.fuel_max;
        let state = new_state(surroundings, program, request, nonce(), started);
        Ok(Run {
            store: Store::new(&surroundings.engine, state),
            trigger,
            fuel_max,
        })
    }

    fn end(self, result: wasmtime::Result<()>, current_node: Option<u32>, started: Instant) -> Outcome {
        let fuel_used = self.fuel_max.saturating_sub(self.store.get_fuel().unwrap_or(0));
        let node_id = current_node.and_then(|node| self.store.data().node_id(node));
        let state = self.store.into_data();
        let vault = state.vault.clone();
        let mut outcome = outcome(state, result, node_id);
        outcome.usage.fuel_used = fuel_used;
        outcome.usage.duration_us = started.elapsed().as_micros() as u64;
        mask(&vault, outcome)
    }
}

/// The plan index at which the run starts.
fn trigger(manifest: &Manifest, request: &RunRequest) -> Result<u32, RunError> {
    let fail = |code: &str, message: String| {
        Err(RunError {
            code: code.into(),
            message,
            node_id: request.trigger_node_id.clone(),
        })
    };
    let event_bytes = request.event.get().len();
    if event_bytes > request.limits.event_bytes_max {
        let max = request.limits.event_bytes_max >> 10;
        return fail(
            code::EVENT,
            format!(
                "The event has {} KiB; at most {max} KiB are allowed.",
                event_bytes >> 10
            ),
        );
    }
    let found = match &request.trigger_node_id {
        Some(id) => manifest.triggers.iter().find(|trigger| &trigger.node_id == id),
        None => manifest
            .triggers
            .iter()
            .find(|trigger| trigger.node_type == "OnManual")
            .or_else(|| manifest.triggers.first()),
    };
    if let Some(trigger) = found {
        return Ok(trigger.index);
    }
    let ids: Vec<&str> = manifest
        .triggers
        .iter()
        .map(|trigger| trigger.node_id.as_str())
        .collect();
    match &request.trigger_node_id {
        Some(id) => fail(
            code::TRIGGER,
            format!(
                "The pattern has no trigger `{id}`. It can start at: {}.",
                ids.join(", ")
            ),
        ),
        None => fail(
            code::TRIGGER,
            "The pattern has no trigger, so a run can't start.".into(),
        ),
    }
}

/// A text that no event can foresee: the generator is a cryptographic one, and needs no system call for each.
fn nonce() -> String {
    crate::codecache::hex(&rand::random::<[u8; 16]>())
}

fn new_state(
    surroundings: &Surroundings,
    program: Program,
    request: RunRequest,
    nonce: String,
    started: Instant,
) -> RunState {
    let context = Context {
        run: RunFacts {
            id: &request.run_id,
            pattern_id: &request.pattern_id,
            attempt: request.attempt,
            triggered_by: &request.triggered_by,
            started_at: iso_time(request.started_at_ms),
        },
        vars: &request.variables,
        nonce: &nonce,
        seed: request.seed.to_string(),
        started_at_ms: request.started_at_ms,
        run_key: &request.run_id,
        callbacks: CallbackFacts::of(&program.0.manifest, request.callbacks.as_ref()),
    };
    let has_components = !program.0.components.is_empty();
    let run = has_components.then(|| to_raw_value(&context.run).unwrap_or_default());
    // Strings, numbers and JSON under string keys: always JSON.
    let context = serde_json::to_string(&context).unwrap_or_default();
    let mut limits = request.limits;
    // The pattern's own limit can only be the shorter one.
    if let Some(timeout_ms) = program.0.manifest.settings.timeout_ms {
        limits.deadline = limits.deadline.min(Duration::from_millis(timeout_ms));
    }
    let rights = &program.0.manifest.rights;
    let vault = Arc::new(Vault::new(request.secrets, rights.secrets.clone(), nonce));
    let connections = Granted::new(
        request.services.connections,
        rights.connections.clone(),
        vault.clone(),
    );
    let calls = run.map(|run| {
        Calls::new(Setting {
            origin: Origin {
                run,
                started_at_ms: request.started_at_ms,
                seed: request.seed,
            },
            fuel_max: limits.fuel_max,
            memory_bytes_max: limits.memory_bytes_max,
            http: surroundings.effects.get("http"),
            threads: surroundings.component_threads.clone(),
        })
    });
    let record = request
        .journal
        .map(|journal| Record::new(journal, limits.journal_bytes_max));
    RunState {
        calls,
        limiter: RunLimiter::new(&limits),
        effects: RunEffects::new(surroundings.io.clone(), record),
        logs: Vec::new(),
        log_bytes: 0,
        response: None,
        finish: None,
        has_parked: false,
        trace: Trace::new(started, &limits),
        engine: None,
        javascript: surroundings.javascript.clone(),
        registry: surroundings.effects.clone(),
        event: request.event,
        context,
        vault,
        connections: Arc::new(connections),
        key_values: request.services.key_values,
        hosts: rights.hosts.clone().into(),
        patterns: rights.patterns.clone().into(),
        pattern_calls: request.calls,
        run_id: request.run_id,
        attempt: request.attempt,
        memory: None,
        deadline: started.checked_add(limits.deadline).unwrap_or(started),
        limits,
        program: program.0,
    }
}

/// Instantiates and runs. `current_node` is what was executing when it stopped.
async fn drive(
    store: &mut Store<RunState>,
    stdlib: &Stdlib,
    trigger: u32,
    current_node: &mut Option<u32>,
) -> wasmtime::Result<()> {
    store.limiter(|state| &mut state.limiter);
    store.set_fuel(store.data().limits.fuel_max)?;
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|store| {
        let state = store.data();
        if Instant::now() >= state.deadline {
            return Err(Stop::timeout(&state.limits).into());
        }
        Ok(UpdateDeadline::Yield(1))
    });
    let guest = stdlib.instance.instantiate_async(&mut *store).await?;
    let memory = stdlib
        .memory
        .as_ref()
        .and_then(|memory| guest.get_module_export(&mut *store, memory));
    store.data_mut().memory = memory.and_then(Extern::into_memory);
    let program = store.data().program.clone();
    let mut imports = Vec::with_capacity(program.imports.len());
    for import in &program.imports {
        let found = guest.get_module_export(&mut *store, import);
        imports.push(found.ok_or_else(|| Stop::broken_guest("An export of the standard library is gone"))?);
    }
    let pattern = Instance::new_async(&mut *store, &program.module, &imports).await?;
    let run = pattern.get_typed_func::<i32, ()>(&mut *store, abi::RUN_EXPORT)?;
    let result = run.call_async(&mut *store, trigger as i32).await;
    *current_node = read_current_node(store, stdlib, &guest);
    result
}

fn read_current_node(store: &mut Store<RunState>, stdlib: &Stdlib, guest: &Instance) -> Option<u32> {
    let global = guest
        .get_module_export(&mut *store, stdlib.current_node.as_ref()?)?
        .into_global()?;
    let Val::I32(address) = global.get(&mut *store) else {
        return None;
    };
    let memory = store.data().memory?;
    let mut word = [0; 4];
    memory.read(&*store, address as u32 as usize, &mut word).ok()?;
    Some(u32::from_le_bytes(word))
}
