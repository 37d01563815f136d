//! `run`: what it prints, where, and what pins, breakpoints, traces, variables and limits do.

use super::harness::{Ended, Place, graph};
use super::http_server::Server;
use serde_json::{Value, json};

fn run(pattern: &Value, event: &Value, flags: &[&str]) -> Ended {
    let place = Place::new();
    place.file("pattern.json", pattern.to_string());
    place.file("event.json", event.to_string());
    place.run(&[&["run", "pattern.json", "--event", "event.json"], flags].concat())
}

fn value(value: impl Into<Value>) -> Value {
    json!({"parameters": {"value": value.into()}})
}

fn chain(node_type: &str, data: Value) -> Value {
    graph(
        &[
            ("start", "OnManual", json!({})),
            ("it", node_type, data),
            ("end", "Return", json!({})),
        ],
        &["start -> it", "it -> end"],
    )
}

#[test]
fn the_output_is_printed_with_line_breaks_and_nothing_else() {
    let ended = run(&chain("NoOp", json!({})), &json!({"a": [1, 2.5], "b": "é"}), &[]);
    assert_eq!(
        ended.assert_code(0).stdout,
        "{\n  \"a\": [\n    1,\n    2.5\n  ],\n  \"b\": \"é\"\n}\n"
    );
    assert_eq!(ended.stderr, "");
}

#[test]
fn without_an_event_the_input_is_null() {
    let place = Place::new();
    place.file("pattern.json", chain("NoOp", json!({})).to_string());
    assert_eq!(
        place.run(&["run", "pattern.json"]).assert_code(0).stdout,
        "null\n"
    );
}

#[test]
fn machines_get_one_object_with_everything() {
    let pattern = chain(
        "Log",
        json!({"parameters": {"level": "warn", "message": "n is {{ $input.n }}"}}),
    );
    let result = run(&pattern, &json!({"n": 3}), &["--json"]).json();
    let fields: Vec<_> = result.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["status", "output", "error", "response", "logs", "usage"]);
    assert_eq!(result["status"], "completed");
    assert_eq!(result["output"], json!({"n": 3}));
    assert_eq!(
        result["logs"],
        json!([{"level": "warn", "message": "n is 3", "nodeId": "it"}])
    );
    assert!(result["usage"]["fuelUsed"].as_u64().unwrap() > 0);
}

#[test]
fn logs_and_the_response_go_to_standard_error() {
    let pattern = graph(
        &[
            ("start", "OnWebhook", json!({"parameters": {"alias": "a"}})),
            ("log", "Log", json!({"parameters": {"message": "hello"}})),
            (
                "answer",
                "RespondToWebhook",
                json!({"parameters": {"status": 201, "body": {"ok": true}}}),
            ),
        ],
        &["start -> log", "log -> answer"],
    );
    let ended = run(&pattern, &Value::Null, &[]);
    assert_eq!(ended.assert_code(0).stdout, "null\n");
    assert!(
        ended.stderr.contains("log: hello") && ended.stderr.contains("response 201"),
        "{ended:#?}"
    );
}

