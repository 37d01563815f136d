//! The first nodes for files that n8n had.

use crate::drawn::{imported, node, node_of, workflow};
use serde_json::{Value, json};

/// The type and the parameters of the first node that one becomes.
fn first(kind: &str, parameters: Value) -> (String, Value) {
    let nodes = [
        node("Start", "manualTrigger", json!({})),
        node("It", kind, parameters),
    ];
    let imported = imported(&workflow(&nodes, &[("Start", "It")]));
    let graph = imported.graph_data["nodes"].as_array().unwrap();
    let has_more = graph.iter().any(|node| node["id"] == "it.1");
    let node = node_of(&imported, if has_more { "it.1" } else { "it" });
    let kind = node["type"].as_str().unwrap().to_owned();
    (kind, node["data"]["parameters"].clone())
}

#[test]
fn files_become_items_and_items_files() {
    let moved = |parameters: Value| {
        let (kind, parameters) = first("moveBinaryData", parameters);
        (kind != "NotImported").then_some(parameters)
    };
    let item = "{{ $json }}";
    let read = |format: &str| Some(json!({"file": item, "format": format}));
    assert_eq!(moved(json!({})), read("json"));
    assert_eq!(moved(json!({"setAllData": false})), read("text"));
    let with = |name: &str, value: Value| json!({"setAllData": false, "options": {name: value}});
    assert_eq!(moved(with("jsonParse", json!(true))), read("json"));
    assert_eq!(moved(with("keepAsBase64", json!(true))), read("base64"));
    assert_eq!(moved(with("encoding", json!("base64"))), read("base64"));
    assert_eq!(moved(with("encoding", json!("utf16le"))), None);
    assert_eq!(moved(json!({"options": {"encoding": "base64"}})), None);
    assert_eq!(moved(json!({"setAllData": false, "destinationKey": "a.b"})), None);
    let made = |more: Value| {
        let mut made = json!({"operation": "make", "content": item, "name": "file.json", "format": "json"});
        made.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        Some(made)
    };
    assert_eq!(moved(json!({"mode": "jsonToBinary"})), made(json!({})));
    let named = json!({"mode": "jsonToBinary", "options": {"fileName": "a.json", "mimeType": "text/x"}});
    assert_eq!(moved(named), made(json!({"name": "a.json", "type": "text/x"})));
    let part = json!({"mode": "jsonToBinary", "convertAllData": false, "sourceKey": "html", "options": {"useRawData": true}});
    let content = "{{ $json?.[\"html\"] }}";
    assert_eq!(
        moved(part),
        Some(json!({"operation": "make", "content": content, "name": "file.txt"}))
    );
}

#[test]
fn a_pdf_is_read() {
    assert_eq!(first("readPDF", json!({})).0, "Pdf");
}
