//! `heddle import n8n`: what the imported patterns do when they run, against what n8n gives for the same items, written
//! by hand; the report, the files and the exit codes.

use super::harness::Place;
use serde_json::{Value, json};
use std::fs;

/// A workflow that starts with a call and goes through these nodes in a row: name, type, version, parameters.
fn row(nodes: &[(&str, &str, f64, Value)]) -> Value {
    let trigger = json!({"name": "Start", "type": "n8n-nodes-base.executeWorkflowTrigger", "typeVersion": 1, "position": [0, 0],
        "parameters": {}});
    let mut all = vec![trigger];
    let mut connections = json!({});
    let mut before = "Start";
    for (name, kind, version, parameters) in nodes {
        all.push(json!({"name": name, "type": format!("n8n-nodes-base.{kind}"), "typeVersion": version, "position": [200, 0],
            "parameters": parameters}));
        connections[before] = json!({"main": [[{"node": name, "type": "main", "index": 0}]]});
        before = name;
    }
    json!({"name": "Row", "nodes": all, "connections": connections})
}

/// Items as an imported workflow gives them: a list, of one if there is one.
fn items(given: Value) -> Value {
    match given {
        list @ (Value::Array(_) | Value::Null) => list,
        one => json!([one]),
    }
}

/// What the imported workflow gives for an event, and its report.
fn imported(workflow: &Value, event: &Value) -> (Value, Value) {
    let place = Place::new();
    place.file("workflow.json", workflow.to_string());
    place.file("event.json", event.to_string());
    let told = place.run(&["import", "n8n", "workflow.json", "-o", "out", "--json"]);
    let report = told.assert_code(0).json()["workflows"][0].clone();
    assert_eq!(report["report"]["valid"], true, "{report:#}");
    let file = report["output"].as_str().unwrap().to_owned();
    place.run(&["validate", &file]).assert_code(0);
    let ended = place.run(&["run", &file, "--event", "event.json"]);
    (ended.assert_code(0).json(), report["report"].clone())
}

/// The node gives this for these items, and the report calls it exact.
fn exact(node: (&str, f64, Value), event: Value, expected: Value) {
    let (kind, version, parameters) = node;
    let workflow = row(&[("Node", kind, version, parameters)]);
    let (output, report) = imported(&workflow, &event);
    assert_eq!(output, items(expected), "{kind}: {report:#}");
    let worse = report["items"]
        .as_array()
        .unwrap()
        .iter()
        .any(|item| item["nodeId"] == "node");
    assert!(!worse, "{kind} is exact: {report:#}");
}

fn condition(left: &str, kind: &str, operation: &str, right: Value) -> Value {
    json!({"leftValue": left, "rightValue": right, "operator": {"type": kind, "operation": operation}})
}

fn conditions(list: &[Value], combinator: &str) -> Value {
    json!({"conditions": {"options": {"caseSensitive": true, "typeValidation": "strict"}, "combinator": combinator, "conditions": list}})
}

