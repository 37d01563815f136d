//! Failures: fail, continue, branch, retry; messages of expressions.

use super::fake::{Graph, evaluate, fails, for_each, pass, repeat, returns, tag};
use crate::machine::{Outside, Status};
use heddle_contract::plan::{NodeKind, OnError, Site};
use heddle_values::Value;

const ERROR: &str = r#"{"message":"it broke","code":"BROKEN","nodeId":"f"}"#;

#[test]
fn a_failure_ends_the_run_with_its_node() {
    let mut graph = Graph::new("1");
    graph.node("f", fails);
    graph.effect("later");
    graph.edges(&["t > f", "f > later"]);
    let ended = graph.run();
    assert_eq!((ended.status, ended.json.as_str()), (Status::Failed, ERROR));
    assert!(ended.record.is_empty());
}

#[test]
fn a_run_that_failed_tells_what_its_node_was_given() {
    let mut graph = Graph::new(r#"{"a":[1,2]}"#);
    graph.node("f", fails);
    graph.edges(&["t > f"]);
    let told = graph.run().failed_input.unwrap();
    assert_eq!(told, r#"{"path":"","input":{"a":[1,2]},"truncated":false}"#);

    let mut graph = Graph::new("[[1],[2]]");
    let body = graph.looped("l", for_each, "{}", NodeKind::ForEach, 0);
    graph.node("f", fails).scope = body;
    graph.edges(&["t > l", "l > f", "f > l.1"]);
    let told = graph.run().failed_input.unwrap();
    assert_eq!(told, r#"{"path":"l[0]","input":[1],"truncated":false}"#);
}

#[test]
fn of_a_large_input_the_beginning_is_told() {
    let event = format!("[\"{}\",{{\"x\":1}}]", "a".repeat(50_000));
    let mut graph = Graph::new(&event);
    graph.node("f", fails);
    graph.edges(&["t > f"]);
    let told = graph.run().failed_input.unwrap();
    assert!(told.starts_with(r#"{"path":"","input":["aaaa"#) && told.ends_with(r#"a"],"truncated":true}"#));
    assert!((10_000..20_000).contains(&told.len()), "{}", told.len());

    let mut graph = Graph::new(&format!("[{}]", vec![r#"{"n":1}"#; 10_000].join(",")));
    graph.node("f", fails);
    graph.edges(&["t > f"]);
    let told = graph.run().failed_input.unwrap();
    assert!(
        told.starts_with(r#"{"path":"","input":[{"n":1},{"n":1}"#) && told.len() < 30_000,
        "{told}"
    );
}

#[test]
fn an_error_that_is_handled_tells_nothing() {
    let mut graph = Graph::new("1");
    graph.node("f", fails).on_error = OnError::Continue;
    graph.edges(&["t > f"]);
    assert_eq!(graph.run().failed_input, None);
}

fn handled(on_error: OnError, edges: &[&str]) -> String {
    let mut graph = Graph::new("1");
    let node = graph.node("f", fails);
    (node.on_error, node.error_port) = (on_error, Some(2));
    let function = graph.function(|run| vec![run.input(), run.error()].into());
    graph.with("e", evaluate, &format!("{{\"function\":{function}}}"));
    graph.node("r", returns);
    graph.edges(&["t > f", "e > r"]).edges(edges);
    graph.output()
}

#[test]
fn continue_emits_the_error_by_the_first_port_and_branch_by_its_own() {
    let seen = format!(r#"[{{"error":{ERROR}}},{ERROR}]"#);
    assert_eq!(handled(OnError::Continue, &["f > e"]), seen);
    assert_eq!(handled(OnError::Branch, &["f.2 > e"]), seen);
    assert_eq!(handled(OnError::Branch, &["f > e"]), "null");
}

#[test]
fn a_loop_that_fails_continues_by_done() {
    let mut graph = Graph::new("1");
    let condition = graph.function(|run| {
        run.expression_failed("no");
        Value::Undefined
    });
    let body = graph.looped(
        "l",
        repeat,
        &format!("{{\"function\":{condition}}}"),
        NodeKind::Loop,
        0,
    );
    graph.find("l").on_error = OnError::Continue;
    graph.node("a", pass).scope = body;
    graph.node("r", returns);
    graph.edges(&["t > l", "l > a", "a > l.1", "l.1 > r"]);
    assert_eq!(
        graph.output(),
        r#"{"error":{"message":"no","code":"EXPRESSION","nodeId":"l"}}"#
    );
}

#[test]
fn errors_are_seen_in_their_frame_and_those_inside() {
    let mut graph = Graph::new("[1,2]");
    let body = graph.looped("l", for_each, "{}", NodeKind::ForEach, 0);
    let node = graph.with("f", fails, r#"{"on":1}"#);
    (node.on_error, node.scope) = (OnError::Continue, body);
    let function = graph.function(|run| matches!(run.error(), Value::Object(_)).into());
    graph
        .with("e", evaluate, &format!("{{\"function\":{function}}}"))
        .scope = body;
    graph.node("r", returns);
    graph.edges(&["t > l", "l > f", "f > e", "e > l.1", "l.1 > r"]);
    assert_eq!(graph.output(), "[true,false]");
}

/// A node that succeeds in attempt `good`.
fn flaky(good: u32, max_attempts: u32, backoff_ms: u32) -> super::fake::Ended {
    let mut graph = Graph::new("1");
    let attempts = std::cell::Cell::new(0);
    let function = graph.function(move |run| {
        attempts.set(attempts.get() + 1);
        if attempts.get() < good {
            run.expression_failed("not yet");
        }
        f64::from(attempts.get()).into()
    });
    let node = graph.with("f", evaluate, &format!("{{\"function\":{function}}}"));
    (node.max_attempts, node.backoff_ms, node.backoff_factor_milli) = (max_attempts, backoff_ms, 3000);
    graph.node("r", returns);
    graph.with("other", tag, r#"{"tag":"."}"#);
    graph.edges(&["t > f", "f > r", "t > other"]);
    graph.run()
}

#[test]
fn a_node_is_tried_again_after_growing_waits() {
    let ended = flaky(3, 3, 100);
    assert_eq!((ended.status, ended.json.as_str()), (Status::Completed, "3"));
    assert_eq!(
        ended.lines("start"),
        [r#"f sleep {"ms":100}"#, r#"f sleep {"ms":300}"#]
    );
    assert_eq!(ended.lines("Warn f").len(), 2);
}

#[test]
fn attempts_are_counted_and_without_backoff_nothing_waits() {
    let ended = flaky(3, 2, 100);
    assert_eq!(ended.status, Status::Failed);
    assert_eq!(ended.lines("start").len(), 1);
    let ended = flaky(2, 2, 0);
    assert_eq!(ended.json, "2");
    assert!(ended.lines("start").is_empty());
}

#[test]
fn an_expression_is_named_with_its_parameter_and_values() {
    let mut graph = Graph::new(r#"{"id":1,"total":2}"#);
    let function = graph.function(|run| {
        run.outside.set_site(0);
        run.expression_failed("cannot read `name` of undefined");
        run.expression_failed("a later one");
        Value::Undefined
    });
    graph.with("f", evaluate, &format!("{{\"function\":{function}}}"));
    let source = "$input.customer.name".to_owned();
    graph.plan.sites.push(Site {
        node: 1,
        parameter: "fields.name".into(),
        source,
    });
    graph.edges(&["t > f"]);
    let ended = graph.run();
    let start =
        "cannot read `name` of undefined in `$input.customer.name` (parameter `fields.name`; `$input` is ";
    assert!(
        ended.json.contains(start) && ended.json.contains("total"),
        "{}",
        ended.json
    );
    assert!(
        ended.json.contains(r#""code":"EXPRESSION""#) && !ended.json.contains("later"),
        "{}",
        ended.json
    );
}
