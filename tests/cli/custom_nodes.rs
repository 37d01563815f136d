//! Components from files, by the command line; and the examples of them, built from their sources.

use super::hand_made::{base64, component, echo};
use super::harness::{Place, root};
use super::needs;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::process::{Command, Output};

/// A pattern of one node `own`, and its event.
fn pattern(data: Value) -> String {
    json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "own", "type": "Own", "data": data},
            {"id": "end", "type": "Return"},
        ],
        "edges": [{"source": "start", "target": "own"}, {"source": "own", "target": "end"}],
    })
    .to_string()
}

fn definitions(component: Value) -> String {
    json!({ "Own": { "kind": "component", "component": component } }).to_string()
}

#[test]
fn a_component_is_read_from_the_file_beside_the_definitions() {
    let place = Place::new();
    fs::create_dir(place.path("nodes")).unwrap();
    place.file("nodes/own.wasm", echo());
    place.file("pattern.json", pattern(json!({})));
    place.file("nodes/definitions.json", definitions(json!({"file": "own.wasm"})));
    place.file("event.json", r#"{"a": 1}"#);
    let with = |arguments: &[&str]| {
        let all = [arguments, &["--definitions", "nodes/definitions.json"]].concat();
        place.run(&all)
    };
    let ended = with(&["run", "pattern.json", "--json", "--event", "event.json"]);
    assert_eq!(ended.json()["output"], json!({"a": 1}));
    with(&["validate", "pattern.json"]).assert_code(0);

    // A module brings its components along.
    with(&["compile", "pattern.json", "-o", "pattern.wasm"]).assert_code(0);
    let ended = place.run(&["run", "pattern.wasm", "--json", "--event", "event.json"]);
    assert_eq!(ended.json()["output"], json!({"a": 1}));
}

#[test]
fn a_component_may_stand_in_the_definitions_as_base64() {
    let place = Place::new();
    place.file("pattern.json", pattern(json!({})));
    place.file("definitions.json", definitions(base64(&echo()).into()));
    let ended = place.run(&[
        "run",
        "pattern.json",
        "--json",
        "--definitions",
        "definitions.json",
    ]);
    assert_eq!(ended.json()["output"], Value::Null);
}

#[test]
fn a_pattern_may_hold_its_definitions_with_code_in_files_beside_it() {
    let place = Place::new();
    fs::create_dir(place.path("own")).unwrap();
    let graph: Value = serde_json::from_str(&pattern(json!({}))).unwrap();
    let code = json!({"Own": {"kind": "javascript", "code": {"file": "double.js"}}});
    place.file("own/double.js", "export default ({input}) => input.n * 2;");
    place.file("event.json", r#"{"n": 21}"#);
    let mut beside = graph.clone();
    beside["nodeDefinitions"] = code.clone();
    let exported = json!({"name": "Own", "graphData": graph, "nodeDefinitions": code});
    for file in [beside, exported] {
        place.file("own/pattern.json", file.to_string());
        let ended = place.run(&["run", "own/pattern.json", "--json", "--event", "event.json"]);
        assert_eq!(ended.json()["output"], 42, "{ended:#?}");
    }
    fs::remove_file(place.path("own/double.js")).unwrap();
    let ended = place.run(&["validate", "own/pattern.json"]);
    ended.assert_code(4);
    assert!(
        ended.stderr.contains("the code of `Own`, own/double.js"),
        "{ended:#?}"
    );
}

#[cfg(unix)]
#[test]
fn files_outside_of_a_pattern_s_directory_are_no_part_of_it() {
    let place = Place::new();
    place.file("mine.txt", "my password");
    fs::create_dir_all(place.path("theirs/code")).unwrap();
    std::os::unix::fs::symlink(place.path("mine.txt"), place.path("theirs/code/link.js")).unwrap();
    let absolute = place.path("mine.txt");
    let refused = |graph: &Value| {
        place.file("theirs/pattern.json", graph.to_string());
        for arguments in [
            ["run", "theirs/pattern.json"],
            ["validate", "theirs/pattern.json"],
        ] {
            let ended = place.run(&arguments);
            ended.assert_code(3);
            assert!(ended.stderr.contains("not in the directory"), "{ended:#?}");
        }
    };
    let graph: Value = serde_json::from_str(&pattern(json!({}))).unwrap();
    for file in ["../mine.txt", absolute.to_str().unwrap(), "code/link.js"] {
        for own in [
            json!({"kind": "javascript", "code": {"file": file}}),
            json!({"kind": "component", "component": {"file": file}}),
        ] {
            let mut graph = graph.clone();
            graph["nodeDefinitions"] = json!({ "Own": own });
            refused(&graph);
        }
    }
    let mut graph = graph.clone();
    graph["nodes"][1] = json!({"id": "own", "type": "JavaScript", "data": {"parameters": {"code": {"file": "code/link.js"}}}});
    refused(&graph);
}

#[test]
fn what_is_wrong_with_a_component_is_said_before_the_run() {
    let place = Place::new();
    place.file("pattern.json", pattern(json!({})));
    place.file("definitions.json", definitions(json!({"file": "own.wasm"})));
    let arguments = ["run", "pattern.json", "--definitions", "definitions.json"];
    let ended = place.run(&arguments);
    ended.assert_code(4);
    assert!(
        ended.stderr.contains("the component of `Own`, own.wasm"),
        "{ended:#?}"
    );
    place.file("own.wasm", wat::parse_str("(module)").unwrap());
    let ended = place.run(&arguments);
    ended.assert_code(3);
    assert!(
        ended.stderr.contains("a WebAssembly module, not a component"),
        "{ended:#?}"
    );
}

#[test]
fn a_hostile_component_fails_its_node_and_the_run_goes_on() {
    let place = Place::new();
    place.file("pattern.json", pattern(json!({"onError": "continue"})));
    place.file("definitions.json", definitions(json!({"file": "own.wasm"})));
    let hostile = [
        ("(loop $again (br $again)) (unreachable)", "OUT_OF_FUEL"),
        (
            "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) (unreachable)",
            "OUT_OF_MEMORY",
        ),
        ("(unreachable)", "TRAP"),
        ("(call $ok (i32.const 1024) (i32.const 1))", "COMPONENT"),
    ];
    for (body, code) in hostile {
        place.file("own.wasm", component(body));
        let ended = place.run(&[
            "run",
            "pattern.json",
            "--json",
            "--definitions",
            "definitions.json",
            // So that a slow machine comes to its end before the component's time is over.
            "--fuel",
            "100M",
        ]);
        ended.assert_code(0);
        assert_eq!(ended.json()["output"]["error"]["code"], code, "{ended:#?}");
    }
}

#[test]
fn the_rust_example_is_built_from_its_sources() {
    let folder = root().join("examples/custom-node-rust");
    let mut hash = Sha256::new();
    for file in [
        "node/Cargo.toml",
        "node/Cargo.lock",
        "node/src/lib.rs",
        "../../wit/node.wit",
    ] {
        hash.update(fs::read(folder.join(file)).unwrap());
    }
    let built_from = fs::read_to_string(folder.join("SOURCES.sha256")).unwrap();
    assert_eq!(
        hex::encode(hash.finalize()),
        built_from.trim(),
        "check-iban.wasm is stale: run examples/custom-node-rust/build.sh"
    );
}

/// Builds the JavaScript example in a directory of its own. The error says why npm or its packages can't be had.
fn build_javascript(place: &Place) -> Result<(), String> {
    let folder = root().join("examples/custom-node-javascript");
    for file in ["node/node.js", "node/build.js", "node/package.json"] {
        let (_, name) = file.split_once('/').unwrap();
        place.file(name, fs::read(folder.join(file)).unwrap());
    }
    for file in ["pattern.json", "event.json"] {
        place.file(file, fs::read(folder.join(file)).unwrap());
    }
    let npm = |arguments: &[&str]| {
        let mut command = Command::new("npm");
        command.args(arguments).current_dir(place.path("."));
        command.env("WIT", root().join("wit")).output()
    };
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let installed = npm(&["install", "--no-package-lock", "--no-audit", "--no-fund"]);
    let installed = installed.map_err(|error| format!("npm does not start: {error}"))?;
    if !installed.status.success() {
        return Err(said(&installed));
    }
    let built = npm(&["run", "build", "--", "triage.wasm"]).unwrap();
    assert!(built.status.success(), "{}", said(&built));
    Ok(())
}

#[test]
fn the_javascript_example_gives_what_it_promises() {
    let place = Place::new();
    if needs::or_skip("componentize-js", build_javascript(&place)).is_none() {
        return;
    }
    let ended = place.run(&["run", "pattern.json", "--json", "--event", "event.json"]);
    let expected = fs::read_to_string(root().join("examples/custom-node-javascript/expected.json")).unwrap();
    assert_eq!(
        ended.json()["output"],
        serde_json::from_str::<Value>(&expected).unwrap(),
        "{ended:#?}"
    );
}

#[test]
fn a_pattern_is_packed_with_what_lies_beside_it() {
    let place = Place::new();
    place.file("own.wasm", echo());
    place.file("total.js", "function total(input) { return input.length; }");
    let own = json!({
        "nodes": [{"id": "start", "type": "OnManual"}],
        "edges": [],
        "nodeDefinitions": {
            "Own": {"kind": "component", "component": {"file": "own.wasm"}},
            "Total": {"kind": "javascript", "code": {"file": "total.js"}},
        },
    });
    place.file("pattern.json", own.to_string());
    let packed = place.run(&["pack", "pattern.json"]);
    packed.assert_code(0);
    let packed: Value = serde_json::from_str(&packed.stdout).unwrap();
    assert_eq!(
        packed["graphData"]["nodes"],
        json!([{"id": "start", "type": "OnManual"}])
    );
    let definitions = &packed["nodeDefinitions"];
    assert_eq!(definitions["Own"]["component"], json!(base64(&echo())));
    assert_eq!(
        definitions["Total"]["code"],
        "function total(input) { return input.length; }"
    );
    // What is packed is a pattern as any other.
    place.file("packed.json", packed.to_string());
    let again = place.run(&["pack", "packed.json"]);
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), packed);
    let named = place.run(&["pack", "pattern.json", "--name", "Own nodes"]);
    let named: Value = serde_json::from_str(&named.stdout).unwrap();
    assert_eq!(
        (&named["name"], &named["graphData"]),
        (&json!("Own nodes"), &packed["graphData"])
    );
    place.file("module.wasm", b"\0asm\x01\0\0\0".as_slice());
    place.run(&["pack", "module.wasm"]).assert_code(3);
}
