//! Any bytes as a module: `Runtime::load` refuses them or the run stays within its limits.
//!
//! Input that begins as WebAssembly does is a module as it stands. Anything else chooses a valid one and bytes to
//! change in it.

use crate::mutate::changed_bytes;
use crate::runs::{Origin, compile, generated, run, runtime};
use arbitrary::{Result, Unstructured};
use heddle_runtime::Tier;
use serde_json::json;
use std::sync::LazyLock;

static MODULES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let modules = (0..64).filter_map(|seed| compile(&generated(seed), seed % 2 == 0));
    modules.map(|artifact| artifact.wasm).collect()
});

/// Checks an input.
pub fn check(data: &[u8]) {
    let module = match data.starts_with(b"\0asm") {
        true => data.to_vec(),
        false => changed(&mut Unstructured::new(data)).unwrap_or_default(),
    };
    if let Ok(program) = runtime().load(&module, Tier::Fast) {
        run(
            &program,
            &json!({"a": 1, "items": [1, 2, 3], "nums": [3, 4], "rows": [[1, 2]]}),
            Origin::Anyone,
        );
    }
}

/// One of the valid modules, with changes.
fn changed(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let module = u.choose(&MODULES)?.clone();
    changed_bytes(module, u)
}
