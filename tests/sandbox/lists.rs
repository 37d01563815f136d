//! Graphs of items (`settings.items`): lists travel along the edges, and nodes execute for each of their items. One case for each
//! rule of docs/language.md.

use crate::patterns::{node, output, pattern, run, run_limited};
use heddle_runtime::{Limits, Status};
use serde_json::{Value, json};

fn of_items(nodes: &[Value], edges: &[&str]) -> Value {
    let mut graph = pattern(nodes, edges);
    graph["settings"] = json!({ "items": true });
    graph
}

fn end() -> Value {
    node("end", "Return", json!({}))
}

fn with(mut node: Value, option: &str, value: impl Into<Value>) -> Value {
    node["data"][option] = value.into();
    node
}

/// What the run gives, or why it fails.
async fn result(nodes: &[Value], edges: &[&str], event: Value) -> Value {
    let outcome = run(&of_items(nodes, edges), &event).await;
    match outcome.status {
        Status::Completed if outcome.output.is_none() => Value::Null,
        Status::Completed => output(&outcome),
        _ => json!(outcome.error.unwrap().message),
    }
}

/// `start -> x -> end`
async fn through(x: Value, event: Value) -> Value {
    result(&[x, end()], &["start -> x", "x -> end"], event).await
}

#[tokio::test]
async fn nodes_execute_for_each_item_or_once_for_the_list() {
    let double = || node("x", "Transform", json!({ "value": "{{ [$index, $input * 2] }}" }));
    // An array is several items, and anything else is one.
    assert_eq!(through(double(), json!([1, 2])).await, json!([0, 2, 1, 4]));
    assert_eq!(through(double(), json!(5)).await, json!([0, 10]));
    let count = || node("x", "Transform", json!({ "value": "{{ $input.length }}" }));
    let whole = with(count(), "each", false);
    assert_eq!(through(whole, json!([7, 8, 9])).await, json!([3]));
    let sum = json!({ "values": { "n": { "op": "sum", "value": "n" } } });
    let event = json!([{ "n": 1 }, { "n": 2 }]);
    assert_eq!(
        through(node("x", "Aggregate", sum.clone()), event.clone()).await,
        json!([{ "n": 3 }])
    );
    let each = with(node("x", "Aggregate", sum.clone()), "each", true);
    let message = through(each, event.clone()).await;
    assert!(
        message
            .as_str()
            .is_some_and(|message| message.contains("works on an array")),
        "{message}"
    );
    // The whole list is at hand all the same.
    let all = node(
        "x",
        "Transform",
        json!({ "value": "{{ [$input.all(), $items().length, $input.last()].flat() }}" }),
    );
    assert_eq!(through(all, json!([3, 4])).await, json!([3, 4, 2, 4, 3, 4, 2, 4]));
    let once = with(double(), "once", true);
    assert_eq!(through(once, json!([3, 4])).await, json!([0, 6]));
    let code = json!({ "code": "export default ({ input }) => ({ all: input.length })" });
    assert_eq!(
        through(node("x", "JavaScript", code), event).await,
        json!([{ "all": 2 }])
    );
}

#[tokio::test]
async fn where_no_item_leaves_nothing_follows() {
    let nodes = |big: Value| {
        [
            big,
            node("yes", "Transform", json!({ "value": "{{ [{ yes: $input }] }}" })),
            node("no", "Transform", json!({ "value": "{{ { no: $input } }}" })),
            end(),
        ]
    };
    let edges = [
        "start -> big",
        "big.true -> yes",
        "big.false -> no",
        "yes -> end",
        "no -> end",
    ];
    let big = || node("big", "If", json!({ "condition": "{{ $input > 1 }}" }));
    let mixed = result(&nodes(big()), &edges, json!([1, 2, 3])).await;
    assert_eq!(mixed, json!([{ "yes": 2 }, { "yes": 3 }, { "no": 1 }]));
    let none = result(&nodes(big()), &edges, json!([0, 1])).await;
    assert_eq!(none, json!([{ "no": 0 }, { "no": 1 }]));
    assert_eq!(result(&nodes(big()), &edges, json!([])).await, Value::Null);
    let always = with(big(), "always", true);
    let filled = result(&nodes(always), &edges, json!([0])).await;
    assert_eq!(filled, json!([{ "yes": {} }, { "no": 0 }]));
}

