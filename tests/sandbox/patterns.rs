//! Compiled patterns on the real standard library: what only compiler, guest and host together can show.

use crate::harness::{CACHE, code, config, request, unhurried};
use crate::server::Server;
use heddle_compiler::Options;
use heddle_runtime::{EgressPolicy, Limits, Outcome, RunRequest, Runtime, RuntimeConfig, Status, Tier};
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::time::Duration;

/// The value of the secret `KEY`.
pub const SECRET: &str = "hush \"quiet\" & still";

/// A node of the type with these parameters.
pub fn node(id: &str, node_type: &str, parameters: Value) -> Value {
    json!({ "id": id, "type": node_type, "data": { "parameters": parameters } })
}

/// The graph that begins at the node `start`; edges are written `a -> b` or `a.port -> b.port`.
pub fn pattern(nodes: &[Value], edges: &[&str]) -> Value {
    let edge = |edge: &&str| {
        let (from, to) = edge.split_once(" -> ").unwrap();
        let end = |end: &str| match end.split_once('.') {
            Some((id, port)) => (json!(id), json!(port)),
            None => (json!(end), Value::Null),
        };
        let ((source, from), (target, to)) = (end(from), end(to));
        json!({ "source": source, "sourceHandle": from, "target": target, "targetHandle": to })
    };
    let start = json!({ "id": "start", "type": "OnManual" });
    let nodes = [&[start], nodes].concat();
    let edges: Vec<Value> = edges.iter().map(edge).collect();
    json!({ "nodes": nodes, "edges": edges })
}

/// One for all tests, with a cache on disk, since compiling the standard library and the JavaScript engine takes its
/// time. Reaches this machine's own servers.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    Runtime::new(RuntimeConfig {
        egress: EgressPolicy::parse(["127.0.0.0/8"]).unwrap(),
        cache_dir: Some(CACHE.into()),
        ..config()
    })
    .unwrap()
});

/// Runs a pattern, with its trace.
pub async fn run(pattern: &Value, event: &Value) -> Outcome {
    let options = Options {
        trace: true,
        ..Options::default()
    };
    let wasm = compiled(pattern, &json!({}), &options);
    run_module(&wasm, event, unhurried()).await
}

/// Runs a pattern with definitions, within limits.
pub async fn run_limited(pattern: &Value, definitions: &Value, event: &Value, limits: Limits) -> Outcome {
    let wasm = compiled(pattern, definitions, &Options::default());
    run_module(&wasm, event, limits).await
}

/// Runs a pattern with definitions that must not reach outside.
pub async fn run_contained(pattern: &Value, definitions: &Value, event: &Value) -> Outcome {
    let wasm = compiled(pattern, definitions, &Options::default());
    let program = RUNTIME.load(&wasm, Tier::Fast).unwrap();
    let request = RunRequest {
        trigger_node_id: Some("start".into()),
        is_contained: true,
        ..request(0, event)
    };
    RUNTIME.run(&program, request).await
}

/// The runtime of these tests.
pub fn runtime() -> &'static Runtime {
    &RUNTIME
}

/// A pattern as a module.
pub fn compiled(pattern: &Value, definitions: &Value, options: &Options) -> Vec<u8> {
    let compiled = heddle_compiler::compile(pattern, definitions, options);
    let artifact = compiled.artifact;
    artifact
        .unwrap_or_else(|| panic!("{:?}", compiled.diagnostics))
        .wasm
}

/// Runs a compiled pattern from its node `start`.
pub async fn run_module(wasm: &[u8], event: &Value, limits: Limits) -> Outcome {
    let program = RUNTIME.load(wasm, Tier::Fast).unwrap();
    let request = RunRequest {
        trigger_node_id: Some("start".into()),
        limits,
        ..request(0, event)
    };
    RUNTIME.run(&program, request).await
}

/// The output of a run that has completed.
pub fn output(outcome: &Outcome) -> Value {
    assert_eq!(outcome.status, Status::Completed, "{:?}", outcome.error);
    serde_json::from_str(outcome.output.as_ref().unwrap().get()).unwrap()
}

