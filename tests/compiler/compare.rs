//! What changed between two graphs.

use heddle_compiler::compare::{Change, Comparison, Edge, Part};
use proptest::prelude::*;
use serde_json::{Value, json};

fn compare(before: &Value, after: &Value) -> Comparison {
    heddle_compiler::compare::compare(&before.to_string(), &after.to_string()).unwrap()
}

fn node(id: &str, url: &str) -> Value {
    json!({"id": id, "type": "HttpRequest", "position": {"x": 0, "y": 0}, "data": {"parameters": {"url": url}}})
}

fn edge(source: &str, target: &str) -> Value {
    json!({"id": format!("{source}-{target}"), "source": source, "target": target})
}

fn counts(it: &Comparison) -> [usize; 5] {
    [
        it.nodes_added,
        it.nodes_removed,
        it.nodes_changed,
        it.edges_added,
        it.edges_removed,
    ]
}

#[test]
fn paths_that_begin_with_the_same_long_names_are_told_in_bounded_space() {
    let long = "n".repeat(400);
    let graph = |value: u32| {
        let fields: serde_json::Map<String, Value> =
            (0..50).map(|index| (format!("f{index}"), value.into())).collect();
        let nodes = (0..500).map(|index| {
            let parameters = json!({ &long: fields });
            json!({"id": format!("n{index}"), "data": {"parameters": parameters}})
        });
        json!({"nodes": nodes.collect::<Vec<_>>(), "edges": []})
    };
    let found = compare(&graph(1), &graph(2));
    assert_eq!(found.nodes_changed, 500);
    let paths = found.details.iter().flat_map(|it| &it.fields);
    let bytes: usize = paths.map(String::len).sum();
    assert!(bytes < 2 << 20, "{bytes}");
    assert_eq!(found.details[0].fields.len(), 50);
    assert_eq!(found.details[499].fields, ["data"]);
}

#[test]
fn counts_and_names_what_changed() {
    let before = json!({"nodes": [node("a", "x"), node("b", "x"), node("c", "x")], "edges": [edge("a", "b"), edge("b", "c")]});
    let after = json!({"nodes": [node("d", "x"), node("a", "y"), node("b", "x")], "edges": [edge("a", "b"), edge("a", "d")]});
    let found = compare(&before, &after);
    assert_eq!(counts(&found), [1, 1, 1, 1, 1]);
    assert_eq!(
        found.summary(),
        "1 node added, 1 node removed, 1 node changed, 1 edge added, 1 edge removed"
    );
    let node = |id: &str| Part::Node {
        id: id.to_owned(),
        node_type: Some("HttpRequest".to_owned()),
    };
    let edge = |source: &str, target: &str| {
        Part::Edge(Edge {
            source: source.to_owned(),
            source_handle: None,
            target: target.to_owned(),
            target_handle: None,
        })
    };
    let told: Vec<(Part, Change)> = found
        .details
        .iter()
        .map(|it| (it.part.clone(), it.change))
        .collect();
    assert_eq!(
        told,
        [
            (node("d"), Change::Added),
            (node("a"), Change::Changed),
            (node("c"), Change::Removed),
            (edge("a", "d"), Change::Added),
            (edge("b", "c"), Change::Removed),
        ]
    );
    assert_eq!(found.details[1].fields, ["data.parameters.url"]);
}

#[test]
fn an_edge_is_what_it_connects_and_by_which_ports() {
    let with = |handle: Value| json!({"nodes": [], "edges": [{"id": "e", "source": "a", "sourceHandle": handle, "target": "b"}]});
    assert_eq!(
        counts(&compare(&with(json!(null)), &with(json!("true")))),
        [0, 0, 0, 1, 1]
    );
    // Neither its id nor an absent port instead of null makes another edge.
    let other = json!({"nodes": [], "edges": [{"id": "f", "source": "a", "target": "b", "animated": true}]});
    assert_eq!(compare(&with(json!(null)), &other), Comparison::default());
}

#[test]
fn moving_a_node_is_no_change_of_it() {
    let before = json!({"nodes": [node("a", "x")], "edges": []});
    let mut after = before.clone();
    after["nodes"][0]["position"]["x"] = json!(40);
    let found = compare(&before, &after);
    assert_eq!((counts(&found), found.details.len()), ([0; 5], 0));
    assert_eq!(found.summary(), "layout changed");
    assert_eq!(compare(&before, &before).summary(), "nothing changed");
}

#[test]
fn the_graphs_own_settings_are_compared() {
    let before = json!({"nodes": [], "edges": [], "settings": {"timeoutMs": 1}});
    let after = json!({"nodes": [], "edges": [], "settings": {"timeoutMs": 2}});
    let found = compare(&before, &after);
    assert_eq!(found.summary(), "settings changed");
    assert_eq!(found.details[0].fields, ["settings.timeoutMs"]);
}

