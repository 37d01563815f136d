//! The data nodes: options, edge cases, errors.

mod support;

use heddle_contract::abi::code;
use heddle_node_stdlib::failure::Failure;
use heddle_values::{Value, ops};
use support::{Fake, run, run_with, value};

#[test]
fn set_fields_sets_nested_fields_and_keeps_the_rest() {
    let cases = [
        (r#"{"fields": {"a": 1}}"#, r#"{"b": 2}"#, r#"{"0":{"b":2,"a":1}}"#),
        (
            r#"{"fields": {"a.b.c": 1}}"#,
            r#"{"a": {"x": 0}}"#,
            r#"{"0":{"a":{"x":0,"b":{"c":1}}}}"#,
        ),
        (
            r#"{"fields": {"a.b": 1}}"#,
            r#"{"a": "text"}"#,
            r#"{"0":{"a":{"b":1}}}"#,
        ),
        (
            r#"{"fields": {"list.1.x": 9}}"#,
            r#"{"list": [{}, {"x": 1}]}"#,
            r#"{"0":{"list":[{},{"x":9}]}}"#,
        ),
        (
            r#"{"fields": {"list.7": 9}}"#,
            r#"{"list": [1]}"#,
            r#"{"0":{"list":[1]}}"#,
        ),
        (
            r#"{"fields": {"a": 1}, "keepInput": false}"#,
            r#"{"b": 2}"#,
            r#"{"0":{"a":1}}"#,
        ),
        (
            r#"{"fields": {"a": 1}}"#,
            r#"[{"b": 2}, {}]"#,
            r#"{"0":[{"b":2,"a":1},{"a":1}]}"#,
        ),
        (r#"{"fields": {"a": 1}}"#, "null", r#"{"0":{"a":1}}"#),
        (r#"{"fields": {}}"#, r#"{"b": 2}"#, r#"{"0":{"b":2}}"#),
    ];
    for (parameters, input, expected) in cases {
        assert_eq!(
            run("SetFields", parameters, input),
            expected,
            "{parameters} on {input}"
        );
    }
}

#[test]
fn set_fields_says_what_it_can_not_work_on() {
    assert_eq!(
        run("SetFields", r#"{"fields": {"a": 1}}"#, "\"text\""),
        "PARAMETER: This node works on objects, but its input is the string \"text\"."
    );
    assert_eq!(
        run("SetFields", r#"{"fields": 3}"#, "{}"),
        "PARAMETER: Parameter `fields` takes an object, but it is the number 3."
    );
    assert_eq!(
        run("SetFields", "{}", "{}"),
        "PARAMETER: Parameter `fields` takes an object of fields, but it is missing."
    );
}

#[test]
fn fields_are_picked_and_renamed() {
    assert_eq!(
        run(
            "PickFields",
            r#"{"fields": ["b", "c.d", "no"]}"#,
            r#"{"a": 1, "b": 2, "c": {"d": 3, "e": 4}}"#
        ),
        r#"{"0":{"b":2,"c":{"d":3}}}"#
    );
    assert_eq!(
        run("PickFields", r#"{"fields": ["a.b"]}"#, r#"{"a.b": 1}"#),
        r#"{"0":{"a.b":1}}"#
    );
    assert_eq!(
        run(
            "RenameFields",
            r#"{"mapping": {"a": "z", "no": "q"}}"#,
            r#"{"a": 1, "b": 2}"#
        ),
        r#"{"0":{"z":1,"b":2}}"#
    );
    assert_eq!(
        run("RenameFields", r#"{"mapping": {"a": 1}}"#, "{}"),
        "PARAMETER: Parameter `mapping.a` takes the new name, but it is the number 1."
    );
}

#[test]
fn filter_splits_and_takes_constants_by_their_truth() {
    let odd: support::Function =
        |item, _| ops::remainder(item, &Value::Number(2.0)).map_err(|_| Failure::new(code::EXPRESSION, "?"));
    let mut fake = Fake {
        ports: vec![Some(value("[1,2,3]"))],
        functions: vec![odd],
        ..Fake::default()
    };
    assert_eq!(
        run_with(&mut fake, "Filter", r#"{"condition": {"$function": 0}}"#),
        r#"{"0":[1,3],"1":[2]}"#
    );
    assert_eq!(
        run("Filter", r#"{"condition": true}"#, "[1]"),
        r#"{"0":[1],"1":[]}"#
    );
    assert_eq!(
        run("Filter", r#"{"condition": false, "items": [5]}"#, "null"),
        r#"{"0":[],"1":[5]}"#
    );
    assert!(
        run("Filter", r#"{"condition": true}"#, r#"{"a": [1]}"#)
            .starts_with("PARAMETER: This node works on an array")
    );
}

#[test]
fn sort_is_stable_and_keeps_missing_values_last() {
    let rows = r#"[{"n":2,"k":"a"},{"k":"b"},{"n":1,"k":"c"},{"n":2,"k":"d"},{"n":null,"k":"e"}]"#;
    let keys = |order: &str| {
        let sorted = run(
            "Sort",
            &format!(r#"{{"by": [{{"value": "n", "order": "{order}"}}]}}"#),
            rows,
        );
        sorted
            .split("\"k\":\"")
            .skip(1)
            .map(|rest| rest[..1].to_owned())
            .collect::<String>()
    };
    assert_eq!((keys("asc").as_str(), keys("desc").as_str()), ("cadeb", "adceb"));
    assert!(
        run("Sort", r#"{"by": [{"value": "n", "order": "up"}]}"#, "[]").contains("takes one of asc, desc")
    );
}

#[test]
fn a_comparison_that_contradicts_itself_still_gives_every_item() {
    let always_less: support::Function = |_, _| Ok(Value::Number(-1.0));
    let items = (0..100).map(f64::from).map(Value::Number).collect::<Vec<_>>();
    let mut fake = Fake {
        ports: vec![Some(items.into())],
        functions: vec![always_less],
        ..Fake::default()
    };
    let sorted = run_with(&mut fake, "Sort", r#"{"by": {"$function": 0}}"#);
    assert_eq!(sorted.matches(',').count(), 99);
    let text: support::Function = |_, _| Ok(Value::from("x"));
    fake.functions = vec![text];
    assert!(run_with(&mut fake, "Sort", r#"{"by": {"$function": 0}}"#).contains("must give a number"));
}

#[test]
fn lists_are_cut_flattened_and_made_unique() {
    assert_eq!(
        run("Limit", r#"{"count": 2, "offset": 1}"#, "[1,2,3,4]"),
        r#"{"0":[2,3]}"#
    );
    assert_eq!(run("Limit", r#"{"count": 0}"#, "[1]"), r#"{"0":[]}"#);
    assert_eq!(run("Limit", r#"{"count": "2"}"#, "[1,2,3]"), r#"{"0":[1,2]}"#);
    assert_eq!(
        run("Limit", r#"{"count": -1}"#, "[1]"),
        "PARAMETER: Parameter `count` takes a whole number from 0 to 1000000000, but it is the number -1."
    );
    assert_eq!(
        run("Flatten", r#"{"depth": 2}"#, "[1,[2,[3,[4]]]]"),
        r#"{"0":[1,2,3,[4]]}"#
    );
    assert_eq!(
        run("Unique", "{}", r#"[{"a":1,"b":2},{"b":2,"a":1},1,"1",1]"#),
        r#"{"0":[{"a":1,"b":2},1,"1"]}"#
    );
    assert_eq!(
        run(
            "Unique",
            r#"{"by": "x.y"}"#,
            r#"[{"x":{"y":1}},{"x":{"y":1}},{}]"#
        ),
        r#"{"0":[{"x":{"y":1}},{}]}"#
    );
}

#[test]
fn aggregate_computes_every_operation() {
    let values = r#"{"values": {"s": {"op": "sum", "value": "v"}, "a": {"op": "avg", "value": "v"}, "min": {"op": "min", "value": "v"},
        "max": {"op": "max", "value": "v"}, "n": {"op": "count"}, "nv": {"op": "count", "value": "v"}, "f": {"op": "first", "value": "v"},
        "l": {"op": "last", "value": "v"}, "c": {"op": "collect", "value": "v"}, "d": {"op": "distinct", "value": "v"}}}"#;
    assert_eq!(
        run("Aggregate", values, r#"[{"v":2},{"v":null},{"v":4},{"v":2}]"#),
        r#"{"0":{"s":8,"a":2.6666666666666665,"min":2,"max":4,"n":4,"nv":3,"f":2,"l":2,"c":[2,null,4,2],"d":[2,null,4]}}"#
    );
    assert_eq!(
        run("Aggregate", values, "[]"),
        r#"{"0":{"s":0,"a":null,"min":null,"max":null,"n":0,"nv":0,"f":null,"l":null,"c":[],"d":[]}}"#
    );
    assert_eq!(
        run(
            "Aggregate",
            r#"{"values": {"s": {"op": "sum", "value": "v"}}}"#,
            r#"[{"v":"x"}]"#
        ),
        "PARAMETER: Parameter `values.s`: sum needs numbers, but value 0 of the group is the string \"x\"."
    );
    assert!(run("Aggregate", r#"{"values": {"s": {"op": "median"}}}"#, "[]").contains("one of sum, avg"));
}

#[test]
fn groups_come_in_order_of_appearance_with_their_keys() {
    let parameters = r#"{"groupBy": ["a.city", "b"], "values": {"n": {"op": "count"}}}"#;
    let rows = r#"[{"a":{"city":"x"},"b":1},{"a":{"city":"y"},"b":1},{"a":{"city":"x"},"b":1},{"a":{"city":"x"},"b":"1"}]"#;
    assert_eq!(
        run("Aggregate", parameters, rows),
        r#"{"0":[{"city":"x","b":1,"n":2},{"city":"y","b":1,"n":1},{"city":"x","b":"1","n":1}]}"#
    );
    assert_eq!(run("Aggregate", parameters, "[]"), r#"{"0":[]}"#);
}

fn sides(node_type: &str, parameters: &str, left: &str, right: &str) -> String {
    let mut fake = Fake {
        ports: vec![Some(value(left)), Some(value(right))],
        ..Fake::default()
    };
    run_with(&mut fake, node_type, parameters)
}

#[test]
fn joins_keep_what_their_type_says() {
    let left = r#"[{"id":1,"l":"a"},{"id":2,"l":"b"},{"id":null,"l":"c"}]"#;
    let right = r#"[{"key":1,"r":"x"},{"key":1,"r":"y"},{"key":3,"r":"z"},{"r":"w"}]"#;
    let join = |kind: &str| {
        sides(
            "Join",
            &format!(r#"{{"leftKey":"id","rightKey":"key","type":"{kind}"}}"#),
            left,
            right,
        )
    };
    let inner = r#"{"id":1,"l":"a","key":1,"r":"x"},{"id":1,"l":"a","key":1,"r":"y"}"#;
    let (lefts, rights) = (
        r#"{"id":2,"l":"b"},{"id":null,"l":"c"}"#,
        r#"{"key":3,"r":"z"},{"r":"w"}"#,
    );
    assert_eq!(join("inner"), format!(r#"{{"0":[{inner}]}}"#));
    assert_eq!(join("left"), format!(r#"{{"0":[{inner},{lefts}]}}"#));
    assert_eq!(join("right"), format!(r#"{{"0":[{inner},{rights}]}}"#));
    assert_eq!(join("full"), format!(r#"{{"0":[{inner},{lefts},{rights}]}}"#));
    assert_eq!(
        sides("Join", r#"{"leftKey":"id","rightKey":"id"}"#, "3", "[]"),
        "PARAMETER: The input `left` takes a list, but it is the number 3."
    );
}

#[test]
fn compare_finds_what_changed() {
    let compared = sides(
        "Compare",
        r#"{"key": "id"}"#,
        r#"[{"id":1,"v":1},{"id":2,"v":1},{"id":3,"v":1}]"#,
        r#"[{"v":1,"id":1},{"id":2,"v":2},{"id":4,"v":1}]"#,
    );
    assert_eq!(
        compared,
        r#"{"0":[{"id":4,"v":1}],"1":[{"id":3,"v":1}],"2":[{"key":2,"before":{"id":2,"v":1},"after":{"id":2,"v":2}}],"3":[{"v":1,"id":1}]}"#
    );
    assert!(
        sides("Compare", r#"{"key": "id"}"#, "[{}]", "[]")
            .contains("a key for every item, which item 0 of `left` does not have")
    );
}
