//! What is drawn of a workflow: names, notes, settings, connections, circles, and what the report says of them.

use heddle_import::{Calls, Imported, Level, find, import};
use serde_json::{Value, json};

pub fn node(name: &str, kind: &str, parameters: Value) -> Value {
    json!({"name": name, "type": format!("n8n-nodes-base.{kind}"), "typeVersion": 3.4, "position": [10, 20], "parameters": parameters})
}

pub fn workflow(nodes: &[Value], edges: &[(&str, &str)]) -> Value {
    let mut connections = json!({});
    for (source, target) in edges {
        let outputs = &mut connections[*source]["main"];
        if outputs.is_null() {
            *outputs = json!([[]]);
        }
        outputs[0]
            .as_array_mut()
            .unwrap()
            .push(json!({"node": target, "type": "main", "index": 0}));
    }
    json!({"name": "W", "nodes": nodes, "connections": connections})
}

pub fn imported(given: &Value) -> Imported {
    let imported = import(&find(given, "W").unwrap()[0], &Calls::new());
    assert!(imported.report.valid, "{:#?}", imported.report);
    imported
}

/// A trigger and a node `it` of this kind, with credentials.
pub fn with_credentials(kind: &str, parameters: Value) -> Value {
    let nodes = [
        node("Start", "manualTrigger", json!({})),
        node("it", kind, parameters),
    ];
    let mut given = workflow(&nodes, &[("Start", "it")]);
    given["nodes"][1]["credentials"] = json!({"someApi": {"id": "1", "name": "mine"}});
    given
}

pub fn node_of<'i>(imported: &'i Imported, id: &str) -> &'i Value {
    let nodes = imported.graph_data["nodes"].as_array().unwrap();
    nodes
        .iter()
        .find(|node| node["id"] == id)
        .unwrap_or_else(|| panic!("{:#}", imported.graph_data))
}

pub fn says(imported: &Imported, code: &str) -> bool {
    imported.report.items.iter().any(|item| item.code == code)
}

#[test]
fn what_people_wrote_is_kept() {
    let mut given = workflow(
        &[
            node("When it starts", "manualTrigger", json!({})),
            node("Do nothing", "noOp", json!({})),
            node(
                "Note",
                "stickyNote",
                json!({"content": "Look here", "width": 300, "height": 200}),
            ),
        ],
        &[("When it starts", "Do nothing")],
    );
    given["nodes"][1]["notes"] = "why".into();
    given["nodes"][1]["disabled"] = true.into();
    given["nodes"][1]["retryOnFail"] = true.into();
    given["settings"] = json!({"executionTimeout": 30});
    let imported = imported(&given);
    let done = node_of(&imported, "do-nothing");
    assert_eq!(done["data"]["label"], "Do nothing");
    assert_eq!(done["data"]["notes"], "why");
    assert_eq!(done["data"]["disabled"], true);
    assert_eq!(
        done["data"]["retry"],
        json!({"maxAttempts": 3, "backoffMs": 1000, "factor": 1})
    );
    assert_eq!(done["position"], json!({"x": 10.0, "y": 20.0}));
    assert_eq!(imported.graph_data["notes"][0]["text"], "Look here");
    assert_eq!(imported.graph_data["settings"]["timeoutMs"], 30_000);
    assert_eq!(
        (imported.report.summary.nodes, imported.report.summary.exact),
        (2, 2)
    );
    assert!(imported.report.is_exact(), "{:#?}", imported.report);
}

#[test]
fn an_expression_that_cannot_be_compiled_is_undefined_and_kept_in_the_notes() {
    let fields = json!({"assignments": {"assignments": [{"name": "a", "type": "string", "value": "=x {{ $json.s.randomItem() }} y {{ $json.b }}"}]}});
    let given = workflow(
        &[
            node("Start", "manualTrigger", json!({})),
            node("Set", "set", fields),
        ],
        &[("Start", "Set")],
    );
    let imported = imported(&given);
    let set = node_of(&imported, "set");
    assert_eq!(
        set["data"]["parameters"]["fields"]["a"],
        "x {{ undefined }} y {{ $json.b }}"
    );
    assert!(
        set["data"]["notes"]
            .as_str()
            .unwrap()
            .contains("$json.s.randomItem()"),
        "{set:#}"
    );
    let item = imported
        .report
        .items
        .iter()
        .find(|item| item.code == "expression")
        .unwrap();
    assert_eq!(
        (item.level, item.original.as_deref()),
        (Level::Approximate, Some("$json.s.randomItem()"))
    );
    assert_eq!(imported.report.summary.repaired, 1);
}

