//! The JavaScript engine as the guest reaches it: the host starts it in the same run and puts its functions into
//! the guest's table; bytes go from one memory to the other by the host.

use crate::machine::EngineStep;
use heddle_javascript::protocol::Status;

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    #[link_name = "engine_open"]
    safe fn host_engine_open() -> u64;
    #[link_name = "engine_write"]
    fn host_engine_write(node: u32, from: *const u8, len: usize, to: i32);
    #[link_name = "engine_read"]
    fn host_engine_read(from: i32, len: usize, to: *mut u8);
}

/// The engine's functions, in the order of `abi::ENGINE_FUNCTIONS`.
pub(super) struct Engine {
    reserve: extern "C" fn(i32) -> i32,
    load: extern "C" fn(i32, i32) -> i32,
    call: extern "C" fn(i32, i64, i32) -> i32,
    resume: extern "C" fn(i32, i32, i32) -> i32,
    result: extern "C" fn() -> i64,
}

/// The function at a table index, which the host has just put there.
macro_rules! function {
    ($index:expr, $type:ty) => {{
        let pointer: *const () = std::ptr::without_provenance($index);
        // SAFETY: on wasm32 a function pointer is an index into the table, and every call through it is checked
        // by WebAssembly for presence and type. The index is not 0, which belongs to the null function.
        unsafe { std::mem::transmute::<*const (), $type>(pointer) }
    }};
}

impl Engine {
    /// Starts the engine. `now_ms` is the time that the code sees.
    pub fn open(now_ms: i64) -> Self {
        let opened = host_engine_open();
        let (memory_bytes_max, first) = ((opened >> 32) as i32, opened as u32 as usize);
        function!(first, extern "C" fn(i32, f64))(memory_bytes_max, now_ms as f64);
        Engine {
            reserve: function!(first + 1, extern "C" fn(i32) -> i32),
            load: function!(first + 2, extern "C" fn(i32, i32) -> i32),
            call: function!(first + 3, extern "C" fn(i32, i64, i32) -> i32),
            resume: function!(first + 4, extern "C" fn(i32, i32, i32) -> i32),
            result: function!(first + 5, extern "C" fn() -> i64),
        }
    }

    /// Executes a step; gives the answer.
    pub fn step(&self, node: u32, step: EngineStep<'_>) -> (Status, Vec<u8>) {
        let input = match step {
            EngineStep::Load { source, .. } => source,
            EngineStep::Call { arguments, .. } => arguments,
            EngineStep::Resume { answer, .. } => answer,
        };
        let bytes = input.len() as i32;
        let to = (self.reserve)(bytes);
        if to == 0 {
            return (Status::Failed, Vec::new());
        }
        // SAFETY: the host only reads the bytes, now.
        unsafe { host_engine_write(node, input.as_ptr(), input.len(), to) };
        let status = match step {
            EngineStep::Load { kind, .. } => (self.load)(kind as i32, bytes),
            EngineStep::Call { function, seed, .. } => (self.call)(function as i32, seed as i64, bytes),
            EngineStep::Resume { call, request, .. } => (self.resume)(call as i32, request as i32, bytes),
        };
        let answer = (self.result)();
        let (from, len) = ((answer >> 32) as i32, answer as u32 as usize);
        // SAFETY: the host writes exactly `len` bytes.
        let copy = unsafe { read_text(len, |address| host_engine_read(from, len, address)) };
        (Status::from_code(status).unwrap_or(Status::Failed), copy)
    }
}

/// What is written by `read`.
///
/// # Safety
/// `read` writes so many bytes to the address.
pub(super) unsafe fn read_text(length: usize, read: impl FnOnce(*mut u8)) -> Vec<u8> {
    let mut text = Vec::with_capacity(length);
    read(text.as_mut_ptr());
    // SAFETY: there is room for them, and the caller has written them.
    unsafe { text.set_len(length) };
    text
}