#[tokio::test]
async fn requests_on_parallel_arms_overlap() {
    // The server answers neither request before it has both: one after the other would end as TIMEOUT.
    let server = Server::meeting(2).await;
    let call = json!({ "url": server.url("/"), "bodyOnly": true, "timeoutMs": 60_000 });
    let pattern = pattern(
        &[
            node("left", "HttpRequest", call.clone()),
            node("right", "HttpRequest", call),
            node("both", "Merge", json!({ "mode": "append" })),
            node("end", "Return", json!({})),
        ],
        &[
            "start -> left",
            "start -> right",
            "left -> both",
            "right -> both",
            "both -> end",
        ],
    );
    let outcome = tokio::time::timeout(Duration::from_secs(120), run(&pattern, &Value::Null)).await;
    assert_eq!(output(&outcome.unwrap()), json!(["together", "together"]));
}

#[tokio::test]
async fn a_loop_that_wraps_its_value_each_time_ends_at_the_depth_limit() {
    let wrapping = |expression: &str, rounds: u32| {
        pattern(
            &[
                node(
                    "again",
                    "Loop",
                    json!({ "condition": "{{ true }}", "maxIterations": rounds }),
                ),
                node("wrap", "Transform", json!({ "value": expression })),
                node("end", "Return", json!({})),
            ],
            &[
                "start -> again",
                "again.item -> wrap",
                "wrap -> again.next",
                "again.done -> end",
            ],
        )
    };
    for expression in ["{{ [$input] }}", "{{ ({ a: $input }) }}", "{{ [[[$input]]] }}"] {
        let outcome = run(&wrapping(expression, 10_000), &json!(1)).await;
        let error = outcome.error.as_ref().unwrap_or_else(|| panic!("{expression}"));
        assert_eq!(
            (code(&outcome), error.node_id.as_deref()),
            ("DEPTH_LIMIT", Some("wrap"))
        );
        assert!(
            error.message.contains("more than 512 levels"),
            "{}",
            error.message
        );
    }
    let deepest = run(&wrapping("{{ [$input] }}", 512), &json!(1)).await;
    assert_eq!(
        deepest.output.unwrap().get(),
        format!("{}1{}", "[".repeat(512), "]".repeat(512))
    );
}

