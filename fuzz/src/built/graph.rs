//! Graph JSON -> compile -> run: nothing panics, hangs or passes a limit.
//!
//! Input that begins with `{` is a graph as it stands. Anything else is a seed of eight bytes for a valid graph
//! and the changes made to it.

use crate::mutate;
use crate::runs::{Origin, compile, generated, run, runtime};
use arbitrary::Unstructured;
use heddle_runtime::Tier;
use serde_json::{Value, json};

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some(case) = case(data) else { return };
    let trace = data.len().is_multiple_of(2);
    let Some(artifact) = compile(&case, trace) else {
        return;
    };
    let program = runtime()
        .load(&artifact.wasm, Tier::Fast)
        .expect("what the compiler emits can be loaded");
    run(&program, &case["eventData"], Origin::Compiler);
}

fn case(data: &[u8]) -> Option<Value> {
    if data.first() == Some(&b'{') {
        let graph: Value = serde_json::from_slice(data).ok()?;
        return Some(
            json!({"graph": graph, "nodeDefinitions": {}, "eventData": {"a": 1, "items": [1, 2, 3]}}),
        );
    }
    let (seed, changes) = data.split_first_chunk::<8>()?;
    let mut case = generated(u64::from_le_bytes(*seed));
    mutate::mutate(&mut case, &mut Unstructured::new(changes)).ok()?;
    Some(case)
}
