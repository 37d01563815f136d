//! What imported workflows give beside what n8n gives: `n8n/cases` has small workflows, each for one habit of n8n's, and what leaves
//! their last node; `n8n/expressions.json` has expressions. heddle executes what it imports of them, and n8n's own engine, installed
//! by npm the first time, executes them.

use super::harness::{Place, root};
use super::{needs, npm};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A workflow with a few nodes between "Start" and "End".
struct Case {
    name: String,
    /// What "Start" gives.
    items: Value,
    workflow: Value,
    /// What "End" gives in n8n, or "fails".
    n8n: Value,
    /// The same in heddle.
    heddle: Value,
}

/// The cases. One with `heddle` differs, and says `why`.
fn cases() -> Vec<Case> {
    let dir = root().join("tests/cli/n8n/cases");
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let read: Vec<Value> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        cases.extend(read.iter().map(case));
    }
    cases
}

fn case(given: &Value) -> Case {
    let n8n = &given["n8n"];
    if let Some(heddle) = given.get("heddle") {
        assert!(!same(heddle, n8n) && given["why"].is_string(), "{given:#}");
    }
    Case {
        name: given["name"].as_str().unwrap().to_owned(),
        items: given["items"].clone(),
        workflow: workflow(given),
        n8n: n8n.clone(),
        heddle: given.get("heddle").unwrap_or(n8n).clone(),
    }
}

/// The case as n8n exports workflows. Without `wires`, such as `If:1 > Small`, its nodes are in a row.
fn workflow(case: &Value) -> Value {
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
    json!({"name": case["name"], "nodes": nodes, "connections": connections, "settings": settings})
}

/// `If:1` is the second output, or input, of the node "If".
fn end_of(text: &str) -> (&str, usize) {
    match text.split_once(':') {
        Some((name, number)) => (name, number.parse().unwrap()),
        None => (text, 0),
    }
}

