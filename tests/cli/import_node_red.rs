//! `heddle import node-red`: what the imported patterns do when they run, the report, and the exit codes.

use super::harness::Place;
use serde_json::{Value, json};

/// A tab with nodes: id, type, fields, and for each output the nodes behind it.
fn tab(nodes: &[(&str, &str, Value, &[&[&str]])]) -> Value {
    let mut all = vec![json!({"id": "tab", "type": "tab", "label": "Flow"})];
    for (id, kind, fields, wires) in nodes {
        let mut node = fields.clone();
        for (name, value) in [
            ("id", json!(id)),
            ("type", json!(kind)),
            ("z", json!("tab")),
            ("wires", json!(wires)),
        ] {
            node[name] = value;
        }
        all.push(node);
    }
    json!(all)
}

/// What the imported flow does with an event, and its report.
fn run(flow: &Value, event: &Value) -> (Value, Value) {
    let place = Place::new();
    place.file("flows.json", flow.to_string());
    place.file("event.json", event.to_string());
    let told = place.run(&["import", "node-red", "flows.json", "-o", "out", "--json"]);
    let told = told.assert_code(0).json()["workflows"][0].clone();
    assert_eq!(told["report"]["valid"], true, "{told:#}");
    let file = told["output"].as_str().unwrap();
    let ended = place.run(&["run", file, "--event", "event.json", "--json"]);
    (ended.assert_code(0).json(), told["report"].clone())
}

/// The lines that debug nodes have written, by node.
fn lines(ended: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let logs = ended["logs"].as_array().unwrap().iter();
    let mut lines: Vec<(String, String)> = logs
        .map(|line| (text(&line["nodeId"]), text(&line["message"])))
        .collect();
    lines.sort();
    lines
}

fn line(node: &str, text: &str) -> (String, String) {
    (node.to_owned(), text.to_owned())
}

fn inject(payload: &Value) -> Value {
    json!({"name": "Start", "props": [{"p": "payload", "v": payload.to_string(), "vt": "json"}, {"p": "topic", "v": "t", "vt": "str"}]})
}

#[test]
fn a_request_is_answered() {
    let flow = tab(&[
        (
            "in",
            "http in",
            json!({"name": "In", "url": "/greet", "method": "post"}),
            &[&["hello"]],
        ),
        (
            "hello",
            "template",
            json!({"name": "Hello", "field": "payload", "template": "Hello {{payload.name}} & {{{payload.name}}}"}),
            &[&["code"]],
        ),
        (
            "code",
            "change",
            json!({"name": "Code", "rules": [
                {"t": "set", "p": "statusCode", "pt": "msg", "to": "201", "tot": "num"},
                {"t": "change", "p": "payload", "pt": "msg", "from": "(H)ello", "fromt": "re", "to": "$1i", "tot": "str"},
            ]}),
            &[&["out"]],
        ),
        ("out", "http response", json!({"name": "Out"}), &[]),
    ]);
    let event = json!({"method": "POST", "headers": {}, "query": {}, "body": {"name": "<Ann>"}});
    let (ended, report) = run(&flow, &event);
    assert_eq!(ended["response"]["status"], 201, "{ended:#}");
    assert_eq!(ended["response"]["body"], "Hi &lt;Ann&gt; & <Ann>", "{ended:#}");
    assert_eq!(
        ended["response"]["headers"],
        json!({"Content-Type": "text/html; charset=utf-8"}),
        "{ended:#}"
    );
    assert_eq!(
        report["summary"],
        json!({"nodes": 4, "exact": 2, "approximate": 2, "stub": 0, "repaired": 0}),
        "{report:#}"
    );
}

#[test]
fn functions_send_by_several_outputs_and_several_messages() {
    let code = "if (msg.payload.length > 2) {\n  return [[{ payload: 'a' }, { payload: 'b' }], null];\n}\nreturn [null, msg];";
    let flow = tab(&[
        ("start", "inject", inject(&json!([1, 2, 3])), &[&["code"]]),
        (
            "code",
            "function",
            json!({"name": "Code", "func": code, "outputs": 2}),
            &[&["upper"], &["other"]],
        ),
        (
            "upper",
            "function",
            json!({"name": "Upper", "func": "const sent = RED.util.cloneMessage(msg);\nsent.payload = msg.payload.toUpperCase();\nreturn sent;", "outputs": 1}),
            &[&["one", "none"]],
        ),
        (
            "none",
            "function",
            json!({"name": "None", "func": "return null;", "outputs": 1}),
            &[&["never"]],
        ),
        (
            "one",
            "debug",
            json!({"name": "One", "complete": "payload", "targetType": "msg"}),
            &[],
        ),
        ("other", "debug", json!({"name": "Other"}), &[]),
        ("never", "debug", json!({"name": "Never"}), &[]),
    ]);
    let (ended, _) = run(&flow, &Value::Null);
    assert_eq!(lines(&ended), [line("one", "A"), line("one", "B")], "{ended:#}");
}