#[test]
fn unfinished_graphs_compare_too() {
    let twice = json!({"nodes": [{"type": "Set"}, {"type": "Set"}, 1, node("a", "x"), node("a", "y")], "edges": [1, {}, {}]});
    assert_eq!(compare(&twice, &twice), Comparison::default());
    let once = json!({"nodes": [{"type": "Set"}, node("a", "y")], "edges": [{}]});
    assert_eq!(counts(&compare(&twice, &once)), [0, 3, 1, 0, 2]);
    assert_eq!(counts(&compare(&json!(null), &twice)), [5, 0, 0, 3, 0]);
    assert_eq!(counts(&compare(&json!({"nodes": 1}), &json!([]))), [0; 5]);
}

fn graphs() -> impl Strategy<Value = Value> {
    let nodes = prop::collection::vec(("[a-d]", "[x-z]"), 0..6);
    let edges = prop::collection::vec(("[a-d]", "[a-d]"), 0..6);
    (nodes, edges).prop_map(|(nodes, edges)| {
        let nodes: Vec<Value> = nodes.iter().map(|(id, url)| node(id, url)).collect();
        let edges: Vec<Value> = edges
            .iter()
            .map(|(source, target)| edge(source, target))
            .collect();
        json!({"nodes": nodes, "edges": edges})
    })
}

proptest! {
    #[test]
    fn the_way_back_undoes_the_way_there(a in graphs(), b in graphs()) {
        let (there, back) = (compare(&a, &b), compare(&b, &a));
        let [added, removed, changed, edges_added, edges_removed] = counts(&there);
        prop_assert_eq!(counts(&back), [removed, added, changed, edges_removed, edges_added]);
        let size = |graph: &Value, field: &str| graph[field].as_array().map_or(0, Vec::len);
        prop_assert_eq!(size(&a, "nodes") + added, size(&b, "nodes") + removed);
        prop_assert_eq!(size(&a, "edges") + edges_added, size(&b, "edges") + edges_removed);
    }
}

#[test]
fn numbers_that_are_equal_are_no_difference() {
    let with = |number: &str| {
        format!(r#"{{"nodes": [{{"id": "a", "data": {{"parameters": {{"n": {number}}}}}}}], "edges": []}}"#)
    };
    let differ = |one: &str, other: &str| {
        let found = heddle_compiler::compare::compare(&with(one), &with(other)).unwrap();
        found.nodes_changed == 1
    };
    for (one, other) in [
        ("489.0", "489"),
        ("4.89e2", "489"),
        ("-0.0", "0"),
        ("-3", "-3.0"),
        ("0.10", "0.1"),
        ("1e19", "10000000000000000000"),
    ] {
        assert!(!differ(one, other), "{one} and {other}");
    }
    for (one, other) in [
        ("489.5", "489"),
        ("1", "\"1\""),
        ("1", "true"),
        ("0", "null"),
        // As integers they differ, although no float does.
        ("9007199254740993", "9007199254740992"),
        ("1e300", "1.1e300"),
    ] {
        assert!(differ(one, other), "{one} and {other}");
    }
}

#[test]
fn definitions_are_compared_by_name() {
    let graph = r#"{"nodes": [], "edges": []}"#;
    let compared = |before: Option<&str>, after: Option<&str>| {
        let found = heddle_compiler::compare::compare(graph, graph).unwrap();
        found.and_definitions(before, after).unwrap()
    };
    let before = r#"{"A": {"kind": "javascript", "code": "1"}, "B": {}, "C": {"x": 1, "y": 2}}"#;
    let after = r#"{"C": {"y": 2, "x": 1}, "A": {"kind": "javascript", "code": "2"}, "D": 1}"#;
    let found = compared(Some(before), Some(after));
    assert_eq!(
        found.summary(),
        "1 definition added, 1 definition removed, 1 definition changed"
    );
    let details: Vec<_> = found
        .details
        .iter()
        .map(|difference| {
            (
                difference.part.clone(),
                difference.change,
                difference.fields.clone(),
            )
        })
        .collect();
    let named = |name: &str| Part::Definition(name.to_owned());
    assert_eq!(
        details,
        [
            (named("A"), Change::Changed, vec!["code".to_owned()]),
            (named("D"), Change::Added, vec![]),
            (named("B"), Change::Removed, vec![]),
        ]
    );
    assert_eq!(compared(None, Some("{}")).summary(), "nothing changed");
    assert_eq!(compared(Some(before), None).definitions_removed, 3);
}
