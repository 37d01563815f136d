//! heddle's standard library of nodes: what they do, and the run loop.
//!
//! Compiled to wasm32 as the guest that every pattern's module imports (see `exports`), and natively for tests. Knows
//! nothing of files, clocks, sockets or threads: whatever is not a pure function of the event comes through
//! [`heddle_contract::abi::HOST_FUNCTIONS`].

pub mod failure;
mod leaving;
pub mod machine;
pub mod node;
pub mod nodes;

// Natively only for its tests.
#[cfg(any(target_arch = "wasm32", test))]
mod alloc;
#[cfg(target_arch = "wasm32")]
mod exports;
// Only what the linker finds in it.
#[cfg(target_arch = "wasm32")]
use heddle_memory as _;

// The tests of a node that is not there natively share what the other tests have.
#[cfg(test)]
extern crate self as heddle_node_stdlib;
