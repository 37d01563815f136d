//! Branches, joins, dead paths, several edges, Return, triggers, disabled nodes.

use super::fake::{Graph, at_least, both, by_port, evaluate, pass, returns, tag};
use crate::machine::Status;
use heddle_contract::plan::NodeKind;
use heddle_values::JSON_DEPTH_MAX;

fn branch_and_join(event: &str) -> Graph {
    let mut graph = Graph::new(event);
    graph.with("big", at_least, r#"{"min":10}"#);
    graph.with("a", tag, r#"{"tag":" a"}"#);
    graph.with("b", tag, r#"{"tag":" b"}"#);
    graph.node("join", pass);
    graph.node("r", returns);
    graph.edges(&[
        "t > big",
        "big > a",
        "big.1 > b",
        "a > join",
        "b > join",
        "join > r",
    ]);
    graph
}

#[test]
fn both_arms_of_a_branch_join_again() {
    assert_eq!(branch_and_join("12").output(), r#""12 a""#);
    assert_eq!(branch_and_join("3").output(), r#""3 b""#);
}

#[test]
fn dead_paths_are_followed_to_their_end() {
    let mut graph = Graph::new("1");
    graph.with("no", by_port, r#"{"port":1}"#);
    for index in 0..2_000 {
        graph.with(&format!("n{index}"), tag, r#"{"tag":"!"}"#);
    }
    graph.node("join", pass);
    graph.node("r", returns);
    graph.edges(&["t > no", "no > n0", "n1999 > join", "no.1 > join", "join > r"]);
    for index in 1..2_000 {
        graph.edges(&[&format!("n{} > n{index}", index - 1)]);
    }
    assert_eq!(graph.output(), "1");
}

#[test]
fn other_triggers_are_dead() {
    let mut graph = Graph::new("1");
    graph.node("other", pass).kind = NodeKind::Trigger;
    graph.with("a", tag, r#"{"tag":"other"}"#);
    graph.node("r", returns);
    graph.edges(&["other > a", "a > r", "t > r"]);
    assert_eq!(graph.output(), "1");
}

#[test]
fn several_live_edges_into_a_port_give_an_array_in_edge_order() {
    let mut graph = Graph::new("0");
    graph.node("r", returns);
    graph.with("a", tag, r#"{"tag":"a"}"#);
    graph.with("b", tag, r#"{"tag":"b"}"#);
    graph.edges(&["t > a", "t > b", "b > r", "a > r"]);
    assert_eq!(graph.output(), r#"["0b","0a"]"#);
}

#[test]
fn several_wired_ports_give_an_object_of_the_live_ones() {
    let wired = |port: &str| {
        let mut graph = Graph::new("5");
        graph.with("p", by_port, port);
        graph.node("r", returns);
        graph.edges(&["t > p", "t > r.0", "p.1 > r.1"]);
        graph.output()
    };
    assert_eq!(wired(r#"{"port":1}"#), r#"{"in":5,"right":5}"#);
    assert_eq!(wired(r#"{"port":0}"#), r#"{"in":5}"#);
}

#[test]
fn merge_collects_or_takes_the_first() {
    let merged = |first: bool, arms: &[&str]| {
        let mut graph = Graph::new("0");
        let merge = graph.node("m", pass);
        (merge.first, merge.collect) = (first, !first);
        graph.with("a", tag, r#"{"tag":"a"}"#);
        graph.effect("slow");
        graph.node("r", returns);
        graph.edges(&["t > a", "t > slow", "m > r"]).edges(arms);
        graph.output()
    };
    assert_eq!(merged(false, &["slow > m", "a > m"]), r#"["slow(0)","0a"]"#);
    assert_eq!(merged(false, &["a > m", "slow.1 > m"]), r#"["0a"]"#);
    assert_eq!(merged(true, &["slow > m", "a > m"]), r#""0a""#);
    assert_eq!(merged(true, &["a.1 > m", "slow > m"]), r#""slow(0)""#);
    assert_eq!(merged(true, &["a.1 > m", "slow.1 > m"]), "null");
}

#[test]
fn first_return_wins_and_the_others_still_run() {
    let mut graph = Graph::new("1");
    graph.node("r1", returns);
    graph.node("r2", returns);
    graph.effect("after");
    graph.edges(&["t > r1", "t > r2", "t > after"]);
    let ended = graph.run();
    assert_eq!((ended.status, ended.json.as_str()), (Status::Completed, "1"));
    assert_eq!(ended.lines("Warn r2").len(), 1);
    assert_eq!(ended.lines("start after").len(), 1);
}

#[test]
fn ready_nodes_run_in_the_order_of_their_readiness_and_then_of_the_graph() {
    let mut graph = Graph::new("1");
    for id in ["c", "a", "d", "b"] {
        graph.node(id, pass);
    }
    graph.plan.trace = true;
    graph.edges(&["t > b", "t > a", "a > c", "b > d"]);
    let ended = graph.run();
    assert_eq!(ended.lines("begin"), ["t@", "a@", "b@", "c@", "d@"]);
}

#[test]
fn disabled_nodes_pass_their_input_on() {
    let mut graph = Graph::new("1");
    graph.with("off", tag, r#"{"tag":"x"}"#).kind = NodeKind::Pass;
    graph.node("r", returns);
    graph.edges(&["t > off", "off > r"]);
    assert_eq!(graph.output(), "1");
}

#[test]
fn outputs_of_other_nodes_are_those_of_their_first_live_port() {
    let mut graph = Graph::new("7");
    graph.node("both", both);
    graph.with("unseen", by_port, r#"{"port":0}"#);
    let (both, unseen) = (graph.index("both"), graph.index("unseen"));
    let function =
        graph.function(move |run| vec![run.node_output(both), run.node_output(unseen), run.trigger()].into());
    graph.with("e", evaluate, &format!("{{\"function\":{function}}}"));
    graph.node("r", returns);
    graph.edges(&["t > both", "both > e", "t.2 > unseen", "e > r"]);
    assert_eq!(graph.output(), "[7,null,7]");
}

#[test]
fn an_expression_definition_emits_by_itself() {
    let mut graph = Graph::new("7");
    graph.expression("d");
    graph.function(|run| vec![run.input(), run.facts(), run.variables(), run.secret("KEY")].into());
    graph.node("r", returns);
    graph.edges(&["t > d", "d > r"]);
    assert_eq!(
        graph.output(),
        r#"[7,{"id":"r1"},{"v":1},"heddle-secret(KEY;n0)"]"#
    );
}

#[test]
fn what_leaves_a_node_is_json() {
    let mut graph = Graph::new("7");
    graph.expression("d");
    graph.function(|_| vec![f64::NAN.into(), heddle_values::Value::Undefined].into());
    graph.node("r", returns);
    graph.edges(&["t > d", "d > r"]);
    assert_eq!(graph.output(), "[null,null]");
}

#[test]
fn an_event_that_is_no_json_fails_the_run() {
    let ended = Graph::new("{").run();
    assert_eq!(ended.status, Status::Failed);
    assert!(ended.json.contains(r#""code":"EVENT""#), "{}", ended.json);
}

#[test]
fn an_event_nested_too_deeply_has_a_code_of_its_own() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert_eq!(
        Graph::new(&nested(JSON_DEPTH_MAX)).run().status,
        Status::Completed
    );
    let ended = Graph::new(&nested(JSON_DEPTH_MAX + 1)).run();
    let wanted = r#"{"message":"The event is nested more than 512 levels deep at byte 512","code":"DEPTH_LIMIT","nodeId":null}"#;
    assert_eq!(ended.json, wanted);
}
