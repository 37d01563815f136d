//! The examples of the catalogue, executed: each becomes a small pattern around its node.

use super::example::fits;
use super::harness::{Place, graph};
use super::outside::StubServices;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_catalogue::{Category, NodeType, Outputs, Role, node_types};
use serde_json::{Value, json};

#[test]
fn examples_in_the_catalogue_are_true() {
    let place = Place::new();
    let outside = StubServices::start(&place);
    let mut wrong = Vec::new();
    // Operations have a server of their own: `operations`.
    for node_type in node_types().iter().filter(|it| it.operation.is_none()) {
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
            let pattern = pattern_around(node_type, parameters, (&input, &expected), &outside.url());
            place.file("pattern.json", pattern.to_string());
            place.file("event.json", example.input);
            let run = [
                "run",
                "pattern.json",
                "--event",
                "event.json",
                "--seed",
                "1",
                "--json",
            ];
            let ended = place.run(&[&run[..], &outside.flags()].concat());
            let result: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
            let holds = match needs_the_service(node_type) {
                true => result["error"]["code"] == "NO_SERVICE",
                false => holds(&result, node_type, &expected),
            };
            if !holds {
                wrong.push(format!("{} ({}): {ended:#?}", node_type.name, example.title));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether its examples need a deployed pattern: `tests/http/flow/catalogue.rs` executes them.
fn needs_the_service(node_type: &NodeType) -> bool {
    node_type
        .effects
        .iter()
        .any(|kind| ["call", "callback"].contains(kind))
}

/// What a run gave, held against the example. A Return's value is written under `return`, a failure under `error`.
fn holds(result: &Value, node_type: &NodeType, expected: &Value) -> bool {
    if node_type.role == Role::Return {
        return result["output"] == expected["return"];
    }
    match expected.get("error") {
        Some(failure) => ["code", "message"]
            .iter()
            .all(|it| result["error"][it] == failure["error"][it]),
        None => fits(expected, &result["output"]),
    }
}

/// OnManual -> node -> an object by port name -> Return; a trigger starts the run itself. Bodies of loops pass their
/// item on.
fn pattern_around(
    node_type: &NodeType,
    parameters: Value,
    (input, expected): (&Value, &Value),
    outside: &str,
) -> Value {
    let mut drawing = Drawing::default();
    drawing.node("it", node_type.name, parameters);
    if node_type.category != Category::Trigger {
        drawing.node("start", "OnManual", Value::Null);
        match input.get("$file") {
            // The one that examples read; its id is only known once it is made.
            Some(_) => {
                let name = input["name"].as_str().unwrap();
                let content = match name {
                    "logo.gif" => STANDARD.encode(b"GIF89a\x78\0\x3c\0\0\0\0;"),
                    "photo.png" => STANDARD.encode(include_bytes!("photo.png")),
                    "letter.pdf" => STANDARD.encode(include_bytes!("letter.pdf")),
                    _ => STANDARD.encode(include_bytes!("orders.xlsx")),
                };
                let made = json!({"operation": "make", "format": "base64", "content": content, "name": name});
                drawing.node("file", "File", made);
                drawing.edge("start", "file");
                drawing.edge("file", "it");
            }
            None if input.get("$stream").is_some() => {
                // The response that is read is only open once it is requested.
                let opened =
                    json!({"url": format!("{outside}/events"), "responseType": "events", "bodyOnly": true});
                drawing.node("open", "HttpRequest", opened);
                drawing.edge("start", "open");
                drawing.edge("open", "it");
            }
            None => drawing.inputs(node_type, input),
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

    /// Edges from `start` to each input of the node.
    fn inputs(&mut self, node_type: &NodeType, input: &Value) {
        let ports: Vec<_> = node_type
            .inputs
            .iter()
            .map(|port| port.name)
            .filter(|name| *name != "next")
            .collect();
        if node_type.name == "Merge" {
            // One edge for each value of the example.
            for index in 0..input.as_array().unwrap().len() {
                self.transform(
                    &format!("input-{index}"),
                    json!(format!("{{{{ $input[{index}] }}}}")),
                );
                self.edge("start", &format!("input-{index}"));
                self.edge(&format!("input-{index}"), "it");
            }
        } else if let [_] = ports[..] {
            self.edge("start", "it");
        } else {
            for port in ports {
                self.transform(
                    &format!("input-{port}"),
                    json!(format!("{{{{ $input.{port} }}}}")),
                );
                self.edge("start", &format!("input-{port}"));
                self.edge(&format!("input-{port}"), &format!("it:{port}"));
            }
        }
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
