//! What people get wrong, and what each command says to it: message, exit code, never a panic.

use super::harness::{Ended, Place, graph};
use serde_json::{Value, json};

const PATTERN: &str = r#"{"nodes": [{"id": "start", "type": "OnManual"}], "edges": []}"#;

fn given(files: &[(&str, &str)], arguments: &[&str]) -> Ended {
    let place = Place::new();
    for (name, content) in files {
        place.file(name, content);
    }
    let ended = place.run(arguments);
    assert!(!ended.stderr.contains("panicked"), "{ended:#?}");
    ended
}

/// What `heddle run` says to a pattern with these parameters of a Transform node.
fn said_of(data: Value) -> String {
    let nodes = [
        ("start", "OnManual", json!({})),
        ("it", "Transform", data),
        ("end", "Return", json!({})),
    ];
    let pattern = format!("{:#}", graph(&nodes, &["start -> it", "it -> end"]));
    let ended = given(&[("pattern.json", &pattern)], &["run", "pattern.json"]);
    ended.assert_code(3);
    ended.stderr
}

#[test]
fn missing_and_unreadable_files() {
    let ended = given(&[], &["run", "gone.json"]);
    insta::assert_snapshot!(ended.assert_code(4).stderr, @"error: cannot read the pattern gone.json: there is no such file");
    let ended = given(&[], &["run", "."]);
    insta::assert_snapshot!(ended.assert_code(4).stderr, @"error: cannot read the pattern .: it is a directory");
    for flag in ["--event", "--pin", "--vars", "--secrets", "--definitions"] {
        let ended = given(&[("p.json", PATTERN)], &["run", "p.json", flag, "gone.json"]);
        assert!(
            ended
                .assert_code(4)
                .stderr
                .contains("gone.json: there is no such file"),
            "{ended:#?}"
        );
    }
}