#[test]
fn an_expression_that_fails_in_n8n_too_is_undefined_and_told_apart() {
    let field = |name: &str, value: &str| json!({"name": name, "type": "string", "value": value});
    let fields = [
        field("gone", "={{ $('Gone').item.json.a }} of {{ $json.a }}"),
        field("words", "={{ your API key }}"),
        field("maybe", "={{ $json.a ? 1 : $('Gone').item.json.a }}"),
        field(
            "url",
            "={{ `https://x.example/${$workflow.name}#'` + $node[\"Start\"].parameter[\"list\"][1].name }}",
        ),
        field(
            "file",
            "={{ $node['Start'].binary.data.fileName.replace(/['\"]/, $workflow.name) }}",
        ),
    ];
    let list = json!({"list": [{"name": "p"}, {"name": "q"}]});
    let nodes = [
        node("Start", "manualTrigger", list),
        node("Set", "set", json!({"assignments": {"assignments": fields}})),
    ];
    let imported = imported(&workflow(&nodes, &[("Start", "Set")]));
    let mut told: Vec<(&str, &str)> = imported
        .report
        .items
        .iter()
        .filter_map(|item| Some((item.code, item.original.as_deref()?)))
        .collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            ("broken-expression", "$('Gone').item.json.a"),
            ("broken-expression", "your API key"),
            ("expression", "$json.a ? 1 : $('Gone').item.json.a"),
        ]
    );
    assert_eq!(imported.report.summary.repaired, 3);
    let set = node_of(&imported, "set");
    let fields = &set["data"]["parameters"]["fields"];
    assert_eq!(fields["gone"], "{{ undefined }} of {{ $json.a }}");
    assert_eq!(fields["url"], "{{ `https://x.example/${\"W\"}#'` + \"q\" }}");
    assert_eq!(
        fields["file"],
        "{{ $node['Start'].json.$binary.data.fileName.replace(/['\"]/, \"W\") }}"
    );
    let notes = set["data"]["notes"].as_str().unwrap();
    assert!(notes.contains("your API key"), "{notes}");
}

#[test]
fn times_that_code_makes_are_in_utc_and_those_of_n8n_in_the_workflows_zone() {
    let with = |code: &str, zone: &str| {
        let nodes = [
            node("Start", "manualTrigger", json!({})),
            node("Code", "code", json!({"jsCode": code})),
        ];
        let mut given = workflow(&nodes, &[("Start", "Code")]);
        given["settings"] = json!({"timezone": zone});
        imported(&given)
    };
    let made = "return [{ json: { at: DateTime.now() } }];";
    assert!(says(&with(made, "Europe/Vienna"), "time-zone"));
    assert!(!says(&with(made, "UTC"), "time-zone"));
    let module = |found: &Imported| {
        let code = &node_of(found, "code")["data"]["parameters"]["code"];
        code.as_str().unwrap_or_default().to_owned()
    };
    let found = with(
        "return [{ json: { at: $now, day: $today.day } }];",
        "Europe/Vienna",
    );
    assert!(!says(&found, "time-zone"));
    assert!(module(&found).contains("const $now = DateTime.now().setZone(\"Europe/Vienna\"), $today"));
    assert!(!module(&with("return [];", "Europe/Vienna")).contains("$now"));
    for code in [
        "const { DateTime } = require('luxon'); return [];",
        "const luxon = require(\"luxon\"); return [{ json: { at: luxon.DateTime.now() } }];",
    ] {
        let found = with(code, "UTC");
        assert_eq!(found.report.summary.stub, 0, "{code}");
        assert!(module(&found).contains("= builtInLuxon;"), "{code}");
    }
    for other in [
        "const { DateTime } = require('luxon'); require('moment');",
        "const { DateTime, Settings } = require('luxon'); Settings.defaultZone = 'utc';",
    ] {
        assert_eq!(with(other, "UTC").report.summary.stub, 1, "{other}");
    }
}

#[test]
fn a_circle_is_repeated_by_a_loop() {
    let nodes = [
        node("Start", "manualTrigger", json!({})),
        node("A", "noOp", json!({})),
        node("B", "noOp", json!({})),
    ];
    let imported = imported(&workflow(&nodes, &[("Start", "A"), ("A", "B"), ("B", "A")]));
    assert_eq!(node_of(&imported, "repeat-a")["type"], "Loop");
    assert!(says(&imported, "cycle"));
    assert_eq!(imported.report.summary.stub, 0);
}