/// Whether values are equal in JavaScript, where 1 is 1.0.
fn same(a: &Value, b: &Value) -> bool {
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

fn assert_all(cases: &[Case], given: &[Value], expected: fn(&Case) -> &Value) {
    assert_eq!(cases.len(), given.len());
    let differences: Vec<String> = cases
        .iter()
        .zip(given)
        .filter(|(case, given)| !same(expected(case), given))
        .map(|(case, given)| format!("{}\n    expected {}\n    but {given}", case.name, expected(case)))
        .collect();
    assert!(
        differences.is_empty(),
        "{} of {} differ:\n{}",
        differences.len(),
        cases.len(),
        differences.join("\n")
    );
}

#[test]
fn imported_workflows_give_what_n8n_gives() {
    let (cases, place) = (cases(), Place::new());
    fs::create_dir(place.path("workflows")).unwrap();
    for (number, case) in cases.iter().enumerate() {
        place.file(&format!("workflows/{number:03}.json"), case.workflow.to_string());
        place.file(&format!("{number:03}.json"), case.items.to_string());
    }
    let told = place.run(&["import", "n8n", "workflows", "-o", "patterns", "--json"]);
    let told = told.assert_code(0).json();
    let imported = told["workflows"].as_array().unwrap();
    let given: Vec<Value> = imported
        .iter()
        .enumerate()
        .map(|(number, imported)| {
            let (file, event) = (imported["output"].as_str().unwrap(), format!("{number:03}.json"));
            let ended = place.run(&["run", file, "--event", &event, "--fast", "--json"]);
            items(&ended.json())
        })
        .collect();
    assert_all(&cases, &given, |case| &case.heddle);
}

/// What a run gave, as a list of items.
fn items(ended: &Value) -> Value {
    match (&ended["error"], &ended["output"]) {
        (Value::Null, Value::Null) => json!([]),
        (Value::Null, Value::Array(items)) => items.clone().into(),
        (Value::Null, item) => json!([item]),
        _ => json!("fails"),
    }
}

#[test]
fn n8n_gives_what_the_cases_say() {
    let cases = cases();
    let asked = cases.iter().map(|case| json!([case.workflow, case.items]));
    let Some(answers) = ask(asked.collect()) else {
        return;
    };
    let given: Vec<Value> = answers
        .iter()
        .zip(&cases)
        .map(|(answer, case)| match answer.get("items") {
            Some(items) => items.clone(),
            // Why it failed is of interest only where it should not have.
            None if case.n8n == "fails" => json!("fails"),
            None => answer.clone(),
        })
        .collect();
    assert_all(&cases, &given, |case| &case.n8n);
}

/// An expression's value is put into a text as JSON: then nothing can be told from null.
fn shown(expression: &str) -> String {
    format!("=value: {{{{ JSON.stringify({expression}) }}}}")
}

/// The workflow whose "End" gives the expressions' values as fields.
fn of_expressions(expressions: &[&str]) -> Value {
    let fields: Vec<Value> = expressions
        .iter()
        .enumerate()
        .map(|(number, expression)| {
            json!({"id": number.to_string(), "name": format!("value{number}"), "type": "string", "value": shown(expression)})
        })
        .collect();
    let parameters = json!({"assignments": {"assignments": fields}, "options": {}});
    workflow(&json!({"name": "Expressions", "nodes": [
        {"name": "Set", "type": "set", "typeVersion": 3.4, "parameters": parameters},
    ]}))
}

/// The item, and the item without each of its fields, and without all.
fn complete_and_missing(item: &Value) -> Vec<Value> {
    let fields = item.as_object().unwrap();
    let without = |name: &String| {
        let mut fields = fields.clone();
        fields.remove(name);
        Value::Object(fields)
    };
    let mut items = vec![item.clone(), json!({})];
    items.extend(fields.keys().map(without));
    items
}

#[test]
fn expressions_have_the_values_that_n8n_gives_with_all_fields_and_with_missing_ones() {
    let file = root().join("tests/cli/n8n/expressions.json");
    let given: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let expressions = given["expressions"].as_array().unwrap();
    let expressions: Vec<&str> = expressions.iter().map(|one| one.as_str().unwrap()).collect();
    let all = complete_and_missing(&given["item"]);
    // In n8n each by itself: one that fails would take the others along.
    let pairs = all
        .iter()
        .flat_map(|item| expressions.iter().map(move |one| (item, *one)));
    let asked = pairs
        .clone()
        .map(|(item, one)| json!([of_expressions(&[one]), [item]]));
    let Some(answers) = ask(asked.collect()) else {
        return;
    };
    let place = Place::new();
    place.file("workflow.json", of_expressions(&expressions).to_string());
    place.file("event.json", json!(all).to_string());
    let told = place.run(&["import", "n8n", "workflow.json", "-o", "patterns", "--json"]);
    let told = told.assert_code(0).json();
    assert_eq!(told["summary"]["repaired"], 0, "{told:#}");
    let file = told["workflows"][0]["output"].as_str().unwrap();
    let ended = place.run(&["run", file, "--event", "event.json", "--fast", "--json"]);
    let ours = items(&ended.json());
    let ours = ours.as_array().unwrap().iter().flat_map(|item| {
        let names = (0..expressions.len()).map(|number| format!("value{number}"));
        names.map(move |name| item[name].clone())
    });
    let ours: Vec<Value> = ours.collect();
    assert_eq!(
        (ours.len(), answers.len()),
        (all.len() * expressions.len(), ours.len())
    );
    let differences: Vec<String> = pairs
        .zip(ours.iter().zip(&answers))
        .filter_map(|((item, one), (ours, answer))| {
            // n8n fails where its own methods get nothing, and has no value that could differ.
            let theirs = answer["items"].get(0)?.get("value0")?;
            (ours != theirs).then(|| format!("{one} of {item}\n    {ours}\n    n8n: {theirs}"))
        })
        .collect();
    assert!(
        differences.len() * 1_000 <= ours.len(),
        "{} of {} differ:\n{}",
        differences.len(),
        ours.len(),
        differences.join("\n")
    );
}

/// What n8n answers to workflows, each with the items of its start. None where it can't be had: then the test is skipped.
fn ask(asked: Vec<Value>) -> Option<Vec<Value>> {
    let dir = needs::or_skip("n8n", npm::install("cli/n8n", "oracle.mjs"))?;
    let mut node = Command::new("node")
        .arg("oracle.mjs")
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = node.stdin.take().unwrap();
    // It answers once it has read everything.
    stdin
        .write_all(Value::from(asked).to_string().as_bytes())
        .unwrap();
    drop(stdin);
    let ended = node.wait_with_output().unwrap();
    assert!(ended.status.success());
    Some(serde_json::from_slice(&ended.stdout).unwrap())
}