#[test]
fn set_makes_fields() {
    let assigned = json!({"assignments": {"assignments": [
        {"name": "greeting", "type": "string", "value": "=Hello {{ $json.name }}!"},
        {"name": "address.city", "type": "string", "value": "Bern"},
        {"name": "count", "type": "number", "value": 3},
        {"name": "braces", "type": "string", "value": "{{ not an expression }}"},
    ]}});
    let expected = json!({"greeting": "Hello Ann!", "address": {"city": "Bern"}, "count": 3, "braces": "{{ not an expression }}"});
    exact(
        ("set", 3.4, assigned.clone()),
        json!({"name": "Ann"}),
        expected.clone(),
    );
    let mut kept = assigned;
    kept["includeOtherFields"] = true.into();
    let mut with_name = json!({"name": "Ann"});
    for (name, value) in expected.as_object().unwrap() {
        with_name[name] = value.clone();
    }
    exact(("set", 3.4, kept), json!({"name": "Ann"}), with_name);
    let old = json!({"keepOnlySet": true, "values": {"string": [{"name": "a", "value": "x"}], "number": [{"name": "n", "value": 2}]}});
    exact(
        ("set", 1.0, old),
        json!([{"b": 1}, {"b": 2}]),
        json!([{"a": "x", "n": 2}, {"a": "x", "n": 2}]),
    );
    let typed = |name: &str, kind: &str, value: &str| json!({"name": name, "type": kind, "value": value});
    let types = json!({"assignments": {"assignments": [
        typed("text", "string", "={{ $json.n }}"), typed("of", "string", "={{ $json.o }}"), typed("none", "string", "={{ $json.x }}"),
        typed("number", "number", "={{ $json.t }}"), typed("yes", "boolean", "={{ $json.n - 1 }}"), typed("list", "array", "={{ $json.l }}"),
    ]}});
    exact(
        ("set", 3.4, types),
        json!({"n": 2, "o": {"a": [1]}, "t": "1.5", "l": "[1, 2]"}),
        json!({"text": "2", "of": "{\"a\":[1]}", "none": null, "number": 1.5, "yes": true, "list": [1, 2]}),
    );
    let old = json!({"keepOnlySet": true, "values": {"string": [{"name": "a", "value": "={{ $json.b }}"}]}});
    exact(("set", 2.0, old), json!({"b": 1}), json!({"a": 1}));
    let raw = json!({"mode": "raw", "jsonOutput": "={ \"twice\": {{ $json.n * 2 }} }"});
    exact(
        ("set", 3.4, raw),
        json!([{"n": 2}, {"n": 3}]),
        json!([{"twice": 4}, {"twice": 6}]),
    );
}

#[test]
fn filters_compare() {
    let people = json!([{"name": "Ann", "age": 31, "tags": ["a"]}, {"name": "Bob", "age": 17, "tags": []}]);
    let kept = |conditions: Value, expected: &[&str]| {
        let names: Vec<Value> = expected.iter().map(|name| json!({"name": name})).collect();
        let pick = json!({"assignments": {"assignments": [{"name": "name", "type": "string", "value": "={{ $json.name }}"}]}});
        let workflow = row(&[
            ("Node", "filter", 2.2, conditions.clone()),
            ("Name", "set", 3.4, pick),
        ]);
        let (output, report) = imported(&workflow, &people);
        let expected = if names.is_empty() {
            Value::Null
        } else {
            json!(names)
        };
        assert_eq!(output, expected, "{conditions:#}");
        assert!(
            !report["items"]
                .as_array()
                .unwrap()
                .iter()
                .any(|item| item["nodeId"] == "node"),
            "{report:#}"
        );
    };
    let one = |condition| conditions(&[condition], "and");
    kept(
        one(condition("={{ $json.name }}", "string", "equals", json!("Ann"))),
        &["Ann"],
    );
    kept(
        one(condition(
            "={{ $json.name }}",
            "string",
            "notEquals",
            json!("Ann"),
        )),
        &["Bob"],
    );
    kept(
        one(condition("={{ $json.name }}", "string", "contains", json!("o"))),
        &["Bob"],
    );
    kept(
        one(condition(
            "={{ $json.name }}",
            "string",
            "notContains",
            json!("o"),
        )),
        &["Ann"],
    );
    kept(
        one(condition("={{ $json.name }}", "string", "startsWith", json!("A"))),
        &["Ann"],
    );
    kept(
        one(condition("={{ $json.name }}", "string", "endsWith", json!("b"))),
        &["Bob"],
    );
    kept(
        one(condition("={{ $json.name }}", "string", "regex", json!("^[AB]"))),
        &["Ann", "Bob"],
    );
    kept(
        one(condition("={{ $json.missing }}", "string", "exists", json!(""))),
        &[],
    );
    kept(
        one(condition(
            "={{ $json.missing }}",
            "string",
            "notExists",
            json!(""),
        )),
        &["Ann", "Bob"],
    );
    kept(
        one(condition("={{ $json.missing }}", "string", "empty", json!(""))),
        &["Ann", "Bob"],
    );
    kept(
        one(condition("={{ $json.age }}", "number", "gt", json!(17))),
        &["Ann"],
    );
    kept(
        one(condition("={{ $json.age }}", "number", "gte", json!(17))),
        &["Ann", "Bob"],
    );
    kept(
        one(condition("={{ $json.age }}", "number", "lt", json!(18))),
        &["Bob"],
    );
    kept(
        one(condition("={{ $json.age }}", "number", "equals", json!(31))),
        &["Ann"],
    );
    kept(
        one(condition("={{ $json.age > 20 }}", "boolean", "true", json!(""))),
        &["Ann"],
    );
    kept(
        one(condition("={{ $json.age > 20 }}", "boolean", "false", json!(""))),
        &["Bob"],
    );
    kept(
        one(condition("={{ $json.tags }}", "array", "notEmpty", json!(""))),
        &["Ann"],
    );
    kept(
        one(condition("={{ $json.tags }}", "array", "contains", json!("a"))),
        &["Ann"],
    );
    kept(
        one(condition("={{ $json.tags }}", "array", "lengthEquals", json!(0))),
        &["Bob"],
    );
    let both = [
        condition("={{ $json.age }}", "number", "gt", json!(20)),
        condition("={{ $json.name }}", "string", "equals", json!("Bob")),
    ];
    kept(conditions(&both, "and"), &[]);
    kept(conditions(&both, "or"), &["Ann", "Bob"]);
}

