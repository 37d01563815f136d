//! heddle's standard library of nodes: JSON values, the pure nodes and the run loop.
//!
//! Compiled twice: natively for the compiler, the tests and the documentation (which use [`catalogue`],
//! [`abi`] and [`plan`]), and to wasm32 as the guest that every pattern's module imports (see `exports`).
//! Knows nothing of files, clocks, sockets or threads: whatever is not a pure function of the event comes
//! through [`abi::HOST_FUNCTIONS`].

pub mod abi;
pub mod catalogue;
pub mod machine;
pub mod nodes;
pub mod plan;
pub mod value;

#[cfg(not(target_arch = "wasm32"))]
pub mod manifest;

// Natively only for its tests.
#[cfg(any(target_arch = "wasm32", test))]
mod alloc;
#[cfg(target_arch = "wasm32")]
mod exports;

// The tests of a node that is not there natively share what the other tests have.
#[cfg(test)]
extern crate self as heddle_node_stdlib;

/// Names that expressions have where the JavaScript engine evaluates them.
#[cfg(not(target_arch = "wasm32"))]
pub use heddle_javascript::names as javascript_names;

/// The guest standard library as WebAssembly, built from this crate by `node-stdlib/build-guest.sh`.
#[cfg(not(target_arch = "wasm32"))]
pub const GUEST_WASM: &[u8] = include_bytes!("../artifact/stdlib.wasm");

/// Its SHA-256, by which its machine code is found without reading all of it.
#[cfg(not(target_arch = "wasm32"))]
pub const GUEST_SHA256: [u8; 32] = *include_bytes!("../artifact/stdlib.wasm.sha256");
