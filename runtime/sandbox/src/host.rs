//! The host's side of `abi::HOST_FUNCTIONS`. Every length and address comes from inside the sandbox: it is
//! checked against the guest's memory before anything is allocated, and every call is charged for its size.

use crate::answer_headers;
use crate::report::LogLine;
use crate::state::{Finish, GuestAsks, RunState, Seen};
use crate::stop::{HasParked, Stop};
use crate::trace::End;
use crate::watch_event::NodePhase;
use heddle_contract::abi::{self, code};
use serde_json::value::RawValue;
use std::ops::Range;
use wasmtime::{Caller, Linker, Memory};

/// Fuel for crossing the boundary at all; a byte carried across costs one more.
const CALL_FUEL: u64 = 100;
/// Nodes and iterations that an effect stands in, by name.
const KEY_BYTES_MAX: usize = 64 << 10;

/// Of `finish`: what a node had been given whose failure the run has ended with.
const FAILED_INPUT: i32 = 3;
/// Of that, with the place. The guest cuts it to a sixth, since characters may be written as `\u0000`.
pub const FAILED_INPUT_BYTES_MAX: usize = 160 << 10;

pub type Host<'a> = Caller<'a, RunState>;

/// Links every host function, once for all runs.
pub fn link(linker: &mut Linker<RunState>) -> wasmtime::Result<()> {
    linker.func_wrap(abi::HOST, "input_length", input_length)?;
    linker.func_wrap(abi::HOST, "input_read", input_read)?;
    linker.func_wrap(abi::HOST, "effect_start", effect_start)?;
    linker.func_wrap_async(abi::HOST, "effect_wait", |caller, (): ()| {
        Box::new(effect_wait(caller))
    })?;
    linker.func_wrap(abi::HOST, "effect_take", effect_take)?;
    linker.func_wrap(abi::HOST, "log", log)?;
    linker.func_wrap(abi::HOST, "respond", respond)?;
    linker.func_wrap(abi::HOST, "finish", finish)?;
    linker.func_wrap(abi::HOST, "trace_begin", trace_begin)?;
    linker.func_wrap(abi::HOST, "trace_pause", trace_pause)?;
    linker.func_wrap(abi::HOST, "trace_resume", trace_resume)?;
    linker.func_wrap(abi::HOST, "trace_end", trace_end)?;
    Ok(())
}

fn input_length(mut caller: Host<'_>, which: i32) -> wasmtime::Result<i32> {
    charge(&mut caller, 0)?;
    let length = caller.data().input(which)?.len();
    Ok(i32::try_from(length).map_err(|_| Stop::broken_guest("An input is larger than 2 GiB"))?)
}

fn input_read(mut caller: Host<'_>, which: i32, address: i32) -> wasmtime::Result<()> {
    let length = caller.data().input(which)?.len();
    charge(&mut caller, length)?;
    let memory = caller.data().memory()?;
    let (bytes, state) = memory.data_and_store_mut(&mut caller);
    let input = state.input(which)?.as_bytes();
    target(bytes, address, input.len())?.copy_from_slice(input);
    Ok(())
}

#[expect(
    clippy::too_many_arguments,
    reason = "three texts cross as places and lengths"
)]
fn effect_start(
    mut caller: Host<'_>,
    node: i32,
    kind_at: i32,
    kind_len: i32,
    key_at: i32,
    key_len: i32,
    request_at: i32,
    request_len: i32,
) -> wasmtime::Result<i32> {
    let max = caller.data().limits.effect_result_bytes_max;
    let kind = text(&mut caller, kind_at, kind_len, 64)?;
    let key = text(&mut caller, key_at, key_len, KEY_BYTES_MAX)?;
    let request = text(&mut caller, request_at, request_len, max)?;
    let (Some(kind), Some(key)) = (kind, key) else {
        return Err(Stop::broken_guest("The kind or the key of an effect is too long").into());
    };
    let fuel_left = caller.get_fuel()?;
    let asks = GuestAsks {
        node: node as u32,
        kind,
        key,
        request,
        fuel_left,
    };
    Ok(caller.data_mut().start_effect(asks)? as i32)
}

