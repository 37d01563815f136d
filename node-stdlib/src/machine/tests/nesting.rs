//! Nesting: what leaves a node is at most [`JSON_DEPTH_MAX`] levels deep, wherever it leaves.

use super::fake::{Graph, evaluate, for_each, pass, repeat, returns};
use crate::machine::Status;
use heddle_contract::plan::NodeKind::{ForEach, Loop};
use heddle_contract::plan::OnError;
use heddle_values::{JSON_DEPTH_MAX, Value};

fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

/// t > wrap > r, where `wrap` puts its input into an array.
fn wrapping(event: &str) -> Graph {
    let mut graph = Graph::new(event);
    graph.function(|run| vec![run.input()].into());
    graph.with("wrap", evaluate, r#"{"function":0}"#);
    graph.node("r", returns);
    graph.edges(&["t > wrap", "wrap > r"]);
    graph
}

fn assert_fails_at(graph: &mut Graph, node: &str) {
    let ended = graph.run();
    assert_eq!(ended.status, Status::Failed, "{}", ended.json);
    for part in [
        r#""code":"DEPTH_LIMIT""#.to_owned(),
        "nested more than 512 levels deep".to_owned(),
        format!(r#""nodeId":"{node}""#),
    ] {
        assert!(ended.json.contains(&part), "{part} in {}", ended.json);
    }
}

#[test]
fn a_value_may_be_as_deep_as_the_limit_and_no_deeper() {
    assert_eq!(
        wrapping(&nested(JSON_DEPTH_MAX - 1)).output(),
        nested(JSON_DEPTH_MAX)
    );
    assert_fails_at(&mut wrapping(&nested(JSON_DEPTH_MAX)), "wrap");
}

#[test]
fn the_error_can_be_caught() {
    let mut graph = wrapping(&nested(JSON_DEPTH_MAX));
    graph.find("wrap").on_error = OnError::Continue;
    let output = graph.output();
    assert!(output.contains(r#""code":"DEPTH_LIMIT""#), "{output}");
}

#[test]
fn the_output_of_a_run() {
    let mut graph = Graph::new(&nested(JSON_DEPTH_MAX));
    graph.node("a", pass);
    graph.node("r", returns);
    // Two live edges into one port make an array.
    graph.edges(&["t > a", "t > r", "a > r"]);
    assert_fails_at(&mut graph, "r");
}

#[test]
fn a_loop_that_wraps_its_value_each_time() {
    let mut graph = Graph::new("1");
    graph.function(|run| vec![run.input()].into());
    let body = graph.looped("l", repeat, r#"{"max":2000}"#, Loop, 0);
    graph.with("wrap", evaluate, r#"{"function":0}"#).scope = body;
    graph.edges(&["t > l", "l > wrap", "wrap > l.1"]);
    assert_fails_at(&mut graph, "wrap");
}

#[test]
fn values_that_come_back_to_a_loop_together() {
    let mut graph = Graph::new("1");
    let body = graph.looped("l", repeat, r#"{"max":2000}"#, Loop, 0);
    graph.node("a", pass).scope = body;
    graph.node("b", pass).scope = body;
    // Both come back, as an array, which is the next value.
    graph.edges(&["t > l", "l > a", "l > b", "a > l.1", "b > l.1"]);
    assert_fails_at(&mut graph, "l");
}

#[test]
fn results_of_a_loop_and_of_each() {
    let event = format!("[{}]", nested(JSON_DEPTH_MAX - 1));
    let mut graph = Graph::new(&event);
    graph.function(|run| vec![run.input()].into());
    let body = graph.looped("l", for_each, "{}", ForEach, 0);
    graph.with("wrap", evaluate, r#"{"function":0}"#).scope = body;
    graph.edges(&["t > l", "l > wrap", "wrap > l.1"]);
    assert_fails_at(&mut graph, "l");

    let mut graph = wrapping(&event);
    graph.find("wrap").each = true;
    assert_fails_at(&mut graph, "wrap");
}

#[test]
fn a_request_to_the_host() {
    let mut graph = Graph::new(&nested(JSON_DEPTH_MAX));
    graph.effect("e");
    graph.edges(&["t > e"]);
    assert_fails_at(&mut graph, "e");
}

#[test]
fn a_property_that_was_deep_once_is_forgotten() {
    // Each round puts the whole value into a property and then something flat in its place.
    let mut graph = Graph::new("1");
    graph.function(|run| {
        let mut object = heddle_values::Object::from_iter([("a", run.input())]);
        object.insert("a", Value::Null);
        Value::Object(object)
    });
    let body = graph.looped("l", repeat, r#"{"max":2000}"#, Loop, 0);
    graph.with("wrap", evaluate, r#"{"function":0}"#).scope = body;
    graph.node("r", returns);
    graph.edges(&["t > l", "l > wrap", "wrap > l.1", "l.1 > r"]);
    assert_eq!(graph.output(), r#"{"a":null}"#);
}
