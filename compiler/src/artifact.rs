//! The compiled pattern and its manifest section.

use heddle_contract::manifest::Manifest;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// The module.
    pub wasm: Vec<u8>,
    /// Its manifest, which is also the module's `heddle` custom section.
    pub manifest: Manifest,
}
