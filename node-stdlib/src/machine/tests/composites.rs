//! Composites that are executed as a whole: elements, attempts, errors, and that nothing survives a failure.

use super::fake::{Ended, Graph, at_least, by_port, evaluate, fails, for_each, pass, returns, tag};
use crate::machine::Status;
use heddle_contract::plan::NodeKind::{Composite, ForEach};
use heddle_contract::plan::OnError;
use std::cell::Cell;

/// Edges into the body, and back out of it by output 0.
const IN: &str = "c.3 > ";
const OUT: &str = " > c.2";

/// t > c(body) > r, the body being filled by `fill`.
fn composite(event: &str, fill: impl FnOnce(&mut Graph, u32)) -> Graph {
    let mut graph = Graph::new(event);
    let body = graph.looped("c", pass, "{}", Composite, 0);
    graph.node("r", returns);
    fill(&mut graph, body);
    graph.edges(&["t > c", "c > r"]);
    graph
}

/// An edge from the composite's entry, one back to it, and others.
fn through(graph: &mut Graph, first: &str, last: &str, others: &[&str]) {
    graph.edges(&[&format!("{IN}{first}"), &format!("{last}{OUT}")]);
    graph.edges(others);
}

/// A node that fails the first `times` times and then emits `$input`.
fn failing_at_first<'g>(graph: &'g mut Graph, id: &str, times: u32) -> &'g mut heddle_contract::plan::Node {
    let left = Cell::new(times);
    let function = graph.function(move |run| {
        if left.get() > 0 {
            left.set(left.get() - 1);
            run.expression_failed("not yet");
        }
        run.input()
    });
    graph.with(id, evaluate, &format!("{{\"function\":{function}}}"))
}