#[test]
fn values_are_sorted_written_and_read() {
    let flow = tab(&[
        ("start", "inject", inject(&json!([3, 1, 2])), &[&["sort"]]),
        (
            "sort",
            "sort",
            json!({"name": "Sort", "order": "descending", "as_num": true, "target": "payload", "targetType": "msg"}),
            &[&["wait"]],
        ),
        (
            "wait",
            "delay",
            json!({"name": "Wait", "pauseType": "delay", "timeout": "1", "timeoutUnits": "milliseconds"}),
            &[&["json"]],
        ),
        (
            "json",
            "json",
            json!({"name": "Json", "property": "payload", "action": ""}),
            &[&["text", "back"]],
        ),
        ("text", "debug", json!({"name": "Text"}), &[]),
        (
            "back",
            "json",
            json!({"name": "Back", "property": "payload", "action": "obj"}),
            &[&["first"]],
        ),
        (
            "first",
            "debug",
            json!({"name": "First", "complete": "payload[0]", "targetType": "msg"}),
            &[],
        ),
    ]);
    let (ended, report) = run(&flow, &Value::Null);
    assert_eq!(
        lines(&ended),
        [line("first", "3"), line("text", "[3,2,1]")],
        "{ended:#}"
    );
    assert_eq!(report["summary"]["exact"], 7, "{report:#}");
}

