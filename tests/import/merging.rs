//! What a Merge of n8n's becomes.

use crate::drawn::{imported, node, node_of, workflow};
use heddle_import::Imported;
use serde_json::{Value, json};

/// A Merge `It` of two branches.
fn of_two(version: f64, parameters: Value) -> Imported {
    let nodes = [
        node("Start", "manualTrigger", json!({})),
        node("A", "noOp", json!({})),
        node("B", "noOp", json!({})),
        node("It", "merge", parameters),
    ];
    let edges = [("Start", "A"), ("Start", "B"), ("A", "It"), ("B", "It")];
    let mut given = workflow(&nodes, &edges);
    given["nodes"][3]["typeVersion"] = version.into();
    given["connections"]["B"]["main"][0][0]["index"] = 1.into();
    imported(&given)
}

/// The parameters of such a Merge, and what is said of it.
fn merged(version: f64, parameters: Value) -> (Value, Vec<&'static str>) {
    let imported = of_two(version, parameters);
    let items = imported.report.items.iter();
    let told = items.filter(|item| item.node_id.as_deref() == Some("it"));
    let told = told.map(|item| item.code).collect();
    (node_of(&imported, "it")["data"]["parameters"].clone(), told)
}

#[test]
fn items_at_the_same_places_are_merged_as_deeply_as_in_n8n() {
    let by_position = |options: Value| {
        let parameters = json!({"mode": "combine", "combineBy": "combineByPosition", "options": options});
        merged(3.0, parameters)
    };
    let clash = |values: Value| json!({"clashHandling": {"values": values}});
    let deep = json!({"mode": "zip", "deep": true});
    for options in [
        json!({}),
        clash(json!({"resolveClash": "preferLast"})),
        clash(json!({"resolveClash": "preferInput2", "mergeMode": "deepMerge"})),
    ] {
        assert_eq!(by_position(options.clone()), (deep.clone(), vec![]), "{options}");
    }
    for values in [
        json!({"resolveClash": "addSuffix"}),
        json!({"resolveClash": "preferInput1"}),
        json!({"resolveClash": "preferLast", "overrideEmpty": true}),
    ] {
        assert_eq!(
            by_position(clash(values.clone())),
            (deep.clone(), vec!["clash"]),
            "{values}"
        );
    }
    let shallow = clash(json!({"resolveClash": "preferLast", "mergeMode": "shallowMerge"}));
    assert_eq!(
        by_position(shallow),
        (json!({"mode": "zip", "deep": false}), vec!["clash"])
    );
    assert_eq!(
        by_position(json!({"includeUnpaired": true})),
        (deep, vec!["unpaired"])
    );
}

#[test]
fn old_versions_merge_items_at_the_same_places_in_their_own_ways() {
    let second = json!({"mode": "combine", "combinationMode": "mergeByPosition"});
    assert_eq!(
        merged(2.1, second),
        (json!({"mode": "zip", "deep": true}), vec!["empty"])
    );
    let shallow = json!({"mode": "zip", "deep": false});
    let first = json!({"mode": "mergeByIndex"});
    assert_eq!(merged(1.0, first), (shallow.clone(), vec!["clash", "unpaired"]));
    let inner = json!({"mode": "mergeByIndex", "join": "inner"});
    assert_eq!(merged(1.0, inner), (shallow, vec!["clash"]));
}

#[test]
fn an_input_without_an_edge_is_told() {
    let parameters = json!({"mode": "combine", "combineBy": "combineByPosition", "numberInputs": 3});
    assert_eq!(merged(3.0, parameters).1, ["inputs"]);
}

#[test]
fn fields_that_match_are_merged_deeply_and_of_one_input_where_asked_is_told() {
    let by_fields = |more: &str, value: &str| {
        let mut parameters = json!({"mode": "combine", "fieldsToMatchString": "id"});
        parameters[more] = value.into();
        merged(3.0, parameters)
    };
    let join = json!({"mode": "join", "key": "id", "rightKey": "id", "deep": true});
    assert_eq!(by_fields("joinMode", "keepMatches"), (join.clone(), vec!["key"]));
    assert_eq!(
        by_fields("outputDataFrom", "input1"),
        (join, vec!["key", "output"])
    );
}

#[test]
fn items_without_a_partner_are_those_of_the_input_that_is_asked_for() {
    let kept = |version: f64, parameters: Value| {
        let imported = of_two(version, parameters);
        let kind = node_of(&imported, "it")["type"].as_str().unwrap().to_owned();
        let value = imported.node_definitions[&kind]["outputValues"]["out"].clone();
        value.as_str().unwrap().to_owned()
    };
    let of = |input: &str| {
        let fields = json!({"values": [{"field1": "a.id", "field2": "b"}]});
        json!({"mode": "combine", "joinMode": "keepNonMatches", "outputDataFrom": input, "mergeByFields": fields})
    };
    assert_eq!(
        kept(2.1, of("input1")),
        r#"{{ $input.a.filter(one => one?.["a"]?.["id"] === undefined || !$input.b.some(other => other?.["b"] === one?.["a"]?.["id"])) }}"#
    );
    assert_eq!(
        kept(2.1, of("input2")),
        r#"{{ $input.b.filter(one => one?.["b"] === undefined || !$input.a.some(other => other?.["a"]?.["id"] === one?.["b"])) }}"#
    );
    let old = |mode: &str| json!({"mode": mode, "propertyName1": "id", "propertyName2": "id"});
    let has = r#"$input.b.some(other => other?.["id"] && String(other?.["id"]) === String(one?.["id"]))"#;
    assert_eq!(
        kept(1.0, old("keepKeyMatches")),
        format!(r#"{{{{ $input.a.filter(one => one?.["id"] !== undefined && {has}) }}}}"#)
    );
    assert_eq!(
        kept(1.0, old("removeKeyMatches")),
        format!(r#"{{{{ $input.a.filter(one => one?.["id"] === undefined || !{has}) }}}}"#)
    );
}

#[test]
fn two_of_them_have_definitions_of_their_own() {
    let by =
        |field: &str| json!({"mode": "removeKeyMatches", "propertyName1": field, "propertyName2": field});
    let nodes = [
        node("Start", "manualTrigger", json!({})),
        node("A", "noOp", json!({})),
        node("One", "merge", by("a")),
        node("Two", "merge", by("b")),
        node("Three", "merge", by("a")),
    ];
    let merges = ["One", "Two", "Three"];
    let edges = merges.map(|merge| [("Start", merge), ("A", merge)]).concat();
    let edges = [&[("Start", "A")][..], &edges].concat();
    let mut given = workflow(&nodes, &edges);
    for number in 0..merges.len() {
        given["connections"]["A"]["main"][0][number]["index"] = 1.into();
    }
    let imported = imported(&given);
    let kind = |id: &str| node_of(&imported, id)["type"].clone();
    assert_eq!(kind("one"), kind("three"));
    assert_ne!(kind("one"), kind("two"));
    assert_eq!(imported.node_definitions.as_object().unwrap().len(), 2);
}