#[test]
fn branches_are_taken() {
    let branches = |kind: &str,
                    version: f64,
                    parameters: Value,
                    outputs: usize,
                    event: Value,
                    expected: Value| {
        let mut workflow = row(&[("Node", kind, version, parameters)]);
        let mut main = Vec::new();
        for output in 0..outputs {
            let name = format!("Out {output}");
            let fields = json!({"assignments": {"assignments": [{"name": "out", "type": "number", "value": output}]}, "includeOtherFields": true});
            workflow["nodes"].as_array_mut().unwrap().push(
                json!({"name": name, "type": "n8n-nodes-base.set", "typeVersion": 3.4, "position": [400, 0], "parameters": fields}),
            );
            main.push(json!([{"node": name, "type": "main", "index": 0}]));
        }
        workflow["connections"]["Node"] = json!({"main": main});
        let (output, report) = imported(&workflow, &event);
        assert_eq!(output, items(expected), "{kind}");
        assert!(
            !report["items"]
                .as_array()
                .unwrap()
                .iter()
                .any(|item| item["nodeId"] == "node"),
            "{report:#}"
        );
    };
    let old =
        json!({"conditions": {"number": [{"value1": "={{ $json.n }}", "operation": "larger", "value2": 5}]}});
    branches(
        "if",
        1.0,
        old.clone(),
        2,
        json!({"n": 9}),
        json!({"n": 9, "out": 0}),
    );
    branches("if", 1.0, old, 2, json!({"n": 1}), json!({"n": 1, "out": 1}));
    let rule = |value: &str| json!({"conditions": conditions(&[condition("={{ $json.kind }}", "string", "equals", json!(value))], "and")["conditions"]});
    let rules = json!({"rules": {"values": [rule("a"), rule("b")]}, "options": {"fallbackOutput": "extra"}});
    branches(
        "switch",
        3.2,
        rules.clone(),
        3,
        json!({"kind": "b"}),
        json!({"kind": "b", "out": 1}),
    );
    branches(
        "switch",
        3.2,
        rules,
        3,
        json!({"kind": "x"}),
        json!({"kind": "x", "out": 2}),
    );
    let numbers = json!({"dataType": "string", "value1": "={{ $json.kind }}", "fallbackOutput": 3,
        "rules": {"rules": [{"value2": "a"}, {"output": 1, "value2": "b"}]}});
    branches(
        "switch",
        1.0,
        numbers.clone(),
        4,
        json!({"kind": "b"}),
        json!({"kind": "b", "out": 1}),
    );
    branches(
        "switch",
        1.0,
        numbers,
        4,
        json!({"kind": "c"}),
        json!({"kind": "c", "out": 3}),
    );
    let computed = json!({"mode": "expression", "numberOutputs": 3, "output": "={{ $json.n }}"});
    branches(
        "switch",
        3.2,
        computed,
        3,
        json!({"n": 2}),
        json!({"n": 2, "out": 2}),
    );
}

