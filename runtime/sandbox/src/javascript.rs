//! The JavaScript engine: an instance in the run's own store, started when the guest first asks for it.
//!
//! It shares the run's fuel, memory limit and deadline, and ends with it. Guest and engine call each other's
//! functions directly, by the guest's table; only bytes between the two memories pass through here. Knows nothing
//! of what they mean.

use crate::code::Code;
use crate::host::{Host, Logged, charge, log_line, range};
use crate::state::{RunState, RunningEngine};
use crate::stop::Stop;
use heddle_contract::abi::{self, code};
use heddle_javascript::protocol;
use std::sync::{Arc, OnceLock};
use wasmtime::{Engine, Extern, InstancePre, Linker, Memory, Ref};

/// The engine's module, loaded for the first program that needs it.
#[derive(Default)]
pub struct JavaScript(OnceLock<InstancePre<RunState>>);

impl JavaScript {
    /// Whether it is there.
    pub fn is_ready(&self) -> bool {
        self.0.get().is_some()
    }

    /// Makes it ready.
    pub fn load(&self, engine: &Engine, code: Code) -> wasmtime::Result<()> {
        let module = code.module(engine)?;
        let mut linker = Linker::new(engine);
        linker.func_wrap(protocol::HOST, protocol::LOG, log)?;
        let ready = linker.instantiate_pre(&module)?;
        // Another thread may have been faster.
        self.0.get_or_init(|| ready);
        Ok(())
    }
}

/// Links what the guest needs.
pub fn link(linker: &mut Linker<RunState>, javascript: &Arc<JavaScript>) -> wasmtime::Result<()> {
    let javascript = javascript.clone();
    linker.func_wrap_async(abi::HOST, "engine_open", move |caller, (): ()| {
        Box::new(open(caller, javascript.clone()))
    })?;
    linker.func_wrap(abi::HOST, "engine_write", write)?;
    linker.func_wrap(abi::HOST, "engine_read", read)?;
    Ok(())
}

async fn open(mut caller: Host<'_>, javascript: Arc<JavaScript>) -> wasmtime::Result<i64> {
    charge(&mut caller, 0)?;
    let state = caller.data();
    let (true, Some(ready)) = (state.may_run_javascript(), javascript.0.get()) else {
        return Err(Stop::new(
            code::NOT_PERMITTED,
            "The pattern's manifest does not list JavaScript",
            "Compile the pattern again.",
        )
        .into());
    };
    if state.engine.is_some() {
        return Err(Stop::broken_guest("The JavaScript engine has already been started").into());
    }
    let memory_bytes_max = state.limits.memory_bytes_max.min(i32::MAX as usize) as i64;
    let instance = ready.instantiate_async(&mut caller).await?;
    let missing = || Stop::broken_guest("An export of the JavaScript engine is missing");
    let mut functions = Vec::with_capacity(abi::ENGINE_FUNCTIONS.len());
    for name in abi::ENGINE_FUNCTIONS {
        let function = instance.get_func(&mut caller, name).ok_or_else(missing)?;
        functions.push(Ref::Func(Some(function)));
    }
    let memory = instance
        .get_memory(&mut caller, protocol::MEMORY)
        .ok_or_else(missing)?;
    let table = caller
        .get_export(abi::TABLE)
        .and_then(Extern::into_table)
        .ok_or_else(|| Stop::broken_guest("The standard library has no table"))?;
    let first = table
        .grow_async(&mut caller, functions.len() as u64, Ref::Func(None))
        .await?;
    for (index, function) in (first..).zip(functions) {
        table.set(&mut caller, index, function)?;
    }
    caller.data_mut().engine = Some(RunningEngine { memory, node: -1 });
    Ok(memory_bytes_max << 32 | first as i64)
}

fn running(caller: &Host<'_>) -> Result<RunningEngine, Stop> {
    let missing = || Stop::broken_guest("The JavaScript engine has not been started");
    caller.data().engine.ok_or_else(missing)
}

fn write(mut caller: Host<'_>, node: i32, from: i32, len: i32, to: i32) -> wasmtime::Result<()> {
    let engine = running(&caller)?;
    let guest = caller.data().memory()?;
    caller.data_mut().engine = Some(RunningEngine { node, ..engine });
    copy(&mut caller, (guest, from), (engine.memory, to), len)
}

fn read(mut caller: Host<'_>, from: i32, len: i32, to: i32) -> wasmtime::Result<()> {
    let engine = running(&caller)?;
    let guest = caller.data().memory()?;
    copy(&mut caller, (engine.memory, from), (guest, to), len)
}

/// Copies between the two memories of a run.
fn copy(caller: &mut Host<'_>, from: (Memory, i32), to: (Memory, i32), len: i32) -> wasmtime::Result<()> {
    let len = len as u32 as usize;
    let source = range(from.0.data_size(&*caller), from.1, len)?;
    let target = range(to.0.data_size(&*caller), to.1, len)?;
    charge(caller, len)?;
    // A copy in between: a store lends out one memory at a time.
    let bytes = from.0.data(&*caller).get(source).unwrap_or_default().to_vec();
    if let Some(target) = to.0.data_mut(&mut *caller).get_mut(target) {
        target.copy_from_slice(&bytes);
    }
    Ok(())
}

fn log(mut caller: Host<'_>, level: i32, at: i32, len: i32) -> wasmtime::Result<()> {
    let engine = running(&caller)?;
    let line = Logged {
        memory: engine.memory,
        level,
        node: engine.node,
        at,
        len,
    };
    log_line(&mut caller, line)
}
