//! `$("Label").item` behind every node that keeps elements apart, and lenient expressions.

use crate::patterns::{node, output, pattern, run};
use heddle_runtime::Status;
use serde_json::{Value, json};

fn each(id: &str, value: &str) -> Value {
    let mut node = node(id, "Transform", json!({ "value": value }));
    node["data"]["each"] = true.into();
    node
}

/// What `$("List").item.id` is for each element that `nodes` give of three.
async fn ids_behind(nodes: &[Value], edges: &[&str]) -> Value {
    let mut list = node("list", "Transform", json!({ "value": "{{ $input }}" }));
    list["data"]["label"] = "List".into();
    let ids = each("ids", "{{ $(\"List\").item.id }}");
    let ends = [list, ids, node("end", "Return", json!({}))];
    let ends_edges = ["start -> list", "ids -> end"];
    let graph = pattern(&[&ends, nodes].concat(), &[&ends_edges, edges].concat());
    let event = json!([
        { "id": 1, "n": 3, "parts": [1, 2] },
        { "id": 2, "n": 1, "parts": [] },
        { "id": 3, "n": 2, "parts": [3] },
    ]);
    let outcome = run(&graph, &event).await;
    match outcome.status {
        Status::Completed => output(&outcome),
        _ => json!(outcome.error.unwrap().message),
    }
}

async fn ids_behind_one(node_type: &str, parameters: Value) -> Value {
    ids_behind(&[node("x", node_type, parameters)], &["list -> x", "x -> ids"]).await
}

#[tokio::test]
async fn nodes_on_lists_keep_pairs() {
    let sort = json!({ "by": [{ "value": "n" }] });
    assert_eq!(ids_behind_one("Sort", sort).await, json!([2, 3, 1]));
    let sort = json!({ "by": "{{ $b.n - $a.n }}" });
    assert_eq!(ids_behind_one("Sort", sort).await, json!([1, 3, 2]));
    let filter = json!({ "condition": "{{ $item.n > 1 }}" });
    assert_eq!(ids_behind_one("Filter", filter).await, json!([1, 3]));
    let limit = json!({ "count": 2, "offset": 1 });
    assert_eq!(ids_behind_one("Limit", limit).await, json!([2, 3]));
    let unique = json!({ "by": "{{ $item.n > 1 }}" });
    assert_eq!(ids_behind_one("Unique", unique).await, json!([1, 2]));
    let parts = each("parts", "{{ $input.parts }}");
    let flatten = node("flatten", "Flatten", json!({}));
    let edges = ["list -> parts", "parts -> flatten", "flatten -> ids"];
    assert_eq!(ids_behind(&[parts, flatten], &edges).await, json!([1, 1, 3]));
}

#[tokio::test]
async fn equal_counts_pair_by_place() {
    let map = json!({ "value": "{{ $input.map(x => ({ other: x.n })) }}" });
    assert_eq!(ids_behind_one("Transform", map).await, json!([1, 2, 3]));
    let code = json!({ "code": "export default ({ input }) => input.map(({ n }) => ({ n }))" });
    assert_eq!(ids_behind_one("JavaScript", code).await, json!([1, 2, 3]));
    let code = json!({ "code": "export default ({ input }) => input.slice(1)" });
    let refused = ids_behind_one("JavaScript", code).await;
    let refused = refused.as_str().unwrap();
    assert!(
        refused.contains("can't tell which of the 3 elements of the output of `list`"),
        "{refused}"
    );
}

#[tokio::test]
async fn merged_lists_keep_the_pairs_of_each() {
    let arms = |mode: Value| {
        [
            each("a", "{{ { k: $input.n } }}"),
            node("b", "Limit", json!({ "count": 2, "offset": 1 })),
            node("merge", "Merge", mode),
        ]
    };
    let edges = [
        "list -> a",
        "list -> b",
        "a -> merge",
        "b -> merge",
        "merge -> ids",
    ];
    let append = ids_behind(&arms(json!({ "mode": "append" })), &edges).await;
    assert_eq!(append, json!([1, 2, 3, 2, 3]));
    let zip = ids_behind(&arms(json!({ "mode": "zip" })), &edges).await;
    assert_eq!(zip, json!([1, 2]));
    let join = json!({ "mode": "join", "key": "k", "rightKey": "n" });
    assert_eq!(ids_behind(&arms(join), &edges).await, json!([2, 3]));
}

#[tokio::test]
async fn a_loop_keeps_the_pairs_of_its_items() {
    let nodes = [
        node("loop", "ForEach", json!({})),
        node("odd", "If", json!({ "condition": "{{ $input.n !== 1 }}" })),
        node("new", "Transform", json!({ "value": "{{ { sum: $input.n } }}" })),
    ];
    let edges = [
        "list -> loop",
        "loop.item -> odd",
        "odd.true -> new",
        "new -> loop.next",
        "loop.done -> ids",
    ];
    assert_eq!(ids_behind(&nodes, &edges).await, json!([1, 3]));
}