#[test]
fn lists_are_worked_on() {
    let letters = json!([{"l": "b", "n": 1}, {"l": "a", "n": 2}, {"l": "b", "n": 1}]);
    exact(
        ("limit", 1.0, json!({"maxItems": 2})),
        letters.clone(),
        json!([{"l": "b", "n": 1}, {"l": "a", "n": 2}]),
    );
    exact(
        ("limit", 1.0, json!({"keep": "lastItems"})),
        letters.clone(),
        json!([{"l": "b", "n": 1}]),
    );
    exact(
        ("removeDuplicates", 1.1, json!({})),
        letters.clone(),
        json!([{"l": "b", "n": 1}, {"l": "a", "n": 2}]),
    );
    let by_field = json!({"compare": "selectedFields", "fieldsToCompare": "l"});
    exact(
        ("removeDuplicates", 2.0, by_field),
        letters.clone(),
        json!([{"l": "b", "n": 1}, {"l": "a", "n": 2}]),
    );
    let all = json!({"aggregate": "aggregateAllItemData"});
    exact(
        ("aggregate", 1.0, all),
        letters.clone(),
        json!({"data": letters.clone()}),
    );
    let some = json!({"fieldsToAggregate": {"fieldToAggregate": [
        {"fieldToAggregate": "l"}, {"fieldToAggregate": "n", "renameField": true, "outputFieldName": "numbers"}]}});
    exact(
        ("aggregate", 1.0, some),
        letters.clone(),
        json!({"l": ["b", "a", "b"], "numbers": [1, 2, 1]}),
    );
    exact(("noOp", 1.0, json!({})), letters.clone(), letters);
    exact(
        ("splitOut", 1.0, json!({"fieldToSplitOut": "data"})),
        json!({"data": [{"a": 1}, {"a": 2}]}),
        json!([{"a": 1}, {"a": 2}]),
    );
    let split = |kept: &str| {
        let parameters = json!({"fieldToSplitOut": "l", "include": kept});
        ("splitOut", 1.0, parameters)
    };
    exact(
        split("noOtherFields"),
        json!([{"l": [1, [2]]}, {}, {"l": {"x": {"v": 3}, "y": null}}, {"l": "s"}]),
        json!([{"l": 1}, {"0": 2}, {"v": 3}, {"l": null}, {"l": "s"}]),
    );
    exact(
        split("allOtherFields"),
        json!([{"l": [1, 2], "k": "a"}]),
        json!([{"l": 1, "k": "a"}, {"l": 2, "k": "a"}]),
    );
}

/// A loop's body in batches of two, which gives two items for each: of which each is, is known behind the loop.
#[test]
fn items_are_paired_behind_a_loop_over_batches() {
    let mut workflow = row(&[
        ("Loop", "splitInBatches", 3.0, json!({"batchSize": 2})),
        (
            "After",
            "set",
            3.4,
            json!({"assignments": {"assignments": [
                {"name": "of", "type": "string", "value": "={{ $('Start').item.json.id }} {{ $json.v }}"}]}}),
        ),
    ]);
    workflow["nodes"].as_array_mut().unwrap().push(
        json!({"name": "Values", "type": "n8n-nodes-base.splitOut", "typeVersion": 1, "position": [0, 0],
            "parameters": {"fieldToSplitOut": "v"}}),
    );
    let edge = |name: &str| json!([{"node": name, "type": "main", "index": 0}]);
    workflow["connections"]["Loop"] = json!({"main": [edge("After"), edge("Values")]});
    workflow["connections"]["Values"] = json!({"main": [edge("Loop")]});
    let event = json!([{"id": "a", "v": [1, 2]}, {"id": "b", "v": [3]}, {"id": "c", "v": [4]}]);
    let (output, report) = imported(&workflow, &event);
    let expected = json!([{"of": "a 1"}, {"of": "a 2"}, {"of": "b 3"}, {"of": "c 4"}]);
    assert_eq!(output, expected, "{report:#}");
}