async fn effect_wait(mut caller: Host<'_>) -> wasmtime::Result<i64> {
    charge(&mut caller, 0)?;
    let (id, length) = match caller.data_mut().wait_for_effect().await? {
        Seen::Ended(id, length) => (id, length),
        Seen::Parked => return Err(HasParked.into()),
    };
    let fuel = caller.data_mut().settle_components();
    if fuel > 0 {
        charge(&mut caller, fuel as usize)?;
    }
    Ok(i64::from(id) << 32 | length as i64)
}

fn effect_take(mut caller: Host<'_>, id: i32, address: i32) -> wasmtime::Result<()> {
    let result = caller.data_mut().take_result(id as u32)?;
    charge(&mut caller, result.len())?;
    let memory = caller.data().memory()?;
    target(memory.data_mut(&mut caller), address, result.len())?.copy_from_slice(&result);
    Ok(())
}

fn log(mut caller: Host<'_>, level: i32, node: i32, at: i32, len: i32) -> wasmtime::Result<()> {
    let memory = caller.data().memory()?;
    let line = Logged {
        memory,
        level,
        node,
        at,
        len,
    };
    log_line(&mut caller, line)
}

/// A line for the log, in a memory of the run.
pub struct Logged {
    pub memory: Memory,
    pub level: i32,
    pub node: i32,
    pub at: i32,
    pub len: i32,
}

/// Takes a line into the run's log.
pub fn log_line(caller: &mut Host<'_>, line: Logged) -> wasmtime::Result<()> {
    let Logged {
        memory,
        level,
        node,
        at,
        len,
    } = line;
    let left = caller.data().log_room()?;
    let message = text_in(caller, memory, at, len, left)?;
    let state = caller.data_mut();
    let Some(message) = message else {
        return Err(Stop::new(
            code::LOG_LIMIT,
            format!(
                "The run wrote more than {} KiB of log",
                state.limits.log_bytes_max >> 10
            ),
            "Log less in loops.",
        )
        .into());
    };
    let level = match level {
        0 => "debug",
        1 => "info",
        2 => "warn",
        _ => "error",
    };
    let node_id = state.node_id(node as u32);
    state.log(LogLine {
        level,
        message,
        node_id,
    });
    Ok(())
}

fn respond(mut caller: Host<'_>, at: i32, len: i32) -> wasmtime::Result<()> {
    let response = output(&mut caller, at, len, "response")?;
    let state = caller.data_mut();
    if let Some(message) = answer_headers::warning(response.get())
        && state.log_room().is_ok_and(|room| message.len() <= room)
    {
        state.log(LogLine {
            level: "warn",
            message,
            node_id: None,
        });
    }
    // The first response wins; the guest calls this at most once.
    state.response.get_or_insert(response);
    Ok(())
}

fn finish(mut caller: Host<'_>, status: i32, at: i32, len: i32) -> wasmtime::Result<()> {
    if status == FAILED_INPUT {
        return failed_input(&mut caller, at, len);
    }
    let json = output(&mut caller, at, len, "output")?;
    let state = caller.data_mut();
    if state.finish.is_none() {
        state.finish = Some(match status {
            0 => Finish::Completed(json),
            1 => Finish::Failed(json),
            2 => Finish::Paused(json),
            _ => return Err(Stop::broken_guest(format!("A run ended with the status {status}")).into()),
        });
    }
    Ok(())
}

/// Takes what the node that failed had been given, once the run has failed. What is too large or no JSON is not worth
/// anything.
fn failed_input(caller: &mut Host<'_>, at: i32, len: i32) -> wasmtime::Result<()> {
    let json = text(caller, at, len, FAILED_INPUT_BYTES_MAX)?;
    let state = caller.data_mut();
    if matches!(state.finish, Some(Finish::Failed(_))) && state.failed_input.is_none() {
        state.failed_input = json.and_then(|json| serde_json::from_str(&json).ok());
    }
    Ok(())
}

fn trace_begin(mut caller: Host<'_>, node: i32, path_at: i32, path_len: i32) -> wasmtime::Result<i32> {
    let path = text(&mut caller, path_at, path_len, 4 << 10)?.unwrap_or_else(|| "…".into());
    let fuel = caller.get_fuel()?;
    let state = caller.data_mut();
    let node_id = state.node_id(node as u32).unwrap_or_default();
    let token = state.trace.begin(node as u32, node_id, path, fuel);
    state.emit_node(token, NodePhase::Started);
    Ok(token)
}

