//! Whatever comes in, the importer ends, and what it gives compiles or the report says why not.

use heddle_compiler::{Options, Severity, check};
use heddle_import::{Calls, Imported, find, import};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const KINDS: &[&str] = &[
    "manualTrigger",
    "webhook",
    "scheduleTrigger",
    "cron",
    "executeWorkflowTrigger",
    "formTrigger",
    "form",
    "chatTrigger",
    "editImage",
    "if",
    "filter",
    "switch",
    "merge",
    "splitInBatches",
    "wait",
    "noOp",
    "stopAndError",
    "executeWorkflow",
    "respondToWebhook",
    "set",
    "renameKeys",
    "dateTime",
    "crypto",
    "sort",
    "limit",
    "removeDuplicates",
    "splitOut",
    "aggregate",
    "summarize",
    "itemLists",
    "compareDatasets",
    "code",
    "function",
    "functionItem",
    "httpRequest",
    "html",
    "markdown",
    "xml",
    "emailSend",
    "postgres",
    "graphql",
    "openAi",
    "stickyNote",
    "slack",
    "moveBinaryData",
    "readPDF",
];

/// Names of parameters that the translations read.
const NAMES: &[&str] = &[
    "mode",
    "operation",
    "options",
    "values",
    "string",
    "number",
    "conditions",
    "rules",
    "value1",
    "value2",
    "operator",
    "type",
    "leftValue",
    "rightValue",
    "combinator",
    "url",
    "method",
    "jsonBody",
    "sendBody",
    "specifyBody",
    "assignments",
    "fields",
    "name",
    "value",
    "jsCode",
    "fieldToSplitOut",
    "aggregate",
    "fieldsToAggregate",
    "fieldToAggregate",
    "interval",
    "rule",
    "field",
    "amount",
    "unit",
    "batchSize",
    "html",
    "query",
    "workflowId",
    "path",
    "httpMethod",
    "respondWith",
    "responseBody",
    "sortFieldsUi",
    "sortField",
    "fieldName",
    "keys",
];

const TEXTS: &[&str] = &[
    "",
    "=",
    "={{ $json.a }}",
    "={{ $json.a",
    "={{ }}",
    "=a {{ $('N0').item.json.b }} c",
    "={{ $node[\"N1\"].json.x }}",
    "{{",
    "}}",
    "combine",
    "combineByPosition",
    "raw",
    "json",
    "keypair",
    "equals",
    "contains",
    "regex",
    "string",
    "number",
    "={{ $fromAI('x') }}",
    "return items;",
    "return {",
    "executeQuery",
    "select '{{ $json.a }}'",
    "=select {{ $json.a }}",
    "cronExpression",
    "* * * * *",
    "lastNode",
    "expression",
    "={{ $input.all().map(x => x.json) }}",
    "={{ DateTime.now() }}",
    "a.b",
    "['a b']",
    "\u{0}",
    "=\u{1f980}{{ '\u{1f980}' }}",
];

fn text() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(TEXTS).prop_map(Value::from),
        ".{0,20}".prop_map(Value::from)
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text()
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(NAMES), inner), 0..4).prop_map(object),
        ]
    })
}

fn object(fields: Vec<(&str, Value)>) -> Value {
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect::<Map<_, _>>()
        .into()
}

prop_compose! {
    fn node()(
        kind in prop::sample::select(KINDS),
        version in prop::sample::select(vec![1.0, 2.0, 2.2, 3.0, 3.2, 3.4, 4.2]),
        parameters in prop::collection::vec((prop::sample::select(NAMES), value()), 0..6).prop_map(object),
        on_error in prop::sample::select(vec!["stopWorkflow", "continueRegularOutput", "continueErrorOutput"]),
        flags in any::<[bool; 4]>(),
    ) -> Value {
        json!({"type": format!("n8n-nodes-base.{kind}"), "typeVersion": version, "parameters": parameters, "onError": on_error,
            "disabled": flags[0], "retryOnFail": flags[1], "executeOnce": flags[2], "alwaysOutputData": flags[3]})
    }
}

prop_compose! {
    fn workflow()(
        nodes in prop::collection::vec(node(), 0..12),
        edges in prop::collection::vec((0..12usize, 0..3usize, 0..12usize, 0..2usize), 0..20),
    ) -> Value {
        let mut nodes = nodes;
        for (number, node) in nodes.iter_mut().enumerate() {
            node["name"] = format!("N{number}").into();
        }
        let mut connections = json!({});
        for (source, output, target, input) in edges {
            let outputs = &mut connections[format!("N{source}")]["main"];
            let mut list = outputs.as_array().cloned().unwrap_or_default();
            list.resize(list.len().max(output + 1), json!([]));
            list[output].as_array_mut().unwrap().push(json!({"node": format!("N{target}"), "type": "main", "index": input}));
            *outputs = list.into();
        }
        json!({"name": "W", "nodes": nodes, "connections": connections})
    }
}

/// The report says whether it compiles, and counts every node.
fn holds(given: &Value, imported: &Imported) {
    let found = check(
        &imported.graph_data,
        &imported.node_definitions,
        &Options::default(),
    );
    let errors: Vec<_> = found
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .collect();
    assert_eq!(errors.is_empty(), imported.report.valid, "{errors:#?} of {given}");
    assert!(
        imported.report.valid || !imported.report.errors.is_empty(),
        "the report says why"
    );
    let nodes = given["nodes"].as_array().unwrap();
    let notes = nodes
        .iter()
        .filter(|node| node["type"] == "n8n-nodes-base.stickyNote")
        .count();
    let summary = imported.report.summary;
    assert_eq!(summary.nodes, nodes.len() - notes, "no node is left out");
    assert_eq!(summary.nodes, summary.exact + summary.approximate + summary.stub);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn workflows_of_any_shape_are_imported(given in workflow()) {
        for workflow in find(&given, "W").unwrap() {
            holds(&given, &import(&workflow, &Calls::new()));
        }
    }

    #[test]
    fn any_json_is_read(given in value(), nodes in value(), connections in value()) {
        for value in [&given, &json!({"nodes": nodes, "connections": connections}), &json!({"nodes": [nodes], "connections": {"a": connections}})] {
            for workflow in find(value, "W").unwrap() {
                let imported = import(&workflow, &Calls::new());
                assert!(imported.report.valid || !imported.report.errors.is_empty());
            }
        }
    }
}
