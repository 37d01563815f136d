//! The sandbox's side of one run: its input, its output so far, and the results of effects that it has not taken yet.

use crate::component::{CallingNode, Calls, Origin, Setting, Threads};
use crate::effect_host::{ComponentCall, EffectHost, EffectRequest, RequestHost, Waited};
use crate::limiter::RunLimiter;
use crate::limits::{Limits, UNDER_WAY_MAX};
use crate::memory_budget::MemoryShare;
use crate::program::Program;
use crate::report::{FailedInput, LogLine};
use crate::stop::{Stop, grouped};
use crate::trace::Trace;
use crate::watch_event::{NodePhase, WatchEvent};
use heddle_contract::abi::code;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Handle;
use wasmtime::Memory;

/// Name of the effect that calls a component.
const COMPONENT: &str = "component";

pub struct RunInput {
    /// Plan index of the trigger at which it starts.
    pub trigger: u32,
    /// eventData as JSON: whoever accepted it has seen to that.
    pub event: Box<str>,
    /// What the guest learns of its run, as JSON.
    pub context: String,
    /// What components see of the run; used only by programs that have some.
    pub origin: Origin,
    /// Whether the host wants to be told what the run does as it happens.
    pub is_watched: bool,
    /// Whose part of memory and of the first threads it takes, as a number; `None`: nobody's.
    pub owner: Option<u128>,
    pub limits: Limits,
}

/// What executes effects for a run.
pub struct Hosts {
    /// Of the run itself.
    pub effects: Box<dyn EffectHost>,
    /// Of its components, if the program has any.
    pub requests: Option<Arc<dyn RequestHost>>,
}

/// How the guest said that the run ended.
pub enum Finish {
    Completed(Box<RawValue>),
    Failed(Box<RawValue>),
    Paused(Box<RawValue>),
}

/// An effect that the guest asks for.
pub struct GuestAsks {
    pub node: u32,
    pub kind: String,
    pub key: String,
    /// `None`: it was too large to be copied.
    pub request: Option<String>,
    /// Fuel that the run has left.
    pub fuel_left: u64,
}

/// How a wait for effects ended; the result has this length.
pub enum Seen {
    Ended(u32, usize),
    Parked,
}

/// A run's JavaScript engine.
#[derive(Clone, Copy)]
pub struct RunningEngine {
    pub memory: Memory,
    /// Plan index of the node whose code executes.
    pub node: i32,
}

/// The sandbox's side of one run.
pub struct RunState {
    pub limits: Limits,
    pub logs: Vec<LogLine>,
    pub log_bytes: usize,
    pub response: Option<Box<RawValue>>,
    pub finish: Option<Finish>,
    /// After a failure: what the node that failed had been given.
    pub failed_input: Option<Box<FailedInput>>,
    pub trace: Trace,
    pub limiter: RunLimiter,
    /// Of JavaScript, once it has been started.
    pub engine: Option<RunningEngine>,
    pub program: Program,
    pub memory: Option<Memory>,
    pub deadline: Instant,
    /// Of components, if the pattern has any.
    calls: Option<Arc<Calls>>,
    event: Box<str>,
    context: String,
    host: Box<dyn EffectHost>,
    is_watched: bool,
    /// How many effects have been started.
    effects: u32,
    /// Those that have not ended, in the order of their starts, each with its node.
    under_way: Vec<(u32, u32)>,
    /// Results that the guest has not taken yet.
    results: HashMap<u32, Vec<u8>>,
    /// Where the time is kept.
    timer: Handle,
}

impl RunState {
    /// The state of a run that begins now.
    pub fn new(
        (threads, memory): (&Threads, MemoryShare),
        program: Program,
        input: RunInput,
        hosts: Hosts,
        started: Instant,
    ) -> Self {
        let limits = input.limits;
        let deadline = started.checked_add(limits.deadline).unwrap_or(started);
        let requests = hosts.requests.filter(|_| !program.components.is_empty());
        let calls = requests.map(|requests| {
            Calls::new(Setting {
                origin: input.origin,
                fuel_max: limits.fuel_max,
                memory_bytes_max: limits.memory_bytes_max,
                memory: memory.clone(),
                result_bytes_max: limits.effect_result_bytes_max,
                deadline,
                requests,
                threads: threads.clone(),
            })
        });
        RunState {
            limiter: RunLimiter::new(&limits, memory),
            logs: Vec::new(),
            log_bytes: 0,
            response: None,
            finish: None,
            failed_input: None,
            trace: Trace::new(started, &limits),
            engine: None,
            program,
            memory: None,
            deadline,
            calls,
            event: input.event,
            context: input.context,
            host: hosts.effects,
            is_watched: input.is_watched,
            effects: 0,
            under_way: Vec::new(),
            results: HashMap::new(),
            timer: threads.first.clone(),
            limits,
        }
    }