/// Nothing arrives by one input of a Merge: nothing is combined by position, and a chosen branch is what it is.
#[test]
fn a_merge_knows_its_inputs_where_one_is_empty() {
    let merged = |parameters: Value| {
        let none = conditions(&[condition("={{ $json.n }}", "number", "gt", json!(5))], "and");
        let mut workflow = row(&[("None", "filter", 2.2, none), ("Merge", "merge", 3.0, parameters)]);
        workflow["connections"]["Start"] = json!({"main": [[
            {"node": "None", "type": "main", "index": 0}, {"node": "Merge", "type": "main", "index": 1}]]});
        imported(&workflow, &json!([{"n": 1}, {"n": 2}])).0
    };
    assert_eq!(merged(json!({})), json!([{"n": 1}, {"n": 2}]));
    assert_eq!(
        merged(json!({"mode": "combine", "combineBy": "combineByPosition"})),
        Value::Null
    );
    assert_eq!(
        merged(json!({"mode": "combine", "combineBy": "combineAll"})),
        Value::Null
    );
    assert_eq!(merged(json!({"mode": "chooseBranch"})), Value::Null);
    let second = json!({"mode": "chooseBranch", "useDataOfInput": "2"});
    assert_eq!(merged(second), json!([{"n": 1}, {"n": 2}]));
}

#[test]
fn fields_are_renamed_and_hashed() {
    let keys = json!({"keys": {"key": [{"currentKey": "a", "newKey": "b"}]}});
    exact(
        ("renameKeys", 1.0, keys),
        json!([{"a": 1, "c": 2}]),
        json!([{"b": 1, "c": 2}]),
    );
    let hash = json!({"value": "={{ $json.text }}", "dataPropertyName": "hash"});
    let expected = json!({"text": "abc", "hash": "900150983cd24fb0d6963f7d28e17f72"});
    exact(("crypto", 1.0, hash), json!({"text": "abc"}), expected);
    let page = json!({"html": "<p>{{ $json.text }}</p>"});
    exact(
        ("html", 1.2, page),
        json!({"text": "abc"}),
        json!({"html": "<p>abc</p>"}),
    );
    exact(
        ("wait", 1.1, json!({"amount": 0})),
        json!({"a": 1}),
        json!({"a": 1}),
    );
}

#[test]
fn execute_once_and_always_output_data_are_exact() {
    let big = conditions(&[condition("={{ $json.n }}", "number", "gt", json!(5))], "and");
    let text = |name: &str, value: &str| json!({"assignments": {"assignments": [{"name": name, "type": "string", "value": value}]}});
    let mut workflow = row(&[
        ("Big", "filter", 2.2, big),
        ("First", "set", 3.4, text("first", "=n is {{ $json.n }}")),
        (
            "All",
            "set",
            3.4,
            text("all", "={{ $json.first }} of {{ $('Start').item.json.n }}"),
        ),
    ]);
    workflow["nodes"][1]["alwaysOutputData"] = true.into();
    workflow["nodes"][2]["executeOnce"] = true.into();
    let some = json!([{"n": 1}, {"n": 7}, {"n": 8}]);
    let (output, report) = imported(&workflow, &some);
    assert_eq!(output, json!([{"all": "n is 7 of 7"}]), "{report:#}");
    let items = report["items"].as_array().unwrap();
    let is_of = |item: &&Value| item["nodeId"] == "big" || item["nodeId"] == "first";
    assert!(!items.iter().any(|item| is_of(&item)), "{report:#}");
    workflow["nodes"][3]["parameters"] = text("all", "={{ $json.first }}");
    let (output, _) = imported(&workflow, &json!([{"n": 1}, {"n": 2}]));
    assert_eq!(output, json!([{"all": "n is "}]));
    // n8n executes nothing where nothing arrives.
    let (output, _) = imported(&workflow, &json!([]));
    assert_eq!(output, Value::Null);
}

