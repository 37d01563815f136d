//! What foreign flows and documents may not bring into patterns, and what is too much of them.

use heddle_import::openapi::{self, Selection};
use heddle_import::{Calls, Imported, Importing, find, import_flow, node_red};
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

/// What is drawn of the only workflow with these nodes, settings and connections.
fn imported(mut workflow: Value) -> Imported {
    if workflow.get("connections").is_none() {
        workflow["connections"] = json!({});
    }
    let found = find(&workflow, "Workflow").unwrap();
    Importing::new(&found[0], &Calls::new()).finish()
}

/// Whether what is said and drawn is no more than so many bytes.
fn is_within(imported: &Imported, bytes: usize) -> bool {
    let drawn = imported.graph_data.to_string().len() + imported.node_definitions.to_string().len();
    drawn + serde_json::to_string(&imported.report).unwrap().len() < bytes
}

fn of_n8n(name: &str, kind: &str, version: f64, parameters: Value) -> Value {
    json!({"name": name, "type": format!("n8n-nodes-base.{kind}"), "typeVersion": version, "parameters": parameters})
}

#[test]
fn names_of_n8n_are_short_and_what_is_left_out_is_told_a_hundred_times() {
    let long = "x".repeat(100_000);
    let nodes = json!([of_n8n(&long, "noOp", 1.0, json!({}))]);
    let refused = find(&json!({"nodes": nodes, "connections": {}}), "Workflow").unwrap_err();
    assert!(
        refused.0.contains("nodes[0]") && refused.0.len() < 1_000,
        "{}",
        refused.0
    );

    let nowhere: Vec<Value> = (0..5_000).map(|_| json!({"node": long})).collect();
    let told = imported(json!({
        "nodes": [of_n8n("a", "noOp", 1.0, json!({})), {"name": "b", "type": long, "parameters": {}}],
        "connections": {"a": {"main": [nowhere]}},
    }));
    assert!(is_within(&told, 100_000));
    let unread = told.report.items.iter().filter(|item| item.code == "unread");
    assert_eq!(unread.count(), 100);
    assert_eq!(told.report.summary.nodes, 1);
}

#[test]
fn what_one_node_of_n8n_has_does_not_become_much_by_others_that_have_it_too() {
    let long = "x".repeat(200_000);
    let pages = (0..500).map(|number| of_n8n(&format!("p{number}"), "form", 1.0, json!({})));
    let first = of_n8n("first", "formTrigger", 2.0, json!({"formTitle": long}));
    let forms: Vec<Value> = [first].into_iter().chain(pages).collect();
    assert!(is_within(&imported(json!({"nodes": forms})), 10_000_000));

    let chains = (0..500).map(|number| {
        json!({"name": format!("c{number}"), "type": "@n8n/n8n-nodes-langchain.chainLlm", "parameters": {"prompt": "Hi"}})
    });
    let model = json!({
        "name": "model", "type": "@n8n/n8n-nodes-langchain.lmChatOpenAi", "parameters": {"model": long},
        "credentials": {long.as_str(): {"name": "key"}},
    });
    let to: Vec<Value> = (0..500)
        .map(|number| json!({"node": format!("c{number}")}))
        .collect();
    let chained = imported(json!({
        "nodes": Vec::from_iter([model].into_iter().chain(chains)),
        "connections": {"model": {"ai_languageModel": [to]}},
    }));
    assert!(is_within(&chained, 10_000_000));

    let zone = imported(json!({
        "settings": {"timezone": long},
        "nodes": [of_n8n("a", "set", 2.0, json!({"values": {"string": [{"name": "x", "value": format!("={{{{ [{}] }}}}", "$now,".repeat(1_000))}]}}))],
    }));
    assert!(is_within(&zone, 500_000));
}