#[test]
fn json_in_place_of_a_file_is_told_what_to_give() {
    let ended = given(
        &[("p.json", PATTERN)],
        &["run", "p.json", "--event", "{\"a\": 1}"],
    );
    insta::assert_snapshot!(ended.assert_code(4).stderr, @r#"error: cannot read the event {"a": 1}: this takes the name of a file, or - for standard input"#);
}

#[test]
fn settings_may_stand_behind_a_subcommand() {
    for arguments in [
        ["user", "list", "--data-dir", "here"],
        ["user", "--data-dir", "here", "list"],
    ] {
        given(&[], &arguments).assert_code(0);
    }
}

#[test]
fn json_errors_show_line_and_place() {
    let text = "{\n  \"nodes\": [],\n  \"edges\": [} \n}";
    let ended = given(&[("p.json", text)], &["run", "p.json"]);
    insta::assert_snapshot!(ended.assert_code(3).stderr, @r#"
    error: the pattern is not valid JSON: expected value
     --> p.json:3:13
      |
    3 |   "edges": [} 
      |             ^
    "#);
    let ended = given(
        &[("p.json", PATTERN), ("e.json", "{\"näme\": tru }")],
        &["run", "p.json", "-e", "e.json"],
    );
    insta::assert_snapshot!(ended.assert_code(3).stderr, @r#"
    error: the event is not valid JSON: expected `true`, `false` or `null`
     --> e.json:1:13
      |
    1 | {"näme": tru }
      |             ^
    "#);
    let ended = given(
        &[("p.json", PATTERN), ("e.json", "{\"a\": 1")],
        &["run", "p.json", "-e", "e.json"],
    );
    insta::assert_snapshot!(ended.assert_code(3).stderr, @r#"
    error: the event is not valid JSON: the text ends within an object
     --> e.json:1:8
      |
    1 | {"a": 1
      |        ^
    "#);
    let ended = given(&[("p.json", "")], &["validate", "p.json"]);
    insta::assert_snapshot!(ended.assert_code(3).stderr, @"error: the pattern p.json is empty: it should be JSON");
}

#[test]
fn shapes_that_are_no_pattern() {
    for (text, said) in [
        ("[]", "it is not an object"),
        ("{}", "it has neither `nodes` nor `graphData`"),
        (
            "{\"nodes\": [], \"connections\": {}}",
            "it looks like an n8n workflow",
        ),
        (
            "{\"nodes\": [], \"nodeDefinitions\": 1}",
            "its `nodeDefinitions` is not an object",
        ),
        ("(module)", "it is WebAssembly in text form"),
    ] {
        for command in ["run", "validate"] {
            let ended = given(&[("p.json", text)], &[command, "p.json"]);
            assert!(ended.assert_code(3).stderr.contains(said), "{ended:#?}");
        }
    }
    for text in [
        "{\"nodes\": 1}",
        "{\"nodes\": [1], \"edges\": {}}",
        "{\"graphData\": 5}",
        "{\"nodes\": [{\"id\": 1}]}",
    ] {
        given(&[("p.json", text)], &["run", "p.json"]).assert_code(3);
    }
}

#[test]
fn other_files_of_the_wrong_shape() {
    for (flag, text) in [
        ("--pin", "[]"),
        ("--vars", "1"),
        ("--secrets", "{\"A\": 1}"),
        ("--definitions", "[]"),
    ] {
        let ended = given(
            &[("p.json", PATTERN), ("x.json", text)],
            &["run", "p.json", flag, "x.json"],
        );
        assert!(
            ended.assert_code(3).stderr.contains("has the wrong shape"),
            "{flag}: {ended:#?}"
        );
    }
    let ended = given(
        &[("p.json", PATTERN), ("x.json", r#"{"gone": 1}"#)],
        &["run", "p.json", "--pin", "x.json"],
    );
    assert!(ended.assert_code(3).stderr.contains("gone"), "{ended:#?}");
    let ended = given(&[("p.json", PATTERN)], &["run", "p.json", "--breakpoint", "gone"]);
    assert!(ended.assert_code(3).stderr.contains("gone"), "{ended:#?}");
}

#[test]
fn text_that_is_not_utf_8() {
    let place = Place::new();
    place.file("p.json", b"{\"nodes\": \"\xff\"}");
    let ended = place.run(&["run", "p.json"]);
    insta::assert_snapshot!(ended.assert_code(3).stderr, @"error: the pattern p.json is not UTF-8 text: the \
        byte at offset 11 is not part of a valid character");
}

#[test]
fn files_over_the_limit() {
    let place = Place::new();
    place.file("p.json", " ".repeat((48 << 20) + 1));
    let ended = place.run(&["run", "p.json"]);
    insta::assert_snapshot!(ended.assert_code(3).stderr, @"error: the pattern p.json is larger than 48.0 MiB");
    place.file("p.json", PATTERN);
    place.file("e.json", " ".repeat((8 << 20) + 1));
    let ended = place.run(&["run", "p.json", "-e", "e.json"]);
    insta::assert_snapshot!(ended.assert_code(3).stderr, @"error: the event e.json is larger than 8.0 MiB");
}

#[test]
fn modules_that_cannot_run() {
    let place = Place::new();
    place.file("broken.wasm", b"\0asm\x01\0\0\0garbage");
    place.file(
        "foreign.wasm",
        wat::parse_str(r#"(module (import "env" "system" (func)) (func (export "run") (param i32)))"#)
            .unwrap(),
    );
    place.file("empty.wasm", wat::parse_str("(module)").unwrap());
    for name in ["broken.wasm", "foreign.wasm", "empty.wasm"] {
        let ended = place.run(&["run", name]);
        assert!(
            ended.assert_code(3).stderr.contains("can't run this module"),
            "{ended:#?}"
        );
        place.run(&["validate", name]).assert_code(3);
        place.run(&["compile", name, "-o", "x.wasm"]).assert_code(3);
        place.run(&["run", name, "--pin", "x.json"]).assert_code(2);
    }
}

#[test]
fn output_that_cannot_be_written() {
    let ended = given(
        &[("p.json", PATTERN)],
        &["compile", "p.json", "-o", "no/such/dir.wasm"],
    );
    assert!(
        ended
            .assert_code(4)
            .stderr
            .contains("cannot write no/such/dir.wasm"),
        "{ended:#?}"
    );
}

#[test]
fn flags_that_mean_nothing() {
    for arguments in [
        &["run"][..],
        &["rum", "p.json"],
        &["run", "p.json", "--fuel", "much"],
        &["run", "p.json", "--memory", "0"],
        &["run", "p.json", "--timeout", "soon"],
        &["run", "p.json", "--var", "x"],
        &["run", "p.json", "--egress-allow", "not an address"],
        &["run", "-", "--event", "-"],
        &["run", "p.json", "--trigger", "gone"],
        &["compile", "p.json"],
        &["nodes", "Swich"],
        &["completions", "tcsh"],
    ] {
        let ended = given(&[("p.json", PATTERN)], arguments);
        ended.assert_code(2);
        assert!(ended.stderr.starts_with("error"), "{ended:#?}");
    }
    insta::assert_snapshot!(given(&[], &["nodes", "Swich"]).stderr, @r"
    error: the node type `Swich` does not exist
      = help: did you mean `Switch`?
    ");
    assert!(
        given(&[], &["run", "p.json", "--evnt", "x"])
            .stderr
            .contains("--event")
    );
}

#[test]
fn machines_are_told_in_json() {
    let ended = given(&[], &["run", "--json", "gone.json"]);
    assert_eq!(ended.assert_code(4).json()["error"]["code"], "FILE");
    let pattern = PATTERN.replace("OnManual", "OnManuel");
    let told = given(&[("p.json", &pattern)], &["run", "--json", "p.json"]);
    let told = told.assert_code(3).json();
    assert_eq!(
        (&told["status"], &told["error"]["code"]),
        (&json!("invalid"), &json!("INVALID_PATTERN"))
    );
    let about: Vec<_> = told["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["nodeId"])
        .collect();
    assert!(about.contains(&&json!("start")), "{told}");
}

#[test]
fn a_mistake_in_an_expression_is_underlined() {
    insta::assert_snapshot!(said_of(json!({"label": "Sum", "parameters": {"value": "{{ $input.a + $inptu.b }}"}})), @r#"
    error[unknown-name]: there is no `$inptu`
     --> pattern.json:14:35: node `it` (Transform, "Sum"), value
      |
      | {{ $input.a + $inptu.b }}
      |               ^^^^^^
      = help: did you mean `$input`?

    error: pattern.json does not compile: 1 error
    "#);
}

#[test]
fn the_caret_finds_its_line_among_several() {
    insta::assert_snapshot!(said_of(json!({"parameters": {"value": "Dear {{ $input.name }},\n\t日本 {{ 1 + }} \nyours"}})), @r"
    error[syntax]: this is not a JavaScript expression: unexpected token
     --> pattern.json:13:57: node `it` (Transform), value
      |
    2 |     日本 {{ 1 + }} 
      |                ^

    error: pattern.json does not compile: 1 error
    ");
}

#[test]
fn a_node_that_does_not_exist_is_named() {
    insta::assert_snapshot!(said_of(json!({"parameters": {"value": {"total": "{{ $(\"Strat\").x }}"}}})), @r#"
    error[unknown-node]: there is no node with the label `Strat`
     --> pattern.json:14:26: node `it` (Transform), value.total
      |
      | {{ $("Strat").x }}
      |    ^^^^^^^^^^
      = help: did you mean `start`?

    error: pattern.json does not compile: 1 error
    "#);
}

#[test]
fn unknown_and_missing_parameters() {
    insta::assert_snapshot!(said_of(json!({"parameters": {"valeu": 1}})), @r"
    warning[unknown-parameter]: `valeu` is unknown here and ignored
     --> pattern.json:13:20: node `it` (Transform), valeu
      = help: did you mean `value`?

    error[missing-parameter]: `value` is required
     --> pattern.json:8:5: node `it` (Transform), value
      = help: the value to emit

    error: pattern.json does not compile: 1 error, 1 warning
    ");
}
