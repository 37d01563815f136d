//! `each: true`, and `$("Label").item`.

use super::fake::{Graph, at_least, evaluate, fails, for_each, pass, returns, tag};
use heddle_contract::plan::{NodeKind, OnError};
use heddle_values::Value;

#[test]
fn a_node_runs_once_for_each_element_in_order() {
    let mut graph = Graph::new("[3,1,2]");
    let node = graph.effect("x");
    (node.each, node.concurrency) = (true, 2);
    graph.node("r", returns);
    graph.edges(&["t > x", "x > r"]).newest_first();
    let ended = graph.run();
    assert_eq!(ended.json, r#"["x(3)","x(1)","x(2)"]"#);
    assert!(
        ended.record[1].starts_with("start") && ended.record[2].starts_with("end"),
        "{:?}",
        ended.record
    );
}

fn split(event: &str) -> String {
    let mut graph = Graph::new(event);
    graph.with("big", at_least, r#"{"min":10}"#).each = true;
    graph.node("r", returns);
    graph.edges(&["t > big", "big > r.0", "big.1 > r.1"]);
    graph.output()
}

#[test]
fn elements_are_split_among_the_ports() {
    assert_eq!(split("[1,20,3,40]"), r#"{"in":[20,40],"right":[1,3]}"#);
    assert_eq!(split("[1]"), r#"{"right":[1]}"#);
    assert_eq!(split("[]"), r#"{"in":[]}"#);
}

#[test]
fn what_is_no_array_is_executed_once() {
    assert_eq!(split("20"), r#"{"in":20}"#);
}

#[test]
fn item_and_index_are_the_elements() {
    let mut graph = Graph::new("[7,8]");
    let function = graph.function(|run| vec![run.item(), run.index(), run.input()].into());
    graph
        .with("e", evaluate, &format!("{{\"function\":{function}}}"))
        .each = true;
    graph.node("r", returns);
    graph.edges(&["t > e", "e > r"]);
    assert_eq!(graph.output(), "[[7,0,7],[8,1,8]]");
}

#[test]
fn elements_fail_by_themselves() {
    let mut graph = Graph::new("[1,2,3]");
    let node = graph.with("f", fails, r#"{"on":2}"#);
    (node.each, node.on_error, node.error_port) = (true, OnError::Branch, Some(1));
    graph.node("r", returns);
    graph.edges(&["t > f", "f > r.0", "f.1 > r.1"]);
    let error = r#"{"error":{"message":"it broke","code":"BROKEN","nodeId":"f"}}"#;
    assert_eq!(graph.output(), format!(r#"{{"in":[1,3],"right":[{error}]}}"#));
}

#[test]
fn elements_are_named_in_the_trace() {
    let mut graph = Graph::new("[1,2]");
    graph.node("e", pass).each = true;
    graph.plan.trace = true;
    graph.edges(&["t > e"]);
    let ended = graph.run();
    assert_eq!(ended.lines("begin"), ["t@", "e@", "e@#0", "e@#1"]);
    assert_eq!(
        ended.lines("end e@"),
        ["#0 Output 0 1", "#1 Output 0 2", "Output 0 [1,2]"]
    );
}

#[test]
fn item_of_a_label_is_followed_back_through_each_and_pass() {
    let mut graph = Graph::new("[1,20,3,40]");
    let label = graph.index("t");
    graph.with("big", at_least, r#"{"min":10}"#).each = true;
    graph.node("through", pass);
    graph.with("tag", tag, r#"{"tag":"!"}"#).each = true;
    let function = graph.function(move |run| vec![run.input(), run.node_item(label).unwrap()].into());
    graph
        .with("e", evaluate, &format!("{{\"function\":{function}}}"))
        .each = true;
    graph.node("r", returns);
    graph.edges(&["t > big", "big > through", "through > tag", "tag > e", "e > r"]);
    assert_eq!(graph.output(), r#"[["20!",20],["40!",40]]"#);
}

#[test]
fn item_of_a_label_in_a_loop_is_the_element_of_the_iteration() {
    let mut graph = Graph::new("[1,2]");
    let label = graph.index("t");
    let body = graph.looped("l", for_each, "{}", NodeKind::ForEach, 0);
    let function = graph.function(move |run| run.node_item(label).unwrap());
    graph
        .with("e", evaluate, &format!("{{\"function\":{function}}}"))
        .scope = body;
    graph.node("r", returns);
    graph.edges(&["t > l", "l > e", "e > l.1", "l.1 > r"]);
    assert_eq!(graph.output(), "[1,2]");
}

#[test]
fn item_of_a_label_is_the_value_itself_when_it_is_no_array_and_else_unknown() {
    let outside = |event: &str| {
        let mut graph = Graph::new(event);
        let label = graph.index("t");
        let function = graph.function(move |run| {
            run.node_item(label)
                .unwrap_or_else(|failure| Value::from(failure.message))
        });
        graph.with("e", evaluate, &format!("{{\"function\":{function}}}"));
        graph.node("r", returns);
        graph.edges(&["t > e", "e > r"]);
        graph.output()
    };
    assert_eq!(outside("5"), "5");
    assert_eq!(outside("[5]"), "5");
    assert!(outside("[5,6]").contains("can't tell which of the 2 elements of the output of `t`"));
}