#[test]
fn switches_choose_and_branches_meet() {
    let rules =
        json!([{"t": "gt", "v": "1", "vt": "num"}, {"t": "eq", "v": "1", "vt": "str"}, {"t": "else"}]);
    let flow = tab(&[
        ("start", "inject", inject(&json!([1, 2, 0])), &[&["split"]]),
        ("split", "split", json!({"name": "Split"}), &[&["switch"]]),
        (
            "switch",
            "switch",
            json!({"name": "Switch", "property": "payload", "rules": rules, "checkall": "false"}),
            &[&["many"], &["one"], &["join"]],
        ),
        (
            "many",
            "change",
            json!({"name": "Many", "rules": [{"t": "set", "p": "payload", "to": "many", "tot": "str"}]}),
            &[&["join"]],
        ),
        (
            "one",
            "change",
            json!({"name": "One", "rules": [{"t": "move", "p": "topic", "pt": "msg", "to": "payload", "tot": "msg"}]}),
            &[&["join"]],
        ),
        (
            "join",
            "join",
            json!({"name": "Join", "mode": "auto"}),
            &[&["end"]],
        ),
        ("end", "debug", json!({"name": "End"}), &[]),
    ]);
    let (ended, report) = run(&flow, &Value::Null);
    assert_eq!(lines(&ended), [line("end", r#"["t","many",0]"#)], "{ended:#}");
    let items = report["items"].as_array().unwrap();
    assert!(
        items
            .iter()
            .any(|item| item["code"] == "several-edges" && item["nodeId"] == "join"),
        "{report:#}"
    );
}

#[test]
fn links_join_tabs_and_subflows_take_the_place_of_their_instances() {
    let mut flow = tab(&[
        ("start", "inject", inject(&json!(20)), &[&["twice"]]),
        ("twice", "subflow:sub", json!({"name": "Twice"}), &[&["out"]]),
        ("out", "link out", json!({"name": "Out", "links": ["in"]}), &[]),
    ]);
    let others = json!([
        {"id": "sub", "type": "subflow", "name": "Half", "in": [{"wires": [{"id": "half"}]}], "out": [{"wires": [{"id": "half", "port": 0}]}]},
        {"id": "half", "type": "range", "z": "sub", "name": "Half", "minin": "0", "maxin": "100", "minout": "0", "maxout": "50", "wires": [[]]},
        {"id": "second", "type": "tab", "label": "Second"},
        {"id": "in", "type": "link in", "z": "second", "name": "In", "links": ["out"], "wires": [["end"]]},
        {"id": "end", "type": "debug", "z": "second", "name": "End", "wires": []},
        {"id": "note", "type": "comment", "z": "second", "name": "A note", "wires": []},
    ]);
    flow.as_array_mut()
        .unwrap()
        .extend(others.as_array().unwrap().clone());
    let (ended, report) = run(&flow, &Value::Null);
    assert_eq!(lines(&ended), [line("end", "10")], "{ended:#}");
    assert_eq!(report["summary"]["stub"], 0, "{report:#}");
}

#[test]
fn failures_are_caught_and_what_is_unknown_is_a_stub() {
    let flow = tab(&[
        ("start", "inject", inject(&json!(1)), &[&["bad"]]),
        (
            "bad",
            "function",
            json!({"name": "Bad", "func": "node.error('no good', msg);", "outputs": 1}),
            &[&["mqtt"]],
        ),
        ("mqtt", "mqtt out", json!({"name": "Send"}), &[]),
        (
            "catch",
            "catch",
            json!({"name": "Catch", "scope": ["bad"]}),
            &[&["told"]],
        ),
        (
            "told",
            "debug",
            json!({"name": "Told", "complete": "error.message", "targetType": "msg"}),
            &[],
        ),
        (
            "kept",
            "function",
            json!({"name": "Kept", "func": "setTimeout(() => node.send(msg), 10);"}),
            &[&[]],
        ),
        ("press", "ui_button", json!({"name": "Press"}), &[&["kept"]]),
    ]);
    let (ended, report) = run(&flow, &Value::Null);
    let told = lines(&ended);
    assert!(
        told.len() == 1 && told[0].0 == "told" && told[0].1.contains("no good"),
        "{ended:#}"
    );
    assert_eq!(report["summary"]["stub"], 3, "{report:#}");
    let report = report.to_string();
    assert!(report.contains("`ui_button`: start the run by hand"), "{report}");
    let place = Place::new();
    place.file("flows.json", flow.to_string());
    place
        .run(&["import", "node-red", "flows.json", "--strict"])
        .assert_code(1);
    place.file("flows.json", "[]");
    place.run(&["import", "node-red", "flows.json"]).assert_code(3);
}

#[test]
fn jsonata_computes_and_chooses() {
    let values = [
        ("payload.t * 1.8 + 32", json!(68)),
        ("$sum(payload.items.price)", json!(3.5)),
        ("payload.items[-1].price", json!(2.5)),
        ("payload.items[0]", json!({"price": 1})),
        ("payload.items.price", json!([1, 2.5])),
        ("topic & '/' & payload.t", json!("t/20")),
        (
            "payload.t > 10 and topic in ['t', 'u'] ? 'yes' : 'no'",
            json!("yes"),
        ),
        (
            "{'name': $uppercase(topic), 'none': payload.nothing}",
            json!({"name": "T"}),
        ),
        ("[1, payload.items.price, [2]]", json!([1, 1, 2.5, [2]])),
        ("$round($number('2.5')) = 2", json!(true)),
        ("$substringAfter('a-b', '-') & $count(payload.items)", json!("b2")),
        ("payload.nothing + 1", Value::Null),
        ("payload.nothing != 1", json!(false)),
        ("-payload.t /* cold */ - 1", json!(-21)),
        ("$not($exists(payload.`no such`))", json!(true)),
    ];
    let rules: Vec<Value> = values
        .iter()
        .enumerate()
        .map(|(place, (source, _))| {
            json!({"t": "set", "p": format!("r{place}"), "pt": "msg", "to": source, "tot": "jsonata"})
        })
        .collect();
    let choose = json!([{"t": "eq", "v": "payload.t + 0", "vt": "jsonata"}, {"t": "jsonata_exp", "v": "payload.t < 5", "vt": "jsonata"}, {"t": "else"}]);
    let given = json!({"t": 20, "items": [{"price": 1}, {"price": 2.5}]});
    let flow = tab(&[
        ("start", "inject", inject(&given), &[&["change"]]),
        (
            "change",
            "change",
            json!({"name": "Change", "rules": rules}),
            &[&["switch"]],
        ),
        (
            "switch",
            "switch",
            json!({"name": "Switch", "property": "payload.t", "propertyType": "msg", "rules": choose, "checkall": "true"}),
            &[&["same"], &["never"], &["never"]],
        ),
        ("same", "debug", json!({"name": "Same", "complete": "true"}), &[]),
        ("never", "debug", json!({"name": "Never"}), &[]),
    ]);
    let (ended, report) = run(&flow, &Value::Null);
    let told = lines(&ended);
    assert_eq!((told.len(), told[0].0.as_str()), (1, "same"), "{ended:#}");
    let message: Value = serde_json::from_str(&told[0].1).unwrap();
    for (place, (source, value)) in values.iter().enumerate() {
        let given = message.get(format!("r{place}")).unwrap_or(&Value::Null);
        assert_eq!(given, value, "{source}");
    }
    assert_eq!(report["summary"]["stub"], 0, "{report:#}");
    let other = json!({"name": "Change", "rules": [{"t": "set", "p": "a", "to": "$map(payload, function($v) {$v})", "tot": "jsonata"}]});
    let (_, report) = run(
        &tab(&[
            ("start", "inject", inject(&given), &[]),
            ("other", "change", other, &[]),
        ]),
        &Value::Null,
    );
    assert!(report.to_string().contains("`$map`"), "{report:#}");
}

#[test]
fn what_links_call_returns_to_the_caller() {
    let called = |name: &str| json!({"name": name, "links": ["in"], "linkType": "static"});
    let appended = |name: &str, text: &str| json!({"name": name, "func": format!("msg.payload += '{text}'; return msg;"), "outputs": 1});
    let flow = tab(&[
        ("start", "inject", inject(&json!("x")), &[&["one", "two"]]),
        ("one", "link call", called("One"), &[&["first"]]),
        ("two", "link call", called("Two"), &[&["second"]]),
        ("first", "debug", json!({"name": "First"}), &[]),
        ("second", "debug", json!({"name": "Second"}), &[]),
        ("in", "link in", json!({"name": "In", "links": []}), &[&["outer"]]),
        ("outer", "function", appended("Outer", "a"), &[&["inner"]]),
        (
            "inner",
            "link call",
            json!({"name": "Inner", "links": ["in2"], "linkType": "static"}),
            &[&["out"]],
        ),
        (
            "out",
            "link out",
            json!({"name": "Out", "mode": "return", "links": []}),
            &[],
        ),
        (
            "in2",
            "link in",
            json!({"name": "In 2", "links": []}),
            &[&["most"]],
        ),
        ("most", "function", appended("Most", "b"), &[&["out2"]]),
        (
            "out2",
            "link out",
            json!({"name": "Out 2", "mode": "return", "links": []}),
            &[],
        ),
        (
            "again",
            "link in",
            json!({"name": "Again", "links": []}),
            &[&["self"]],
        ),
        (
            "self",
            "link call",
            json!({"name": "Self", "links": ["again"], "linkType": "static"}),
            &[],
        ),
    ]);
    let (ended, report) = run(&flow, &Value::Null);
    assert_eq!(
        lines(&ended),
        [line("first", "xab"), line("second", "xab")],
        "{ended:#}"
    );
    assert_eq!(report["summary"]["stub"], 1, "what calls itself: {report:#}");
}

#[test]
fn contexts_are_kept_by_key_value() {
    let counted = "const n = (flow.get('count') || 0) + 1;\nflow.set('count', n);\nmsg.payload = n + (global.get('more') ?? 10);\nreturn [msg, null];";
    let flow = tab(&[
        ("start", "inject", inject(&json!(1)), &[&["count"]]),
        (
            "count",
            "function",
            json!({"name": "Count", "func": counted, "outputs": 2}),
            &[&["change"], &["never"]],
        ),
        (
            "change",
            "change",
            json!({"name": "Change", "rules": [
                {"t": "set", "p": "last", "pt": "flow", "to": "payload", "tot": "msg"},
                {"t": "set", "p": "payload", "pt": "msg", "to": "last", "tot": "flow"},
            ]}),
            &[&["switch"]],
        ),
        (
            "switch",
            "switch",
            json!({"name": "Switch", "property": "count", "propertyType": "flow", "rules": [{"t": "null"}, {"t": "else"}]}),
            &[&["never"], &["told"]],
        ),
        ("told", "debug", json!({"name": "Told"}), &[]),
        ("never", "debug", json!({"name": "Never"}), &[]),
        (
            "other",
            "function",
            json!({"name": "Other", "func": "flow.get(msg.topic); return msg;"}),
            &[&[]],
        ),
    ]);
    let (ended, report) = run(&flow, &Value::Null);
    assert_eq!(lines(&ended), [line("told", "11")], "{ended:#}");
    let items = report["items"].as_array().unwrap();
    let kept: Vec<&Value> = items.iter().filter(|item| item["code"] == "context").collect();
    assert_eq!(kept.len(), 3, "{report:#}");
    assert_eq!(report["summary"]["stub"], 1, "{report:#}");
}
