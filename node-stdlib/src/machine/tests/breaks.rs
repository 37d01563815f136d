//! Pins and breakpoints.

use super::fake::{Graph, by_port, for_each, pass, returns};
use crate::machine::Status;
use heddle_contract::plan::NodeKind;

#[test]
fn a_pinned_node_does_not_execute() {
    let mut graph = Graph::new("1");
    graph.effect("x").pin = Some((0, r#"{"a":1}"#.into()));
    graph.node("r", returns);
    graph.edges(&["t > x", "x > r"]);
    let ended = graph.run();
    assert_eq!(ended.json, r#"{"a":1}"#);
    assert!(ended.record.is_empty());
}

#[test]
fn a_pin_names_its_port() {
    let mut graph = Graph::new("1");
    graph.with("p", by_port, r#"{"port":0}"#).pin = Some((1, "2".into()));
    graph.node("r", returns);
    graph.edges(&["t > p", "p > r.0", "p.1 > r.1"]);
    assert_eq!(graph.output(), r#"{"right":2}"#);
}

#[test]
fn a_pinned_loop_is_done() {
    let mut graph = Graph::new("[1]");
    let body = graph.looped("l", for_each, "{}", NodeKind::ForEach, 0);
    graph.find("l").pin = Some((0, "[9]".into()));
    graph.node("a", pass).scope = body;
    graph.node("r", returns);
    graph.edges(&["t > l", "l > a", "a > l.1", "l.1 > r"]);
    assert_eq!(graph.output(), "[9]");
}

#[test]
fn a_skipped_node_does_not_emit_its_pin() {
    let mut graph = Graph::new("1");
    graph.node("p", pass).pin = Some((0, "2".into()));
    graph.node("r", returns);
    graph.edges(&["t.1 > p", "p > r"]);
    assert_eq!(graph.output(), "null");
}

#[test]
fn a_breakpoint_stops_before_its_node_with_pins_to_continue() {
    let mut graph = Graph::new("1");
    graph.effect("x");
    graph.with("p", by_port, r#"{"port":1}"#);
    graph.node("b", pass).breakpoint = true;
    graph.node("later", returns);
    graph.edges(&["t > x", "t > p", "p.1 > b", "b > later", "x > later"]);
    let ended = graph.run();
    assert_eq!(ended.status, Status::Paused);
    let pins = r#"{"t":1,"x":"x(1)","p":{"$pin":true,"port":1,"value":1}}"#;
    assert_eq!(
        ended.json,
        format!(r#"{{"breakpoint":{{"nodeId":"b","input":1}},"pinnedNodes":{pins}}}"#)
    );
}

#[test]
fn a_pinned_breakpoint_is_passed() {
    let mut graph = Graph::new("1");
    let node = graph.node("b", pass);
    (node.breakpoint, node.pin) = (true, Some((0, "5".into())));
    graph.node("r", returns);
    graph.edges(&["t > b", "b > r"]);
    assert_eq!(graph.output(), "5");
}
