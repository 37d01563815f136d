//! ForEach and Loop: frames, order, nesting, concurrency.

use super::fake::{Graph, at_least, evaluate, for_each, pass, repeat, returns, tag};
use heddle_contract::plan::NodeKind::{ForEach, Loop, Pass};
use heddle_values::Value;

/// t > each(body) > r, the body being filled by `fill`.
fn loop_over(event: &str, parameters: &str, fill: impl FnOnce(&mut Graph, u32)) -> Graph {
    let mut graph = Graph::new(event);
    let body = graph.looped("l", for_each, parameters, ForEach, 0);
    fill(&mut graph, body);
    graph.node("r", returns);
    graph.edges(&["t > l", "l.1 > r"]);
    graph
}

#[test]
fn for_each_gives_what_came_back_in_order() {
    let mut graph = loop_over("[1,2,3]", "{}", |graph, body| {
        graph.with("a", tag, r#"{"tag":"!"}"#).scope = body;
        graph.edges(&["l > a", "a > l.1"]);
    });
    assert_eq!(graph.output(), r#"["1!","2!","3!"]"#);
}

#[test]
fn for_each_over_nothing_gives_an_empty_array() {
    let mut graph = loop_over("[]", "{}", |graph, body| {
        graph.node("a", pass).scope = body;
        graph.edges(&["l > a", "a > l.1"]);
    });
    assert_eq!(graph.output(), "[]");
}

#[test]
fn an_empty_body_gives_the_items() {
    let mut graph = loop_over("[1,2]", r#"{"concurrency":2}"#, |graph, _| {
        graph.edges(&["l > l.1"]);
    });
    assert_eq!(graph.output(), "[1,2]");
}

#[test]
fn iterations_that_give_nothing_are_left_out_and_several_values_are_an_array() {
    let mut graph = loop_over("[1,5,2,7]", "{}", |graph, body| {
        graph.with("big", at_least, r#"{"min":3}"#).scope = body;
        graph.with("a", tag, r#"{"tag":"a"}"#).scope = body;
        graph.with("b", tag, r#"{"tag":"b"}"#).scope = body;
        graph.edges(&["l > big", "big > a", "big > b", "b > l.1", "a > l.1"]);
    });
    assert_eq!(graph.output(), r#"[["5b","5a"],["7b","7a"]]"#);
}

#[test]
fn item_and_index_are_those_of_the_innermost_loop() {
    let mut graph = loop_over("[[1,2],[3]]", "{}", |graph, body| {
        let inner = graph.looped("inner", for_each, "{}", ForEach, body);
        let outer = graph.index("l");
        let function = graph
            .function(move |run| vec![run.item(), run.index(), run.node_output(outer), run.input()].into());
        graph
            .with("e", evaluate, &format!("{{\"function\":{function}}}"))
            .scope = inner;
        graph.edges(&["l > inner", "inner > e", "e > inner.1", "inner.1 > l.1"]);
    });
    assert_eq!(graph.output(), "[[[1,0,[1,2],1],[2,1,[1,2],2]],[[3,0,[3],3]]]");
}

#[test]
fn paths_name_the_iterations() {
    let mut graph = loop_over("[[1,2]]", "{}", |graph, body| {
        let inner = graph.looped("inner", for_each, "{}", ForEach, body);
        graph.node("e", pass).scope = inner;
        graph.edges(&["l > inner", "inner > e", "e > inner.1", "inner.1 > l.1"]);
        graph.plan.trace = true;
    });
    let begun = graph.run();
    let wanted = [
        "t@",
        "l@",
        "inner@l[0]",
        "e@l[0].inner[0]",
        "e@l[0].inner[1]",
        "r@",
    ];
    assert_eq!(begun.lines("begin"), wanted);
    assert_eq!(begun.lines("end l@"), ["Output 1 [[1,2]]"]);
}

#[test]
fn iterations_overlap_up_to_the_concurrency() {
    let mut graph = loop_over("[1,2,3]", r#"{"concurrency":2}"#, |graph, body| {
        graph.effect("x").scope = body;
        graph.edges(&["l > x", "x > l.1"]);
    });
    let ended = graph.newest_first().run();
    assert_eq!(ended.json, r#"["x(1)","x(2)","x(3)"]"#);
    let starts: Vec<_> = ended
        .record
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(starts, ["start", "start", "end", "start", "end", "end"]);
}

#[test]
fn every_iteration_has_a_state_of_its_own() {
    let mut graph = loop_over("[1,20,3]", r#"{"concurrency":3}"#, |graph, body| {
        graph.with("big", at_least, r#"{"min":10}"#).scope = body;
        graph.effect("x").scope = body;
        graph.node("join", pass).scope = body;
        graph.edges(&["l > big", "big > x", "x > join", "big.1 > join", "join > l.1"]);
    });
    assert_eq!(graph.output(), r#"[1,"x(20)",3]"#);
}

#[test]
fn a_body_seen_from_outside_gives_what_it_last_emitted() {
    let mut graph = loop_over("[1,2]", "{}", |graph, body| {
        let node = graph.with("a", tag, r#"{"tag":"!"}"#);
        (node.scope, node.seen_outside) = (body, true);
        graph.edges(&["l > a", "a > l.1"]);
    });
    let a = graph.index("a");
    let function = graph.function(move |run| run.node_output(a));
    graph.with("e", evaluate, &format!("{{\"function\":{function}}}"));
    graph.node("r2", returns);
    graph.plan.edges.clear();
    graph.edges(&["t > l", "l > a", "a > l.1", "l.1 > e", "e > r2"]);
    assert_eq!(graph.output(), r#""2!""#);
}

fn count_to(limit: f64, max: u32, scope_edges: &[&str]) -> String {
    let mut graph = Graph::new(r#""x""#);
    let condition = graph.function(move |run| {
        assert!(run.input().deep_equal(&run.item()));
        matches!(run.index(), Value::Number(index) if index < limit).into()
    });
    let parameters = format!("{{\"function\":{condition},\"max\":{max}}}");
    let body = graph.looped("l", repeat, &parameters, Loop, 0);
    graph.with("a", tag, r#"{"tag":"+"}"#).scope = body;
    graph.node("r", returns);
    graph.edges(&["t > l", "l > a", "l.1 > r"]).edges(scope_edges);
    graph.output()
}

#[test]
fn loop_carries_its_value_while_the_condition_holds() {
    assert_eq!(count_to(3.0, 100, &["a > l.1"]), r#""x+++""#);
    assert_eq!(count_to(3.0, 2, &["a > l.1"]), r#""x++""#);
    assert_eq!(count_to(0.0, 2, &["a > l.1"]), r#""x""#);
    assert_eq!(count_to(3.0, 100, &["a.1 > l.1"]), r#""x""#);
}

#[test]
fn a_loop_without_a_condition_runs_its_most_iterations() {
    let mut graph = Graph::new(r#""x""#);
    let body = graph.looped("l", repeat, r#"{"max":4}"#, Loop, 0);
    graph.with("a", tag, r#"{"tag":"+"}"#).scope = body;
    graph.node("r", returns);
    graph.edges(&["t > l", "l > a", "a > l.1", "l.1 > r"]);
    assert_eq!(graph.output(), r#""x++++""#);
}

#[test]
fn a_hundred_thousand_empty_iterations_need_no_stack() {
    let mut graph = Graph::new("1");
    let condition = graph.function(|_| true.into());
    graph.looped(
        "l",
        repeat,
        &format!("{{\"function\":{condition},\"max\":100000}}"),
        Loop,
        0,
    );
    graph.node("r", returns);
    graph.edges(&["t > l", "l > l.1", "l.1 > r"]);
    assert_eq!(graph.output(), "1");
}

#[test]
fn a_disabled_loop_passes_its_input_to_done() {
    let mut graph = loop_over("[1]", "{}", |graph, body| {
        graph.with("a", tag, r#"{"tag":"!"}"#).scope = body;
        graph.edges(&["l > a", "a > l.1"]);
        graph.find("l").kind = Pass;
    });
    assert_eq!(graph.output(), "[1]");
}
