//! `once` and `always`: what a node takes of a list, and what leaves it instead of nothing. One case for each rule of
//! docs/language.md.

use crate::patterns::{node, output, pattern, run, run_limited};
use heddle_runtime::{Limits, Status};
use serde_json::{Value, json};

/// `start -> x -> end`, the node `x` with these options.
async fn given_by(node_type: &str, parameters: Value, options: Value, event: Value) -> Value {
    let mut x = node("x", node_type, parameters);
    for (name, value) in options.as_object().unwrap() {
        x["data"][name] = value.clone();
    }
    let graph = pattern(
        &[x, node("end", "Return", json!({}))],
        &["start -> x", "x -> end"],
    );
    output(&run(&graph, &event).await)
}

#[tokio::test]
async fn once_leaves_the_first_item_of_a_list() {
    let input = |options, event| given_by("Transform", json!({ "value": "{{ [$input] }}" }), options, event);
    let once = || json!({ "once": true });
    assert_eq!(input(once(), json!([1, 2, 3])).await, json!([[1]]));
    assert_eq!(input(once(), json!([])).await, json!([[]]));
    assert_eq!(input(once(), json!({ "a": 1 })).await, json!([{ "a": 1 }]));
    let each = json!({ "once": true, "each": true });
    assert_eq!(input(each, json!([1, 2, 3])).await, json!([[1]]));
    let sum = json!({ "values": { "n": { "op": "count" } } });
    assert_eq!(
        given_by("Aggregate", sum, once(), json!([7, 8])).await,
        json!({ "n": 1 })
    );
}

#[tokio::test]
async fn once_takes_the_first_item_of_each_port() {
    let mut join = node(
        "join",
        "Join",
        json!({ "leftKey": "id", "rightKey": "id", "type": "full" }),
    );
    join["data"]["once"] = true.into();
    let graph = pattern(
        &[
            node(
                "a",
                "Transform",
                json!({ "value": "{{ [{ id: 1 }, { id: 2 }] }}" }),
            ),
            node(
                "b",
                "Transform",
                json!({ "value": "{{ [{ id: 1 }, { id: 3 }] }}" }),
            ),
            join,
            node("end", "Return", json!({ "value": "{{ $input.length }}" })),
        ],
        &[
            "start -> a",
            "start -> b",
            "a -> join.left",
            "b -> join.right",
            "join -> end",
        ],
    );
    assert_eq!(output(&run(&graph, &json!(null)).await), json!(1));
}

#[tokio::test]
async fn a_composite_gets_the_first_item_and_gives_one_rather_than_none() {
    let inner = json!({
        "nodes": [
            { "id": "call", "type": "OnCall" },
            node("big", "If", json!({ "condition": "{{ $input[0] > 5 }}" })),
            node("back", "Return", json!({})),
        ],
        "edges": [
            { "source": "call", "target": "big" },
            { "source": "big", "sourceHandle": "true", "target": "back" },
        ],
    });
    let definitions = json!({ "Big": { "kind": "graph", "inputs": [{ "name": "in", "type": "any" }],
        "outputs": [{ "name": "out", "type": "any" }], "graphData": inner } });
    let mut big = node("x", "Big", json!({}));
    big["data"]["once"] = true.into();
    big["data"]["always"] = true.into();
    let graph = pattern(
        &[big, node("end", "Return", json!({}))],
        &["start -> x", "x -> end"],
    );
    for (event, expected) in [(json!([6, 7]), json!([6])), (json!([5, 7]), json!({}))] {
        let outcome = run_limited(&graph, &definitions, &event, Limits::default()).await;
        assert_eq!(output(&outcome), expected);
    }
}

#[tokio::test]
async fn always_gives_one_empty_item_rather_than_none() {
    let always = || json!({ "always": true });
    let filter = |options, event| {
        given_by(
            "Filter",
            json!({ "condition": "{{ $item > 1 }}" }),
            options,
            event,
        )
    };
    assert_eq!(filter(always(), json!([0, 1])).await, json!([{}]));
    assert_eq!(filter(always(), json!([1, 2])).await, json!([2]));
    // Where no item came, there is none to answer for.
    assert_eq!(filter(always(), json!([])).await, json!([]));
    let condition = || json!({ "condition": "{{ $input > 1 }}" });
    assert_eq!(given_by("If", condition(), always(), json!(1)).await, json!({}));
    let each = json!({ "always": true, "each": true });
    assert_eq!(
        given_by("If", condition(), each, json!([0, 1])).await,
        json!([{}])
    );
    let none = json!({ "value": "{{ null }}" });
    assert_eq!(given_by("Transform", none, always(), json!(1)).await, json!(null));
}

#[tokio::test]
async fn other_ports_and_errors_leave_as_without_always() {
    let mut big = node("big", "If", json!({ "condition": "{{ $input.n.m > 1 }}" }));
    big["data"]["always"] = true.into();
    big["data"]["onError"] = "branch".into();
    let both = node(
        "both",
        "Transform",
        json!({ "value": "{{ [$nodes[\"yes\"], $nodes[\"no\"], $nodes[\"failed\"]] }}" }),
    );
    let mark = |id: &str| node(id, "Transform", json!({ "value": id }));
    let graph = pattern(
        &[
            big,
            mark("yes"),
            mark("no"),
            mark("failed"),
            both,
            node("end", "Return", json!({})),
        ],
        &[
            "start -> big",
            "big.true -> yes",
            "big.false -> no",
            "big.error -> failed",
            "yes -> both",
            "no -> both",
            "failed -> both",
            "both -> end",
        ],
    );
    let no = output(&run(&graph, &json!({ "n": { "m": 0 } })).await);
    assert_eq!(no, json!(["yes", "no", null]));
    let failed = output(&run(&graph, &json!({})).await);
    assert_eq!(failed, json!([null, null, "failed"]));
}

#[tokio::test]
async fn a_loop_gives_one_empty_item_when_it_is_done() {
    let mut looped = node("loop", "ForEach", json!({}));
    looped["data"]["always"] = true.into();
    let graph = pattern(
        &[
            looped,
            node("body", "NoOp", json!({})),
            node("end", "Return", json!({})),
        ],
        &["start -> loop", "loop.item -> body", "loop.done -> end"],
    );
    assert_eq!(output(&run(&graph, &json!([1, 2])).await), json!([{}]));
    assert_eq!(output(&run(&graph, &json!([])).await), json!([]));
}

#[tokio::test]
async fn pairs_are_known_behind_both() {
    let mut list = node("list", "Transform", json!({ "value": "{{ $input }}" }));
    list["data"]["label"] = "List".into();
    let mut first = node(
        "first",
        "Transform",
        json!({ "value": "{{ [$(\"List\").item.id, 8] }}" }),
    );
    first["data"]["once"] = true.into();
    let mut each = node(
        "each",
        "Transform",
        json!({ "value": "{{ [$input, $(\"List\").item.id] }}" }),
    );
    each["data"]["each"] = true.into();
    let graph = pattern(
        &[list, first, each, node("end", "Return", json!({}))],
        &["start -> list", "list -> first", "first -> each", "each -> end"],
    );
    let outcome = run(&graph, &json!([{ "id": 1 }, { "id": 2 }])).await;
    assert_eq!(outcome.status, Status::Completed, "{:?}", outcome.error);
    assert_eq!(output(&outcome), json!([[1, 1], [8, 1]]));
}
