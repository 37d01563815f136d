//! Components: compiled into a pattern, executed in stores of their own; hostile ones fail their node, and the run
//! goes on.

use crate::hand_made::{base64, component, component_with, constant, echo, fetching};
use crate::harness::{CACHE, code, config, request, unhurried};
use crate::patterns::{SECRET, compiled, node, output, pattern, run_contained, run_limited, runtime};
use crate::server::{Server, ok};
use heddle_compiler::Options;
use heddle_runtime::{Limits, NOT_PINNED, Outcome, RunRequest, Runtime, RuntimeConfig, Tier};
use serde_json::{Value, json};
use std::time::Duration;

/// A definition of kind `component`.
fn definition(component: &[u8]) -> Value {
    json!({ "kind": "component", "component": base64(component) })
}

/// Runs a pattern whose type `Own` is this component.
async fn run(pattern: &Value, component: &[u8], event: &Value) -> Outcome {
    run_definitions(pattern, &json!({ "Own": definition(component) }), event).await
}

async fn run_definitions(pattern: &Value, definitions: &Value, event: &Value) -> Outcome {
    run_limited(pattern, definitions, event, limits()).await
}

/// Less fuel than usual: a loop uses it up long before its time is over, on a busy machine too.
fn limits() -> Limits {
    Limits {
        fuel_max: 400_000_000,
        ..unhurried()
    }
}

/// The pattern of one node `own` of the type `Own`. On a busy machine its component may compute for longer than usual.
fn own(parameters: Value) -> Value {
    let mut own = node("own", "Own", parameters);
    own["data"]["timeoutMs"] = 600_000.into();
    pattern(
        &[own, node("end", "Return", json!({}))],
        &["start -> own", "own -> end"],
    )
}

/// Runs a component whose failure is caught; the error that its node emits.
async fn caught(component: &[u8]) -> Value {
    caught_of(definition(component), &json!(1)).await
}

async fn caught_of(definition: Value, event: &Value) -> Value {
    let mut pattern = own(json!({}));
    pattern["nodes"][1]["data"]["onError"] = "continue".into();
    let outcome = run_definitions(&pattern, &json!({ "Own": definition }), event).await;
    let output = output(&outcome);
    assert_eq!(output["error"]["nodeId"], "own", "{output}");
    output["error"].clone()
}

#[tokio::test]
async fn the_input_goes_in_as_json_and_the_output_comes_out() {
    for event in [
        json!({"a": [1, 2.5, "é\u{1F600}"]}),
        json!("text"),
        json!(null),
        json!([]),
    ] {
        let outcome = run(&own(json!({})), &echo(), &event).await;
        assert_eq!(output(&outcome), event);
    }
}

#[tokio::test]
async fn parameters_are_evaluated_and_the_context_tells_run_node_and_item() {
    let parameters = component("(call $ok (local.get $parameters) (local.get $parameters_len))");
    let given = json!({"rate": 2, "of": "{{ $input.a + 1 }}", "deep": {"list": ["{{ $input.a }}"]}});
    let outcome = run(&own(given), &parameters, &json!({"a": 4})).await;
    assert_eq!(
        output(&outcome),
        json!({"rate": 2, "of": 5, "deep": {"list": [4]}})
    );

    let context = component("(call $ok (local.get $context) (local.get $context_len))");
    let mut pattern = own(json!({}));
    pattern["nodes"][1]["data"]["each"] = true.into();
    let contexts = output(&run(&pattern, &context, &json!(["x", "y"])).await);
    let second = &contexts[1];
    assert_eq!(second["run"]["id"], "run-1");
    assert_eq!(second["run"]["startedAt"], "2023-11-14T22:13:20.123Z");
    assert_eq!(second["node"], json!({"id": "own", "type": "Own"}));
    assert_eq!(second["item"], "y");
    assert_ne!(second["key"], contexts[0]["key"]);
}