#[test]
fn of_which_item_one_in_a_circle_comes_is_said_to_be_unknown() {
    let reading = |name: &str| {
        let value = format!("={{{{ $('{name}').item.json.n }}}}");
        let field =
            json!({"assignments": {"assignments": [{"name": "a", "type": "string", "value": value}]}});
        let nodes = [
            node("Start", "executeWorkflowTrigger", json!({})),
            node("A", "noOp", json!({})),
            node("B", "set", field),
        ];
        let edges = [("Start", "A"), ("A", "B"), ("B", "A")];
        says(&imported(&workflow(&nodes, &edges)), "pairing")
    };
    assert!(reading("Start"));
    assert!(!reading("A"));
}

#[test]
fn a_circle_with_two_entries_ends_in_a_stub() {
    let nodes = [
        node("Start", "manualTrigger", json!({})),
        node("A", "noOp", json!({})),
        node("B", "noOp", json!({})),
    ];
    let edges = [("Start", "A"), ("Start", "B"), ("A", "B"), ("B", "A")];
    let imported = imported(&workflow(&nodes, &edges));
    assert_eq!(node_of(&imported, "to-a")["type"], "NotImported");
    assert!(says(&imported, "cycle"));
}

#[test]
fn where_edges_meet_only_what_works_on_lists_differs() {
    let meeting = |kind: &str, parameters: Value| {
        let nodes = [
            node("Start", "manualTrigger", json!({})),
            node("A", "noOp", json!({})),
            node("B", "noOp", json!({})),
            node("C", "noOp", json!({})),
            node("D", kind, parameters),
        ];
        let edges = [("Start", "A"), ("Start", "B"), ("A", "C"), ("B", "C"), ("C", "D")];
        imported(&workflow(&nodes, &edges))
    };
    let each = meeting("noOp", json!({}));
    assert_eq!(each.graph_data["settings"]["items"], true);
    assert!(each.report.is_exact(), "{:#?}", each.report);
    let all = meeting("aggregate", json!({"aggregate": "aggregateAllItemData"}));
    let told: Vec<_> = all
        .report
        .items
        .iter()
        .map(|item| (item.node_id.as_deref(), item.code))
        .collect();
    assert_eq!(told, [(Some("c"), "several-edges")]);
}

#[test]
fn credentials_are_connections_to_make() {
    let parameters = json!({"url": "https://api.example.com", "authentication": "genericCredentialType", "genericAuthType": "httpHeaderAuth"});
    let mut given = workflow(
        &[
            node("Start", "manualTrigger", json!({})),
            node("Ask", "httpRequest", parameters),
        ],
        &[("Start", "Ask")],
    );
    given["nodes"][1]["credentials"] = json!({"httpHeaderAuth": {"id": "1", "name": "Shop's key"}});
    let imported = imported(&given);
    assert_eq!(
        node_of(&imported, "ask")["data"]["parameters"]["connection"],
        "Shop's key"
    );
    let connection = &imported.report.connections[0];
    assert_eq!(
        (connection.name.as_str(), connection.n8n_type.as_str()),
        ("Shop's key", "httpHeaderAuth")
    );
    assert_eq!(connection.node_ids, ["ask"]);
}

#[test]
fn a_model_is_part_of_its_chain() {
    let mut given = workflow(&[node("Start", "manualTrigger", json!({}))], &[("Start", "Ask")]);
    let chain = json!({"promptType": "define", "text": "=Say {{ $json.word }}"});
    given["nodes"].as_array_mut().unwrap().extend([
        json!({"name": "Ask", "type": "@n8n/n8n-nodes-langchain.chainLlm", "typeVersion": 1.5, "position": [0, 0], "parameters": chain}),
        json!({"name": "Model", "type": "@n8n/n8n-nodes-langchain.lmChatOpenAi", "typeVersion": 1, "position": [0, 0],
            "parameters": {"model": "gpt-4o"}, "credentials": {"openAiApi": {"name": "OpenAI"}}}),
    ]);
    given["connections"]["Model"] =
        json!({"ai_languageModel": [[{"node": "Ask", "type": "ai_languageModel", "index": 0}]]});
    let imported = imported(&given);
    let asked = node_of(&imported, "ask.1");
    assert_eq!(
        (asked["type"].as_str(), &asked["data"]["parameters"]["model"]),
        (Some("ChatCompletion"), &json!("gpt-4o"))
    );
    assert_eq!(node_of(&imported, "ask")["type"], "Transform");
    assert_eq!(imported.report.summary.stub, 0, "{:#?}", imported.report);
}

