//! What is sent: bodies that are as large as they may be.

use crate::fixture::requests::post;
use crate::fixture::{FILE_BYTES, fields, unique};
use crate::load::Target;
use crate::process::chain;
use flate2::Compression;
use flate2::write::GzEncoder;
use hmac::{Hmac, Mac};
use serde_json::{Map, Value, json};
use sha2::Sha256;
use std::io::Write;
use std::sync::Arc;

/// Bytes of a request, just below the usual limit.
pub const REQUEST_BYTES: usize = 7 << 20;
/// Nodes of a pattern that takes long to compile.
const NODES: usize = 800;
/// Workflows of n8n in a request, nodes of each, and fields that a node sets: 600 nodes are allowed, and 500,000 values in all.
const WORKFLOWS: usize = 10;
const WORKFLOW_NODES: usize = 600;
const WORKFLOW_FIELDS: usize = 7;
/// Tabs of Node-RED, nodes of each, and rules of a node: 50 tabs, 3,000 nodes and 500,000 values are allowed.
const TABS: usize = 50;
const TAB_NODES: usize = 58;
const RULES: usize = 25;
/// Nodes of a tab whose rules are JSONata: 200 are allowed.
const JSONATA_NODES: usize = 4;
/// Operations of a document, and parameters of each: 500 are imported together.
const OPERATIONS: usize = 500;
const PARAMETERS: usize = 60;
/// Values of a document that nothing refers to: there may be 1,000,000 in all.
const UNUSED_VALUES: usize = 700_000;
/// Values of a preview, of which 500,000 are allowed. What is compiled has half of them; the event counts as none.
const PREVIEWED: usize = 490_000;
const PREVIEWED_OUTPUTS: usize = 240_000;
/// Expressions of a preview.
const EXPRESSIONS: usize = 50;
/// Bytes that a body of a webhook may have once it is decompressed.
const WEBHOOK_BYTES: usize = 8 << 20;

/// An event just below the usual limit.
pub fn large_body(number: u64) -> String {
    let lines = r#""a line of text","#.repeat(REQUEST_BYTES / 17);
    format!(r#"{{"number":{number},"lines":[{lines}""]}}"#)
}

pub fn large_graph() -> Value {
    let nodes: Vec<Value> = (1..NODES).map(fields).collect();
    let first = json!({"id": unique(), "type": "OnWebhook", "data": {"parameters": {}}});
    json!({"graphData": chain(&first, &nodes)})
}

/// Workflows, of which nothing is made.
pub fn n8n() -> String {
    let workflows: Vec<Value> = (0..WORKFLOWS).map(workflow).collect();
    json!({"dryRun": true, "workflows": workflows}).to_string()
}

fn workflow(number: usize) -> Value {
    let name = |node: usize| format!("Node {node}");
    let node = |node: usize, (kind, version): (&str, Value), parameters: Value| {
        json!({
            "name": name(node), "type": format!("n8n-nodes-base.{kind}"), "typeVersion": version,
            "position": [200 * node, 0], "parameters": parameters,
        })
    };
    let assignments: Vec<Value> = (0..WORKFLOW_FIELDS)
        .map(|field| {
            let value = format!("=Hello {{{{ $json.name }}}} and {{{{ $json.field{field} }}}}");
            json!({"name": format!("field{field}"), "type": "string", "value": value})
        })
        .collect();
    let parameters = json!({"assignments": {"assignments": assignments}});
    let others = (1..WORKFLOW_NODES).map(|number| node(number, ("set", json!(3.4)), parameters.clone()));
    let nodes: Vec<Value> = std::iter::once(node(0, ("manualTrigger", json!(1)), json!({})))
        .chain(others)
        .collect();
    let connections: Map<String, Value> = (1..WORKFLOW_NODES)
        .map(|number| {
            let to = json!({"node": name(number), "type": "main", "index": 0});
            (name(number - 1), json!({"main": [[to]]}))
        })
        .collect();
    json!({"name": format!("Workflow {number}"), "nodes": nodes, "connections": connections})
}

/// Flows, of which nothing is made.
pub fn node_red() -> String {
    let flows: Vec<Value> = (0..TABS).flat_map(tab).collect();
    json!({"dryRun": true, "flows": flows}).to_string()
}

fn tab(number: usize) -> Vec<Value> {
    let tab = format!("tab-{number}");
    let id = |node: usize| format!("{tab}-{node}");
    let wires = |node: usize| match node + 1 < TAB_NODES {
        true => json!([[id(node + 1)]]),
        false => json!([[]]),
    };
    let rule = |node: usize, rule: usize| {
        let (to, kind) = match node <= JSONATA_NODES {
            true => {
                let price = format!("payload.items[{rule}].price * 1.2");
                (format!("payload.name & ' and ' & $string({price})"), "jsonata")
            }
            false => ("a text that is set".to_owned(), "str"),
        };
        json!({"t": "set", "p": format!("field{rule}"), "pt": "msg", "to": to, "tot": kind})
    };
    let mut nodes = vec![
        json!({"id": tab, "type": "tab", "label": format!("Tab {number}")}),
        json!({"id": id(0), "z": tab, "type": "inject", "name": "Start", "props": [], "wires": wires(0)}),
    ];
    nodes.extend((1..TAB_NODES).map(|node| {
        let rules: Vec<Value> = (0..RULES).map(|number| rule(node, number)).collect();
        json!({
            "id": id(node), "z": tab, "type": "change", "name": format!("Change {node}"), "rules": rules,
            "wires": wires(node),
        })
    }));
    nodes
}

/// A document, as JSON or as a text in YAML, of which JSON is a part.
pub fn open_api(is_yaml: bool) -> String {
    let parameters: Vec<Value> = (0..PARAMETERS)
        .map(|number| json!({"name": format!("parameter{number}"), "in": "query", "schema": {"type": "string"}}))
        .collect();
    let paths: Map<String, Value> = (0..OPERATIONS)
        .map(|number| {
            let operation = json!({
                "operationId": format!("getThing{number}"), "summary": "Gets a thing", "parameters": parameters,
            });
            (format!("/things/{number}"), json!({"get": operation}))
        })
        .collect();
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "Things", "version": "1"},
        "servers": [{"url": "https://things.example.com"}], "paths": paths, "x-unused": vec![1; UNUSED_VALUES],
    });
    match is_yaml {
        true => json!({"text": format!("# YAML\n{document}")}).to_string(),
        false => json!({"document": document}).to_string(),
    }
}

