//! The examples of the catalogue, executed: each becomes a small pattern around its node.

use super::harness::{Place, graph};
use heddle_node_stdlib::catalogue::{Category, Example, NodeType, Outputs, node_types};
use serde_json::{Value, json};

/// Types whose examples can't be compared: chance, the hour of the day, or the world outside.
const NOT_REPEATABLE: &[&str] = &["Uuid", "Random", "HttpRequest"];

#[test]
fn examples_in_the_catalogue_are_true() {
    let place = Place::new();
    let mut executed = 0;
    let mut wrong = Vec::new();
    for node_type in node_types() {
        for example in node_type.examples {
            let parameters: Value = serde_json::from_str(example.parameters).unwrap();
            let expected: Value = serde_json::from_str(example.output).unwrap();
            let now = node_type.name == "DateTime" && parameters.get("value").is_none();
            if NOT_REPEATABLE.contains(&node_type.name) || now || node_type.category == Category::Trigger {
                continue;
            }
            let pattern = pattern_around(node_type, parameters, &expected);
            place.file("pattern.json", pattern.to_string());
            place.file("event.json", example.input);
            let ended = place.run(&["run", "pattern.json", "--event", "event.json", "--json"]);
            let result: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
            executed += 1;
            if !holds(&result, node_type, example, &expected) {
                wrong.push(format!("{} ({}): {ended:#?}", node_type.name, example.title));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(executed > 20, "only {executed} examples were executed");
}

fn holds(result: &Value, node_type: &NodeType, example: &Example, expected: &Value) -> bool {
    match node_type.name {
        // What it returns is what leaves the run.
        "Return" => result["status"] == "completed" && !example.output.is_empty(),
        "Throw" => result["status"] == "failed",
        _ => result["output"] == *expected,
    }
}

/// OnManual -> node -> an object by port name -> Return. Loops have their `item` port wired to `next`.
fn pattern_around(node_type: &NodeType, parameters: Value, expected: &Value) -> Value {
    let mut nodes = vec![
        ("start".to_owned(), "OnManual", json!({})),
        ("it".to_owned(), node_type.name, json!({"parameters": parameters})),
    ];
    let mut edges = Vec::new();
    if matches!(node_type.name, "Return" | "Throw") {
        edges.push("start -> it".to_owned());
    } else {
        let is_loop = node_type.inputs.iter().any(|port| port.name == "next");
        let inputs: Vec<_> = node_type
            .inputs
            .iter()
            .filter(|port| port.name != "next")
            .collect();
        for port in &inputs {
            if inputs.len() == 1 {
                edges.push(format!("start -> it:{}", port.name));
            } else {
                let id = format!("input-{}", port.name);
                nodes.push((
                    id.clone(),
                    "Transform",
                    json!({"parameters": {"value": format!("{{{{ $input.{} }}}}", port.name)}}),
                ));
                edges.extend([format!("start -> {id}"), format!("{id} -> it:{}", port.name)]);
            }
        }
        nodes.push((
            "all".to_owned(),
            "Merge",
            json!({"parameters": {"mode": "combine"}}),
        ));
        nodes.push(("end".to_owned(), "Return", json!({})));
        edges.push("all -> end".to_owned());
        for port in output_ports(node_type, expected) {
            if is_loop && port == "item" {
                edges.push("it:item -> it:next".to_owned());
                continue;
            }
            let id = format!("output-{port}");
            nodes.push((
                id.clone(),
                "Transform",
                json!({"parameters": {"value": {&port: "{{ $input }}"}}}),
            ));
            edges.extend([format!("it:{port} -> {id}"), format!("{id} -> all")]);
        }
    }
    let nodes: Vec<_> = nodes
        .iter()
        .map(|(id, node_type, data)| (id.as_str(), *node_type, data.clone()))
        .collect();
    let edges: Vec<_> = edges.iter().map(String::as_str).collect();
    graph(&nodes, &edges)
}

fn output_ports(node_type: &NodeType, expected: &Value) -> Vec<String> {
    match node_type.outputs {
        Outputs::Fixed(ports) => ports.iter().map(|port| port.name.to_owned()).collect(),
        Outputs::SwitchCases => expected.as_object().unwrap().keys().cloned().collect(),
    }
}