#[tokio::test]
async fn several_outputs_are_named_in_an_object_and_those_it_lacks_are_dead() {
    let split = pattern(
        &[
            node("own", "Own", json!({})),
            node("high", "Return", json!({"value": "{{ ['high', $input] }}"})),
            node("low", "Return", json!({"value": "{{ ['low', $input] }}"})),
        ],
        &["start -> own", "own.high -> high", "own.low -> low"],
    );
    let with_outputs = |component: &[u8]| {
        let mut definition = definition(component);
        definition["outputs"] = json!([{"name": "high"}, {"name": "low"}]);
        json!({ "Own": definition })
    };
    let outcome = run_definitions(&split, &with_outputs(&constant(r#"{"low": 3}"#)), &Value::Null).await;
    assert_eq!(output(&outcome), json!(["low", 3]));
    let outcome = run_definitions(&split, &with_outputs(&constant("3")), &Value::Null).await;
    assert_eq!(code(&outcome), "COMPONENT");
    let message = &outcome.error.unwrap().message;
    assert!(
        message.contains("the outputs high, low, but returned"),
        "{message}"
    );
}

#[tokio::test]
async fn a_component_fails_with_its_own_code_and_message() {
    let failing = component_with(
        "(data (i32.const 1024) \"DECLINEDpoor\")",
        "(call $fail (i32.const 1024) (i32.const 8) (i32.const 1032) (i32.const 4))",
    );
    let error = caught(&failing).await;
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!("DECLINED"), &json!("poor"))
    );
    let without_code = component("(call $fail (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))");
    assert_eq!(caught(&without_code).await["code"], "COMPONENT");
}

#[tokio::test]
async fn an_endless_loop_uses_up_its_own_share_of_fuel() {
    let endless = component("(loop $again (br $again)) (unreachable)");
    let error = caught(&endless).await;
    assert_eq!(error["code"], "OUT_OF_FUEL", "{error}");
    let outcome = run(&own(json!({})), &endless, &Value::Null).await;
    assert!(outcome.usage.fuel_used >= limits().fuel_max / 8);
    assert!(outcome.usage.fuel_used < limits().fuel_max / 4);
}

#[tokio::test]
async fn a_component_that_computes_too_long_ends_at_its_own_time() {
    let endless = component("(loop $again (br $again)) (unreachable)");
    let mut pattern = own(json!({}));
    pattern["nodes"][1]["data"]["onError"] = "continue".into();
    let definitions = json!({ "Own": definition(&endless) });
    // Half of it is the component's. The rest may be too little for a run on a busy machine, which is then given more.
    let mut deadline = Duration::from_millis(500);
    let outcome = loop {
        let limits = Limits {
            fuel_max: u64::MAX,
            deadline,
            ..Limits::default()
        };
        let outcome = run_limited(&pattern, &definitions, &Value::Null, limits).await;
        if code(&outcome) != "TIMEOUT" || deadline > Duration::from_secs(60) {
            break outcome;
        }
        deadline *= 2;
    };
    assert_eq!(output(&outcome)["error"]["code"], "TIMEOUT");
    // A node's own limit is the shorter one.
    pattern["nodes"][1]["data"]["timeoutMs"] = 20.into();
    let error = output(&run(&pattern, &endless, &Value::Null).await)["error"].clone();
    assert!(
        error["message"].as_str().unwrap().contains("its 20 ms"),
        "{error}"
    );
}

#[tokio::test]
async fn several_hostile_calls_leave_the_run_enough_to_end_well() {
    let endless = component("(loop $again (br $again)) (unreachable)");
    let mut pattern = own(json!({}));
    pattern["nodes"][1]["data"]["onError"] = "continue".into();
    pattern["nodes"][1]["data"]["each"] = true.into();
    let limits = Limits {
        fuel_max: 100_000_000,
        ..unhurried()
    };
    let items: Vec<u32> = (0..12).collect();
    let definitions = json!({ "Own": definition(&endless) });
    let outcome = run_limited(&pattern, &definitions, &json!(items), limits).await;
    let errors = output(&outcome);
    assert_eq!(errors.as_array().unwrap().len(), 12);
    assert!(
        errors
            .as_array()
            .unwrap()
            .iter()
            .all(|error| error["error"]["code"] == "OUT_OF_FUEL")
    );
}

#[tokio::test]
async fn memory_tables_and_stacks_are_bounded() {
    let grow = "(loop $again
        (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) (unreachable)";
    let error = caught(&component(grow)).await;
    assert_eq!(error["code"], "OUT_OF_MEMORY", "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("its 32 MiB"),
        "{error}"
    );

    let tables = component_with(
        "(table 1 funcref)",
        "(loop $again (br_if $again (i32.ne (table.grow (ref.null func) (i32.const 10000)) (i32.const -1))))
         (unreachable)",
    );
    assert_eq!(caught(&tables).await["code"], "TABLE_LIMIT");

    let recursion = component_with(
        "(func $deeper (param i32) (result i32)
            (i32.add (call $deeper (i32.add (local.get 0) (i32.const 1))) (local.get 0)))",
        "(call $deeper (i32.const 0))",
    );
    assert_eq!(caught(&recursion).await["code"], "STACK_OVERFLOW");
}