#[test]
fn schedules_are_cron() {
    for (rule, cron) in [
        (json!({"field": "minutes", "minutesInterval": 15}), "*/15 * * * *"),
        (
            json!({"field": "hours", "hoursInterval": 6, "triggerAtMinute": 5}),
            "5 */6 * * *",
        ),
        (json!({"triggerAtHour": 8}), "0 8 * * *"),
        (
            json!({"field": "weeks", "triggerAtDay": [1, 3], "triggerAtHour": 9}),
            "0 9 * * 1,3",
        ),
        (
            json!({"field": "cronExpression", "expression": "0 30 7 * * 1-5"}),
            "30 7 * * 1-5",
        ),
    ] {
        let mut given = workflow(
            &[node(
                "Start",
                "scheduleTrigger",
                json!({"rule": {"interval": [rule]}}),
            )],
            &[],
        );
        given["settings"] = json!({"timezone": "Europe/Berlin"});
        let imported = imported(&given);
        let start = node_of(&imported, "start");
        assert_eq!(
            start["data"]["parameters"],
            json!({"cron": cron, "timezone": "Europe/Berlin"})
        );
    }
}

#[test]
fn pinned_data_is_a_test() {
    let mut given = workflow(
        &[
            node("Start", "manualTrigger", json!({})),
            node("Ask", "httpRequest", json!({"url": "https://example.com"})),
        ],
        &[("Start", "Ask")],
    );
    given["pinData"] =
        json!({"Start": [{"json": {"a": 1}}], "Ask": [{"json": {"b": 1}}, {"json": {"b": 2}}]});
    let imported = imported(&given);
    assert_eq!(
        imported.tests,
        [
            json!({"name": "Pinned data", "event": {"a": 1}, "pins": {"ask": [{"b": 1}, {"b": 2}]}, "triggerNodeId": "start"})
        ]
    );
}

#[test]
fn calls_between_workflows_are_resolved() {
    let given = workflow(
        &[
            node("Start", "manualTrigger", json!({})),
            node("Call", "executeWorkflow", json!({"workflowId": "17"})),
        ],
        &[("Start", "Call")],
    );
    let found = find(&given, "W").unwrap();
    let calls = Calls::from([("17".to_owned(), "pattern-of-17".to_owned())]);
    let imported = import(&found[0], &calls);
    assert_eq!(
        node_of(&imported, "call.1")["data"]["parameters"]["patternId"],
        "pattern-of-17"
    );
    assert!(found[0].calls("17") && !found[0].calls("18"));
    // Whoever asks for many asks for them once for each node that calls.
    let asked = std::cell::RefCell::new(Vec::new());
    assert!(!found[0].calls_one(|id| {
        asked.borrow_mut().push(id.to_owned());
        false
    }));
    assert_eq!(asked.into_inner(), ["17"]);
}

#[test]
fn a_workflow_within_a_node_becomes_one_of_its_own() {
    let inner = workflow(
        &[node("Start", "start", json!({})), node("Do", "noOp", json!({}))],
        &[("Start", "Do")],
    );
    let calling = |json: String| {
        let parameters = json!({"source": "parameter", "workflowJson": json});
        let nodes = [
            node("Start", "manualTrigger", json!({})),
            node("Call", "executeWorkflow", parameters),
        ];
        find(&workflow(&nodes, &[("Start", "Call")]), "W").unwrap()
    };
    let found = calling(inner.to_string());
    let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["W", "W: Call"]);
    assert!(found[0].calls("W: Call"));
    assert_eq!(
        node_of(&import(&found[1], &Calls::new()), "start")["type"],
        "OnCall"
    );
    for other in [
        "{}".to_owned(),
        "no JSON".to_owned(),
        format!("={}", inner.to_string().replace("Do", "{{ $json.name }}")),
    ] {
        let found = calling(other);
        assert_eq!(found.len(), 1);
        assert_eq!(
            node_of(&import(&found[0], &Calls::new()), "call")["type"],
            "NotImported"
        );
    }
}

