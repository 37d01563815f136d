//! `compile`, `validate`, `nodes`, `completions`, and help.

use super::harness::{Place, graph, root};
use serde_json::{Value, json};
use std::fs;
use std::io::Read;

fn doubling() -> String {
    graph(
        &[
            ("start", "OnManual", json!({})),
            (
                "end",
                "Return",
                json!({"label": "Twice", "parameters": {"value": "{{ $input.n * 2 }}"}}),
            ),
        ],
        &["start -> end"],
    )
    .to_string()
}

#[test]
fn a_compiled_module_runs_like_its_pattern() {
    let place = Place::new();
    place.file("pattern.json", doubling());
    place.file("event.json", r#"{"n": 21}"#);
    place
        .run(&["compile", "pattern.json", "-o", "out.wasm"])
        .assert_code(0);
    assert!(fs::read(place.path("out.wasm")).unwrap().starts_with(b"\0asm"));
    for file in ["pattern.json", "out.wasm"] {
        let ended = place.run(&["run", file, "--event", "event.json"]);
        assert_eq!(
            (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
            (Some(0), "42\n", "")
        );
    }
}

#[test]
fn the_description_of_the_api_is_printed_as_it_is_served() {
    let ended = Place::new().run(&["openapi"]);
    let printed: Value = serde_json::from_str(&ended.assert_code(0).stdout).unwrap();
    assert_eq!(printed, heddle_api::http::routes::document());
}

#[test]
fn compiling_twice_gives_the_same_bytes() {
    let place = Place::new();
    place.file("pattern.json", doubling());
    for out in ["a.wasm", "b.wasm"] {
        place.run(&["compile", "pattern.json", "-o", out]).assert_code(0);
    }
    assert_eq!(
        fs::read(place.path("a.wasm")).unwrap(),
        fs::read(place.path("b.wasm")).unwrap()
    );
}

#[test]
fn the_text_form_goes_to_standard_output_or_a_file() {
    let place = Place::new();
    place.file("pattern.json", doubling());
    let ended = place.run(&["compile", "pattern.json", "--wat"]);
    assert!(ended.assert_code(0).stdout.starts_with("(module"));
    place
        .run(&["compile", "pattern.json", "--wat", "-o", "out.wat"])
        .assert_code(0);
    assert_eq!(fs::read_to_string(place.path("out.wat")).unwrap(), ended.stdout);
}

#[test]
fn a_module_compiled_with_a_trace_prints_it() {
    let place = Place::new();
    place.file("pattern.json", doubling());
    place.file("event.json", r#"{"n": 1}"#);
    place
        .run(&["compile", "pattern.json", "--trace", "-o", "out.wasm"])
        .assert_code(0);
    let ended = place.run(&["run", "out.wasm", "--event", "event.json"]);
    assert!(ended.stderr.contains("Twice Return"), "{ended:#?}");
}

#[test]
fn validate_reports_each_file_and_its_verdict() {
    let place = Place::new();
    place.file("good.json", doubling());
    place.file("bad.json", doubling().replace("Return", "Retrun"));
    let ended = place.run(&["validate", "good.json", "bad.json"]);
    ended.assert_code(3);
    assert!(
        ended
            .stdout
            .contains("good.json: is valid (no errors)\nbad.json: does not compile (1 error"),
        "{ended:#?}"
    );
    assert!(ended.stderr.contains("did you mean `Return`?"), "{ended:#?}");
    place.run(&["validate", "good.json"]).assert_code(0);
}

#[test]
fn validate_explains_the_way_of_each_expression() {
    let place = Place::new();
    let pattern = json!({
        "nodes": [
            {"id": "start", "type": "OnManual", "data": {}},
            {"id": "end", "type": "Return", "data": {"parameters": {"value":
                "{{ $input.a.trim() }} {{ $input.b.replace(/x/g, s => { return s + s; }) }}"
            }}},
        ],
        "edges": [{"id": "e", "source": "start", "target": "end"}],
    });
    place.file("p.json", pattern.to_string());
    let ended = place.run(&["validate", "--explain", "p.json"]);
    ended.assert_code(0);
    assert_eq!(
        ended.stdout,
        "p.json: is valid (no errors)\n\
         \u{20} compiled  end · value: $input.a.trim()\n\
         \u{20} engine    end · value: $input.b.replace(/x/g, s => { return s + s; })\n\
         \u{20}           a regular expression, at 18: /x/g\n\
         \u{20} 1 of 2 expressions compiled, 1 evaluated by the JavaScript engine\n"
    );
    let ended = place.run(&["validate", "--explain", "--json", "p.json"]);
    ended.assert_code(0);
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    let expressions = &json["files"][0]["expressions"];
    assert_eq!(
        expressions[0],
        json!({"nodeId": "end", "parameter": "value", "expression": "$input.a.trim()", "route": "compiled"})
    );
    assert_eq!(expressions[1]["route"], "engine");
    assert_eq!(
        expressions[1]["reasons"],
        json!([{"what": "a regular expression", "span": {"start": 17, "end": 21}}])
    );
}

#[test]
fn validate_explains_which_code_is_compiled() {
    let place = Place::new();
    let node = |id: &str, code: &str| json!({"id": id, "type": "JavaScript", "data": {"parameters": {"code": code}}});
    let pattern = json!({
        "nodes": [
            {"id": "start", "type": "OnManual", "data": {}},
            node("double", "export default ({ input }) =>\n  input.n * 2"),
            node("sum", "export default ({ input }) => { let sum = 0; for (const x of input) sum += x; return sum; }"),
        ],
        "edges": [{"source": "start", "target": "double"}, {"source": "start", "target": "sum"}],
    });
    place.file("p.json", pattern.to_string());
    let ended = place.run(&["validate", "--explain", "p.json"]);
    ended.assert_code(0);
    assert_eq!(
        ended.stdout,
        "p.json: is valid (no errors)\n\
         \u{20} compiled  double · code: export default ({ input }) => input.n * 2\n\
         \u{20} engine    sum · code: export default ({ input }) => { let sum = 0; for (const x of input) sum += x; return sum; }\n\
         \u{20}           a statement that is neither `const`, `if` nor `return`, at 46: for (const x of input) sum += x;\n\
         \u{20} 0 of 0 expressions compiled, 0 evaluated by the JavaScript engine\n\
         \u{20} 1 of 2 modules of code compiled, 1 executed by the JavaScript engine\n"
    );
    let ended = place.run(&["validate", "--explain", "--json", "p.json"]);
    ended.assert_code(0);
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        json["files"][0]["expressions"][0],
        json!({
            "nodeId": "double", "parameter": "code", "route": "compiled",
            "expression": "export default ({ input }) =>\n  input.n * 2"
        })
    );
}

#[test]
fn validate_gives_machines_one_object() {
    let place = Place::new();
    place.file("good.json", doubling());
    place.file("bad.json", doubling().replace("Return", "Retrun"));
    let checked = place.run(&["validate", "--json", "good.json", "bad.json", "gone.json"]);
    checked.assert_code(4);
    let checked = checked.json();
    assert_eq!(checked["valid"], false);
    assert_eq!(
        checked["files"][0],
        json!({"file": "good.json", "valid": true, "errors": [], "warnings": []})
    );
    assert_eq!(checked["files"][1]["errors"][0]["nodeId"], "end");
    assert_eq!(checked["files"][2]["errors"][0]["code"], "FILE");
}

#[test]
fn an_export_and_standard_input_are_patterns_too() {
    let place = Place::new();
    let graph: Value = serde_json::from_str(&doubling()).unwrap();
    let export = json!({"name": "Doubling", "description": "", "graphData": graph, "nodeDefinitions": {}});
    place.file("event.json", r#"{"n": 4}"#);
    let ended = place.run_with_input(&["run", "-", "--event", "event.json"], &export.to_string());
    assert_eq!(ended.assert_code(0).stdout, "8\n");
    place.file("pattern.json", doubling());
    let ended = place.run_with_input(&["run", "pattern.json", "--event", "-"], r#"{"n": 5}"#);
    assert_eq!(ended.assert_code(0).stdout, "10\n");
}

#[test]
fn nodes_lists_and_describes_the_catalogue() {
    let place = Place::new();
    let list = place.run(&["nodes"]);
    assert!(list.assert_code(0).stdout.contains("ForEach"));
    let page = place.run(&["nodes", "Switch"]);
    for expected in ["Switch", "cases", "default", "Parameters", "Example:"] {
        assert!(page.stdout.contains(expected), "{page:#?}");
    }
    let all = place.run(&["nodes", "--json"]).json();
    let names: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["type"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"HttpRequest") && names.contains(&"OnWebhook"));
    let one = place.run(&["nodes", "Limit", "--json"]).json();
    assert_eq!(one["parameters"]["required"], json!(["count"]));
}

#[test]
fn the_reference_page_is_made_from_the_catalogue() {
    let page = Place::new().run(&["nodes", "--markdown"]);
    let checked_in = fs::read_to_string(root().join("docs/nodes.md")).unwrap();
    assert!(
        page.stdout == checked_in,
        "docs/nodes.md is stale: heddle nodes --markdown > docs/nodes.md"
    );
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = Place::new().run(&["completions", shell]);
        assert!(ended.assert_code(0).stdout.contains("validate"), "{shell}");
    }
}

#[test]
fn each_command_has_a_manual_page() {
    let place = Place::new();
    let page = place.run(&["man"]).assert_code(0).stdout.clone();
    assert!(
        page.starts_with(".TH HEDDLE 1 ") && page.contains(".B heddle\\-push(1)"),
        "{page}"
    );
    assert!(!page.contains("heddle\\-worker"), "{page}");
    place.run(&["man", "-o", "pages"]).assert_code(0);
    let push = fs::read_to_string(place.path("pages/heddle-push.1")).unwrap();
    assert!(push.contains(".B \\-m, \\-\\-message MESSAGE\n"), "{push}");
    assert!(place.path("pages/heddle-import-n8n.1").is_file());
}

#[test]
fn help_documents_the_exit_codes() {
    let ended = Place::new().run(&["--help"]);
    assert!(ended.assert_code(0).stdout.contains("Exit codes:"));
}

#[test]
fn the_short_help_leaves_most_settings_out() {
    for command in [
        &["serve"][..],
        &["user", "create"],
        &["keys", "rotate"],
        &["backup"],
    ] {
        let help = |flag: &str| {
            Place::new()
                .run(&[command, &[flag]].concat())
                .assert_code(0)
                .stdout
                .clone()
        };
        let (short, long) = (help("-h"), help("--help"));
        assert!(
            short.lines().count() < 40 && short.contains("--data-dir"),
            "{short}"
        );
        assert!(
            short.contains("see more with '--help'") && !short.contains("--token-ttl"),
            "{short}"
        );
        assert!(
            long.contains("Settings:") && long.contains("--token-ttl"),
            "{long}"
        );
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let place = Place::new();
    let mut child = place.command(&["nodes", "--markdown"]).spawn().unwrap();
    let mut start = [0; 16];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &[] as &[u8])
    );
}
