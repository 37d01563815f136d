//! One run: its store and instances, which are dropped at its end, and its output so far.
//!
//! Knows nothing of threads; see `executor` for where a run is polled.

use crate::clock::monotonic;
use crate::component::Threads;
use crate::ending::report;
use crate::executor::note_interruption;
use crate::memory_budget::MemoryBudget;
use crate::program::Program;
use crate::report::Report;
use crate::state::{Hosts, RunInput, RunState};
use crate::stdlib::Stdlib;
use crate::stop::Stop;
use heddle_contract::abi;
use std::sync::Arc;
use wasmtime::{Engine, Extern, Instance, Store, UpdateDeadline, Val};

/// Where runs are executed.
pub struct Sandbox {
    pub engine: Engine,
    pub stdlib: Arc<Stdlib>,
    pub threads: Threads,
    /// What all runs share.
    pub memory: MemoryBudget,
}

/// Executes a run to its end. Never fails: whatever happens is in the report. Keeps `held` as long as it lives.
pub async fn execute(
    held: impl Send,
    sandbox: Arc<Sandbox>,
    program: Program,
    input: RunInput,
    hosts: Hosts,
) -> Report {
    let mut run = Run::new(&sandbox, program, input, hosts);
    let mut current_node = None;
    let result = drive(&mut run.store, &sandbox.stdlib, run.trigger, &mut current_node).await;
    let report = run.end(result, current_node);
    drop(held);
    report
}

/// A run that can begin. Apart from [`execute`], so that what it takes to make and to end one is on the stack, and not in
/// the future that is moved about.
struct Run {
    store: Store<RunState>,
    trigger: u32,
    fuel_max: u64,
}

impl Run {
    fn new(sandbox: &Sandbox, program: Program, input: RunInput, hosts: Hosts) -> Self {
        let trigger = input.trigger;
        let fuel_max = input.limits.fuel_max;
        let shared = (&sandbox.threads, sandbox.memory.share(input.owner));
        let state = RunState::new(shared, program, input, hosts, monotonic());
        Run {
            store: Store::new(&sandbox.engine, state),
            trigger,
            fuel_max,
        }
    }

    fn end(self, result: wasmtime::Result<()>, current_node: Option<u32>) -> Report {
        let fuel_used = self.fuel_max.saturating_sub(self.store.get_fuel().unwrap_or(0));
        let node_id = current_node.and_then(|node| self.store.data().node_id(node));
        report(self.store.into_data(), result, node_id, fuel_used)
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
        if monotonic() >= state.deadline {
            return Err(Stop::timeout(&state.limits).into());
        }
        note_interruption();
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
