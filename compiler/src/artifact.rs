//! The compiled pattern and its manifest section.

use heddle_contract::manifest::Manifest;
use serde::{Deserialize, Serialize};

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// The module.
    pub wasm: Vec<u8>,
    /// Its manifest, which is also the module's `heddle` custom section.
    pub manifest: Manifest,
    /// Nodes that may start effects.
    pub effects: Vec<NodeEffects>,
}

/// A node that may start effects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeEffects {
    /// Its id; of one in a composite, with the composite's before it.
    pub node_id: String,
    /// Kinds of effects, sorted; `http` for a component or code that sends requests.
    pub kinds: Vec<String>,
}
