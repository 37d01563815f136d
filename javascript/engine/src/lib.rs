//! The guest around QuickJS-ng: what the engine's module exports.
//!
//! Built to wasm32 only, by `build-engine.sh`; natively this crate is empty, so that nobody needs a C compiler.
//! Knows nothing of the host but `heddle_javascript::protocol`.
#![cfg(target_arch = "wasm32")]
#![expect(
    unsafe_code,
    reason = "exported names, the C allocator and QuickJS's C interface"
)]

mod allocator;
mod calls;
mod codec;
mod exports;
mod failure;
mod layout;
mod natives;
mod random;
mod realm;
mod times;

// Only what the linker finds in it.
use heddle_memory as _;
