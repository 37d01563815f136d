//! Plans: what becomes of composites, loops, disabled nodes, pins, and what the manifest says.

use crate::diagnostics::{graph, node};
use heddle_compiler::{Options, Severity, analyse, compile};
use heddle_contract::abi::{ABI_VERSION_ITEMS, ABI_VERSION_LENIENT};
use heddle_contract::manifest::Rights;
use heddle_contract::plan::{NodeKind, OnError, Plan, View};
use serde_json::{Value, json};

/// A plan as text: a line for each node, then its edges.
fn text(plan: &Plan) -> String {
    let mut text = String::new();
    for node in &plan.nodes {
        text += &format!(
            "{} {:?} scope {} in {:?}",
            node.id, node.kind, node.scope, node.inputs
        );
        let mut flag = |set: bool, name: &str| text += &if set { format!(" {name}") } else { String::new() };
        flag(node.first, "first");
        flag(node.collect, "collect");
        flag(node.each, "each");
        flag(node.once, "once");
        flag(node.always, "always");
        flag(node.breakpoint, "breakpoint");
        flag(node.seen_outside, "seen outside");
        flag(node.body.is_some(), &format!("body {:?}", node.body));
        flag(
            node.on_error != OnError::Fail,
            &format!("{:?} {:?}", node.on_error, node.error_port),
        );
        flag(node.pin.is_some(), &format!("pin {:?}", node.pin));
        flag(node.max_attempts > 1, &format!("attempts {}", node.max_attempts));
        flag(node.timeout_ms > 0, &format!("timeout {}", node.timeout_ms));
        text.push('\n');
    }
    let id = |index: u32| &plan.nodes[index as usize].id;
    for edge in &plan.edges {
        text += &format!(
            "{}.{} -> {}.{}\n",
            id(edge.source),
            edge.source_port,
            id(edge.target),
            edge.target_port
        );
    }
    text
}

fn plan(graph: Value, definitions: Value, options: &Options) -> Plan {
    let (lowered, diagnostics) = analyse(&graph, &definitions, options);
    lowered.unwrap_or_else(|| panic!("{diagnostics:#?}")).plan
}

/// A composite that doubles its input, with an inner call that can fail.
fn checkout() -> Value {
    let inner = graph(
        [
            node("call", "OnCall", json!({})),
            node(
                "pay",
                "HttpRequest",
                json!({ "url": "https://pay.example.com/{{ $input.id }}" }),
            ),
            node("done", "Return", json!({ "value": "{{ $nodes.pay.body }}" })),
        ],
        &["call -> pay", "pay -> done"],
    );
    json!({ "Checkout": { "kind": "graph", "inputs": [{ "name": "order" }], "outputs": [{ "name": "receipt" }], "graphData": inner } })
}

fn shop(data: Value) -> Value {
    let mut graph = graph(
        [
            node("start", "OnManual", json!({})),
            json!({ "id": "buy", "type": "Checkout", "data": data }),
            node("end", "Return", json!({ "value": "{{ $(\"buy\") }}" })),
        ],
        &["start -> buy.order", "buy.receipt -> end"],
    );
    if data["onError"] == "branch" {
        graph["nodes"]
            .as_array_mut()
            .unwrap()
            .push(node("failed", "NoOp", json!({})));
        let edge = json!({ "source": "buy", "sourceHandle": "error", "target": "failed" });
        graph["edges"].as_array_mut().unwrap().push(edge);
    }
    graph
}