#[test]
fn a_body_executes_once_and_its_values_leave_by_their_ports() {
    let mut graph = composite("20", |graph, body| {
        graph.with("a", tag, r#"{"tag":"!"}"#).scope = body;
        graph.with("b", by_port, r#"{"port":1}"#).scope = body;
        graph.edges(&["c.3 > a", "c.3 > b", "a > c.2", "b.1 > c.2", "c.1 > r.1"]);
    });
    assert_eq!(graph.output(), r#"{"in":"20!","right":20}"#);
}

#[test]
fn a_body_that_gives_nothing_leaves_its_edges_dead() {
    let mut graph = composite("1", |graph, body| {
        graph.with("a", by_port, r#"{"port":1}"#).scope = body;
        through(graph, "a", "a", &[]);
    });
    let ended = graph.run();
    assert_eq!((ended.status, ended.json.as_str()), (Status::Completed, "null"));
}

#[test]
fn nodes_that_nothing_leads_to_hold_no_body_up() {
    let mut graph = composite("1", |graph, body| {
        graph.node("a", pass).scope = body;
        graph.node("island", pass).scope = body;
        graph.node("shore", pass).scope = body;
        through(graph, "a", "a", &["island > shore"]);
    });
    assert_eq!(graph.output(), "1");
}

#[test]
fn with_each_the_body_executes_for_every_element() {
    let mut graph = composite("[3,1,2]", |graph, body| {
        graph.effect("x").scope = body;
        through(graph, "x", "x", &[]);
        let node = graph.find("c");
        (node.each, node.concurrency) = (true, 2);
    });
    let ended = graph.newest_first().run();
    assert_eq!(ended.json, r#"["x(3)","x(1)","x(2)"]"#);
    assert_eq!(ended.keys, ["x/c[0]/1.0", "x/c[1]/1.0", "x/c[2]/1.0"]);
    let starts: Vec<_> = ended
        .record
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(starts, ["start", "start", "end", "start", "end", "end"]);
}

fn split(event: &str) -> String {
    let mut graph = composite(event, |graph, body| {
        graph.with("big", at_least, r#"{"min":10}"#).scope = body;
        graph.find("c").each = true;
        through(graph, "big", "big", &["big.1 > c.2", "c.1 > r.1"]);
    });
    graph.output()
}

#[test]
fn elements_are_split_among_the_ports() {
    assert_eq!(split("[1,20,3,40]"), r#"{"in":[20,40],"right":[1,3]}"#);
    assert_eq!(split("[]"), r#"{"in":[]}"#);
    assert_eq!(split("20"), r#"{"in":20}"#);
}

#[test]
fn item_and_index_are_the_elements_or_those_around() {
    let seen = |each: bool, event: &str| {
        let mut graph = Graph::new(event);
        let around = graph.looped("l", for_each, "{}", ForEach, 0);
        let body = graph.looped("c", pass, "{}", Composite, around);
        graph.find("c").each = each;
        let function = graph.function(|run| vec![run.item(), run.index(), run.input()].into());
        graph
            .with("e", evaluate, &format!("{{\"function\":{function}}}"))
            .scope = body;
        graph.node("r", returns);
        graph.edges(&["t > l", "l > c", "c.3 > e", "e > c.2", "c > l.1", "l.1 > r"]);
        graph.output()
    };
    assert_eq!(seen(true, "[[7,8]]"), "[[[7,0,7],[8,1,8]]]");
    assert_eq!(seen(false, "[[7,8]]"), "[[[7,8],0,[7,8]]]");
    assert_eq!(seen(true, "[5]"), "[[5,0,5]]");
}

#[test]
fn item_of_a_label_is_followed_back_through_each() {
    let mut graph = Graph::new("[1,20,3,40]");
    let label = graph.index("t");
    let body = graph.looped("c", pass, "{}", Composite, 0);
    graph.find("c").each = true;
    graph.with("big", at_least, r#"{"min":10}"#).scope = body;
    let function = graph.function(move |run| run.node_item(label).unwrap());
    graph
        .with("e", evaluate, &format!("{{\"function\":{function}}}"))
        .each = true;
    graph.node("r", returns);
    graph.edges(&["t > c", "c.3 > big", "big.0 > c.2", "c > e", "e > r"]);
    assert_eq!(graph.output(), "[20,40]");
}

#[test]
fn a_failure_inside_executes_the_body_again() {
    let mut graph = composite("5", |graph, body| {
        graph.effect("x").scope = body;
        failing_at_first(graph, "f", 2).scope = body;
        through(graph, "x", "f", &["x > f"]);
        let node = graph.find("c");
        (node.max_attempts, node.backoff_ms, node.backoff_factor_milli) = (3, 10, 2_000);
    });
    let ended = graph.run();
    assert_eq!(ended.json, r#""x(5)""#);
    let keys = ["x//1.0", "c//1.0", "x/c~2/1.0", "c//2.0", "x/c~3/1.0"];
    assert_eq!(ended.keys, keys);
    assert_eq!(
        ended.lines("Warn"),
        [
            "c Attempt 1 of 3 failed (EXPRESSION: not yet); next in 10 ms",
            "c Attempt 2 of 3 failed (EXPRESSION: not yet); next in 20 ms"
        ]
    );
    assert_eq!(
        ended.lines("start c"),
        [r#"sleep {"ms":10}"#, r#"sleep {"ms":20}"#]
    );
}

#[test]
fn attempts_without_a_wait_follow_at_once() {
    let mut graph = composite("[1,2]", |graph, body| {
        failing_at_first(graph, "f", 1).scope = body;
        through(graph, "f", "f", &[]);
        let node = graph.find("c");
        (node.max_attempts, node.each) = (2, true);
        graph.plan.trace = true;
    });
    let ended = graph.run();
    assert_eq!(ended.json, "[1,2]");
    assert_eq!(
        ended.lines("begin"),
        ["t@", "c@", "f@c[0]", "f@c[0]~2", "f@c[1]", "r@"]
    );
    assert_eq!(ended.lines("end c@"), ["Output 0 [1,2]"]);
}

/// A slow effect beside a node that fails, in a composite of two attempts.
fn slow_beside_failing(times: u32) -> Graph {
    let mut graph = composite("5", |graph, body| {
        graph.effect("slow").scope = body;
        graph.effect("quick").scope = body;
        failing_at_first(graph, "f", times).scope = body;
        graph.node("join", pass).scope = body;
        through(
            graph,
            "slow",
            "join",
            &["c.3 > quick", "quick > f", "slow > join", "f > join.1"],
        );
        graph.find("c").max_attempts = 2;
    });
    graph.newest_first();
    graph
}

#[test]
fn what_else_was_under_way_is_forgotten() {
    let mut graph = slow_beside_failing(1);
    graph.plan.trace = true;
    let ended = graph.run();
    assert_eq!(ended.json, r#"{"in":"slow(5)","right":"quick(5)"}"#);
    assert_eq!(
        ended.keys,
        ["slow//1.0", "quick//1.0", "slow/c~2/1.0", "quick/c~2/1.0"]
    );
    assert_eq!(
        ended.lines("end slow@"),
        ["Output -1 null", r#"c~2 Output 0 "slow(5)""#]
    );
}

#[test]
fn the_result_of_a_forgotten_effect_is_passed_over() {
    // In the order of their starts, the effect of the first attempt ends during the second.
    let mut graph = composite("5", |graph, body| {
        graph.effect("slow").scope = body;
        failing_at_first(graph, "f", 1).scope = body;
        through(graph, "slow", "slow", &["c.3 > f"]);
        graph.find("c").max_attempts = 2;
    });
    let ended = graph.run();
    assert_eq!(
        (ended.status, ended.json.as_str()),
        (Status::Completed, r#""slow(5)""#)
    );
    assert_eq!(ended.lines("end"), ["0", "1"]);
}

fn failing(event: &str, on_error: OnError, each: bool) -> Ended {
    let mut graph = composite(event, |graph, body| {
        graph.with("f", fails, r#"{"on":2}"#).scope = body;
        through(graph, "f", "f", &["c.1 > r.1"]);
        let node = graph.find("c");
        (node.on_error, node.each) = (on_error, each);
        node.error_port = (on_error == OnError::Branch).then_some(1);
        graph.plan.trace = true;
    });
    graph.run()
}

const ERROR: &str = r#"{"error":{"message":"it broke","code":"BROKEN","nodeId":"f"}}"#;

#[test]
fn a_failure_inside_leaves_as_the_composites_error() {
    let branch = failing("2", OnError::Branch, false);
    assert_eq!(branch.json, format!(r#"{{"right":{ERROR}}}"#));
    assert!(
        branch.lines("end c@")[0].starts_with("Error -1"),
        "{:?}",
        branch.record
    );
    let continued = failing("2", OnError::Continue, false);
    assert_eq!(continued.json, format!(r#"{{"in":{ERROR}}}"#));
}

#[test]
fn elements_fail_by_themselves() {
    let branch = failing("[1,2,3]", OnError::Branch, true);
    assert_eq!(branch.json, format!(r#"{{"in":[1,3],"right":[{ERROR}]}}"#));
    let continued = failing("[1,2,3]", OnError::Continue, true);
    assert_eq!(continued.json, format!("{{\"in\":[1,{ERROR},3]}}"));
}

#[test]
fn without_one_that_catches_it_the_run_fails_with_the_node_inside() {
    let ended = failing("[1,2,3]", OnError::Fail, true);
    assert_eq!(ended.status, Status::Failed);
    assert_eq!(
        ended.json,
        r#"{"message":"it broke","code":"BROKEN","nodeId":"f"}"#
    );
    assert_eq!(
        ended.lines("end c@"),
        [r#"Error -1 {"message":"it broke","code":"BROKEN","nodeId":"f"}"#]
    );
}

#[test]
fn other_arms_of_a_composite_stop_at_a_failure() {
    let mut graph = composite("2", |graph, body| {
        graph.effect("arm").scope = body;
        graph.with("after", tag, r#"{"tag":"!"}"#).scope = body;
        graph.effect("quick").scope = body;
        graph.node("f", fails).scope = body;
        through(
            graph,
            "arm",
            "after",
            &["arm > after", "c.3 > quick", "quick > f"],
        );
        graph.find("c").on_error = OnError::Continue;
        graph.plan.trace = true;
    });
    let ended = graph.newest_first().run();
    assert_eq!(ended.json, ERROR);
    assert!(
        !ended.record.iter().any(|line| line.contains("after")),
        "{:?}",
        ended.record
    );
}

/// A composite in a loop in a composite; the inner one has `inner_attempts`, the outer one two.
fn nested(inner_attempts: u32, times: u32) -> Ended {
    let mut graph = Graph::new("[1,2]");
    let outer = graph.looped("c", pass, "{}", Composite, 0);
    let looped = graph.looped("l", for_each, r#"{"concurrency":2}"#, ForEach, outer);
    let inner = graph.looped("i", pass, "{}", Composite, looped);
    graph.effect("x").scope = inner;
    failing_at_first(&mut graph, "f", times).scope = inner;
    graph.node("p", pass).scope = outer;
    graph.find("i").max_attempts = inner_attempts;
    let node = graph.find("c");
    (node.max_attempts, node.on_error) = (2, OnError::Continue);
    graph.node("r", returns);
    graph.edges(&[
        "t > c", "c.3 > l", "l > i", "i.3 > x", "x > f", "f > i.2", "i > l.1", "l.1 > p", "p > c.2", "c > r",
    ]);
    graph.run()
}

#[test]
fn failures_go_outwards_from_one_composite_to_the_next() {
    let ended = nested(2, 1);
    assert_eq!(ended.json, r#"["x(1)","x(2)"]"#);
    assert_eq!(ended.keys, ["x/l[0]/1.0", "x/l[1]/1.0", "x/l[0].i~2/1.0"]);

    let ended = nested(1, 1);
    assert_eq!(ended.json, r#"["x(1)","x(2)"]"#);
    assert_eq!(
        ended.keys,
        ["x/l[0]/1.0", "x/l[1]/1.0", "x/c~2.l[0]/1.0", "x/c~2.l[1]/1.0"]
    );

    let ended = nested(2, u32::MAX);
    assert!(ended.json.contains(r#""nodeId":"f""#), "{}", ended.json);
    let attempts: Vec<&str> = ended.lines("Warn").iter().map(|line| &line[..11]).collect();
    assert_eq!(
        attempts.iter().filter(|line| line.starts_with("c ")).count(),
        1,
        "{attempts:?}"
    );
}

#[test]
fn a_group_that_fails_goes_with_its_attempt() {
    let mut graph = composite("[1,2,3]", |graph, body| {
        let node = graph.effect("x");
        (node.scope, node.each, node.concurrency) = (body, true, 3);
        let node = failing_at_first(graph, "f", 2);
        (node.scope, node.each) = (body, true);
        through(graph, "x", "f", &["x > f"]);
        graph.find("c").max_attempts = 3;
    });
    assert_eq!(graph.newest_first().output(), r#"["x(1)","x(2)","x(3)"]"#);
}

#[test]
fn an_attempt_does_not_see_what_one_before_emitted() {
    let mut graph = composite("[1]", |graph, body| {
        let looped = graph.looped("l", for_each, "{}", ForEach, body);
        failing_at_first(graph, "once", 1).scope = looped;
        let node = graph.with("seen", tag, r#"{"tag":"!"}"#);
        (node.scope, node.seen_outside) = (looped, true);
        let seen = graph.index("seen");
        let function = graph.function(move |run| vec![run.node_output(seen)].into());
        graph
            .with("e", evaluate, &format!("{{\"function\":{function}}}"))
            .scope = body;
        through(
            graph,
            "l",
            "e",
            &["l > seen", "seen > once", "once > l.1", "l.1 > e"],
        );
        graph.find("c").max_attempts = 2;
    });
    assert_eq!(graph.output(), r#"["1!"]"#);
}

#[test]
fn randomness_is_new_in_every_element_and_the_same_in_every_attempt() {
    let drawn = |times: u32| {
        let mut graph = composite("[1,2]", |graph, body| {
            let function = graph.function(|run| run.random());
            graph
                .with("e", evaluate, &format!("{{\"function\":{function}}}"))
                .scope = body;
            failing_at_first(graph, "f", times).scope = body;
            through(graph, "e", "f", &["e > f"]);
            let node = graph.find("c");
            (node.each, node.max_attempts) = (true, 2);
        });
        let json = graph.output();
        let (first, second) = json.trim_matches(['[', ']']).split_once(',').unwrap();
        (first.to_owned(), second.to_owned())
    };
    let (first, second) = drawn(0);
    assert_ne!(first, second);
    let (again, unchanged) = drawn(1);
    assert_eq!((first, second), (again, unchanged));
}

#[test]
fn the_random_streams_of_a_first_attempt_are_those_outside() {
    let in_composite = |is_composite: bool| {
        let mut graph = Graph::new("1");
        let body = match is_composite {
            true => graph.looped("c", pass, "{}", Composite, 0),
            false => 0,
        };
        if !is_composite {
            graph.node("c", pass);
        }
        let function = graph.function(|run| run.random());
        graph
            .with("e", evaluate, &format!("{{\"function\":{function}}}"))
            .scope = body;
        graph.node("r", returns);
        match is_composite {
            true => graph.edges(&["t > c", "c.3 > e", "e > c.2", "c > r"]),
            false => graph.edges(&["t > c", "c > e", "e > r"]),
        };
        graph.output()
    };
    assert_eq!(in_composite(true), in_composite(false));
}

#[test]
fn a_breakpoint_inside_stops_the_run() {
    let mut graph = composite("[1,2]", |graph, body| {
        let node = graph.node("a", pass);
        (node.scope, node.breakpoint) = (body, true);
        through(graph, "a", "a", &[]);
        graph.find("c").each = true;
    });
    let ended = graph.run();
    assert_eq!(ended.status, Status::Paused);
    assert_eq!(
        ended.json,
        r#"{"breakpoint":{"nodeId":"a","input":1},"pinnedNodes":{"t":[1,2]}}"#
    );
}

#[test]
fn a_composite_without_a_body_is_no_fault_of_heddle() {
    let mut graph = composite("1", |graph, _| graph.find("c").body = None);
    let ended = graph.run();
    assert_eq!(ended.status, Status::Failed);
    assert!(ended.json.contains("a composite has no body"), "{}", ended.json);
}
