//! What foreign flows and documents may not bring into patterns, and what is too much of them.

use heddle_import::openapi::{self, Selection};
use heddle_import::{import_flow, node_red};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The graph of the only flow of a list of nodes.
fn graph(nodes: &Value) -> Value {
    let flows = node_red::find(nodes, "Flow").unwrap();
    let imported = import_flow(&flows[0]);
    assert!(imported.report.valid, "{:#?}", imported.report);
    imported.graph_data
}

#[test]
fn a_content_type_is_no_expression() {
    let headers = |content_type: &str| {
        let document = json!({
            "openapi": "3.0.3", "info": {"title": "Pets", "version": "1"}, "servers": [{"url": "https://pets.example.com"}],
            "paths": {"/pets": {"post": {"operationId": "add", "requestBody": {"content": {content_type: {}}}}}},
        });
        let api = openapi::import(&document, &Selection::default()).unwrap();
        api.node_definitions["add"]["graphData"]["nodes"][1]["data"]["parameters"]["headers"].clone()
    };
    let plain = "text/csv; header=present";
    assert_eq!(headers(plain), json!({"content-type": plain}));
    assert_eq!(headers("text/csv; header={{ $secrets.key }}"), Value::Null);
}

#[test]
fn credentials_for_one_server_have_no_name_that_another_server_can_ask_for() {
    let key = json!([{"key": []}]);
    let get = |server: &str| json!({"get": {"security": key, "servers": [{"url": server}]}});
    let document = json!({
        "openapi": "3.0.3", "info": {"title": "Stripe", "version": "1"},
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/a": get("https://api.stripe.com/v1"), "/b": get("https://API.stripe.com/v2"), "/c": get("https://api-stripe.com"),
            "/d": get("http://api.stripe.com"), "/e": {"get": {"security": key}},
        },
    });
    let api = openapi::import(&document, &Selection::default()).unwrap();
    let connections = api.report.connections.iter();
    let names: Vec<&str> = connections.map(|connection| connection.name.as_str()).collect();
    let own = [
        "stripe@api.stripe.com",
        "stripe@api-stripe.com",
        "stripe@http://api.stripe.com",
        "stripe",
    ];
    assert_eq!(names, own);
    let request = |name: &str| {
        api.node_definitions[name]["graphData"]["nodes"][1]["data"]["parameters"]["connection"].clone()
    };
    assert_eq!(
        [request("getA"), request("getB"), request("getC")],
        [own[0], own[0], own[1]].map(Value::from)
    );
    // Only an address of the connection's own is left for it.
    assert!(api.report.connections[3].fields.contains_key("baseUrl"));
}

#[test]
fn few_lines_of_yaml_do_not_become_much() {
    let mut bomb = "a0: &a0 [xxxxxxxxxxxxxxxxxxxx, x]\n".to_owned();
    for number in 1..40 {
        let before = number - 1;
        bomb += &format!("a{number}: &a{number} [*a{before}, *a{before}, *a{before}]\n");
    }
    let nested = format!("{}x", "- ".repeat(10_000));
    let brackets = "[".repeat(200);
    let circle = "a: &a [*a]\n".to_owned();
    for (text, says) in [
        (bomb, "repeat too much"),
        (nested, "levels deep"),
        (format!("a: {brackets}"), "levels deep"),
        (circle, "within the value that it names"),
        ("a: 1\n---\nb: 2\n".to_owned(), "second document"),
        ("? [a]\n: b\n".to_owned(), "can't be a key"),
        ("a: [1\n".to_owned(), "can't be read"),
        (
            format!("a: [{}1]\n", "1,".repeat(openapi::VALUES_MAX)),
            "values, which is the limit",
        ),
        (
            format!("[{}1]", "1,".repeat(openapi::VALUES_MAX)),
            "values, which is the limit",
        ),
    ] {
        let refused = openapi::parse(&text).unwrap_err();
        assert!(refused.0.contains(says), "{says}: {}", refused.0);
    }
    let read = openapi::parse("a: &a {x: 1, y: 0x10}\nb: {<<: *a, x: ~}\n3: -1.5\nv: 1.2.3\n").unwrap();
    let fields = json!({"x": 1, "y": 16});
    assert_eq!(
        read,
        json!({"a": fields, "b": {"x": null, "y": 16}, "3": -1.5, "v": "1.2.3"})
    );
}

#[test]
fn few_nodes_do_not_become_many_values_by_subflows() {
    let mut nodes = vec![
        json!({"id": "t", "type": "tab", "label": "Tab"}),
        json!({"id": "s", "type": "subflow", "name": "Sub", "in": [], "out": []}),
        json!({"id": "n", "z": "s", "type": "x", "wires": [], "y": vec![1; 2_000]}),
    ];
    nodes.extend(
        (0..150).map(|index| json!({"id": format!("i{index}"), "z": "t", "type": "subflow:s", "wires": []})),
    );
    let flows = Value::from(nodes);
    let find = |values: usize| {
        let size = node_red::Size {
            bytes: 8 << 20,
            values,
        };
        node_red::find_within(&flows, "Flow", size)
    };
    let refused = find(200_000).unwrap_err();
    assert!(
        refused.0.contains("once subflows take the place"),
        "{}",
        refused.0
    );
    assert_eq!(find(400_000).unwrap().len(), 1);
}

#[test]
fn headers_of_a_request_are_taken_over_but_for_secrets_and_names_are_unique() {
    let graph = graph(&json!([
        {"id": "a", "type": "inject", "name": "Start", "wires": [["b"]]},
        {"id": "b", "type": "http request", "name": "Ask", "method": "GET", "url": "example.com/{{payload}}", "wires": [["c"]], "headers": [
            {"keyType": "Accept", "keyValue": "", "valueType": "application/json", "valueValue": ""},
            {"keyType": "other", "keyValue": "X-Kind", "valueType": "msg", "valueValue": "topic"},
            {"keyType": "Authorization", "keyValue": "", "valueType": "other", "valueValue": "Bearer t0p"},
        ]},
        {"id": "c", "type": "debug", "name": "Ask (1)", "wires": []},
    ]));
    let nodes = graph["nodes"].as_array().unwrap();
    let mut parameters = nodes.iter().map(|node| &node["data"]["parameters"]);
    let request = parameters.find(|them| them["headers"].is_string()).unwrap();
    let headers =
        r#"{{ ({ ...($input.headers ?? {}), "Accept": "application/json", "X-Kind": $input?.["topic"] }) }}"#;
    assert_eq!(request["headers"], headers);
    assert!(
        request["url"].as_str().unwrap().contains("http://example.com/"),
        "{request}"
    );
    assert!(!graph.to_string().contains("t0p"), "{graph}");
    let labels: HashSet<&str> = nodes
        .iter()
        .filter_map(|node| node["data"]["label"].as_str())
        .collect();
    assert_eq!(labels.len(), nodes.len(), "{graph}");
}

#[test]
fn little_does_not_become_much() {
    let tabs: Vec<Value> = (0..501)
        .map(|number| json!({"id": number.to_string(), "type": "tab"}))
        .collect();
    assert!(node_red::find(&json!(tabs), "Flow").is_err());
    let rules: Vec<Value> = (0..100).map(|_| json!({"t": "nempty"})).collect();
    let graph = graph(&json!([
        {"id": "s", "type": "inject", "name": "Start", "wires": [["a"]]},
        {"id": "a", "type": "switch", "name": "Choose", "property": "p".repeat(2_000), "rules": rules, "wires": []},
    ]));
    assert!(graph.to_string().len() < 20_000);
}
