//! Effects overlap; what is asked of the run does not depend on the order in which they end.

use super::fake::{Graph, evaluate, for_each, pass, returns};
use heddle_contract::plan::{NodeKind, OnError};

#[test]
fn effects_on_two_arms_start_before_either_is_waited_for() {
    let mut graph = Graph::new("1");
    graph.effect("a");
    graph.effect("b");
    graph.node("join", pass);
    graph.node("r", returns);
    graph.edges(&["t > a", "t > b", "a > join", "b > join", "join > r"]);
    let ended = graph.newest_first().run();
    assert_eq!(ended.json, r#"["a(1)","b(1)"]"#);
    let wanted = [
        r#"start a test {"name":"a","input":1}"#,
        r#"start b test {"name":"b","input":1}"#,
        "end 1",
        "end 0",
    ];
    assert_eq!(ended.record, wanted);
}

#[test]
fn a_waiting_node_holds_up_no_other() {
    let mut graph = Graph::new("1");
    graph.effect("slow");
    graph.node("x", pass);
    graph.effect("after");
    graph.edges(&["t > slow", "t > x", "x > after"]);
    let ended = graph.run();
    assert_eq!(ended.lines("start").len(), 2);
    assert!(ended.record[1].starts_with("start after"));
}

#[test]
fn an_effect_fails_its_node() {
    let mut graph = Graph::new(r#""fail""#);
    let node = graph.effect("x");
    (node.on_error, node.max_attempts, node.backoff_ms) = (OnError::Continue, 2, 5);
    node.backoff_factor_milli = 1000;
    graph.node("r", returns);
    graph.edges(&["t > x", "x > r"]);
    let ended = graph.run();
    assert_eq!(
        ended.json,
        r#"{"error":{"message":"no","code":"HTTP_500","nodeId":"x"}}"#
    );
    assert_eq!(ended.lines("start x test").len(), 2);
    assert_eq!(ended.lines("start x sleep"), [r#"{"ms":5}"#]);
}

#[test]
fn a_nodes_time_limit_goes_with_its_effects() {
    let mut graph = Graph::new("1");
    graph.effect("x").timeout_ms = 250;
    graph.edges(&["t > x"]);
    assert_eq!(
        graph.run().lines("start x test"),
        [r#"{"name":"x","input":1,"timeoutMs":250}"#]
    );
}

#[test]
fn a_trace_pauses_while_a_node_waits() {
    let mut graph = Graph::new("1");
    graph.effect("x");
    graph.plan.trace = true;
    graph.edges(&["t > x"]);
    let record = graph.run().record;
    let wanted = [
        "begin x@",
        "start x test",
        "pause x@",
        "end 0",
        "resume x@",
        "end x@ Output 0",
    ];
    for (line, wanted) in record.iter().skip(2).zip(wanted) {
        assert!(line.starts_with(wanted), "{line} / {wanted}");
    }
    assert_eq!(record.len(), 2 + wanted.len());
}

fn drawn(newest_first: bool) -> String {
    let mut graph = Graph::new("1");
    let function = graph.function(|run| vec![run.random(), run.uuid()].into());
    for id in ["a", "b"] {
        graph.effect(id);
        graph.with(
            &format!("{id}2"),
            evaluate,
            &format!("{{\"function\":{function}}}"),
        );
    }
    graph.node("r", returns);
    graph.edges(&["t > a", "t > b", "a > a2", "b > b2", "a2 > r", "b2 > r"]);
    if newest_first {
        graph.newest_first();
    }
    graph.output()
}

#[test]
fn randomness_depends_on_the_place_and_not_on_the_order() {
    let output = drawn(false);
    assert_eq!(output, drawn(true));
    let parts: Vec<&str> = output
        .split(['[', ']', ',', '"'])
        .filter(|part| !part.is_empty())
        .collect();
    let [random, uuid, other_random, other_uuid] = parts[..] else {
        panic!("{output}")
    };
    assert!(
        random
            .parse::<f64>()
            .is_ok_and(|random| (0.0..1.0).contains(&random))
    );
    assert!(random != other_random && uuid != other_uuid);
    assert_eq!((uuid.len(), uuid.as_bytes()[14]), (36, b'4'));
    assert!(b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
}

fn keys(newest_first: bool) -> Vec<String> {
    let mut graph = Graph::new("[\"fail\",1]");
    let body = graph.looped("loop", for_each, r#"{"concurrency":2}"#, NodeKind::ForEach, 0);
    let node = graph.effect("x");
    (node.on_error, node.max_attempts, node.backoff_ms) = (OnError::Continue, 2, 5);
    node.scope = body;
    graph.effect("y").each = true;
    graph.edges(&["t > loop", "loop > x", "x > loop.1", "loop.1 > y"]);
    if newest_first {
        graph.newest_first();
    }
    let mut keys = graph.run().keys;
    keys.sort();
    keys
}

#[test]
fn an_effects_key_says_where_it_stands_and_not_when() {
    let wanted = [
        "x/loop[0]/1.0",
        "x/loop[0]/1.1",
        "x/loop[0]/2.0",
        "x/loop[1]/1.0",
        "y/#0/1.0",
        "y/#1/1.0",
    ];
    assert_eq!(keys(false), wanted);
    assert_eq!(keys(true), wanted);
}
