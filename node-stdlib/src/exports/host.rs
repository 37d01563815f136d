//! The run loop's outside, as WebAssembly has it: the host's functions and the module's function table.

use super::engine::{Engine, read_text};
use super::handles::{is_truthy, mark, release, returned};
use super::registers::{CURRENT_NODE, SITE};
use crate::machine::{EngineStep, Input, Outside, Run, Status, TraceKind};
use crate::node::Level;
use heddle_contract::abi::{FUNCTION_NUMBER, GIVES_NUMBER};
use heddle_javascript::protocol::Status as EngineStatus;
use heddle_values::Value;
use std::cell::OnceCell;
use std::sync::atomic::Ordering;

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    #[link_name = "input_length"]
    safe fn host_input_length(which: i32) -> i32;
    #[link_name = "input_read"]
    fn host_input_read(which: i32, address: *mut u8);
    #[link_name = "effect_start"]
    fn host_effect_start(
        node: u32,
        kind: *const u8,
        kind_len: usize,
        key: *const u8,
        key_len: usize,
        request: *const u8,
        len: usize,
    ) -> u32;
    #[link_name = "effect_wait"]
    safe fn host_effect_wait() -> u64;
    #[link_name = "effect_take"]
    fn host_effect_take(id: u32, address: *mut u8);
    #[link_name = "log"]
    fn host_log(level: i32, node: u32, text: *const u8, len: usize);
    #[link_name = "respond"]
    fn host_respond(text: *const u8, len: usize);
    #[link_name = "finish"]
    fn host_finish(status: i32, text: *const u8, len: usize);
    #[link_name = "trace_begin"]
    fn host_trace_begin(node: u32, path: *const u8, len: usize) -> i32;
    #[link_name = "trace_pause"]
    safe fn host_trace_pause(token: i32);
    #[link_name = "trace_resume"]
    safe fn host_trace_resume(token: i32);
    #[link_name = "trace_end"]
    fn host_trace_end(token: i32, kind: i32, port: i32, text: *const u8, len: usize);
}

/// The host and the pattern's module.
pub(super) struct Host {
    /// Table index of the pattern's dispatchers.
    pub table_base: u32,
    /// Started when it is first needed.
    pub engine: OnceCell<Engine>,
}

/// Calls the pattern's dispatcher at `index` in the table with a function's number. WebAssembly traps if there is
/// none or its type differs.
macro_rules! dispatch {
    ($index:expr, $type:ty, $function:expr $(, $argument:expr)*) => {{
        let pointer: *const () = std::ptr::without_provenance($index as usize);
        // SAFETY: on wasm32 a function pointer is an index into the table, and every call through it is checked
        // by the engine for presence and type; no index can do more than trap.
        let dispatcher: Option<$type> = unsafe { std::mem::transmute(pointer) };
        dispatcher.map(|dispatcher| dispatcher($function & FUNCTION_NUMBER $(, $argument)*))
    }};
}

impl Outside for Host {
    fn call_body(&self, _: &Run<'_, Self>, function: u32) {
        let height = mark();
        dispatch!(self.table_base, extern "C" fn(u32), function);
        release(height);
    }

    fn call_function(&self, _: &Run<'_, Self>, function: u32) -> Value {
        let height = mark();
        let evaluate = self.table_base.wrapping_add(1);
        let result = dispatch!(evaluate, extern "C" fn(u32) -> i32, function);
        returned(result.unwrap_or(heddle_contract::abi::UNDEFINED), height)
    }

    fn call_condition(&self, _: &Run<'_, Self>, function: u32) -> bool {
        let height = mark();
        let evaluate = self.table_base.wrapping_add(1);
        let result = dispatch!(evaluate, extern "C" fn(u32) -> i32, function);
        let holds = result.is_some_and(is_truthy);
        release(height);
        holds
    }

    #[inline]
    fn call_numbers(&self, function: u32, first: f64, second: f64) -> Option<Value> {
        if function <= FUNCTION_NUMBER {
            return None;
        }
        let compute = self.table_base.wrapping_add(2);
        let number = dispatch!(
            compute,
            extern "C" fn(u32, f64, f64) -> f64,
            function,
            first,
            second
        )?;
        Some(match function & GIVES_NUMBER {
            0 => Value::Bool(number != 0.0),
            _ => Value::Number(number),
        })
    }

    fn read(&self, input: Input) -> Vec<u8> {
        let which = input as i32;
        let length = host_input_length(which) as u32 as usize;
        // SAFETY: the host writes exactly as many bytes as it said.
        unsafe { read_text(length, |address| host_input_read(which, address)) }
    }

    fn effect_start(&self, node: u32, kind: &str, key: &str, request: &str) -> u32 {
        let (kind_at, key_at, request_at) = (kind.as_ptr(), key.as_ptr(), request.as_ptr());
        // SAFETY: the host only reads the three texts, now.
        unsafe {
            host_effect_start(
                node,
                kind_at,
                kind.len(),
                key_at,
                key.len(),
                request_at,
                request.len(),
            )
        }
    }

    fn effect_wait(&self) -> (u32, Vec<u8>) {
        let ended = host_effect_wait();
        let id = (ended >> 32) as u32;
        let length = ended as u32 as usize;
        // SAFETY: as in `read`.
        let text = unsafe { read_text(length, |address| host_effect_take(id, address)) };
        (id, text)
    }

    fn log(&self, level: Level, node: u32, message: &str) {
        // SAFETY: the host only reads the text, now.
        unsafe { host_log(level as i32, node, message.as_ptr(), message.len()) }
    }

    fn engine(&self, node: u32, now_ms: i64, step: EngineStep<'_>) -> (EngineStatus, Vec<u8>) {
        let engine = self.engine.get_or_init(|| Engine::open(now_ms));
        engine.step(node, step)
    }

    fn respond(&self, response: &str) {
        // SAFETY: as in `log`.
        unsafe { host_respond(response.as_ptr(), response.len()) }
    }

    fn finish(&self, status: Status, json: &str) {
        // SAFETY: as in `log`.
        unsafe { host_finish(status as i32, json.as_ptr(), json.len()) }
    }

    fn set_current_node(&self, node: u32) {
        CURRENT_NODE.store(node, Ordering::Relaxed);
    }

    fn site(&self) -> u32 {
        SITE.load(Ordering::Relaxed)
    }

    fn set_site(&self, site: u32) {
        SITE.store(site, Ordering::Relaxed);
    }

    fn trace_begin(&self, node: u32, path: &str) -> i32 {
        // SAFETY: as in `log`.
        unsafe { host_trace_begin(node, path.as_ptr(), path.len()) }
    }

    fn trace_pause(&self, token: i32) {
        host_trace_pause(token);
    }

    fn trace_resume(&self, token: i32) {
        host_trace_resume(token);
    }

    fn trace_end(&self, token: i32, kind: TraceKind, port: i32, json: &str) {
        // SAFETY: as in `log`.
        unsafe { host_trace_end(token, kind as i32, port, json.as_ptr(), json.len()) }
    }
}
