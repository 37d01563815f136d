//! `heddle test`, without a server: tests that pass, fail and would reach outside, and what is told of them.

use crate::harness::{Place, graph};
use serde_json::{Value, json};
use std::fs;

/// A directory with a pattern that branches and asks somebody else.
fn workspace() -> Place {
    let place = Place::new();
    place.file(
        "heddle.json",
        r#"{"server": "http://127.0.0.1:9", "workspace": "w"}"#,
    );
    let drawn: Value = graph(
        &[
            ("start", "OnManual", json!({})),
            (
                "large",
                "If",
                json!({"label": "Large?", "parameters": {"condition": "{{ $input.total > 100 }}"}}),
            ),
            (
                "ask",
                "HttpRequest",
                json!({"parameters": {"url": "https://example.com/discount"}}),
            ),
            (
                "cut",
                "Return",
                json!({"parameters": {"value": "{{ { total: $trigger.total, cut: $input.body.cut } }}"}}),
            ),
            (
                "whole",
                "Return",
                json!({"parameters": {"value": "{{ { total: $input.total, region: $vars.REGION } }}"}}),
            ),
        ],
        &[
            "start -> large",
            "large:true -> ask",
            "large:false -> whole",
            "ask -> cut",
        ],
    );
    fs::create_dir_all(place.path("patterns/orders/tests")).unwrap();
    let pattern = json!({"name": "Orders", "graphData": drawn}).to_string();
    place.file("patterns/orders/pattern.json", pattern);
    place
}

fn case(place: &Place, file: &str, case: &Value) {
    fs::write(
        place.path(&format!("patterns/orders/tests/{file}.json")),
        case.to_string(),
    )
    .unwrap();
}

#[test]
fn tests_run_where_the_files_are_and_nothing_reaches_outside() {
    let place = workspace();
    let small = json!({"name": "Small", "event": {"total": 5}, "expect": {"output": {"total": 5, "region": "north"}}});
    case(&place, "small", &small);
    let vars = ["test", "--var", "REGION=north"];
    let ended = place.run(&[&vars[..], &["--coverage"]].concat());
    ended.assert_code(0);
    assert_eq!(
        ended.stdout,
        "orders\n  passed   Small (small.json)\norders: 3 of 5 nodes, 2 of 4 ports\n  not reached: node ask\n  not reached: node cut\n  \
         not taken: port out of node ask\n  not taken: port true of node large\n1 passed, 0 failed, 0 could not be compared\n"
    );

    // One that differs, one that would send a request, one that is pinned, and one that must fail.
    case(
        &place,
        "other",
        &json!({"name": "Other", "event": {"total": 6}, "expect": {"output": {"total": 7}}}),
    );
    case(
        &place,
        "sends",
        &json!({"name": "Sends", "event": {"total": 500}, "allowEffects": true}),
    );
    let pins = json!({"ask": {"body": {"cut": 10}}});
    case(
        &place,
        "pinned",
        &json!({"name": "Pinned", "event": {"total": 500}, "pins": pins, "expect": {"output": {"total": 500, "cut": 10}}}),
    );
    let error = json!({"code": "EXPRESSION", "nodeId": "large"});
    case(
        &place,
        "fails",
        &json!({"name": "Fails", "event": null, "expect": {"error": error}}),
    );
    let ended = place.run(&[&vars[..], &["--junit", "results.xml", "orders/"]].concat());
    ended.assert_code(1);
    for line in [
        "  passed   Fails (fails.json)\n",
        "  FAILED   Other (other.json)\n    output.total: expected 7, but it is 6\n    output.region: expected nothing, but there is \"north\"\n",
        "  passed   Pinned (pinned.json)\n",
        "  ERRORED  Sends (sends.json)\n    NOT_PINNED: node ask: The node `ask` would reach outside (effect `http`), which this run may not do. Pin",
        "3 passed, 1 failed, 1 could not be compared\n",
    ] {
        assert!(ended.stdout.contains(line), "{line}: {ended:?}");
    }
    let report = fs::read_to_string(place.path("results.xml")).unwrap();
    assert!(
        report.contains(r#"<testsuite name="orders" tests="5" failures="1" errors="1">"#)
            && report.contains(r#"<failure message="output.total: expected 7, actual 6">"#)
            && report.contains(r#"<error message="NOT_PINNED: "#),
        "{report}"
    );
    let told = place.run(&[&vars[..], &["--json"]].concat()).json();
    assert_eq!(
        (&told["passed"], &told["results"][1]["status"]),
        (&json!(3), &json!("failed"))
    );

    // What was given becomes what is expected, and stays a file that people can read.
    place.run(&[&vars[..], &["--update"]].concat()).assert_code(1);
    let updated = fs::read_to_string(place.path("patterns/orders/tests/other.json")).unwrap();
    assert!(
        updated.starts_with("{\n  \"name\": \"Other\",\n  \"event\": {\n"),
        "{updated}"
    );
    let updated: Value = serde_json::from_str(&updated).unwrap();
    let expected = json!({"name": "Other", "event": {"total": 6}, "expect": {"output": {"total": 6, "region": "north"}}});
    assert_eq!(updated, expected);
    fs::remove_file(place.path("patterns/orders/tests/sends.json")).unwrap();
    place.run(&vars).assert_code(0);
}

#[test]
fn what_is_no_test_is_said_with_its_file() {
    let place = workspace();
    place.run(&["test"]).assert_code(0);
    case(&place, "x", &json!({"name": "X", "expects": {}}));
    let ended = place.run(&["test"]);
    ended.assert_code(3);
    assert!(
        ended.stderr.contains("tests/x.json: unknown field `expects`"),
        "{ended:?}"
    );
    case(&place, "x", &json!({"name": "X", "ignore": ["else"]}));
    let ended = place.run(&["test"]);
    assert!(
        ended.stderr.contains("ignore[0] must begin with `output`"),
        "{ended:?}"
    );
    case(&place, "x", &json!({"name": "X", "triggerNodeId": "large"}));
    let ended = place.run(&["test"]);
    ended.assert_code(1);
    assert!(
        ended.stdout.contains("`large` is not a trigger of this pattern"),
        "{ended:?}"
    );
    place.run(&["test", "none"]).assert_code(2);
}