#[test]
fn what_a_node_of_n8n_says_once_does_not_become_much_by_its_translation() {
    let long = "x".repeat(200_000);
    let rules: Vec<Value> = (0..100).map(|_| json!({"value2": "y"})).collect();
    let switch = json!({"dataType": "string", "value1": long, "rules": {"rules": rules}});
    let switch = imported(json!({"nodes": [of_n8n("a", "switch", 1.0, switch)]}));
    assert!(is_within(&switch, 2_000_000));

    let columns: Vec<Value> = (0..1_000).map(|_| json!({"id": "c"})).collect();
    let sheet = json!({
        "operation": "append", "documentId": {"__rl": true, "value": "d", "mode": "id"},
        "sheetName": {"__rl": true, "value": "s", "mode": "name"},
        "columns": {"mappingMode": "defineBelow", "value": {"c": long}, "schema": columns},
    });
    let sheet = imported(json!({"nodes": [of_n8n("a", "googleSheets", 4.0, sheet)]}));
    assert!(is_within(&sheet, 2_000_000));

    // The name of the node before stands for each of these.
    let reads = format!("={{{{ [{}] }}}}", "$items(),".repeat(6_000));
    let name = "n".repeat(300);
    let readers = (0..20).map(|number| {
        let field = json!({"values": {"string": [{"name": "x", "value": reads}]}});
        of_n8n(&format!("r{number}"), "set", 2.0, field)
    });
    let to: Vec<Value> = (0..20)
        .map(|number| json!({"node": format!("r{number}")}))
        .collect();
    let before = of_n8n(&name, "set", 2.0, json!({}));
    let named = imported(json!({
        "nodes": Vec::from_iter([before].into_iter().chain(readers)),
        "connections": {name.as_str(): {"main": [to]}},
    }));
    assert!(is_within(&named, 20_000_000));
    let mut items = named.report.items.iter();
    assert!(items.any(|item| item.message.contains("would be too large")));

    // A path of many steps is written in one go.
    let path = json!({"fieldToSplitOut": "a.".repeat(200_000) + "a"});
    let split = imported(json!({"nodes": [of_n8n("a", "splitOut", 1.0, path)]}));
    assert!(is_within(&split, 5_000_000));
}

#[test]
fn what_a_node_of_node_red_says_once_does_not_become_much() {
    let drawn = |nodes: Value| {
        let flows = node_red::find(&nodes, "Flow").unwrap();
        Importing::of_flow(&flows[0]).finish()
    };
    let props: Vec<Value> = (0..100).map(|_| json!({"p": "payload"})).collect();
    let inject = json!([{"id": "s", "type": "inject", "payload": "}".repeat(100_000), "payloadType": "str", "props": props, "wires": []}]);
    assert!(is_within(&drawn(inject), 3_000_000));

    let rules: Vec<Value> = (0..100).map(|_| json!({"t": "nempty"})).collect();
    let property = format!("a[\"{}\"]", "}".repeat(900));
    let switches = (0..30).map(|number| {
        json!({"id": number.to_string(), "type": "switch", "property": property, "rules": rules, "wires": []})
    });
    let switches = drawn(switches.collect());
    assert!(is_within(&switches, 60_000_000));
    let mut items = switches.report.items.iter();
    assert!(items.any(|item| item.message.contains("would be too large")));

    let code: String = (0..50_000)
        .map(|number| format!("flow.get(\"a{number}\");"))
        .collect();
    let kept = json!([{"id": "f", "type": "function", "func": code, "wires": []}]);
    let kept = drawn(kept);
    let mut items = kept.report.items.iter();
    assert!(items.any(|item| item.message.contains("more than 5 values in contexts")));
}

#[test]
fn a_security_scheme_of_a_long_name_is_no_connection() {
    let long = "x".repeat(100_000);
    let paths: serde_json::Map<String, Value> = (0..100)
        .map(|number| {
            let servers = json!([{"url": format!("https://a{number}.example.com")}]);
            (format!("/p{number}"), json!({"get": {"servers": servers}}))
        })
        .collect();
    let document = json!({
        "openapi": "3.0.3", "info": {"title": "A", "version": "1"}, "security": [{long.as_str(): []}],
        "components": {"securitySchemes": {long.as_str(): {"type": "http", "scheme": "bearer"}}}, "paths": paths,
    });
    let api = openapi::read(&document, &Selection::default()).unwrap();
    assert!(serde_json::to_string(&api).unwrap().len() < 1_000_000);
    assert!(api.report.connections.is_empty());
}