#[tokio::test]
async fn a_batch_of_a_loop_keeps_the_pairs_of_its_elements() {
    let mut list = node("list", "Transform", json!({ "value": "{{ $input }}" }));
    list["data"]["label"] = "List".into();
    let nodes = [
        list,
        node("loop", "ForEach", json!({ "batchSize": 2 })),
        node("new", "Limit", json!({ "count": 1, "offset": 0 })),
        each("batch", "{{ $(\"List\").item.id }}"),
        node("flatten", "Flatten", json!({})),
        node("end", "Return", json!({})),
    ];
    let edges = [
        "start -> list",
        "list -> loop",
        "loop.item -> new",
        "new -> batch",
        "batch -> loop.next",
        "loop.done -> flatten",
        "flatten -> end",
    ];
    let event = json!([{ "id": 1 }, { "id": 2 }, { "id": 3 }]);
    assert_eq!(
        output(&run(&pattern(&nodes, &edges), &event).await),
        json!([1, 3])
    );
}

#[tokio::test]
async fn parameters_for_each_item_know_it() {
    let filter = json!({ "condition": "{{ $(\"List\").item.n > 1 }}" });
    let nodes = [each("new", "{{ { m: $index } }}"), node("x", "Filter", filter)];
    let edges = ["list -> new", "new -> x", "x -> ids"];
    assert_eq!(ids_behind(&nodes, &edges).await, json!([1, 3]));
}

#[tokio::test]
async fn one_item_pairs_with_all_that_comes_of_it() {
    let mut one = node("one", "Transform", json!({ "value": "{{ [{ id: 7 }] }}" }));
    one["data"]["label"] = "One".into();
    let graph = pattern(
        &[
            one,
            node("rows", "Transform", json!({ "value": "{{ [1, 2] }}" })),
            each("ids", "{{ $(\"One\").item.id + $input }}"),
            node("end", "Return", json!({})),
        ],
        &["start -> one", "one -> rows", "rows -> ids", "ids -> end"],
    );
    assert_eq!(output(&run(&graph, &json!(null)).await), json!([8, 9]));
}

#[tokio::test]
async fn lenient_expressions_are_undefined_and_told_once() {
    let mut graph = pattern(
        &[
            node("list", "Transform", json!({ "value": "{{ [1, 2, 3] }}" })),
            each("x", "{{ $trigger.user.name }}"),
            node(
                "text",
                "Transform",
                json!({ "value": { "a": "to {{ $trigger.user.name.trim() }}!", "b": "{{ /x/.exec($trigger.user.name)[0] }}", "c": "{{ $input.length }}" } }),
            ),
            node("if", "If", json!({ "condition": "{{ $trigger.a.b }}" })),
            node("end", "Return", json!({ "value": "{{ $nodes[\"text\"] }}" })),
        ],
        &[
            "start -> list",
            "list -> x",
            "x -> text",
            "text -> if",
            "if.false -> end",
        ],
    );
    let strict = run(&graph, &json!({})).await;
    assert_eq!(strict.status, Status::Failed);
    graph["settings"] = json!({ "expressions": "lenient" });
    let outcome = run(&graph, &json!({})).await;
    assert_eq!(output(&outcome), json!({ "a": "to !", "c": 3 }));
    let told: Vec<_> = outcome
        .logs
        .iter()
        .map(|line| (line.node_id.as_deref().unwrap_or_default(), line.level))
        .collect();
    assert_eq!(
        told,
        [("x", "warn"), ("text", "warn"), ("text", "warn"), ("if", "warn")],
        "{:#?}",
        outcome.logs
    );
    let first = &outcome.logs[0].message;
    assert!(
        first.starts_with("An expression gave nothing: Cannot read properties of undefined (reading 'name')"),
        "{first}"
    );
}

#[tokio::test]
async fn lenient_expressions_do_not_forgive_an_unknown_pair() {
    let mut graph = pattern(
        &[
            node("list", "Transform", json!({ "value": "{{ [1, 2, 3] }}" })),
            node("two", "Transform", json!({ "value": "{{ [1, 2] }}" })),
            each("x", "{{ $(\"list\").item }}"),
        ],
        &["start -> list", "list -> two", "two -> x"],
    );
    graph["settings"] = json!({ "expressions": "lenient" });
    let outcome = run(&graph, &json!({})).await;
    assert_eq!(outcome.status, Status::Failed);
    assert_eq!(outcome.error.unwrap().code, "EXPRESSION");
}