#[test]
fn composites_are_inlined_between_their_rims() {
    insta::assert_snapshot!(text(&plan(shop(json!({})), checkout(), &Options::default())), @r#"
    start Trigger scope 0 in []
    buy/call Pass scope 0 in ["order"]
    buy/pay Plain scope 0 in ["in"]
    buy/done Plain scope 0 in ["in"]
    buy Pass scope 0 in ["in"] first
    end Plain scope 0 in ["in"]
    start.0 -> buy/call.0
    buy.0 -> end.0
    buy/call.0 -> buy/pay.0
    buy/pay.0 -> buy/done.0
    buy/done.0 -> buy.0
    "#);
}

#[test]
fn a_composite_that_catches_failures_has_a_body() {
    let data = json!({ "onError": "branch", "timeoutMs": 50 });
    insta::assert_snapshot!(text(&plan(shop(data), checkout(), &Options::default())), @r#"
    start Trigger scope 0 in []
    buy Composite scope 0 in ["order"] body Some(1) Branch Some(1)
    buy/call Pass scope 1 in ["in"] timeout 50
    buy/pay Plain scope 1 in ["in"] timeout 50
    buy/done Plain scope 1 in ["in"] timeout 50
    buy/$out Pass scope 1 in ["in"] first
    end Plain scope 0 in ["in"]
    failed Plain scope 0 in ["in"]
    start.0 -> buy.0
    buy.0 -> end.0
    buy.1 -> failed.0
    buy/call.0 -> buy/pay.0
    buy/pay.0 -> buy/done.0
    buy/done.0 -> buy/$out.0
    buy.2 -> buy/call.0
    buy/$out.0 -> buy.1
    "#);
}

#[test]
fn a_composite_that_is_executed_several_times_has_a_body() {
    let data = json!({ "each": true, "concurrency": 3, "retry": { "maxAttempts": 2, "backoffMs": 100 } });
    insta::assert_snapshot!(text(&plan(shop(data), checkout(), &Options::default())), @r#"
    start Trigger scope 0 in []
    buy Composite scope 0 in ["order"] each body Some(1) attempts 2
    buy/call Pass scope 1 in ["in"]
    buy/pay Plain scope 1 in ["in"]
    buy/done Plain scope 1 in ["in"]
    buy/$out Pass scope 1 in ["in"] first
    end Plain scope 0 in ["in"]
    start.0 -> buy.0
    buy.0 -> end.0
    buy/call.0 -> buy/pay.0
    buy/pay.0 -> buy/done.0
    buy/done.0 -> buy/$out.0
    buy.1 -> buy/call.0
    buy/$out.0 -> buy.1
    "#);
}

#[test]
fn pinned_and_disabled_composites_are_one_node() {
    let options = Options {
        pinned_nodes: [
            ("buy".to_owned(), json!({ "paid": true })),
            ("buy/pay".to_owned(), json!(1)),
        ]
        .into_iter()
        .collect(),
        ..Options::default()
    };
    insta::assert_snapshot!(text(&plan(shop(json!({})), checkout(), &options)), @r#"
    start Trigger scope 0 in []
    buy Pass scope 0 in ["order"] pin Some((0, "{\"paid\":true}"))
    end Plain scope 0 in ["in"]
    start.0 -> buy.0
    buy.0 -> end.0
    "#);
    let disabled = plan(shop(json!({ "disabled": true })), checkout(), &Options::default());
    assert_eq!(disabled.nodes[1].kind, NodeKind::Pass);
}

fn with_breakpoints(plan: &Plan) -> Vec<&str> {
    let nodes = plan.nodes.iter().filter(|node| node.breakpoint);
    nodes.map(|node| node.id.as_str()).collect()
}

#[test]
fn breakpoints_on_composites_stand_before_them() {
    let options = Options {
        breakpoints: vec!["buy".to_owned(), "buy/pay".to_owned()],
        ..Options::default()
    };
    let inlined = plan(shop(json!({})), checkout(), &options);
    assert_eq!(with_breakpoints(&inlined), ["buy/call", "buy/pay"]);
    let options = Options {
        breakpoints: vec!["buy".to_owned()],
        ..Options::default()
    };
    let plan = plan(shop(json!({ "each": true })), checkout(), &options);
    assert_eq!(with_breakpoints(&plan), ["buy"]);
}

/// A composite with a loop and a node that nothing leads to, which reads what the loop's body emitted.
fn picky() -> Value {
    let inner = graph(
        [
            node("call", "OnCall", json!({})),
            node("island", "NoOp", json!({})),
            node("rows", "ForEach", json!({})),
            node("row", "NoOp", json!({})),
            node("last", "Transform", json!({ "value": "{{ $nodes.row }}" })),
            node("done", "Return", json!({})),
        ],
        &[
            "call -> rows",
            "rows.item -> row",
            "rows.done -> last",
            "last -> done",
        ],
    );
    json!({ "Picky": { "kind": "graph", "inputs": [{ "name": "in" }], "outputs": [{ "name": "a" }, { "name": "b" }],
                       "graphData": inner } })
}

#[test]
fn bodies_of_composites_and_loops_nest() {
    let graph = graph(
        [
            node("start", "OnManual", json!({})),
            node("all", "ForEach", json!({})),
            json!({ "id": "pick", "type": "Picky", "data": { "onError": "branch" } }),
            node("failed", "NoOp", json!({})),
        ],
        &[
            "start -> all",
            "all.item -> pick",
            "pick.b -> all.next",
            "pick.error -> failed",
        ],
    );
    insta::assert_snapshot!(text(&plan(graph, picky(), &Options::default())), @r#"
    start Trigger scope 0 in []
    all ForEach scope 0 in ["in", "next"] body Some(1)
    pick Composite scope 1 in ["in"] body Some(2) Branch Some(2)
    pick/call Pass scope 2 in ["in"]
    pick/island Plain scope 2 in ["in"]
    pick/rows ForEach scope 2 in ["in", "next"] body Some(3)
    pick/row Plain scope 3 in ["in"] seen outside
    pick/last Plain scope 2 in ["in"]
    pick/done Pass scope 2 in ["in"]
    pick/$out Plain scope 2 in ["in"] first
    failed Plain scope 1 in ["in"]
    start.0 -> all.0
    all.0 -> pick.0
    pick.1 -> all.1
    pick.2 -> failed.0
    pick/call.0 -> pick/rows.0
    pick/rows.0 -> pick/row.0
    pick/rows.1 -> pick/last.0
    pick/last.0 -> pick/done.0
    pick/done.0 -> pick/$out.0
    pick.3 -> pick/call.0
    pick/$out.0 -> pick.1
    pick/$out.1 -> pick.1
    "#);
}

#[test]
fn bodies_of_loops_are_scopes() {
    let graph = graph(
        [
            node("start", "OnManual", json!({})),
            node("outer", "ForEach", json!({})),
            node(
                "inner",
                "Loop",
                json!({ "condition": "{{ $index < 3 }}", "maxIterations": 9 }),
            ),
            node("deep", "NoOp", json!({})),
            node("merge", "Merge", json!({ "mode": "first" })),
        ],
        &[
            "start -> outer",
            "outer.item -> inner",
            "inner.item -> deep",
            "deep -> inner.next",
            "inner.done -> outer.next",
            "outer.done -> merge",
        ],
    );
    let options = Options {
        pinned_nodes: [("inner".to_owned(), json!(7))].into_iter().collect(),
        ..Options::default()
    };
    let plan = plan(graph, json!({}), &options);
    insta::assert_snapshot!(text(&plan), @r#"
    start Trigger scope 0 in []
    outer ForEach scope 0 in ["in", "next"] body Some(1)
    inner Loop scope 1 in ["in", "next"] body Some(2) pin Some((1, "7"))
    deep Plain scope 2 in ["in"]
    merge Plain scope 0 in ["in"] first
    start.0 -> outer.0
    outer.0 -> inner.0
    inner.0 -> deep.0
    deep.0 -> inner.1
    inner.1 -> outer.1
    outer.1 -> merge.0
    "#);
    let parents: Vec<_> = plan
        .scopes
        .iter()
        .map(|scope| (scope.parent, scope.loop_node))
        .collect();
    assert_eq!(parents, [(None, None), (Some(0), Some(1)), (Some(1), Some(2))]);
}

#[test]
fn the_manifest_lists_rights_and_triggers() {
    let mut graph = graph(
        [
            node("start", "OnManual", json!({})),
            json!({ "id": "off", "type": "OnManual", "data": { "disabled": true } }),
            node("hook", "OnWebhook", json!({})),
            node(
                "a",
                "HttpRequest",
                json!({
                    "url": "https://API.example.com:443/x", "headers": { "authorization": "Bearer {{ $secrets.TOKEN }}" },
                }),
            ),
            node(
                "b",
                "HttpRequest",
                json!({ "url": "http://localhost:8080/{{ $input }}" }),
            ),
        ],
        &["start -> a", "hook -> a", "off -> a", "a -> b"],
    );
    graph["nodes"][4]["data"]["retry"] = json!({ "maxAttempts": 3, "backoffMs": 10 });
    let (lowered, _) = analyse(&graph, &json!({}), &Options::default());
    let manifest = lowered.unwrap().manifest;
    assert_eq!(
        manifest.rights,
        Rights {
            effects: vec!["http".to_owned(), "sleep".to_owned()],
            secrets: vec!["TOKEN".to_owned()],
            hosts: vec!["api.example.com".to_owned(), "localhost:8080".to_owned()],
            ..Rights::default()
        }
    );
    let triggers: Vec<&str> = manifest
        .triggers
        .iter()
        .map(|trigger| trigger.node_id.as_str())
        .collect();
    assert_eq!(triggers, ["start", "hook"]);
}

#[test]
fn hosts_that_are_computed_are_any() {
    for url in [
        "{{ $input }}",
        "https://{{ $input }}/x",
        "https://example.com{{ $input }}",
        "https://a.b@{{ 1 }}/",
    ] {
        let graph = graph(
            [
                node("start", "OnManual", json!({})),
                node("a", "HttpRequest", json!({ "url": url })),
            ],
            &["start -> a"],
        );
        let (lowered, _) = analyse(&graph, &json!({}), &Options::default());
        assert_eq!(lowered.unwrap().manifest.rights.hosts, ["*"], "{url}");
    }
}

/// The rights of a pattern with one node besides its trigger.
fn rights_of(node_type: &str, parameters: Value) -> Rights {
    let own = json!({
        "kind": "javascript", "code": "export default ({params}) => params",
        "inputs": [{ "name": "in" }], "outputs": [{ "name": "out" }]
    });
    let graph = graph(
        [
            node("start", "OnManual", json!({})),
            node("a", node_type, parameters),
        ],
        &["start -> a"],
    );
    let (lowered, diagnostics) = analyse(&graph, &json!({ "Own": own }), &Options::default());
    lowered
        .unwrap_or_else(|| panic!("{diagnostics:?}"))
        .manifest
        .rights
}

#[test]
fn rights_follow_from_what_parameters_stand_for() {
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let named = json!({ "connection": "shop", "url": "/orders", "query": "select 1", "patternId": "p" });
    let pick = |names: &[&str]| -> Value {
        let fields = names.iter().map(|name| ((*name).to_owned(), named[name].clone()));
        Value::Object(fields.collect())
    };
    let sql = rights_of("SqlQuery", pick(&["connection", "query"]));
    assert_eq!((sql.connections, sql.effects), (list(&["shop"]), list(&["sql"])));
    let below = rights_of("HttpRequest", pick(&["connection", "url"]));
    assert_eq!((below.connections, below.hosts), (list(&["shop"]), list(&[])));
    let call = rights_of("CallPattern", pick(&["patternId"]));
    assert_eq!((call.patterns, call.effects), (list(&["p"]), list(&["call"])));
    let computed = rights_of("CallPattern", json!({ "patternId": "{{ $input }}" }));
    assert_eq!(computed.patterns, list(&["*"]));
    let regex = rights_of("Regex", json!({ "text": "a", "pattern": "b" }));
    assert!(regex.javascript && regex.effects.is_empty());
    let code = rights_of(
        "JavaScript",
        json!({ "code": "export default () => fetch('https://example.com')" }),
    );
    assert!(code.javascript);
    assert_eq!((code.hosts, code.effects), (list(&["*"]), list(&["http"])));
    let kept = |source: &str| rights_of("JavaScript", json!({ "code": source })).effects;
    assert_eq!(
        kept("export default () => keyValue.get('a')"),
        list(&["key-value"])
    );
    assert_eq!(kept("export default ({input}) => input.keyValues"), list(&[]));
    // Names alone grant nothing: these parameters are for code of the user's own.
    let own = rights_of("Own", named.clone());
    let only_engine = Rights {
        javascript: true,
        ..Rights::default()
    };
    assert_eq!(own, only_engine);
}

#[test]
fn a_graph_of_a_thousand_nodes_compiles() {
    let nodes = (0..999).map(|index| {
        node(
            &format!("n{index}"),
            "Transform",
            json!({ "value": "{{ $input }}" }),
        )
    });
    let edges: Vec<String> = (1..999)
        .flat_map(|index| [1, 7, 40, 200, 500].map(|back| (index, back)))
        .filter(|(index, back)| index >= back)
        .map(|(index, back)| format!("n{} -> n{index}", index - back))
        .chain(["start -> n0".to_owned()])
        .collect();
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    let graph = graph(
        [node("start", "OnManual", json!({}))].into_iter().chain(nodes),
        &edges,
    );
    let compiled = compile(&graph, &json!({}), &Options::default());
    assert!(compiled.artifact.is_some());
    let (lowered, _) = analyse(&graph, &json!({}), &Options::default());
    let bytes = lowered.unwrap().plan.encode();
    assert_eq!(View::new(&bytes).unwrap().node_count(), 1_000);
}

#[test]
fn lenient_expressions_are_part_of_the_module() {
    let mut drawn = graph(
        [
            node("start", "OnManual", json!({})),
            node(
                "early",
                "Transform",
                json!({ "value": "{{ $nodes[\"late\"].a }}" }),
            ),
            node("late", "NoOp", json!({})),
        ],
        &["start -> early", "early -> late"],
    );
    let messages = |drawn: &Value| -> Vec<String> {
        let compiled = compile(drawn, &json!({}), &Options::default());
        let found = compiled.diagnostics.into_iter();
        let errors = found.filter(|found| found.severity == Severity::Error);
        errors.map(|found| found.message).collect()
    };
    assert!(
        messages(&drawn)[0].contains("can't have run before"),
        "{:?}",
        messages(&drawn)
    );
    drawn["settings"] =
        json!({ "memoryMb": 32, "computeSeconds": 5, "maxEffects": 5_000, "expressions": "lenient" });
    let artifact = compile(&drawn, &json!({}), &Options::default()).artifact.unwrap();
    assert_eq!(artifact.manifest.abi_version, ABI_VERSION_LENIENT);
    let settings = serde_json::to_value(&artifact.manifest.settings).unwrap();
    assert_eq!(settings, drawn["settings"]);
    drawn["settings"] = json!({ "expressions": "sloppy" });
    let message = "settings.expressions must be `strict` or `lenient`";
    assert!(messages(&drawn)[0].starts_with(message), "{:?}", messages(&drawn));
}

#[test]
fn in_graphs_of_items_nodes_execute_by_their_types_or_as_they_say() {
    let whole = |mut node: Value| {
        node["data"]["each"] = false.into();
        node
    };
    let mut drawn = graph(
        [
            node("start", "OnManual", json!({})),
            node("one", "If", json!({ "condition": true })),
            whole(node("all", "If", json!({ "condition": true }))),
            node("list", "Filter", json!({ "condition": true })),
            node("loop", "ForEach", json!({})),
        ],
        &["start -> one", "one -> all", "all -> list", "list -> loop"],
    );
    drawn["settings"] = json!({ "items": true });
    let (lowered, diagnostics) = analyse(&drawn, &json!({}), &Options::default());
    let lowered = lowered.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    assert_eq!(lowered.manifest.abi_version, ABI_VERSION_ITEMS);
    assert!(lowered.manifest.settings.items);
    let each: Vec<bool> = lowered.plan.nodes.iter().map(|node| node.each).collect();
    assert_eq!(each, [false, true, false, false, false]);
    assert!(lowered.plan.nodes.iter().all(|node| node.items));

    drawn["nodes"][4] = node("loop", "Merge", json!({ "mode": "combine" }));
    let found = compile(&drawn, &json!({}), &Options::default()).diagnostics;
    let message = "`combine` joins objects, but in a graph of items every edge brings a list";
    assert!(found.iter().any(|found| found.message == message), "{found:#?}");
    drawn["settings"] = json!({ "items": "yes" });
    let found = compile(&drawn, &json!({}), &Options::default()).diagnostics;
    assert!(
        found
            .iter()
            .any(|found| found.message.starts_with("settings.items must be true or false")),
        "{found:#?}"
    );
}
