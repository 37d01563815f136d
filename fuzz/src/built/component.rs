//! Any bytes as the component of a definition: the compiler refuses them, or the module with them is one of which nothing but the component can be wrong;
//! what can be compiled stays within the limits of its run.
//!
//! Input that begins as WebAssembly does is a component as it stands. Anything else chooses a valid one and bytes to change in it.

use crate::component::{base64, echo, fetching};
use crate::mutate::changed_bytes;
use crate::runs::{Origin, compile, run, runtime};
use arbitrary::{Result, Unstructured};
use heddle_runtime::{ProgramError, Tier};
use serde_json::{Value, json};
use std::sync::LazyLock;

static COMPONENTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| vec![echo(), fetching()]);

/// Checks an input.
pub fn check(data: &[u8]) {
    let component = match data.starts_with(b"\0asm") {
        true => data.to_vec(),
        false => changed(&mut Unstructured::new(data)).unwrap_or_default(),
    };
    let mut definition = json!({"kind": "component", "component": base64(&component)});
    check_definition(&definition);
    // One that may send requests, which it is not let to do here.
    definition["hosts"] = json!(["example.com"]);
    check_definition(&definition);
}

fn check_definition(definition: &Value) {
    let case = json!({
        "graph": {
            "nodes": [
                {"id": "start", "type": "OnManual"},
                {"id": "own", "type": "Own", "data": {"parameters": {}}},
                {"id": "end", "type": "Return", "data": {"parameters": {}}},
            ],
            "edges": [{"source": "start", "target": "own"}, {"source": "own", "target": "end"}],
        },
        "nodeDefinitions": {"Own": definition},
    });
    let Some(artifact) = compile(&case, false) else {
        return;
    };
    match runtime().load(&artifact.wasm, Tier::Fast) {
        Ok(program) => run(&program, &json!({"a": 1}), Origin::Anyone),
        Err(ProgramError::Component { name, .. }) => assert_eq!(name, "Own"),
        Err(error) => panic!("{error}"),
    }
}

fn changed(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let component = u.choose(&COMPONENTS)?.clone();
    changed_bytes(component, u)
}
