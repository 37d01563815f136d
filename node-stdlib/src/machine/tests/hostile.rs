//! Plans that no compiler made: the run ends, whatever they say.

use super::fake::{Graph, OutOfBudget, at_least, fails, for_each, pass, returns};
use crate::machine::Status;
use crate::machine::random::Generator;
use heddle_contract::plan::{NodeKind, OnError, View};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn graph() -> Graph {
    let mut graph = Graph::new("[[1,20],[3]]");
    let body = graph.looped("l", for_each, r#"{"concurrency":2}"#, NodeKind::ForEach, 0);
    let inner = graph.looped("i", for_each, "{}", NodeKind::ForEach, body);
    graph.with("big", at_least, r#"{"min":10}"#).scope = inner;
    let node = graph.node("e", pass);
    (node.scope, node.each) = (inner, true);
    graph.node("join", pass).scope = inner;
    graph.node("r", returns);
    let whole = graph.looped("c", pass, "{}", NodeKind::Composite, body);
    let node = graph.find("c");
    (node.each, node.concurrency, node.max_attempts) = (true, 2, 2);
    node.on_error = OnError::Continue;
    graph.edges(&[
        "t > l",
        "l > i",
        "i > big",
        "big > e",
        "big.1 > join",
        "e > join",
        "join > i.1",
    ]);
    graph.edges(&["i.1 > c", "c > l.1", "l.1 > r"]);
    fill_composite(&mut graph, whole);
    graph
}

/// A composite that fails for some elements while an effect is under way, with a loop inside.
fn fill_composite(graph: &mut Graph, body: u32) {
    let looped = graph.looped("k", for_each, "{}", NodeKind::ForEach, body);
    graph.effect("x").scope = body;
    graph.with("f", fails, r#"{"on":3}"#).scope = looped;
    graph.node("last", pass).scope = body;
    let node = graph.find("f");
    (node.max_attempts, node.backoff_ms, node.seen_outside) = (2, 1, true);
    graph.edges(&[
        "c.3 > k",
        "c.3 > x",
        "k > f",
        "f > k.1",
        "k.1 > last",
        "x > last",
        "last > c.2",
    ]);
}

#[test]
fn changed_plans_end() {
    let bytes = graph().plan.encode();
    let mut random = Generator::new(7, std::iter::empty());
    for _ in 0..5_000 {
        let mut changed = bytes.clone();
        for _ in 0..1 + random.next() % 3 {
            let word = (random.next() as usize % (changed.len() / 4 - 1) + 1) * 4;
            let value = match random.next() % 4 {
                0 => u32::MAX,
                1 => random.next() as u32,
                _ => random.next() as u32 % 16,
            };
            changed[word..word + 4].copy_from_slice(&value.to_le_bytes());
        }
        let ended = catch_unwind(AssertUnwindSafe(|| graph().run_hostile(&changed)));
        if let Err(panic) = ended {
            assert!(panic.is::<OutOfBudget>(), "the run panics on {changed:?}");
        }
    }
}

#[test]
fn the_plan_that_is_changed_has_failures_and_ends() {
    let ended = graph().run();
    assert_eq!(ended.status, Status::Completed, "{}", ended.json);
    assert!(ended.json.contains(r#""nodeId":"f""#), "{}", ended.json);
}

#[test]
fn a_plan_of_nothing_ends() {
    assert!(View::new(b"HPL").is_none());
    let ended = graph().run_hostile(b"HPL1");
    assert_eq!((ended.status, ended.json.as_str()), (Status::Completed, "null"));
}

#[test]
fn a_plan_that_does_not_fit_together_is_no_fault_of_heddle() {
    let mut graph = Graph::new("[1]");
    graph.looped("l", for_each, "{}", NodeKind::ForEach, 0);
    graph.find("l").body = None;
    graph.edges(&["t > l"]);
    let ended = graph.run();
    assert_eq!(ended.status, Status::Failed);
    assert!(ended.json.contains(r#""code":"TRAP""#), "{}", ended.json);
    assert!(ended.json.contains("not made by this heddle"), "{}", ended.json);
}