/// Previews of nearly as many values as there may be: one that is refused when it is compiled, and one that is evaluated.
pub fn large_previews() -> [String; 2] {
    let start = json!({"id": "start", "type": "OnManual"});
    let graph = chain(&start, &[fields(0)]);
    let expressions: Map<String, Value> = (0..EXPRESSIONS)
        .map(|number| {
            let text = "{{ $input.items.length + $trigger.items.length }}";
            (format!("fields.f{number}"), Value::from(text))
        })
        .collect();
    let items = |count: usize| json!({"items": vec!["some words"; count]});
    let preview = |outputs: usize, event: usize| {
        json!({
            "graphData": graph, "nodeId": "set-0", "expressions": expressions, "outputs": {"start": items(outputs)},
            "eventData": items(event),
        })
        .to_string()
    };
    [
        preview(PREVIEWED, 0),
        preview(PREVIEWED_OUTPUTS, PREVIEWED - PREVIEWED_OUTPUTS),
    ]
}

/// Small signed bodies, of which comes as much as there may be, and eight times as much.
pub fn bombs(target: &Target) -> Arc<[Vec<u8>]> {
    let lists = |bytes: usize| format!("[{}1]", "[],".repeat(bytes / 3 - 1));
    Arc::from([lists(WEBHOOK_BYTES), lists(8 * WEBHOOK_BYTES)].map(|text| {
        let body = compressed(text.as_bytes());
        let secret = target.secret.as_deref().unwrap_or_default();
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(&body);
        let signature = hex::encode(mac.finalize().into_bytes());
        let more = format!("content-encoding: gzip\r\nx-webhook-signature: {signature}\r\n");
        post(&target.path, "application/json", &more, &body)
    }))
}

fn compressed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A form with a file, which together are as large as a file may be.
pub fn form(target: &Target) -> Arc<[Vec<u8>]> {
    let part = "--XX\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nMallory\r\n--XX\r\n\
                Content-Disposition: form-data; name=\"file\"; filename=\"large.bin\"\r\n\
                Content-Type: application/octet-stream\r\n\r\n";
    let end = "\r\n--XX--\r\n";
    let content = vec![b'f'; FILE_BYTES - part.len() - end.len()];
    let body = [part.as_bytes(), content.as_slice(), end.as_bytes()].concat();
    let request = post(&target.path, "multipart/form-data; boundary=XX", "", &body);
    Arc::from([request])
}
