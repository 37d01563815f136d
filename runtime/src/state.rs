//! The host's side of one run: its input, its output so far, and the effects that it starts.

use crate::component::{CallingNode, Calls, Origin, Setting, Threads};
use crate::connections::Granted;
use crate::context::{CallbackFacts, Context, RunFacts, iso_time};
use crate::effect_error::{EffectCode, EffectError};
use crate::effects::{
    self, AnyEffect, Bounds, Clock, Handles, Http, Parking, Prepared, Registry, RunEffects, Signals, Waited,
};
use crate::journal::{Record, bounded_key};
use crate::key_values::KeyValues;
use crate::limiter::RunLimiter;
use crate::limits::Limits;
use crate::outcome::LogLine;
use crate::program::{Loaded, Program};
use crate::request::RunRequest;
use crate::secrets::Vault;
use crate::stop::{Stop, grouped};
use crate::trace::Trace;
use heddle_contract::abi::code;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use wasmtime::Memory;

/// What every run's effects and components need of the runtime.
pub struct HostServices {
    pub effects: Registry,
    /// Sends the requests of components.
    pub http: Http,
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
    /// See the run loop in `node-stdlib`.
    pub key: &'a str,
    /// `None`: it was too large to be copied.
    pub request: Option<String>,
    /// Fuel that the run has left.
    pub fuel_left: u64,
}

/// A run's JavaScript engine.
#[derive(Clone, Copy)]
pub struct RunningEngine {
    pub memory: Memory,
    /// Plan index of the node whose code executes.
    pub node: i32,
}

/// The host's side of one run.
pub struct RunState {
    pub limits: Limits,
    pub effects: RunEffects,
    pub logs: Vec<LogLine>,
    pub log_bytes: usize,
    pub response: Option<Box<RawValue>>,
    pub finish: Option<Finish>,
    pub trace: Trace,
    pub limiter: RunLimiter,
    /// Of JavaScript, once it has been started.
    pub engine: Option<RunningEngine>,
    registry: Registry,
    /// Of components, if the pattern has any.
    calls: Option<Arc<Calls>>,
    pub program: Arc<Loaded>,
    event: Box<RawValue>,
    context: String,
    pub vault: Arc<Vault>,
    connections: Arc<Granted>,
    key_values: Arc<dyn KeyValues>,
    hosts: Arc<[String]>,
    patterns: Arc<[String]>,
    pattern_calls: Option<Arc<dyn effects::Calls>>,
    run_id: String,
    attempt: u32,
    pub memory: Option<Memory>,
    pub deadline: Instant,
}

impl RunState {
    /// The state of a run that begins now.
    pub fn new(
        host_services: &HostServices,
        program: Program,
        request: RunRequest,
        nonce: String,
        started: Instant,
    ) -> Self {
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
                http: host_services.http.clone(),
                threads: host_services.component_threads.clone(),
            })
        });
        let record = request
            .journal
            .map(|journal| Record::new(journal, limits.journal_bytes_max));
        RunState {
            calls,
            limiter: RunLimiter::new(&limits),
            effects: RunEffects::new(host_services.io.clone(), record),
            logs: Vec::new(),
            log_bytes: 0,
            response: None,
            finish: None,
            trace: Trace::new(started, &limits),
            engine: None,
            registry: host_services.effects.clone(),
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

    /// The text of input `which`.
    pub fn input(&self, which: i32) -> Result<&str, Stop> {
        match which {
            0 => Ok(self.event.get()),
            1 => Ok(&self.context),
            _ => Err(Stop::broken_guest(format!("There is no input {which}"))),
        }
    }

    /// The standard library's memory.
    pub fn memory(&self) -> Result<Memory, Stop> {
        self.memory
            .ok_or_else(|| Stop::broken_guest("The standard library has no memory"))
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
            return Err(EffectError::new(EffectCode::NotPermitted, message));
        }
        let effect = match &self.calls {
            Some(calls) if kind == "component" => self.component(calls, node, request.as_deref(), fuel_left),
            _ => self.registry.get(kind),
        };
        let effect = effect.ok_or_else(|| {
            EffectError::new(
                EffectCode::NotPermitted,
                format!("This heddle has no effect `{kind}`."),
            )
        })?;
        let request = request.ok_or_else(|| {
            let max = self.limits.effect_result_bytes_max >> 10;
            EffectError::new(
                EffectCode::Parameter,
                format!("The request is larger than {max} KiB."),
            )
        })?;
        Ok(Prepared::Work {
            effect,
            request,
            handles: Box::new(self.handles(key)),
        })
    }

    /// All that there is for the effect of this key.
    fn handles(&self, key: &str) -> Handles {
        let record = self.effects.record();
        let journal = record.map(Record::journal);
        Handles {
            key: key.to_owned(),
            idempotency_key: format!("{}/{key}", self.run_id),
            attempt: self.attempt,
            bounds: Bounds {
                result_bytes_max: self.limits.effect_result_bytes_max,
                deadline: self.deadline,
            },
            hosts: self.hosts.clone(),
            patterns: self.patterns.clone(),
            vault: self.vault.clone(),
            connections: self.connections.clone(),
            key_values: self.key_values.clone(),
            calls: self.pattern_calls.clone(),
            signals: Signals::of(record.map(Record::signals)),
            parking: Parking {
                is_possible: journal.is_some(),
                state: record.and_then(|record| record.parked(key)),
            },
            clock: Clock::of(journal),
        }
    }

    /// The call of a component that a request asks for.
    fn component(
        &self,
        calls: &Arc<Calls>,
        node: u32,
        request: Option<&str>,
        fuel_left: u64,
    ) -> Option<Arc<dyn AnyEffect>> {
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
    pub async fn wait_for_effect(&mut self) -> Result<Waited, Stop> {
        // Bound to the I/O threads' clock, so that the caller's executor needs none.
        let expired = {
            let _io = self.effects.io().enter();
            tokio::time::sleep_until(self.deadline.into())
        };
        let limits = &self.limits;
        tokio::select! {
            biased;
            waited = self.effects.wait() => waited,
            () = expired => Err(Stop::timeout(limits)),
        }
    }
}