#[test]
fn what_differs_works_nearly_as_in_n8n() {
    let approximate = |node: (&str, f64, Value), event: Value, expected: Value| {
        let (kind, version, parameters) = node;
        let (output, report) = imported(&row(&[("Node", kind, version, parameters)]), &event);
        assert_eq!(output, items(expected), "{kind}: {report:#}");
        assert_eq!(report["summary"]["stub"], 0, "{report:#}");
    };
    let code = "for (const item of $input.all()) { item.json.sum = item.json.n + $('Start').first().json.n; }\nreturn $input.all();";
    approximate(
        ("code", 2.0, json!({"jsCode": code})),
        json!([{"n": 1}, {"n": 2}]),
        json!([{"n": 1, "sum": 2}, {"n": 2, "sum": 3}]),
    );
    let each = json!({"mode": "runOnceForEachItem", "jsCode": "$input.item.json.twice = $json.n * 2;\nreturn $input.item;"});
    approximate(
        ("code", 2.0, each),
        json!([{"n": 1}, {"n": 2}]),
        json!([{"n": 1, "twice": 2}, {"n": 2, "twice": 4}]),
    );
    let old = json!({"functionCode": "return items.filter(item => item.json.n > 1);"});
    approximate(
        ("function", 1.0, old),
        json!([{"n": 1}, {"n": 2}]),
        json!([{"n": 2}]),
    );
    let item = json!({"functionCode": "item.twice = item.n * 2;\nreturn item;"});
    approximate(
        ("functionItem", 1.0, item),
        json!([{"n": 1}, {"n": 2}]),
        json!([{"n": 1, "twice": 2}, {"n": 2, "twice": 4}]),
    );
    let times = "const { DateTime } = require('luxon');\nreturn items.map(({ json }) => ({ json: { \
        day: DateTime.fromISO(json.at).plus({ days: 1 }).toISODate(), is: $now >= $today, \
        sum: new Intl.NumberFormat('de-DE').format(json.n) } }));";
    approximate(
        ("code", 2.0, json!({"jsCode": times})),
        json!([{"at": "2026-03-30T10:00:00Z", "n": 1234.5}]),
        json!([{"day": "2026-03-31", "is": true, "sum": "1.234,5"}]),
    );
    let sorted = json!({"sortFieldsUi": {"sortField": [{"fieldName": "n", "order": "descending"}]}});
    approximate(
        ("sort", 1.0, sorted),
        json!([{"n": 1}, {"n": 3}, {"n": 2}]),
        json!([{"n": 3}, {"n": 2}, {"n": 1}]),
    );
    let summary = json!({"fieldsToSplitBy": "k", "fieldsToSummarize": {"values": [{"field": "n", "aggregation": "sum"}]}});
    let numbers = json!([{"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "a", "n": 3}]);
    approximate(
        ("summarize", 1.0, summary),
        numbers,
        json!([{"k": "a", "sum_n": 4}, {"k": "b", "sum_n": 2}]),
    );
    let texts = json!({"fieldsToSummarize": {"values": [{"field": "t", "aggregation": "concatenate", "separateBy": " "}]}});
    approximate(
        ("summarize", 1.0, texts),
        json!([{"t": "a"}, {"t": "b"}]),
        json!({"concatenated_t": "a b"}),
    );
    let page = json!({"operation": "extractHtmlContent", "extractionValues": {"values": [{"key": "title", "cssSelector": "h1"}]}});
    approximate(
        ("html", 1.2, page),
        json!({"data": "<h1>Hello</h1>"}),
        json!({"title": "Hello"}),
    );
    let text = json!({"mode": "markdownToHtml", "markdown": "={{ $json.text }}", "destinationKey": "html"});
    approximate(
        ("markdown", 1.0, text),
        json!({"text": "# Hello"}),
        json!({"html": "<h1>Hello</h1>\n"}),
    );
    let format = json!({"operation": "formatDate", "date": "={{ $json.at }}", "format": "custom", "customFormat": "yyyy-MM-dd"});
    approximate(
        ("dateTime", 2.0, format),
        json!({"at": "2026-03-30T10:00:00Z"}),
        json!({"formattedDate": "2026-03-30"}),
    );
}

#[test]
fn loops_over_items_are_for_each() {
    let mut workflow = row(&[
        ("Loop", "splitInBatches", 3.0, json!({})),
        ("After", "noOp", 1.0, json!({})),
    ]);
    let fields = json!({"assignments": {"assignments": [{"name": "twice", "type": "number", "value": "={{ $json.n * 2 }}"}]}});
    workflow["nodes"].as_array_mut().unwrap().push(
        json!({"name": "Twice", "type": "n8n-nodes-base.set", "typeVersion": 3.4, "position": [0, 0], "parameters": fields}),
    );
    let edge = |name: &str| json!([{"node": name, "type": "main", "index": 0}]);
    workflow["connections"]["Loop"] = json!({"main": [edge("After"), edge("Twice")]});
    workflow["connections"]["Twice"] = json!({"main": [edge("Loop")]});
    let (output, _) = imported(&workflow, &json!([{"n": 1}, {"n": 2}]));
    assert_eq!(output, json!([{"twice": 2}, {"twice": 4}]));
}

#[test]
fn lists_that_meet_are_merged() {
    let mut workflow = row(&[
        ("A", "noOp", 1.0, json!({})),
        (
            "Merge",
            "merge",
            3.0,
            json!({"mode": "combine", "combineBy": "combineByPosition"}),
        ),
    ]);
    let fields = json!({"assignments": {"assignments": [{"name": "m", "type": "number", "value": "={{ $json.n + 1 }}"}]}});
    workflow["nodes"].as_array_mut().unwrap().push(
        json!({"name": "B", "type": "n8n-nodes-base.set", "typeVersion": 3.4, "position": [0, 0], "parameters": fields}),
    );
    workflow["connections"]["Start"] = json!({"main": [[{"node": "A", "type": "main", "index": 0}, {"node": "B", "type": "main", "index": 0}]]});
    workflow["connections"]["B"] = json!({"main": [[{"node": "Merge", "type": "main", "index": 1}]]});
    let (output, _) = imported(&workflow, &json!([{"n": 1}, {"n": 2}]));
    assert_eq!(output, json!([{"n": 1, "m": 2}, {"n": 2, "m": 3}]));
}

#[test]
fn what_has_no_equivalent_fails_with_a_message_and_can_be_pinned() {
    let place = Place::new();
    place.file(
        "workflow.json",
        row(&[("Post", "someService", 1.0, json!({"text": "={{ $json.x }}"}))]).to_string(),
    );
    place
        .run(&["import", "n8n", "workflow.json", "-o", "out"])
        .assert_code(0);
    let pattern: Value =
        serde_json::from_str(&fs::read_to_string(place.path("out/row.json")).unwrap()).unwrap();
    let node = pattern["graphData"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|node| node["id"] == "post")
        .unwrap();
    assert_eq!(node["data"]["n8n"]["parameters"]["text"], "={{ $json.x }}");
    let ended = place.run(&["run", "out/row.json", "--json"]);
    let failed = ended.assert_code(1).json();
    assert_eq!(failed["error"]["code"], "NOT_IMPORTED", "{failed:#}");
    assert!(
        failed["error"]["message"]
            .as_str()
            .unwrap()
            .contains("someService"),
        "{failed:#}"
    );
    place.file("pins.json", r#"{"post": {"done": true}}"#);
    let ended = place.run(&["run", "out/row.json", "--pin", "pins.json"]);
    assert_eq!(ended.assert_code(0).json(), json!([{"done": true}]));
}

#[test]
fn exit_codes_tell_what_came_of_it() {
    let place = Place::new();
    place.file("none.json", "{}");
    place.run(&["import", "n8n", "none.json"]).assert_code(3);
    let manual = json!({"name": "Plain", "connections": {}, "nodes": [
        {"name": "Start", "type": "n8n-nodes-base.manualTrigger", "typeVersion": 1, "position": [0, 0], "parameters": {}}]});
    place.file("plain.json", manual.to_string());
    place
        .run(&["import", "n8n", "plain.json", "--strict"])
        .assert_code(0);
    place.file(
        "stub.json",
        row(&[("Post", "someService", 1.0, json!({}))]).to_string(),
    );
    place.run(&["import", "n8n", "stub.json"]).assert_code(0);
    let told = place.run(&["import", "n8n", "stub.json", "--strict"]);
    assert!(
        told.assert_code(1)
            .stdout
            .contains("not there    post: heddle has no node like n8n's"),
        "{told:#?}"
    );
    place.run(&["import", "n8n", "missing.json"]).assert_code(4);
}

#[test]
fn answers_and_errors_are_those_of_the_workflow() {
    let place = Place::new();
    let with = |kind: &str, parameters: Value| {
        let mut workflow = row(&[("Node", kind, 1.1, parameters)]);
        workflow["nodes"][0] = json!({"name": "Start", "type": "n8n-nodes-base.webhook", "typeVersion": 2, "position": [0, 0],
            "parameters": {"path": "a", "responseMode": "responseNode"}});
        place.file("workflow.json", workflow.to_string());
        place.file(
            "event.json",
            r#"{"method": "GET", "headers": {}, "query": {}, "body": {"a": 1}}"#,
        );
        let told = place.run(&["import", "n8n", "workflow.json", "-o", kind, "--json"]);
        let report = told.assert_code(0).json()["workflows"][0]["report"].clone();
        assert!(
            !report["items"]
                .as_array()
                .unwrap()
                .iter()
                .any(|item| item["nodeId"] == "node"),
            "{report:#}"
        );
        place
            .run(&[
                "run",
                &format!("{kind}/row.json"),
                "--event",
                "event.json",
                "--json",
            ])
            .json()
    };
    let literal =
        json!({"respondWith": "json", "responseBody": "{\"ok\": true}", "options": {"responseCode": 201}});
    let done = with("respondToWebhook", literal);
    assert_eq!(
        (&done["response"]["status"], &done["response"]["body"]),
        (&json!(201), &json!({"ok": true})),
        "{done:#}"
    );
    let done = with("stopAndError", json!({"errorMessage": "=No {{ $json.method }}"}));
    assert_eq!(done["error"]["message"], "No GET", "{done:#}");
}

#[test]
fn lists_are_appended() {
    let mut workflow = row(&[("A", "noOp", 1.0, json!({})), ("Merge", "merge", 3.0, json!({}))]);
    workflow["nodes"].as_array_mut().unwrap().push(
        json!({"name": "B", "type": "n8n-nodes-base.noOp", "typeVersion": 1, "position": [0, 0], "parameters": {}}),
    );
    workflow["connections"]["Start"] = json!({"main": [[{"node": "B", "type": "main", "index": 0}, {"node": "A", "type": "main", "index": 0}]]});
    workflow["connections"]["B"] = json!({"main": [[{"node": "Merge", "type": "main", "index": 1}]]});
    let (output, report) = imported(&workflow, &json!([{"n": 1}, {"n": 2}]));
    assert_eq!(output, json!([{"n": 1}, {"n": 2}, {"n": 1}, {"n": 2}]));
    assert!(
        !report["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|item| item["nodeId"] == "merge"),
        "{report:#}"
    );
}

#[test]
fn what_is_split_out_knows_where_it_came_from() {
    let split = ("Lines", "splitOut", 1.0, json!({"fieldToSplitOut": "lines"}));
    let value = json!({"assignments": {"assignments": [
        {"name": "order", "value": "={{ $('Start').item.json.id }}", "type": "string"},
        {"name": "line", "value": "={{ $json.lines }}", "type": "number"},
    ]}});
    let orders = json!([{"id": "a", "lines": [1, 2]}, {"id": "b", "lines": []}, {"id": "c", "lines": [3]}]);
    let (output, report) = imported(&row(&[split, ("Both", "set", 3.4, value)]), &orders);
    let expected = json!([{"order": "a", "line": 1}, {"order": "a", "line": 2}, {"order": "c", "line": 3}]);
    assert_eq!(output, expected, "{report:#}");
}

/// What people send is the item of the nodes behind, under n8n's names.
#[test]
fn what_a_form_and_a_chat_bring_is_one_item() {
    let begun = |kind: &str, parameters: Value, read: &str, body: Value| {
        let value =
            json!({"assignments": {"assignments": [{"name": "read", "type": "string", "value": read}]}});
        let mut workflow = row(&[("Read", "set", 3.4, value)]);
        workflow["nodes"][0] = json!({"name": "Start", "type": kind, "typeVersion": 2, "position": [0, 0], "parameters": parameters});
        imported(&workflow, &json!({"body": body})).0
    };
    let form = json!({"formTitle": "Order", "responseMode": "lastNode",
        "formFields": {"values": [{"fieldLabel": "Your name"}, {"fieldLabel": "Count", "fieldType": "number"}]}});
    let sent = json!({"Your_name": "Ann", "Count": 2});
    let read = "={{ $json['Your name'] }} {{ $json.Count }} {{ $('Start').item.json.formMode }}";
    assert_eq!(
        begun("n8n-nodes-base.formTrigger", form, read, sent),
        json!({"read": "Ann 2 production"})
    );
    let sent = json!({"message": "Hi", "sessionId": "s"});
    let read = "={{ $json.chatInput }} {{ $json.sessionId }}";
    assert_eq!(
        begun(
            "@n8n/n8n-nodes-langchain.chatTrigger",
            json!({"public": true}),
            read,
            sent
        ),
        json!({"read": "Hi s"})
    );
}