#[tokio::test]
async fn the_deepest_values_are_merged_field_by_field() {
    for (expression, rounds, opening, closing) in [
        ("{{ ({ a: $input }) }}", 512, r#"{"a":"#, "}"),
        ("{{ ({ a: [$input] }) }}", 256, r#"{"a":["#, "]}"),
    ] {
        let merging = pattern(
            &[
                node(
                    "again",
                    "Loop",
                    json!({ "condition": "{{ true }}", "maxIterations": rounds }),
                ),
                node("wrap", "Transform", json!({ "value": expression })),
                node("same", "NoOp", json!({})),
                node("both", "Merge", json!({ "mode": "combine", "deep": true })),
                node("end", "Return", json!({})),
            ],
            &[
                "start -> again",
                "again.item -> wrap",
                "wrap -> again.next",
                "again.done -> both",
                "again.done -> same",
                "same -> both",
                "both -> end",
            ],
        );
        let outcome = run(&merging, &json!(1)).await;
        assert!(outcome.error.is_none(), "{expression}: {:?}", outcome.error);
        assert_eq!(
            outcome.output.unwrap().get(),
            format!("{}1{}", opening.repeat(rounds), closing.repeat(rounds))
        );
    }
}

/// Digests of the secret, which come right although the guest never has it; and the event holds it as well, so that
/// whatever shows the event shows the secret.
#[tokio::test]
async fn digests_with_a_secret_are_right_and_show_it_nowhere() {
    let digests = pattern(
        &[
            node(
                "sign",
                "Hmac",
                json!({ "secret": "{{ $secrets.KEY }}", "value": "order {{ $input.order }}" }),
            ),
            node(
                "hash",
                "Hash",
                json!({ "value": "order {{ $trigger.order }}:{{ $secrets.KEY }}" }),
            ),
            node(
                "log",
                "Log",
                json!({ "message": "key {{ $trigger.key }}, reference {{ $secrets.KEY }}" }),
            ),
            node(
                "end",
                "Return",
                json!({ "value": "{{ [$nodes.sign, $nodes.hash, $trigger.key] }}" }),
            ),
        ],
        &["start -> sign", "sign -> hash", "hash -> log", "log -> end"],
    );
    let outcome = run(&digests, &json!({ "order": 7, "key": SECRET })).await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(outcome.usage.effects, 2);
    let expected = json!([
        "5cb0b9456584d76db57af21d1e99b065d81a7976c3c93d915be8d41b68c7bd88",
        "9e5333aeee667899bc3e9d4f730e03c1d7630154ef1668caec5a3ac215d5200b",
        "***"
    ]);
    assert_eq!(output(&outcome), expected);
    assert!(
        outcome.logs[0]
            .message
            .starts_with("key ***, reference heddle-secret(KEY;"),
        "{:?}",
        outcome.logs
    );
    assert_eq!(outcome.trace.len(), 5);
    let shown = format!("{outcome:?}");
    assert!(!shown.contains("hush") && !shown.contains("quiet"), "{shown}");
}

/// More than secrets are looked for in where the run ends.
#[tokio::test]
async fn a_large_output_shows_no_secret() {
    let nodes = [
        node(
            "sign",
            "Hmac",
            json!({ "secret": "{{ $secrets.KEY }}", "value": "x" }),
        ),
        node("end", "Return", json!({ "value": "{{ $trigger.text }}" })),
    ];
    let around = "x".repeat(100_000);
    let event = json!({ "text": format!("{around}{SECRET}{around}") });
    let outcome = run(&pattern(&nodes, &["start -> sign", "sign -> end"]), &event).await;
    assert_eq!(output(&outcome), json!(format!("{around}***{around}")));
}

#[tokio::test]
async fn numbers_of_a_pattern_keep_their_last_bit() {
    let texts = [
        "31.245270191439438",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "8.383658838626809e-78",
        "-7.803913958627244e173",
        "5e-324",
        "1.7976931348623157e308",
        "100000000000000016777215",
        "9007199254740993",
        "0.1",
        "-0.0",
    ];
    let list = format!("[{}]", texts.join(", "));
    // Read as a file would be.
    let text = format!(
        r#"{{"nodes": [
            {{"id": "start", "type": "OnManual"}},
            {{"id": "constant", "type": "Transform", "data": {{"parameters": {{"value": {list}}}}}}},
            {{"id": "written", "type": "Transform", "data": {{"parameters": {{"value": "{{{{ {list} }}}}"}}}}}},
            {{"id": "end", "type": "Return", "data": {{"parameters": {{"value":
                "{{{{ [$nodes.constant, $nodes.written, $trigger] }}}}"}}}}}}],
          "edges": [
            {{"source": "start", "target": "constant"}}, {{"source": "constant", "target": "written"}},
            {{"source": "written", "target": "end"}}]}}"#
    );
    let outcome = run(
        &serde_json::from_str(&text).unwrap(),
        &serde_json::from_str(&list).unwrap(),
    )
    .await;
    let lists: Vec<Vec<f64>> = serde_json::from_value(output(&outcome)).unwrap();
    // The standard library reads decimals exactly. JSON.stringify has no negative zero.
    let expected: Vec<f64> = texts.iter().map(|text| text.parse().unwrap()).collect();
    assert_eq!(lists, [expected.clone(), expected.clone(), expected]);
}

#[tokio::test]
async fn a_failed_expression_is_quoted_without_the_space_around_it() {
    let pattern = pattern(
        &[node(
            "read",
            "Transform",
            json!({ "value": "Dear {{   $input.a.b }}" }),
        )],
        &["start -> read"],
    );
    let error = run(&pattern, &json!({})).await.error.unwrap();
    assert_eq!(
        (error.code.as_str(), error.node_id.as_deref()),
        ("EXPRESSION", Some("read"))
    );
    assert!(
        error.message.contains(" in `$input.a.b` (parameter `value`"),
        "{}",
        error.message
    );
}