#[test]
fn static_data_begins_with_what_n8n_has_kept() {
    let code = json!({"jsCode": "return [{ json: $getWorkflowStaticData('node') }];"});
    let nodes = [
        node("Start", "manualTrigger", json!({})),
        node("Code", "code", code),
    ];
    let mut given = workflow(&nodes, &[("Start", "Code")]);
    let mut source = |kept: Value| {
        given["staticData"] = kept;
        let imported = imported(&given);
        let code = &node_of(&imported, "code")["data"]["parameters"]["code"];
        (
            code.as_str().unwrap().to_owned(),
            says(&imported, "static-data-left"),
        )
    };
    let kept = json!({"global": {"a": 1}, "node:Code": {"last": 7}});
    for kept in [kept.clone(), kept.to_string().into()] {
        let (code, is_left) = source(kept);
        assert!(code.contains(r#"{"node":"{\"last\":7}"}"#) && !is_left, "{code}");
    }
    let (code, is_left) = source(json!({"node:Code": {"last": "x".repeat(20_000)}}));
    assert!(code.contains(r#"{"node":"{}"}"#) && is_left, "{code}");
}

#[test]
fn only_the_static_data_that_code_may_ask_for_is_read() {
    for (code, has_global, has_own) in [
        ("return items;", false, false),
        ("const d = $getWorkflowStaticData('global');", true, false),
        ("$getWorkflowStaticData( \"node\" ).n = 1;", false, true),
        (
            "$getWorkflowStaticData('node'); $getWorkflowStaticData(`global`)",
            true,
            true,
        ),
        ("$getWorkflowStaticData(kind)", true, true),
        ("const get = $getWorkflowStaticData;", true, true),
    ] {
        let nodes = [
            node("Start", "manualTrigger", json!({})),
            node("Code", "code", json!({ "jsCode": code })),
        ];
        let imported = imported(&workflow(&nodes, &[("Start", "Code")]));
        let module = node_of(&imported, "code")["data"]["parameters"]["code"].to_string();
        let keeps = |key: &str| module.contains(&format!(r#"\"{key}\""#));
        assert_eq!(
            (keeps("n8n static data"), keeps("n8n static data of Code")),
            (has_global, has_own),
            "{module}"
        );
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let nodes: Vec<Value> = (0..700)
        .map(|number| node(&format!("N{number}"), "noOp", json!({})))
        .collect();
    let refused = find(&workflow(&nodes, &[]), "W").unwrap_err();
    assert!(refused.0.contains("700 nodes"), "{refused:?}");
}

#[test]
fn the_event_of_a_schedule_differs_only_for_who_reads_it() {
    let schedule = |then: Value| {
        let nodes = [
            node(
                "At",
                "scheduleTrigger",
                json!({"rule": {"interval": [{"triggerAtHour": 8}]}}),
            ),
            node("Nothing", "noOp", json!({})),
            then,
        ];
        imported(&workflow(&nodes, &[("At", "Nothing"), ("Nothing", "Then")]))
    };
    let ask = |url: &str| schedule(node("Then", "httpRequest", json!({"url": url})));
    assert!(!says(&ask("https://example.com"), "event"));
    assert!(says(&ask("=https://example.com/{{ $json.Hour }}"), "event"));
    assert!(says(
        &ask("=https://example.com/{{ $('At').first().json.Hour }}"),
        "event"
    ));
    let sum = json!({"jsCode": "return $input.all()"});
    assert!(says(&schedule(node("Then", "code", sum)), "event"));
}

#[test]
fn lists_of_a_node_with_branches_are_said_to_be_of_one_of_them() {
    let large = json!({"conditions": {"combinator": "and", "conditions": [
        {"leftValue": "={{ $json.n }}", "rightValue": 1, "operator": {"type": "number", "operation": "gt"}}]}});
    let read = |value: &str, output: usize| {
        let field =
            json!({"assignments": {"assignments": [{"name": "a", "type": "string", "value": value}]}});
        let nodes = [
            node("Start", "manualTrigger", json!({})),
            node("Some", "code", json!({"jsCode": "return [{ n: 1 }, { n: 2 }];"})),
            node("If", "if", large.clone()),
            node("Read", "set", field),
        ];
        let mut given = workflow(&nodes, &[("Start", "Some"), ("Some", "If")]);
        let mut outputs = vec![json!([]); output];
        outputs.push(json!([{"node": "Read", "type": "main", "index": 0}]));
        given["connections"]["If"] = json!({"main": outputs});
        says(&imported(&given), "branch")
    };
    assert!(read("={{ $('If').first().json.n }}", 1));
    assert!(!read("={{ $('If').first().json.n }}", 0));
    assert!(!read("={{ $('If').item.json.n }}", 1));
    assert!(!read("={{ $('Some').all().length }}", 1));
}