#[tokio::test]
async fn memory_of_calls_counts_towards_what_all_runs_share_and_is_given_back() {
    let runtime = Runtime::new(RuntimeConfig {
        // An executor has a part of its own, in which there is always room for a whole run.
        executors: None,
        memory_bytes_max: 64 << 20,
        runs_memory_bytes_max: Some(30 << 20),
        cache_dir: Some(CACHE.into()),
        ..config()
    })
    .unwrap();
    let ran = async |component: &[u8]| {
        let definitions = json!({ "Own": definition(component) });
        let compiled = heddle_compiler::compile(&own(json!({})), &definitions, &Options::default());
        let program = runtime
            .load(&compiled.artifact.unwrap().wasm, Tier::Fast)
            .unwrap();
        let request = RunRequest {
            trigger_node_id: Some("start".into()),
            limits: limits(),
            ..request(0, &json!(1))
        };
        runtime.run(&program, request).await
    };
    let all = component(
        "(loop $again
            (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) (unreachable)",
    );
    let outcome = ran(&all[..]).await;
    let message = &outcome.error.as_ref().unwrap().message;
    assert_eq!(code(&outcome), "OUT_OF_MEMORY", "{message}");
    assert!(
        message.contains("left of the 30 MiB that all executing runs share"),
        "{message}"
    );
    // More than half of it, which would be there once if it were not given back.
    let half = component(
        "(if (i32.eq (memory.grow (i32.const 256)) (i32.const -1)) (then (unreachable)))
         (call $ok (local.get $input) (local.get $input_len))",
    );
    let again = async {
        for _ in 0..4 {
            while let Some(error) = ran(&half[..]).await.error {
                assert_eq!(error.code, "OUT_OF_MEMORY", "{}", error.message);
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(600), again)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_trap_fails_the_node() {
    let error = caught(&component("(unreachable)")).await;
    assert_eq!(error["code"], "TRAP");
    assert!(
        error["message"].as_str().unwrap().contains("unreachable"),
        "{error}"
    );
    let outside = component("(call $ok (i32.const -8) (i32.const 100))");
    assert_eq!(caught(&outside).await["code"], "TRAP");
    let starts = component_with(
        "(func $start (loop $again (br $again))) (start $start)",
        "(unreachable)",
    );
    assert_eq!(caught(&starts).await["code"], "OUT_OF_FUEL");
}

#[tokio::test]
async fn an_output_that_is_no_json_or_too_large_fails_the_node() {
    for wrong in ["", "{", "yes", "{\"a\": NaN}", "1 2"] {
        let error = caught(&constant(wrong)).await;
        assert_eq!(error["code"], "COMPONENT", "{wrong}");
        assert!(
            error["message"].as_str().unwrap().contains("is not valid JSON"),
            "{error}"
        );
    }
    let deep = "[".repeat(600) + &"]".repeat(600);
    assert_eq!(caught(&constant(&deep)).await["code"], "DEPTH_LIMIT");
    // No text at all: bytes that are not UTF-8.
    let bytes =
        component("(i32.store8 (i32.const 1024) (i32.const 255)) (call $ok (i32.const 1024) (i32.const 1))");
    assert_eq!(caught(&bytes).await["code"], "TRAP");
    // 16 MiB of spaces.
    let huge = component(
        "(drop (memory.grow (i32.const 300)))
         (memory.fill (i32.const 131072) (i32.const 32) (i32.const 16777216))
         (call $ok (i32.const 131072) (i32.const 16777216))",
    );
    assert_eq!(caught(&huge).await["code"], "OUTPUT_LIMIT");
}

#[tokio::test]
async fn log_lines_show_the_node_and_are_bounded() {
    let logs = component_with(
        "(data (i32.const 1024) \"hello1\")",
        "(call $write (i32.const 2) (i32.const 1024) (i32.const 5)) (call $ok (i32.const 1029) (i32.const 1))",
    );
    let outcome = run(&own(json!({})), &logs, &Value::Null).await;
    let line = &outcome.logs[0];
    assert_eq!(
        (line.level, &*line.message, line.node_id.as_deref()),
        ("warn", "hello", Some("own"))
    );

    let talkative = component(
        "(loop $again (call $write (i32.const 1) (i32.const 1024) (i32.const 1)) (br $again)) (unreachable)",
    );
    assert_eq!(caught(&talkative).await["code"], "LOG_LIMIT");
    let long = component(
        "(drop (memory.grow (i32.const 100)))
         (call $write (i32.const 1) (i32.const 131072) (i32.const 1000000)) (unreachable)",
    );
    assert_eq!(caught(&long).await["code"], "LOG_LIMIT");
}

#[tokio::test]
async fn lines_beyond_the_runs_own_room_are_dropped() {
    let logs = component(
        "(call $write (i32.const 1) (i32.const 1024) (i32.const 4)) (call $ok (local.get $input) (local.get $input_len))",
    );
    let mut pattern = own(json!({}));
    pattern["nodes"][1]["data"]["each"] = true.into();
    let limits = Limits {
        log_lines_max: 3,
        ..Limits::default()
    };
    let definitions = json!({ "Own": definition(&logs) });
    let outcome = run_limited(&pattern, &definitions, &json!([1, 2, 3, 4, 5]), limits).await;
    assert_eq!(output(&outcome), json!([1, 2, 3, 4, 5]));
    assert_eq!(outcome.logs.len(), 3);
}

#[tokio::test]
async fn every_attempt_is_a_fresh_instance() {
    // Fails when its global has been set before.
    let counting = component_with(
        "(global $calls (mut i32) (i32.const 0))",
        "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         (if (result i32) (i32.eq (global.get $calls) (i32.const 1))
            (then (call $ok (local.get $input) (local.get $input_len)))
            (else (unreachable)))",
    );
    let mut pattern = own(json!({}));
    pattern["nodes"][1]["data"]["each"] = true.into();
    assert_eq!(
        output(&run(&pattern, &counting, &json!([1, 2, 3])).await),
        json!([1, 2, 3])
    );

    let mut retried = own(json!({}));
    retried["nodes"][1]["data"]["retry"] = json!({"maxAttempts": 3, "backoffMs": 1});
    let outcome = run(&retried, &component("(unreachable)"), &Value::Null).await;
    assert_eq!((code(&outcome), outcome.usage.effects), ("TRAP", 5));
}

#[tokio::test]
async fn other_nodes_go_on_while_a_component_works() {
    let endless = component("(loop $again (br $again)) (unreachable)");
    let mut arms = pattern(
        &[
            node("own", "Own", json!({})),
            node("quick", "Return", json!({"value": "quick"})),
            node("late", "Return", json!({"value": "late"})),
        ],
        &["start -> own", "own -> late", "start -> quick"],
    );
    arms["nodes"][1]["data"]["onError"] = "continue".into();
    assert_eq!(output(&run(&arms, &endless, &Value::Null).await), json!("quick"));
}

#[tokio::test]
async fn requests_go_through_the_guarded_effect_to_listed_hosts_only() {
    let server = Server::start(|_| ok("\"hello\"")).await;
    let url = server.url("/greet");
    let mut definition = definition(&fetching());
    definition["hosts"] = json!([url.split('/').nth(2).unwrap()]);
    let definitions = json!({ "Own": definition });
    let outcome = run_definitions(&own(json!({})), &definitions, &json!(url)).await;
    assert_eq!(output(&outcome), json!("hello"));

    // Another host.
    definition["hosts"] = json!(["example.com"]);
    let error = caught_of(definition.clone(), &json!(url)).await;
    assert_eq!(error["code"], "NOT_PERMITTED");
    // A listed one that the guard refuses.
    definition["hosts"] = json!(["10.0.0.1"]);
    let error = caught_of(definition, &json!("http://10.0.0.1/")).await;
    assert_eq!(error["code"], "EGRESS_DENIED");
}

#[tokio::test]
async fn a_component_sees_references_to_secrets_only() {
    let parameters = component("(call $ok (local.get $parameters) (local.get $parameters_len))");
    let outcome = run(
        &own(json!({"key": "{{ $secrets.KEY }}"})),
        &parameters,
        &Value::Null,
    )
    .await;
    let seen = output(&outcome)["key"].as_str().unwrap().to_owned();
    assert!(seen.contains("KEY") && !seen.contains(SECRET), "{seen}");
}

#[tokio::test]
async fn a_contained_run_ends_before_a_component_that_may_send() {
    let mut pattern = own(json!({}));
    pattern["nodes"][1]["data"]["onError"] = "continue".into();
    let mut definition = definition(&echo());
    let definitions = json!({ "Own": definition });
    let outcome = run_contained(&pattern, &definitions, &json!(7)).await;
    assert_eq!(output(&outcome), json!(7), "it can't send");
    definition["hosts"] = json!(["example.com"]);
    let definitions = json!({ "Own": definition });
    let outcome = run_contained(&pattern, &definitions, &json!(7)).await;
    let error = outcome.error.as_ref().unwrap();
    assert_eq!(
        (code(&outcome), error.node_id.as_deref()),
        (NOT_PINNED, Some("own"))
    );
}

#[tokio::test]
async fn a_contained_run_computes_and_ends_before_code_sends() {
    let module =
        "export default async () => { try { await fetch('https://example.com/') } catch {} return 1 }";
    let sending = pattern(
        &[
            node("hash", "Hash", json!({"value": "x"})),
            node("code", "JavaScript", json!({"code": module})),
            node("end", "Return", json!({})),
        ],
        &["start -> hash", "hash -> code", "code -> end"],
    );
    let outcome = run_contained(&sending, &json!({}), &Value::Null).await;
    let error = outcome.error.as_ref().unwrap();
    assert_eq!(
        (code(&outcome), error.node_id.as_deref()),
        (NOT_PINNED, Some("code"))
    );
    assert!(
        error
            .message
            .starts_with("The node `code` would reach outside (effect `http`)"),
        "{}",
        error.message
    );
}

#[test]
fn whatever_a_component_is_made_of_it_is_refused_or_planned() {
    let definitions = json!({ "Own": definition(&echo()) });
    let module = compiled(&own(json!({})), &definitions, &Options::default());
    let component = echo();
    let at = module
        .windows(component.len())
        .position(|window| window == component)
        .unwrap();
    let runtime = runtime();
    let mut random = fastrand::Rng::with_seed(7);
    let mut refused = 0;
    for _ in 0..500 {
        let mut changed = module.clone();
        for _ in 0..random.usize(1..4) {
            // Its length stays, so that it is the component that is wrong, and not the module around it.
            changed[at + random.usize(8..component.len())] = random.u8(..);
        }
        refused += u32::from(runtime.plan(changed, Tier::Fast).is_err());
    }
    assert!(refused > 0, "nothing was looked at");
    assert!(runtime.plan(module, Tier::Fast).is_ok());
}
