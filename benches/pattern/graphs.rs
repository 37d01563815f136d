//! The graphs and the event that are measured.

use serde_json::{Value, json};

/// OnWebhook, steps that set fields, branch and join again, Return: `nodes` in all. `constant` makes it unique.
pub fn chain(nodes: usize, constant: u32) -> Value {
    let mut list =
        vec![json!({"id": "hook", "type": "OnWebhook", "data": {"parameters": {"alias": "bench"}}})];
    let mut edges = Vec::new();
    let mut source = ("hook".to_owned(), &["out"][..]);
    for index in 1..nodes {
        let id = format!("step{index}");
        let (node_type, parameters, handles): (_, _, &[&str]) = match index % 4 {
            _ if index == nodes - 1 => ("Return", json!({}), &[]),
            0 => (
                "If",
                json!({"condition": "{{ $input.body.order.total > 40 }}"}),
                &["true", "false"],
            ),
            1 => {
                let fields =
                    json!({"total": "{{ $input.body.order.total * 1.2 }}", "note": format!("{constant}")});
                ("SetFields", json!({"fields": fields}), &["out"])
            }
            2 => {
                let fields = json!({
                    "greeting": "Hello {{ $input.body.customer.name ?? 'you' }}",
                    "vip": "{{ $input.body.customer.tier === 'gold' }}"
                });
                ("SetFields", json!({"fields": fields}), &["out"])
            }
            _ => ("NoOp", json!({}), &["out"]),
        };
        list.push(json!({"id": id, "type": node_type, "data": {"parameters": parameters}}));
        // Both arms of an If lead on, so that every node of the chain runs.
        for handle in source.1 {
            edges.push(json!({"source": source.0, "sourceHandle": handle, "target": id}));
        }
        source = (id, handles);
    }
    json!({"nodes": list, "edges": edges})
}

/// Two loops within each other that would take days to end by themselves.
pub fn endless() -> Value {
    let repeat = json!({"condition": "{{ true }}", "maxIterations": 1_000_000});
    json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "outer", "type": "Loop", "data": {"parameters": repeat}},
            {"id": "inner", "type": "Loop", "data": {"parameters": repeat}},
            {"id": "body", "type": "NoOp"}
        ],
        "edges": [
            {"source": "start", "target": "outer", "targetHandle": "in"},
            {"source": "outer", "sourceHandle": "item", "target": "inner", "targetHandle": "in"},
            {"source": "inner", "sourceHandle": "item", "target": "body"},
            {"source": "body", "target": "inner", "targetHandle": "next"},
            {"source": "inner", "sourceHandle": "done", "target": "outer", "targetHandle": "next"}
        ]
    })
}

/// About 1 KB of webhook event.
pub fn event() -> Box<serde_json::value::RawValue> {
    let items: Vec<Value> = (0..10)
        .map(|index| json!({"sku": format!("SKU-{index:04}"), "qty": index + 1, "price": 9.95, "tags": ["new", "blue"]}))
        .collect();
    let event = json!({
        "method": "POST", "query": {}, "headers": {"content-type": "application/json", "user-agent": "bench/1.0"},
        "body": {"order": {"id": "o-1001", "total": 109.45, "items": items}, "customer": {"name": "Ada", "tier": "gold"}}
    });
    serde_json::value::to_raw_value(&event).unwrap()
}