    /// The text of input `which`.
    pub fn input(&self, which: i32) -> Result<&str, Stop> {
        match which {
            0 => Ok(&self.event),
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

    /// Id of the node that has waited longest, if one does.
    pub fn waiting_node(&self) -> Option<String> {
        let (_, node) = self.under_way.first()?;
        self.node_id(*node)
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

    /// Adds a line to the log, for which there is room.
    pub fn log(&mut self, line: LogLine) {
        if self.is_watched {
            self.host.emit(WatchEvent::Log(line.clone()));
        }
        self.log_bytes += line.message.len();
        self.logs.push(line);
    }

    /// Emits what the node of an entry of the trace does.
    pub fn emit_node(&mut self, token: i32, phase: NodePhase) {
        if self.is_watched
            && let Some(event) = self.trace.event(token, phase)
        {
            self.host.emit(WatchEvent::Node(event));
        }
    }

    /// Emits how the node of an entry of the trace has ended.
    pub fn emit_node_end(&mut self, token: i32) {
        if self.is_watched
            && let Some(phase) = self.trace.ended(token)
        {
            self.emit_node(token, phase);
        }
    }

    /// Starts an effect for a node, and gives its id.
    pub fn start_effect(&mut self, asks: GuestAsks) -> Result<u32, Stop> {
        let id = self.effects;
        if id >= self.limits.effects_max {
            return Err(Stop::too_many_effects(&self.limits));
        }
        if self.under_way.len() >= UNDER_WAY_MAX as usize {
            return Err(Stop::too_many_effects_at_once());
        }
        let call = self.component_call(id, &asks);
        let asked = EffectRequest {
            node: asks.node,
            kind: asks.kind,
            key: asks.key,
            request: asks.request,
            call,
        };
        self.effects = id.saturating_add(1);
        self.under_way.push((id, asks.node));
        self.host.start(asked)?;
        Ok(id)
    }

    /// The call of a component that the guest asks for. Whether it may is for the host to say.
    fn component_call(&self, id: u32, asks: &GuestAsks) -> Option<ComponentCall> {
        #[derive(Deserialize)]
        struct Named {
            component: usize,
        }
        let calls = self.calls.as_ref().filter(|_| asks.kind == COMPONENT)?;
        let request = asks.request.as_ref()?;
        let number = serde_json::from_str::<Named>(request).ok()?.component;
        let ready = self.program.components.get(number)?;
        let listed = self.program.manifest.components.get(number)?;
        let node = CallingNode {
            id: self.node_id(asks.node).unwrap_or_default(),
            node_type: listed.node_type.clone(),
            may_send: !listed.hosts.is_empty(),
        };
        Some(calls.call(id, ready.clone(), node, asks.fuel_left, request.clone()))
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
            self.log(line);
        }
        fuel
    }

    /// Waits for any effect, at most until the run's deadline.
    pub async fn wait_for_effect(&mut self) -> Result<Seen, Stop> {
        // Bound to a clock of our own, so that the caller's executor needs none.
        let expired = {
            let _timer = self.timer.enter();
            tokio::time::sleep_until(self.deadline.into())
        };
        let limits = &self.limits;
        let waited = tokio::select! {
            biased;
            waited = self.host.wait() => waited?,
            () = expired => return Err(Stop::timeout(limits)),
        };
        Ok(match waited {
            Waited::Parked => Seen::Parked,
            Waited::Ended(id, json) => {
                self.under_way.retain(|(of, _)| *of != id);
                let length = json.len();
                self.results.insert(id, json);
                Seen::Ended(id, length)
            }
        })
    }

    /// The result of an effect that [`RunState::wait_for_effect`] has named.
    pub fn take_result(&mut self, id: u32) -> Result<Vec<u8>, Stop> {
        let json = self.results.remove(&id);
        let json = json.ok_or_else(|| Stop::broken_guest(format!("Effect {id} has no result")))?;
        self.host.taken(id);
        Ok(json)
    }
}
