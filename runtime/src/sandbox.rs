//! One run: its store and instances, which are dropped at its end, and its output so far.
//!
//! Knows nothing of threads; see `executor` for where a run is polled.

use crate::ending::{mask, outcome, refused};
use crate::outcome::{Outcome, RunError};
use crate::program::Program;
use crate::request::RunRequest;
use crate::state::{HostServices, RunState};
use crate::stdlib::Stdlib;
use crate::stop::Stop;
use heddle_contract::abi::{self, code};
use heddle_contract::manifest::Manifest;
use std::sync::Arc;
use std::time::Instant;
use wasmtime::{Engine, Extern, Instance, Store, UpdateDeadline, Val};

/// Where runs are executed.
pub struct Sandbox {
    pub engine: Engine,
    pub stdlib: Arc<Stdlib>,
    pub host_services: HostServices,
}

/// Executes a run to its end. Never fails: whatever happens is in the outcome. Keeps `held` as long as it lives.
pub async fn execute(
    held: impl Send,
    sandbox: Arc<Sandbox>,
    program: Program,
    request: RunRequest,
) -> Outcome {
    let started = Instant::now();
    let mut run = match Run::new(&sandbox, program, request, started) {
        Ok(run) => run,
        Err(error) => return refused(error, started),
    };
    let mut current_node = None;
    let result = drive(&mut run.store, &sandbox.stdlib, run.trigger, &mut current_node).await;
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
        sandbox: &Sandbox,
        program: Program,
        request: RunRequest,
        started: Instant,
    ) -> Result<Self, RunError> {
        let trigger = trigger(&program.0.manifest, &request)?;
        let fuel_max = request.limits.fuel_max;
        let state = RunState::new(&sandbox.host_services, program, request, nonce(), started);
        Ok(Run {
            store: Store::new(&sandbox.engine, state),
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
                "The event is {} KiB; at most {max} KiB are allowed.",
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
    crate::digest::hex(&rand::random::<[u8; 16]>())
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
        imports
            .push(found.ok_or_else(|| Stop::broken_guest("An export of the standard library is missing"))?);
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
