//! The JavaScript engine of the sandbox: QuickJS-ng as a WebAssembly module, and the form in which values cross
//! into it.
//!
//! The module is built from `engine/` by `build-engine.sh` and executed once up to the point where the prelude
//! has been loaded; what is checked in is the image of that moment, so an instance starts without executing
//! anything. This crate knows nothing of wasmtime, nodes, patterns or effects: see [`protocol`] for what a host
//! calls, and [`wire`] for the values.

pub mod names;
pub mod protocol;
pub mod wire;

/// The engine as WebAssembly.
#[cfg(not(target_arch = "wasm32"))]
pub const ENGINE_WASM: &[u8] = include_bytes!("../artifact/engine.wasm");