#[tokio::test]
async fn an_item_that_is_an_array_passes_through_as_one() {
    let event = || json!([[1, 2], [], 5, [[3]]]);
    let whole = |id: &str, kind: &str, parameters: Value| with(node(id, kind, parameters), "each", true);
    let nodes = [
        node("if", "If", json!({ "condition": "{{ $index < 2 }}" })),
        node("log", "Log", json!({ "message": "{{ $input }}" })),
        node(
            "switch",
            "Switch",
            json!({ "cases": [{ "name": "all", "when": true }] }),
        ),
        node("answer", "RespondToWebhook", json!({})),
        whole("wait", "Wait", json!({ "durationMs": 0 })),
        whole("same", "NoOp", json!({})),
        end(),
    ];
    let edges = [
        "start -> if",
        "if.true -> log",
        "if.false -> log",
        "log -> switch",
        "switch.all -> answer",
        "answer -> wait",
        "wait -> same",
        "same -> end",
    ];
    assert_eq!(result(&nodes, &edges, event()).await, event());
    // What an expression gives is several items all the same.
    let spread = node("x", "Transform", json!({ "value": "{{ $input }}" }));
    assert_eq!(through(spread, event()).await, json!([1, 2, 5, [3]]));
}

#[tokio::test]
async fn failures_are_items() {
    let fails = || node("x", "Transform", json!({ "value": "{{ $input.a.b }}" }));
    let code = |item: &Value| item["error"]["code"].clone();
    let given = through(
        with(fails(), "onError", "continue"),
        json!([{ "a": { "b": 1 } }, {}]),
    )
    .await;
    assert_eq!(given[0], json!(1));
    assert_eq!(code(&given[1]), json!("EXPRESSION"));
    let whole = with(with(fails(), "onError", "continue"), "each", false);
    let given = through(whole, json!([{}, {}])).await;
    assert_eq!(
        (given.as_array().unwrap().len(), code(&given[0])),
        (1, json!("EXPRESSION"))
    );
}

fn list() -> Value {
    with(node("list", "NoOp", json!({})), "label", "List")
}

fn ids() -> Value {
    node(
        "ids",
        "Transform",
        json!({ "value": "{{ $(\"List\").item.id }}" }),
    )
}

/// What `$("List").item.id` is for each item that `nodes` give of four.
async fn ids_behind(nodes: &[Value], edges: &[&str]) -> Value {
    let ends = [list(), ids(), end()];
    let ends_edges = ["start -> list", "ids -> end"];
    let event = json!([{ "id": 1, "n": 3 }, { "id": 2, "n": 1 }, { "id": 3, "n": 2 }, { "id": 4, "n": 1 }]);
    result(&[&ends, nodes].concat(), &[&ends_edges, edges].concat(), event).await
}

#[tokio::test]
async fn items_of_several_edges_follow_each_other_and_keep_their_pairs() {
    let nodes = [
        node(
            "many",
            "Transform",
            json!({ "value": "{{ Array.from({ length: $input.n }, () => 0) }}" }),
        ),
        node("last", "Limit", json!({ "count": 1, "offset": 3 })),
        node(
            "join",
            "SetFields",
            json!({ "fields": { "a": 1 }, "keepInput": false }),
        ),
    ];
    let edges = [
        "list -> many",
        "list -> last",
        "many -> join",
        "last -> join",
        "join -> ids",
    ];
    assert_eq!(ids_behind(&nodes, &edges).await, json!([1, 1, 1, 2, 3, 3, 4, 4]));
}

#[tokio::test]
async fn a_merge_gets_a_list_for_each_edge() {
    let nodes = |condition: &str, mode: &str| {
        [
            node("some", "Filter", json!({ "condition": condition })),
            node("new", "Transform", json!({ "value": "{{ { m: $input.n } }}" })),
            node("merge", "Merge", json!({ "mode": mode })),
        ]
    };
    let edges = [
        "list -> some",
        "list -> new",
        "some -> merge",
        "new -> merge",
        "merge -> ids",
    ];
    let zip = ids_behind(&nodes("{{ $item.n > 1 }}", "zip"), &edges).await;
    assert_eq!(zip, json!([1, 3]));
    // Without an item on one side there is no pair.
    let zip = ids_behind(&nodes("{{ false }}", "zip"), &edges).await;
    assert_eq!(zip, Value::Null);
    let append = ids_behind(&nodes("{{ $item.n > 2 }}", "append"), &edges).await;
    assert_eq!(append, json!([1, 1, 2, 3, 4]));
    let append = ids_behind(&nodes("{{ false }}", "append"), &edges).await;
    assert_eq!(append, json!([1, 2, 3, 4]));
}

