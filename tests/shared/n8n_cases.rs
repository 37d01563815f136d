//! Small workflows, each for one habit of n8n's, and what leaves their last node: read from `cli/n8n`, and written as n8n exports them.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The cases in the files of a folder.
pub fn read(folder: &str) -> Vec<Value> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/cli/n8n")
        .join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let read: Vec<Value> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        for case in &read {
            if let Some(heddle) = case.get("heddle") {
                assert!(!same(heddle, &case["n8n"]) && case["why"].is_string(), "{case:#}");
            }
        }
        cases.extend(read);
    }
    cases
}

/// The case as n8n exports workflows, between "Start" and "End". Without `wires`, such as `If:1 > Small`, its nodes are in a row.
pub fn workflow(case: &Value) -> Value {
    let plain =
        |name: &str, kind: &str| json!({"name": name, "type": kind, "typeVersion": 1, "parameters": {}});
    let mut nodes = vec![plain("Start", "executeWorkflowTrigger")];
    nodes.extend(case["nodes"].as_array().unwrap().iter().cloned());
    nodes.push(plain("End", "noOp"));
    for (place, node) in nodes.iter_mut().enumerate() {
        node["type"] = format!("n8n-nodes-base.{}", node["type"].as_str().unwrap()).into();
        node["id"] = place.to_string().into();
        // n8n executes branches from the top to the bottom.
        node["position"] = json!([place * 200, place * 100]);
        // A workflow that is written within the node.
        if let Some(inner) = node.as_object_mut().unwrap().remove("within") {
            node["parameters"]["workflowJson"] = workflow(&inner).to_string().into();
        }
    }
    let names: Vec<&str> = nodes.iter().map(|node| node["name"].as_str().unwrap()).collect();
    let wires: Vec<String> = match case["wires"].as_array() {
        Some(wires) => wires
            .iter()
            .map(|wire| wire.as_str().unwrap().to_owned())
            .collect(),
        None => names.windows(2).map(|pair| pair.join(" > ")).collect(),
    };
    let mut connections = json!({});
    for wire in &wires {
        let (from, to) = wire.split_once(" > ").unwrap();
        let ((source, output), (target, input)) = (end_of(from), end_of(to));
        let outputs = &mut connections[source]["main"];
        if outputs.is_null() {
            *outputs = json!([]);
        }
        let outputs = outputs.as_array_mut().unwrap();
        while outputs.len() <= output {
            outputs.push(json!([]));
        }
        let edges = outputs.get_mut(output).and_then(Value::as_array_mut).unwrap();
        edges.push(json!({"node": target, "type": "main", "index": input}));
    }
    let settings = json!({"executionOrder": "v1", "timezone": "UTC"});
    let mut workflow =
        json!({"name": case["name"], "nodes": nodes, "connections": connections, "settings": settings});
    if let Some(id) = case.get("id") {
        workflow["id"] = id.clone();
    }
    workflow
}

/// `If:1` is the second output, or input, of the node "If".
fn end_of(text: &str) -> (&str, usize) {
    match text.split_once(':') {
        Some((name, number)) => (name, number.parse().unwrap()),
        None => (text, 0),
    }
}

/// The workflows that a case calls.
pub fn others(case: &Value) -> Vec<Value> {
    let others = case["others"].as_array();
    others.into_iter().flatten().map(workflow).collect()
}

/// What a run gave, as a list of items.
pub fn items(ended: &Value) -> Value {
    match (&ended["error"], &ended["output"]) {
        (Value::Null, Value::Null) => json!([]),
        (Value::Null, Value::Array(items)) => items.clone().into(),
        (Value::Null, item) => json!([item]),
        _ => json!("fails"),
    }
}

/// Whether values are equal in JavaScript, where 1 is 1.0.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            let is_same = |(name, a): (&String, &Value)| b.get(name).is_some_and(|b| same(a, b));
            a.len() == b.len() && a.iter().all(is_same)
        }
        _ => a == b,
    }
}

/// Fails unless each case gave what is expected.
pub fn assert_all(names: &[&str], expected: &[&Value], given: &[Value]) {
    assert_eq!((names.len(), expected.len()), (given.len(), given.len()));
    let differences: Vec<String> = names
        .iter()
        .zip(expected.iter().zip(given))
        .filter(|(_, (expected, given))| !same(expected, given))
        .map(|(name, (expected, given))| format!("{name}\n    expected {expected}\n    but {given}"))
        .collect();
    assert!(
        differences.is_empty(),
        "{} of {} differ:\n{}",
        differences.len(),
        names.len(),
        differences.join("\n")
    );
}
