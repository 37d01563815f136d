//! The examples of the catalogue, executed: each becomes a small pattern around its node.

use super::harness::{Place, graph};
use super::outside::Outside;
use heddle_node_stdlib::catalogue::{Category, NodeType, Outputs, node_types};
use serde_json::{Value, json};

/// Types whose examples can't be compared: chance, the hour of the day, or a mail server.
const NOT_REPEATABLE: &[&str] = &["Uuid", "Random", "SendEmail"];

#[test]
fn examples_in_the_catalogue_are_true() {
    let place = Place::new();
    let outside = Outside::start(&place);
    let mut executed = 0;
    let mut wrong = Vec::new();
    for node_type in node_types() {
        for example in node_type.examples {
            let parameters = match node_type.category {
                Category::Effect => example
                    .parameters
                    .replace("https://api.example.com", &outside.url()),
                _ => example.parameters.to_owned(),
            };
            let parameters: Value = serde_json::from_str(&parameters).unwrap();
            let input: Value = serde_json::from_str(example.input).unwrap();
            let expected: Value = serde_json::from_str(example.output).unwrap();
            let now = node_type.name == "DateTime" && parameters.get("value").is_none();
            if NOT_REPEATABLE.contains(&node_type.name) || now || node_type.category == Category::Trigger {
                continue;
            }
            let pattern = pattern_around(node_type, parameters, &input, &expected);
            place.file("pattern.json", pattern.to_string());
            place.file("event.json", example.input);
            let run = ["run", "pattern.json", "--event", "event.json", "--json"];
            let ended = place.run(&[&run[..], &outside.flags()].concat());
            let result: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
            executed += 1;
            if !holds(&result, node_type, &expected) {
                wrong.push(format!("{} ({}): {ended:#?}", node_type.name, example.title));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(executed > 60, "only {executed} examples were executed");
}

/// What a run gave, held against the example. Return and Throw have no ports; what they end a run with is written
/// under `return` and `error`.
fn holds(result: &Value, node_type: &NodeType, expected: &Value) -> bool {
    match node_type.name {
        "Return" => result["output"] == expected["return"],
        "Throw" => ["code", "message"]
            .iter()
            .all(|it| result["error"][it] == expected["error"]["error"][it]),
        _ => result["output"] == *expected,
    }
}

/// OnManual -> node -> an object by port name -> Return. Bodies of loops pass their item on.
fn pattern_around(node_type: &NodeType, parameters: Value, input: &Value, expected: &Value) -> Value {
    let mut drawing = Drawing::default();
    drawing.node("start", "OnManual", Value::Null);
    drawing.node("it", node_type.name, parameters);
    let ports: Vec<_> = node_type
        .inputs
        .iter()
        .map(|port| port.name)
        .filter(|name| *name != "next")
        .collect();
    if node_type.name == "Merge" {
        // One edge for each value of the example.
        for index in 0..input.as_array().unwrap().len() {
            drawing.transform(
                &format!("input-{index}"),
                json!(format!("{{{{ $input[{index}] }}}}")),
            );
            drawing.edge("start", &format!("input-{index}"));
            drawing.edge(&format!("input-{index}"), "it");
        }
    } else if let [_] = ports[..] {
        drawing.edge("start", "it");
    } else {
        for port in ports {
            drawing.transform(
                &format!("input-{port}"),
                json!(format!("{{{{ $input.{port} }}}}")),
            );
            drawing.edge("start", &format!("input-{port}"));
            drawing.edge(&format!("input-{port}"), &format!("it:{port}"));
        }
    }
    let ports = output_ports(node_type, expected);
    if !ports.is_empty() {
        drawing.node("all", "Merge", json!({"mode": "combine"}));
        drawing.node("end", "Return", Value::Null);
        drawing.edge("all", "end");
    }
    for port in ports {
        if port == "item" {
            drawing.node("body", "NoOp", Value::Null);
            drawing.edge("it:item", "body");
            drawing.edge("body", "it:next");
        } else {
            drawing.transform(&format!("output-{port}"), json!({&port: "{{ $input }}"}));
            drawing.edge(&format!("it:{port}"), &format!("output-{port}"));
            drawing.edge(&format!("output-{port}"), "all");
        }
    }
    drawing.pattern()
}

#[derive(Default)]
struct Drawing {
    nodes: Vec<(String, &'static str, Value)>,
    edges: Vec<String>,
}

impl Drawing {
    fn node(&mut self, id: &str, node_type: &'static str, parameters: Value) {
        let data = if parameters.is_null() {
            json!({})
        } else {
            json!({"parameters": parameters})
        };
        self.nodes.push((id.to_owned(), node_type, data));
    }

    fn transform(&mut self, id: &str, value: Value) {
        self.node(id, "Transform", json!({"value": value}));
    }

    fn edge(&mut self, source: &str, target: &str) {
        self.edges.push(format!("{source} -> {target}"));
    }

    fn pattern(&self) -> Value {
        let nodes: Vec<_> = self
            .nodes
            .iter()
            .map(|(id, name, data)| (id.as_str(), *name, data.clone()))
            .collect();
        let edges: Vec<_> = self.edges.iter().map(String::as_str).collect();
        graph(&nodes, &edges)
    }
}

fn output_ports(node_type: &NodeType, expected: &Value) -> Vec<String> {
    match node_type.outputs {
        Outputs::Fixed(ports) => ports.iter().map(|port| port.name.to_owned()).collect(),
        Outputs::SwitchCases => expected.as_object().unwrap().keys().cloned().collect(),
    }
}