#[tokio::test]
async fn what_comes_back_of_batches_keeps_its_pairs() {
    let nodes = |parameters: Value| {
        [
            node("loop", "ForEach", parameters),
            node("odd", "If", json!({ "condition": "{{ $input.n !== 2 }}" })),
            node("turned", "Sort", json!({ "by": [{ "value": "n" }] })),
            node(
                "new",
                "Transform",
                json!({ "value": "{{ [{ k: $input.n }, { k: 0 }] }}" }),
            ),
        ]
    };
    let edges = [
        "list -> loop",
        "loop.item -> odd",
        "odd.true -> turned",
        "turned -> new",
        "new -> loop.next",
        "loop.done -> ids",
    ];
    let one = ids_behind(&nodes(json!({})), &edges).await;
    assert_eq!(one, json!([1, 1, 2, 2, 4, 4]));
    let three = ids_behind(&nodes(json!({ "batchSize": 3 })), &edges).await;
    assert_eq!(three, json!([2, 2, 1, 1, 4, 4]));
}

#[tokio::test]
async fn what_mixes_has_no_pairs_and_says_so() {
    let code = json!({ "code": "export default ({ input }) => input.slice(1)" });
    let refused = ids_behind(&[node("x", "JavaScript", code)], &["list -> x", "x -> ids"]).await;
    assert!(
        refused
            .as_str()
            .is_some_and(|message| message.contains("elements of the output of `list`")),
        "{refused}"
    );
}

#[tokio::test]
async fn a_loop_carries_a_list() {
    let nodes = [
        node(
            "loop",
            "Loop",
            json!({ "condition": "{{ $item.length < 5 }}", "maxIterations": 9 }),
        ),
        node("twice", "Transform", json!({ "value": "{{ [$input, $input] }}" })),
        end(),
    ];
    let edges = [
        "start -> loop",
        "loop.item -> twice",
        "twice -> loop.next",
        "loop.done -> end",
    ];
    assert_eq!(
        result(&nodes, &edges, json!([1, 2])).await,
        json!([1, 1, 1, 1, 2, 2, 2, 2])
    );
}

#[tokio::test]
async fn composites_take_lists_and_give_lists() {
    let inner = json!({
        "nodes": [
            { "id": "call", "type": "OnCall" },
            node("big", "Filter", json!({ "condition": "{{ $item > 1 }}" })),
            node("back", "Return", json!({ "value": { "big": "{{ $nodes[\"big\"] }}", "all": "{{ $nodes[\"call\"].length }}" } })),
        ],
        "edges": [{ "source": "call", "target": "big" }, { "source": "big", "target": "back" }],
    });
    let any = |name: &str| json!({ "name": name, "type": "any" });
    let definitions = json!({ "Split": { "kind": "graph", "inputs": [any("in")], "outputs": [any("big"), any("all")],
        "graphData": inner } });
    let marked = |id: &str| node(id, "Transform", json!({ "value": { id: "{{ $input }}" } }));
    let graph = |split: Value| {
        of_items(
            &[split, marked("b"), marked("n"), end()],
            &[
                "start -> split",
                "split.big -> b",
                "split.all -> n",
                "b -> end",
                "n -> end",
            ],
        )
    };
    let split = || node("split", "Split", json!({}));
    for (split, expected) in [
        (split(), json!([{ "b": 2 }, { "b": 3 }, { "n": 3 }])),
        (
            with(split(), "each", true),
            json!([{ "b": 2 }, { "b": 3 }, { "n": 1 }, { "n": 1 }]),
        ),
    ] {
        let outcome = run_limited(&graph(split), &definitions, &json!([1, 2, 3]), Limits::default()).await;
        assert_eq!(output(&outcome), expected);
    }
}
