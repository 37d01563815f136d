//! The module's exports, over one engine. See `heddle_javascript::protocol`.

use crate::allocator::set_now_ms;
use crate::calls::{BUFFER_BYTES, Calls, give_back};
use crate::realm::Engine;
use heddle_javascript::protocol::{INPUT_BYTES_MAX, SourceKind, Status};
use heddle_javascript::wire::Writer;
use std::cell::RefCell;

#[derive(Default)]
struct State {
    engine: Option<Engine>,
    calls: Calls,
    input: Vec<u8>,
    answer: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Executed once, for the snapshot: everything up to the first call.
#[unsafe(export_name = "initialize")]
extern "C" fn initialize() {
    STATE.with_borrow_mut(|state| {
        state.engine = Engine::new().ok();
        state.input = Vec::with_capacity(BUFFER_BYTES);
        state.answer = Vec::with_capacity(BUFFER_BYTES);
        // Trap rather than make a snapshot that can't work.
        assert!(state.engine.is_some());
    });
}

#[unsafe(export_name = "configure")]
extern "C" fn configure(memory_bytes_max: i32, now_ms: f64) {
    set_now_ms(now_ms);
    STATE.with_borrow(|state| {
        if let Some(engine) = &state.engine {
            engine.runtime.set_memory_limit(memory_bytes_max as u32 as usize);
        }
    });
}

#[unsafe(export_name = "reserve")]
extern "C" fn reserve(bytes: i32) -> i32 {
    let bytes = bytes as u32 as usize;
    if bytes > INPUT_BYTES_MAX {
        return 0;
    }
    STATE.with_borrow_mut(|state| {
        state.calls.forget_last();
        state.input.clear();
        state.input.resize(bytes, 0);
        state.input.as_ptr().addr() as i32
    })
}

#[unsafe(export_name = "load")]
extern "C" fn load(kind: i32, bytes: i32) -> i32 {
    let kind = match kind {
        0 => SourceKind::Module,
        _ => SourceKind::Expression,
    };
    enter(bytes, |engine, calls, input, writer| {
        calls.load(engine, kind, input, writer)
    })
}

#[unsafe(export_name = "call")]
extern "C" fn call(function: i32, seed: i64, bytes: i32) -> i32 {
    enter(bytes, |engine, calls, input, writer| {
        calls.call(engine, function as u32, seed as u64, input, writer)
    })
}

#[unsafe(export_name = "resume")]
extern "C" fn resume(call: i32, request: i32, bytes: i32) -> i32 {
    enter(bytes, |engine, calls, input, writer| {
        calls.resume(engine, call as u32, request as u32, input, writer)
    })
}

#[unsafe(export_name = "result")]
extern "C" fn result() -> i64 {
    STATE.with_borrow(|state| (state.answer.as_ptr().addr() as i64) << 32 | state.answer.len() as i64)
}

fn enter(bytes: i32, body: impl FnOnce(&Engine, &mut Calls, &mut Vec<u8>, &mut Writer) -> Status) -> i32 {
    STATE.with_borrow_mut(|state| {
        let Some(engine) = &state.engine else {
            return Status::Failed as i32;
        };
        let mut writer = Writer::new(std::mem::take(&mut state.answer));
        state.input.truncate(bytes as u32 as usize);
        let status = body(engine, &mut state.calls, &mut state.input, &mut writer);
        state.answer = writer.finish();
        give_back(&mut state.input);
        status as i32
    })
}
