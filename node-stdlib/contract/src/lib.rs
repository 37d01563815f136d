//! What the compiler, the runtime and the guest agree on: the guest's functions, the plan of a pattern, and the
//! manifest of its module.
//!
//! Forms only: knows nothing of values, nodes and of how anything is done.

pub mod abi;
pub mod parameters;
pub mod plan;

#[cfg(not(target_arch = "wasm32"))]
pub mod manifest;
