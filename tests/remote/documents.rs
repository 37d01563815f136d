//! Documents to test with.

use heddle_remote::document::Document;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A pattern of these nodes and edges.
pub fn document(nodes: &Value, edges: &Value) -> Document {
    Document::of(&json!({"name": "Orders", "graphData": {"nodes": nodes, "edges": edges}})).unwrap()
}

/// A node with a number in it.
pub fn node(id: &str, number: i64) -> Value {
    json!({
        "id": id, "type": "Transform", "position": {"x": number * 10, "y": 0},
        "data": {"label": format!("The {id}"), "parameters": {"value": format!("{{{{ {number} }}}}")}},
    })
}

/// An edge.
pub fn edge(source: &str, target: &str) -> Value {
    json!({"id": format!("{source}-{target}"), "source": source, "target": target})
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z/\\\\ \n\"{}é]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,6}|file|code|position|edges", inner), 0..4)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

fn nodes() -> impl Strategy<Value = Value> {
    let node = (
        "[a-c]{1,2}|é.:-",
        prop_oneof![
            Just("JavaScript"),
            Just("SqlQuery"),
            Just("Transform"),
            Just("Own")
        ],
        prop::option::of(values()),
        values(),
        prop_oneof![Just(None), "[a-z\n]{0,9}".prop_map(Some)],
    );
    let node = node.prop_map(|(id, node_type, position, data, code)| {
        let mut node = json!({"id": id, "type": node_type, "data": {"other": data}});
        if let Some(position) = position {
            node["position"] = position;
        }
        if let Some(code) = code {
            node["data"]["parameters"] = json!({"code": code, "query": code});
        }
        node
    });
    prop::collection::vec(node, 0..6).prop_map(Value::from)
}

/// Any pattern: also unfinished ones, with ids that occur twice.
pub fn documents() -> impl Strategy<Value = Document> {
    (nodes(), values(), nodes(), "[a-zA-Z é/.\n]{0,20}").prop_map(|(nodes, more, inner, text)| {
        Document::of(&json!({
            "name": format!("P{text}"), "description": text, "tags": ["a"],
            "graphData": {"nodes": nodes, "edges": [{"source": "a", "target": "b"}], "more": more},
            "nodeDefinitions": {
                "Own": {"kind": "javascript", "code": text},
                "OWN": {"kind": "component", "component": "AGFzbQ=="},
                "../Whole": {"kind": "graph", "graphData": {"nodes": inner, "edges": []}},
            },
        }))
        .unwrap()
    })
}
