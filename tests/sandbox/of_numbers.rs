//! Expressions that have a form for numbers give the same for numbers and for what is none.

use crate::patterns::{node, output, pattern, run, run_limited};
use heddle_runtime::Limits;
use serde_json::{Value, json};

/// What the node gives, which is the same with a trace.
async fn given(node_type: &str, each: bool, parameters: Value, event: Value) -> Value {
    let mut tested = node("x", node_type, parameters);
    tested["data"]["each"] = each.into();
    let graph = pattern(
        &[tested, node("end", "Return", json!({}))],
        &["start -> x", "x.out -> end"],
    );
    let outcome = run_limited(&graph, &json!({}), &event, Limits::default()).await;
    let given = output(&outcome);
    assert_eq!(given, output(&run(&graph, &event).await), "with a trace");
    given
}

async fn for_each(value: &str, event: Value) -> Value {
    given("Transform", true, json!({ "value": value }), event).await
}

#[tokio::test]
async fn a_transform_for_each() {
    let event = json!([3, "4", null, -0.5, 1e308, [2]]);
    assert_eq!(
        for_each("{{ $input * 2 + $index }}", event.clone()).await,
        json!([6, 9, 2, 2, null, 9])
    );
    assert_eq!(
        for_each("{{ $item > 1 }}", event.clone()).await,
        json!([true, true, false, false, true, true])
    );
    assert_eq!(for_each("{{ $input }}", event.clone()).await, event);
    assert_eq!(for_each("{{ $input + 1 }}", json!([])).await, json!([]));
    assert_eq!(for_each("{{ $input + 1 }}", json!(2)).await, json!(3));
    assert_eq!(
        for_each("{{ $input + 1 }}", json!([1, "a", 2])).await,
        json!([2, "a1", 3])
    );
}

#[tokio::test]
async fn conditions_and_values_of_items() {
    let filter = json!({ "condition": "{{ $item > 2 && $index < 3 }}" });
    assert_eq!(
        given("Filter", false, filter, json!([1, 3, "5", 6, null])).await,
        json!([3, "5"])
    );
    let sums = json!({ "values": {
        "sum": { "op": "sum", "value": "{{ $item * $index }}" },
        "all": { "op": "sum", "value": "{{ $item }}" },
        "largest": { "op": "max", "value": "{{ -$item }}" },
    } });
    assert_eq!(
        given("Aggregate", false, sums, json!([2, 4, 6])).await,
        json!({ "sum": 16, "all": 12, "largest": -2 })
    );
}
