//! Three-way merges: what one has changed is kept, what both have changed alike is no conflict, and nothing else is lost.

use crate::documents::{document, documents, edge, node};
use heddle_remote::change::{Change, changes};
use heddle_remote::document::Document;
use heddle_remote::merge::{Prefer, merge};
use proptest::prelude::*;
use serde_json::{Value, json};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_side_that_has_changed_nothing_gives_way(base in documents(), other in documents()) {
        for (ours, theirs) in [(&base, &other), (&other, &base), (&other, &other)] {
            let (joined, conflicts) = merge(&base, ours, theirs, None);
            prop_assert!(conflicts.is_empty(), "{:?}", conflicts);
            prop_assert!(changes(&other, &joined).is_empty(), "{:?}", changes(&other, &joined));
        }
    }

    #[test]
    fn a_preference_leaves_no_conflict(base in documents(), ours in documents(), theirs in documents()) {
        for prefer in [Prefer::Ours, Prefer::Theirs] {
            prop_assert!(merge(&base, &ours, &theirs, Some(prefer)).1.is_empty());
        }
    }

    #[test]
    fn no_changes_are_no_changes(document in documents()) {
        prop_assert_eq!(changes(&document, &document), []);
    }
}

fn three() -> (Document, Value) {
    let nodes = json!([node("a", 1), node("b", 2), node("c", 3)]);
    (document(&nodes, &json!([edge("a", "b"), edge("b", "c")])), nodes)
}

#[test]
fn changes_of_different_nodes_are_joined() {
    let (base, nodes) = three();
    let edges = json!([edge("a", "b"), edge("b", "c")]);
    let mut ours = nodes.clone();
    ours[0] = node("a", 10);
    ours.as_array_mut().unwrap().push(node("d", 4));
    let mut theirs = nodes.clone();
    theirs[1]["data"]["label"] = json!("Other");
    theirs[1]["position"] = json!({"x": 1, "y": 1});
    let mut their_edges = edges.clone();
    their_edges.as_array_mut().unwrap().remove(1);
    let ours = document(&ours, &edges);
    let theirs = document(&theirs, &their_edges);
    let (joined, conflicts) = merge(&base, &ours, &theirs, None);
    assert_eq!(conflicts, []);
    let mut expected = json!([node("a", 10), nodes[1], nodes[2], node("d", 4)]);
    expected[1]["data"]["label"] = json!("Other");
    expected[1]["position"] = json!({"x": 1, "y": 1});
    assert_eq!(joined, document(&expected, &json!([edge("a", "b")])));
}

#[test]
fn the_same_field_changed_to_different_values_is_a_conflict_with_its_place() {
    let (base, nodes) = three();
    let with = |value: &str| {
        let mut nodes = nodes.clone();
        nodes[1]["data"]["parameters"]["value"] = json!(value);
        document(&nodes, &json!([edge("a", "b"), edge("b", "c")]))
    };
    let (_, conflicts) = merge(&base, &with("mine"), &with("theirs"), None);
    assert_eq!(conflicts.len(), 1);
    let conflict = &conflicts[0];
    assert_eq!(conflict.place, "node b, parameters.value");
    assert_eq!(
        (&conflict.base, &conflict.ours, &conflict.theirs),
        (
            &Some(json!("{{ 2 }}")),
            &Some(json!("mine")),
            &Some(json!("theirs"))
        )
    );
    for (prefer, value) in [(Prefer::Ours, "mine"), (Prefer::Theirs, "theirs")] {
        let (joined, _) = merge(&base, &with("mine"), &with("theirs"), Some(prefer));
        assert_eq!(joined, with(value));
    }
    assert_eq!(merge(&base, &with("same"), &with("same"), None).1, []);
}

#[test]
fn a_node_that_one_removes_and_the_other_changes_or_connects_is_a_conflict() {
    let (base, nodes) = three();
    let without = document(&json!([nodes[0], nodes[1]]), &json!([edge("a", "b")]));
    let mut changed = nodes.clone();
    changed[2] = node("c", 30);
    let changed = document(&changed, &json!([edge("a", "b"), edge("b", "c")]));
    let (_, conflicts) = merge(&base, &without, &changed, None);
    assert!(
        conflicts
            .iter()
            .any(|conflict| conflict.place == "node c (“The c”)"),
        "{conflicts:?}"
    );
    let connected = document(&nodes, &json!([edge("a", "b"), edge("b", "c"), edge("a", "c")]));
    let (_, conflicts) = merge(&base, &without, &connected, None);
    assert_eq!(
        conflicts
            .iter()
            .map(|conflict| conflict.place.as_str())
            .collect::<Vec<_>>(),
        ["node c, which one has removed and the other has connected"]
    );
}

#[test]
fn changes_are_told_by_node() {
    let (base, nodes) = three();
    let mut new = nodes.clone();
    new[0]["position"] = json!({"x": 99, "y": 0});
    new[1]["data"]["parameters"]["value"] = json!("{{ 20 }}");
    new.as_array_mut().unwrap().remove(2);
    let new = document(&new, &json!([edge("a", "b")]));
    assert_eq!(
        changes(&base, &new),
        [
            Change::Changed {
                what: "node b (“The b”)".to_owned(),
                field: "parameters.value".to_owned(),
                from: "\"{{ 2 }}\"".to_owned(),
                to: "\"{{ 20 }}\"".to_owned(),
            },
            Change::Removed("node c (“The c”)".to_owned()),
            Change::Removed("edge b → c".to_owned()),
            Change::Moved(1),
        ]
    );
}