#[test]
fn a_failed_run_names_the_node_and_exits_with_1() {
    let pattern = chain(
        "Throw",
        json!({"label": "Stop here", "parameters": {"message": "no more", "code": "FULL"}}),
    );
    let pattern = graph(
        &[
            ("start", "OnManual", json!({})),
            ("it", "Throw", pattern["nodes"][1]["data"].clone()),
        ],
        &["start -> it"],
    );
    let ended = run(&pattern, &Value::Null, &[]);
    assert_eq!(ended.assert_code(1).stdout, "");
    insta::assert_snapshot!(ended.stderr, @r#"
    error[FULL]: no more
     --> pattern.json: node `it` (Throw, "Stop here")
    "#);
    let result = run(&pattern, &Value::Null, &["--json"]);
    assert_eq!(
        result.assert_code(1).json()["error"],
        json!({"message": "no more", "code": "FULL", "nodeId": "it"})
    );
}

#[test]
fn the_trace_is_a_tree_with_iterations_and_errors() {
    let pattern = graph(
        &[
            ("start", "OnManual", json!({"label": "Start"})),
            ("rows", "ForEach", json!({"label": "Rows"})),
            (
                "cells",
                "ForEach",
                json!({"parameters": {"items": "{{ $item.cells }}"}}),
            ),
            (
                "check",
                "If",
                json!({"parameters": {"condition": "{{ $item > 1 }}"}}),
            ),
            (
                "fail",
                "Throw",
                json!({"parameters": {"message": "too much"}, "onError": "continue"}),
            ),
            ("end", "Return", json!({})),
        ],
        &[
            "start -> rows",
            "rows:item -> cells",
            "cells:item -> check",
            "check:false -> cells:next",
            "check:true -> fail",
            "cells:done -> rows:next",
            "rows:done -> end",
        ],
    );
    let ended = run(&pattern, &json!([{"cells": [1, 2]}, {"cells": []}]), &["--trace"]);
    insta::assert_snapshot!(without_figures(&ended.stderr), @r#"
    ├─ Start OnManual  → out [{"cells":[1,2]},{"cells":[]}]
    ├─ Rows ForEach  → done [[1],[]]
    │  ├─ [0]
    │  │  └─ cells ForEach  → done [1]
    │  │     ├─ [0]
    │  │     │  └─ check If  → false 1
    │  │     └─ [1]
    │  │        ├─ check If  → true 2
    │  │        └─ fail Throw  ✗ THROWN too much
    │  └─ [1]
    │     └─ cells ForEach  → done []
    └─ end Return  null
    "#);
    let traced = run(&pattern, &json!([{"cells": [1]}]), &["--trace", "--json"]).json();
    let paths: Vec<_> = traced["trace"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["path"].as_str().unwrap())
        .collect();
    assert!(paths.contains(&"rows[0].cells[0]"), "{paths:?}");
}

/// The tree without its headline, times and fuel, which differ from run to run.
fn without_figures(text: &str) -> String {
    let lines = text.lines().skip(1).map(|line| {
        let Some((figures, value)) = line.split_once(" fuel") else {
            return line.to_owned();
        };
        // The last three words are a number, its unit, and the fuel.
        let name = (0..3).fold(figures, |rest, _| rest.rsplit_once(' ').unwrap().0.trim_end());
        format!("{name}{value}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_pinned_node_does_not_execute() {
    let place = Place::new();
    let pattern = graph(
        &[
            ("start", "OnManual", json!({})),
            (
                "it",
                "If",
                json!({"parameters": {"condition": "{{ $input.big }}"}}),
            ),
            ("yes", "Return", value("yes")),
            ("no", "Return", value("no")),
        ],
        &["start -> it", "it:true -> yes", "it:false -> no"],
    );
    place.file("pattern.json", pattern.to_string());
    place.file(
        "pins.json",
        r#"{"it": {"$pin": true, "port": "false", "value": 1}}"#,
    );
    assert_eq!(
        place
            .run(&["run", "pattern.json", "--pin", "pins.json"])
            .assert_code(0)
            .stdout,
        "\"no\"\n"
    );
}

#[test]
fn a_paused_run_goes_on_from_its_own_output() {
    let place = Place::new();
    place.file(
        "pattern.json",
        chain("Transform", value("{{ $input.n + 1 }}")).to_string(),
    );
    place.file("event.json", r#"{"n": 1}"#);
    let paused = place.run(&[
        "run",
        "pattern.json",
        "--event",
        "event.json",
        "--breakpoint",
        "end",
    ]);
    let shown = paused.assert_code(0).json();
    assert_eq!(shown["breakpoint"], json!({"nodeId": "end", "input": 2}));
    assert_eq!(shown["pinnedNodes"]["it"], 2);
    place.file("pins.json", &paused.stdout);
    assert_eq!(
        place
            .run(&["run", "pattern.json", "--pin", "pins.json"])
            .assert_code(0)
            .stdout,
        "2\n"
    );
}

#[test]
fn variables_come_from_flags_and_files() {
    let place = Place::new();
    place.file(
        "pattern.json",
        chain("Transform", value("{{ [$vars.A, $vars.B] }}")).to_string(),
    );
    place.file("vars.json", r#"{"A": 1, "B": {"c": 2}}"#);
    let ended = place.run(&[
        "run",
        "pattern.json",
        "--vars",
        "vars.json",
        "--var",
        "A=x=y",
        "--json",
    ]);
    assert_eq!(ended.json()["output"], json!(["x=y", {"c": 2}]));
}

#[test]
fn a_run_starts_at_the_trigger_that_is_named() {
    let pattern = graph(
        &[
            ("manual", "OnManual", json!({})),
            ("hook", "OnWebhook", json!({"parameters": {"alias": "a"}})),
            ("end", "Return", value("{{ $run.triggeredBy }}")),
        ],
        &["manual -> end", "hook -> end"],
    );
    assert_eq!(run(&pattern, &Value::Null, &[]).stdout, "\"manual\"\n");
    assert_eq!(
        run(&pattern, &Value::Null, &["--trigger", "hook"]).stdout,
        "\"webhook\"\n"
    );
}

#[test]
fn a_seed_repeats_a_run() {
    let pattern = chain("Transform", value("{{ [$uuid(), $random()] }}"));
    let first = run(&pattern, &Value::Null, &["--seed", "7"]);
    assert_eq!(
        first.assert_code(0).stdout,
        run(&pattern, &Value::Null, &["--seed", "7"]).stdout
    );
    assert_ne!(first.stdout, run(&pattern, &Value::Null, &["--seed", "8"]).stdout);
}

#[test]
fn both_tiers_give_the_same_output() {
    let pattern = chain(
        "Transform",
        value("{{ { ...$input, t: `${$input.a}!`, n: $input.b ?? 1 } }}"),
    );
    let event = json!({"a": "é"});
    assert_eq!(
        run(&pattern, &event, &["--fast"]).stdout,
        run(&pattern, &event, &[]).stdout
    );
}

#[test]
fn each_limit_ends_the_run_with_its_code() {
    let endless = graph(
        &[
            ("start", "OnManual", json!({})),
            (
                "loop",
                "Loop",
                json!({"parameters": {"condition": "{{ true }}", "maxIterations": 1000000}}),
            ),
            ("same", "NoOp", json!({})),
        ],
        &["start -> loop", "loop:item -> same", "same -> loop:next"],
    );
    let code = |pattern: &Value, flags: &[&str]| {
        let ended = run(pattern, &json!("x"), &[flags, &["--json"]].concat());
        ended.assert_code(1).json()["error"]["code"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(code(&endless, &["--fuel", "1M"]), "OUT_OF_FUEL");
    assert_eq!(
        code(&endless, &["--fuel", "1000G", "--timeout", "200ms"]),
        "TIMEOUT"
    );
    let doubling = "{{ `${$input}${$input}` }}";
    let bomb = graph(
        &[
            ("start", "OnManual", json!({})),
            (
                "loop",
                "Loop",
                json!({"parameters": {"condition": "{{ true }}", "maxIterations": 100}}),
            ),
            ("twice", "Transform", value(doubling)),
        ],
        &["start -> loop", "loop:item -> twice", "twice -> loop:next"],
    );
    assert_eq!(code(&bomb, &["--memory", "16MiB"]), "OUT_OF_MEMORY");
    let mut modest = bomb.clone();
    modest["settings"] = json!({"memoryMb": 17});
    for memory in ["16MiB", "512MiB"] {
        let ended = run(&modest, &json!("x"), &["--memory", memory, "--json"]);
        let error = ended.assert_code(1).json()["error"].clone();
        let allowed = if memory == "16MiB" {
            "its 16 MiB"
        } else {
            "its 17 MiB"
        };
        assert!(error["message"].as_str().unwrap().contains(allowed), "{error}");
    }
}

#[test]
fn a_run_has_a_thousand_effects_unless_its_pattern_says_otherwise() {
    let rows: Vec<u32> = (0..1_200).collect();
    let mut counts = chain(
        "KeyValue",
        json!({"each": true, "parameters": {"operation": "increment", "key": "rows"}}),
    );
    let ended = run(&counts, &json!(rows), &["--json"]);
    let error = ended.assert_code(1).json()["error"].clone();
    assert_eq!(
        (&error["code"], &error["nodeId"]),
        (&json!("EFFECT_LIMIT"), &json!("it"))
    );
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with("The run started more than its 1,000 effects while node `it` was executing.")
            && message
                .ends_with("or raise `maxEffects` in the pattern's settings: up to 10,000 are allowed here."),
        "{message}"
    );
    counts["settings"] = json!({"maxEffects": 1_200});
    let result = run(&counts, &json!(rows), &["--json"]).assert_code(0).json();
    assert_eq!(result["output"].as_array().unwrap().last(), Some(&json!(1_200)));
    assert_eq!(result["usage"]["effects"], 1_200);
    counts["settings"] = json!({"maxEffects": 1_199});
    let result = run(&counts, &json!(rows), &["--json"]).assert_code(1).json();
    assert_eq!(result["error"]["code"], "EFFECT_LIMIT");
}

#[test]
fn private_addresses_are_refused_unless_allowed() {
    let server = Server::start(vec![
        json!({"method": "GET", "path": "/", "status": 200, "body": {"ok": true}}),
    ]);
    let url = format!("http://{}/", server.address());
    let pattern = chain(
        "HttpRequest",
        json!({"parameters": {"url": url, "bodyOnly": true}}),
    );
    let refused = run(&pattern, &Value::Null, &["--json"]);
    assert_eq!(refused.assert_code(1).json()["error"]["code"], "EGRESS_DENIED");
    let allowed = run(
        &pattern,
        &Value::Null,
        &["--json", "--egress-allow", &server.address()],
    );
    assert_eq!(allowed.assert_code(0).json()["output"], json!({"ok": true}));
    server.assert_used();
}

#[test]
fn connections_come_from_a_file() {
    let server = Server::start(vec![
        json!({"method": "GET", "path": "/v1/orders", "status": 200, "body": [1]}),
    ]);
    let place = Place::new();
    let call = json!({"parameters": {"url": "orders", "connection": "shop", "bodyOnly": true}});
    let nodes = [
        ("start", "OnManual", json!({})),
        ("call", "HttpRequest", call),
        ("end", "Return", json!({})),
    ];
    place.file(
        "pattern.json",
        graph(&nodes, &["start -> call", "call -> end"]).to_string(),
    );
    let shop = json!({"shop": {"baseUrl": format!("http://{}/v1", server.address()), "token": "t0k"}});
    place.file("connections.json", shop.to_string());
    let run = [
        "run",
        "pattern.json",
        "--connections",
        "connections.json",
        "--egress-allow",
        &server.address(),
    ];
    let ended = place.run(&run);
    assert_eq!(ended.assert_code(0).json(), json!([1]));
    server.assert_used();
    let without = place.run(&["run", "pattern.json", "--json"]);
    assert_eq!(
        without.assert_code(1).json()["error"]["code"],
        "CONNECTION_MISSING"
    );
    let told = place.run(&["run", "pattern.json"]);
    assert!(
        told.assert_code(1)
            .stderr
            .contains("= help: `--connections FILE`"),
        "{told:?}"
    );
    place.file("connections.json", "[]");
    place.run(&run).assert_code(3);
}

#[test]
fn a_schedule_that_is_run_by_hand_has_an_event() {
    let nodes = [
        (
            "night",
            "OnSchedule",
            json!({"parameters": {"cron": "0 3 * * *"}}),
        ),
        (
            "end",
            "Return",
            json!({"parameters": {"value": "{{ $trigger.scheduledAt === $trigger.firedAt && $trigger.scheduledAt }}"}}),
        ),
    ];
    let place = Place::new();
    place.file("p.json", graph(&nodes, &["night -> end"]).to_string());
    let ended = place.run(&["run", "p.json"]);
    let time = ended.assert_code(0).stdout.trim();
    assert!(time.starts_with("\"20") && time.ends_with("Z\""), "{time}");
    place.file("event.json", r#"{"scheduledAt": 1, "firedAt": 1}"#);
    let ended = place.run(&["run", "p.json", "--event", "event.json"]);
    assert_eq!(ended.assert_code(0).stdout.trim(), "1");
}
