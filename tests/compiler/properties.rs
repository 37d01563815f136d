//! Any JSON is a graph: it compiles or is diagnosed, and never panics.

use crate::diagnostics::{graph, node};
use heddle_compiler::{Options, Severity, compile};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::sample::Index;
use serde_json::{Value, json};

/// Values that turn up where something else was meant.
fn junk() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z{}$. é\"]{0,12}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[{ "name": "x" }]])),
        prop_oneof![
            Just("start"),
            Just("a"),
            Just("each"),
            Just("own"),
            Just("next"),
            Just("item"),
            Just("error"),
            Just("branch"),
            Just("Return"),
            Just("Loop"),
            Just("Own"),
            Just("Sum"),
            Just("OnCall"),
            Just("{{ $nodes.a }}"),
            Just("{{ $item }}"),
        ]
        .prop_map(Value::from),
    ]
}

/// A valid pattern and its definitions, as one value.
fn valid() -> Value {
    let own = graph(
        [
            node("call", "OnCall", json!({})),
            node("sum", "Sum", json!({})),
            node("end", "Return", json!({ "value": 1 })),
        ],
        &["call -> sum", "sum -> end"],
    );
    let graph = graph(
        [
            node("start", "OnManual", json!({})),
            node("a", "If", json!({ "condition": "{{ $input.x > 1 }}" })),
            node("each", "ForEach", json!({ "items": "{{ $nodes.start.items }}" })),
            node("own", "Own", json!({})),
            node(
                "switch",
                "Switch",
                json!({ "cases": [{ "name": "x", "when": "{{ $input }}" }] }),
            ),
            node("b", "Filter", json!({ "condition": "{{ $item > 1 }}" })),
            node(
                "end",
                "Return",
                json!({ "value": { "all": "{{ $(\"each\") }}", "text": "run {{ $run.id }}" } }),
            ),
        ],
        &[
            "start -> a",
            "a.true -> each",
            "each.item -> own",
            "own -> each.next",
            "each.done -> b",
            "a.false -> switch",
            "switch.x -> b",
            "b -> end",
        ],
    );
    json!({
        "graph": graph,
        "definitions": {
            "Own": { "kind": "graph", "graphData": own },
            "Sum": { "kind": "expression", "inputs": [{ "name": "in", "type": "any" }], "outputs": [{ "name": "out" }],
                     "outputValues": { "out": "{{ $input + 1 }}" } },
        },
        "pins": { "own/sum": 1, "each": { "$pin": true, "port": "done", "value": [] } },
    })
}

/// Paths of all values within.
fn places(value: &Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{path}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                places(field, &format!("{path}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// Puts one value in the place of another, or moves one, or doubles or removes an element.
fn mutate(pattern: &mut Value, kind: u8, at: Index, from: Index, junk: Value) {
    let mut paths = Vec::new();
    places(pattern, "", &mut paths);
    let (at, origin): (&String, &String) = (at.get(&paths), from.get(&paths));
    let source = pattern.pointer(origin).cloned().unwrap_or_default();
    let Some(target) = pattern.pointer_mut(at) else {
        return;
    };
    match (kind % 5, &mut *target) {
        (0, _) => *target = junk,
        (1, _) => *target = source,
        (2, Value::Array(items)) => items.push(source),
        (3, Value::Array(items)) if !items.is_empty() => drop(items.remove(from.index(items.len()))),
        (4, Value::Object(fields)) => drop(fields.insert("onError".to_owned(), junk)),
        _ => {}
    }
}

fn data_of(node: &mut Value) -> Option<&mut serde_json::Map<String, Value>> {
    node.get_mut("data")?.as_object_mut()
}

fn options(pattern: &Value) -> Options {
    let pinned_nodes = pattern
        .get("pins")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let breakpoints = pinned_nodes.keys().take(1).cloned().collect();
    Options {
        pinned_nodes,
        breakpoints,
        ..Options::default()
    }
}

fn compiles_or_is_diagnosed(pattern: &Value) {
    let null = Value::Null;
    let graph = pattern.get("graph").unwrap_or(pattern);
    let definitions = pattern.get("definitions").unwrap_or(&null);
    let compiled = compile(graph, definitions, &options(pattern));
    let failed = compiled
        .diagnostics
        .iter()
        .any(|diagnostic| diagnostic.severity == Severity::Error);
    assert_eq!(compiled.artifact.is_none(), failed, "{:?}", compiled.diagnostics);
    if let Some(artifact) = compiled.artifact {
        wasmparser::validate(&artifact.wasm).unwrap();
    }
    for diagnostic in &compiled.diagnostics {
        if let Some(excerpt) = &diagnostic.excerpt {
            assert!(excerpt.text.get(excerpt.span.clone()).is_some(), "{diagnostic:?}");
        }
    }
}

#[test]
fn the_pattern_to_mutate_is_valid() {
    let pattern = valid();
    let compiled = compile(&pattern["graph"], &pattern["definitions"], &options(&pattern));
    assert!(compiled.artifact.is_some(), "{:#?}", compiled.diagnostics);
}

proptest! {
    #[test]
    fn mutated_patterns_compile_or_are_diagnosed(
        mutations in proptest::collection::vec((any::<u8>(), any::<Index>(), any::<Index>(), junk()), 1..6),
    ) {
        let mut pattern = valid();
        for (kind, at, from, junk) in mutations {
            mutate(&mut pattern, kind, at, from, junk);
        }
        compiles_or_is_diagnosed(&pattern);
    }

    #[test]
    fn options_of_nodes_compile_or_are_diagnosed(
        chosen in proptest::collection::vec((any::<Index>(), 0..6usize), 1..6),
    ) {
        let mut pattern = valid();
        for (node, option) in chosen {
            let side = if option % 2 == 0 { "/graph/nodes" } else { "/definitions/Own/graphData/nodes" };
            let nodes = pattern.pointer_mut(side).and_then(Value::as_array_mut).unwrap();
            let place = node.index(nodes.len());
            let options = [("disabled", json!(true)), ("each", json!(true)), ("onError", json!("branch")),
                           ("onError", json!("continue")), ("retry", json!({ "maxAttempts": 2 })), ("timeoutMs", json!(5))];
            let (name, value) = options[option].clone();
            data_of(&mut nodes[place]).unwrap().insert(name.to_owned(), value);
        }
        compiles_or_is_diagnosed(&pattern);
    }
}
