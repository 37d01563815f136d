//! The guest as WebAssembly: the standard nodes and the run loop, compiled and checked in.
//!
//! Knows nothing of how it is made; `node-stdlib/build-guest.sh` writes the files, and tests of the nodes' crate compare
//! them with the sources.

/// The module that every pattern's module imports.
pub const GUEST_WASM: &[u8] = include_bytes!("../stdlib.wasm");

/// Its SHA-256, by which its machine code is found without reading all of it.
pub const GUEST_SHA256: [u8; 32] = *include_bytes!("../stdlib.wasm.sha256");