#[test]
fn expressions_that_read_what_is_not_there_are_told_five_hundred_times() {
    let text = format!("={}", "{{ $('gone').x }}".repeat(5_000));
    let parameters = json!({"p".repeat(200): text});
    let told = imported(json!({"nodes": [of_n8n("a", "noOp", 1.0, parameters)]}));
    assert_eq!(told.report.summary.repaired, 500);
    assert!(is_within(&told, 1_000_000));
}

#[test]
fn static_data_that_is_too_large_is_left_out_of_every_node_that_asks_for_it() {
    let code = json!({"jsCode": "return $getWorkflowStaticData('global');"});
    let nodes: Vec<Value> = (0..100)
        .map(|number| of_n8n(&format!("c{number}"), "code", 2.0, code.clone()))
        .collect();
    let kept: Vec<u32> = (0..20_000).collect();
    let left = imported(json!({"nodes": nodes, "staticData": {"global": {"kept": kept}}}));
    let items = left.report.items.iter();
    assert_eq!(items.filter(|item| item.code == "static-data-left").count(), 100);
}

#[test]
fn subflows_that_are_nested_too_deeply_have_nothing_inside() {
    let instance = |id: String, within: &str, of: &str| json!({"id": id, "z": within, "type": format!("subflow:{of}"), "wires": []});
    let subflow = |id: &str| json!({"id": id, "type": "subflow", "in": [], "out": []});
    let levels: Vec<String> = (1..=8).map(|level| format!("s{level}")).collect();
    let mut nodes = vec![
        json!({"id": "t", "type": "tab", "label": "Tab"}),
        instance("i".to_owned(), "t", "s1"),
        // One without nodes, which has nothing that could be missing.
        json!({"id": "e", "type": "subflow", "in": [{"wires": [{"id": "x"}]}], "out": vec![json!({"wires": [{"id": "e", "port": 0}]}); 1_000]}),
    ];
    for (level, id) in levels.iter().enumerate() {
        nodes.push(subflow(id));
        if let Some(inner) = levels.get(level + 1) {
            nodes.push(instance(format!("i{level}"), id, inner));
        }
    }
    nodes.extend((0..50).map(|number| instance(format!("e{number}"), "s8", "e")));
    let flows = node_red::find(&Value::from(nodes), "Flow").unwrap();
    let drawn = Importing::of_flow(&flows[0]).finish();
    let items = drawn.report.items.iter();
    let deep = items.filter(|item| item.message.contains("nested too deeply"));
    assert_eq!(deep.count(), 50);
}

#[test]
fn what_all_operations_of_a_document_share_is_short() {
    let long = "x".repeat(100_000);
    let shared = json!({"get": {
        "parameters": [
            {"name": long, "in": "query"},
            {"name": "a", "in": long},
            {"name": "b", "in": "query", "schema": {"$ref": format!("#/{long}")}},
        ],
        "requestBody": {"content": {format!("text/{long}"): {}}},
    }});
    let mut paths: serde_json::Map<String, Value> = (0..200)
        .map(|number| {
            (
                format!("/p{number}"),
                json!({"$ref": "#/components/pathItems/all"}),
            )
        })
        .collect();
    paths.insert(format!("/{long}"), json!({"get": {}}));
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "A", "version": "1"}, "servers": [{"url": "https://a.example.com"}],
        "components": {"pathItems": {"all": shared}}, "paths": paths,
    });
    let api = openapi::read(&document, &Selection::default()).unwrap();
    assert!(serde_json::to_string(&api).unwrap().len() < 1_000_000);
    assert_eq!(api.node_definitions.len(), 200);
    let fields = api.report.operations[0].fields.iter();
    let names: Vec<&str> = fields.map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["b"]);
    let mut left = api.report.items.iter().filter(|item| item.is_left_out);
    assert!(left.all(|item| item.message.contains("its path has more than 2000 bytes")));
}