fn trace_pause(mut caller: Host<'_>, token: i32) -> wasmtime::Result<()> {
    let fuel = caller.get_fuel()?;
    let state = caller.data_mut();
    if state.trace.pause(token, fuel) {
        state.emit_node(token, NodePhase::Waiting);
    }
    charge(&mut caller, 0)
}

fn trace_resume(mut caller: Host<'_>, token: i32) -> wasmtime::Result<()> {
    charge(&mut caller, 0)?;
    let fuel = caller.get_fuel()?;
    let state = caller.data_mut();
    if state.trace.resume(token, fuel) {
        state.emit_node(token, NodePhase::Resumed);
    }
    Ok(())
}

fn trace_end(
    mut caller: Host<'_>,
    token: i32,
    kind: i32,
    port: i32,
    at: i32,
    len: i32,
) -> wasmtime::Result<()> {
    let fuel = caller.get_fuel()?;
    let max = caller.data().limits.output_bytes_max;
    let json = text(&mut caller, at, len, max)?;
    let state = caller.data_mut();
    let json = json.unwrap_or_else(|| format!(r#"{{"truncated":true,"bytes":{}}}"#, len as u32));
    let port = state.port_name(token, port);
    if state.trace.end(token, fuel, End { kind, port, json }) {
        state.emit_node_end(token);
    }
    Ok(())
}

/// Takes fuel for a call that carries `bytes` across.
pub fn charge(caller: &mut Host<'_>, bytes: usize) -> wasmtime::Result<()> {
    let cost = CALL_FUEL.saturating_add(bytes as u64);
    let left = caller.get_fuel()?;
    if left < cost {
        caller.set_fuel(0)?;
        return Err(Stop::out_of_fuel(&caller.data().limits).into());
    }
    caller.set_fuel(left - cost)
}

/// A JSON text that leaves the sandbox for good.
fn output(caller: &mut Host<'_>, at: i32, len: i32, what: &str) -> wasmtime::Result<Box<RawValue>> {
    let max = caller.data().limits.output_bytes_max;
    let Some(json) = text(caller, at, len, max)? else {
        return Err(Stop::new(
            code::OUTPUT_LIMIT,
            format!(
                "The run's {what} is {} KiB, more than the {} KiB allowed",
                len as u32 >> 10,
                max >> 10
            ),
            "Return less, or put large data elsewhere.",
        )
        .into());
    };
    Ok(RawValue::from_string(json)
        .map_err(|_| Stop::broken_guest(format!("The run's {what} is not valid JSON")))?)
}

/// A copy of the text at `at`, charged by size; `None` when it is longer than `max`.
fn text(caller: &mut Host<'_>, at: i32, len: i32, max: usize) -> wasmtime::Result<Option<String>> {
    let memory = caller.data().memory()?;
    text_in(caller, memory, at, len, max)
}

fn text_in(
    caller: &mut Host<'_>,
    memory: Memory,
    at: i32,
    len: i32,
    max: usize,
) -> wasmtime::Result<Option<String>> {
    let range = range(memory.data_size(&*caller), at, len as u32 as usize)?;
    if range.len() > max {
        return Ok(None);
    }
    charge(caller, range.len())?;
    let bytes = memory.data(&*caller).get(range).unwrap_or_default();
    Ok(Some(String::from_utf8_lossy(bytes).into_owned()))
}

fn target(memory: &mut [u8], address: i32, len: usize) -> Result<&mut [u8], Stop> {
    let range = range(memory.len(), address, len)?;
    memory.get_mut(range).ok_or_else(outside)
}

pub fn range(memory_len: usize, at: i32, len: usize) -> Result<Range<usize>, Stop> {
    let start = at as u32 as usize;
    match start.checked_add(len) {
        Some(end) if end <= memory_len => Ok(start..end),
        _ => Err(outside()),
    }
}

fn outside() -> Stop {
    Stop::new(
        code::TRAP,
        "The module passed the host an address outside its memory",
        "Compile the pattern again; handwritten modules must follow the interface.",
    )
}
