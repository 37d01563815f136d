//! The flow nodes: options, edge cases, errors.

mod support;

use heddle_contract::abi::code;
use heddle_contract::parameters::OPERATORS;
use heddle_node_stdlib::failure::Failure;
use heddle_node_stdlib::node::Outcome;
use heddle_values::{Object, Value, ops};
use support::{Fake, outcome, run, run_with, value};

fn by(input: &str) -> Fake {
    Fake {
        ports: vec![Some(value(input))],
        ..Fake::default()
    }
}

/// Whether If holds for one comparison; its parameters as JSON without the braces.
fn holds(condition: &str) -> String {
    match run("If", &format!(r#"{{"conditions": [{{{condition}}}]}}"#), "1").as_str() {
        r#"{"0":1}"# => "true".into(),
        r#"{"1":1}"# => "false".into(),
        other => other.into(),
    }
}

#[test]
fn if_takes_the_truth_of_its_condition() {
    for (condition, port) in [
        ("true", 0),
        ("false", 1),
        ("0", 1),
        ("null", 1),
        (r#""""#, 1),
        (r#""false""#, 0),
        ("[]", 0),
    ] {
        let left = run("If", &format!(r#"{{"condition": {condition}}}"#), r#"{"a": 1}"#);
        assert_eq!(left, format!(r#"{{"{port}":{{"a":1}}}}"#), "{condition}");
    }
}

#[test]
fn if_counts_an_undefined_condition_as_false() {
    let parameters = Object::from_iter([("condition", Value::Undefined)]);
    let (node, _) = heddle_node_stdlib::nodes::lookup("If").unwrap();
    let Ok(Outcome::Emit(emission)) = node(&parameters, &mut by("1")) else {
        panic!("If emits")
    };
    assert_eq!(emission.0[0].0, 1);
}

#[test]
fn if_compares() {
    let cases = [
        (r#""left": 1, "operator": "equals", "right": 1"#, "true"),
        (r#""left": 1, "operator": "equals", "right": "1""#, "false"),
        (
            r#""left": {"a": 1, "b": [2]}, "operator": "equals", "right": {"b": [2], "a": 1}"#,
            "true",
        ),
        (r#""operator": "equals", "right": null"#, "true"),
        (r#""left": 0, "operator": "equals", "right": null"#, "false"),
        (r#""left": 1, "operator": "notEquals", "right": 2"#, "true"),
        (r#""left": 2, "operator": "greater", "right": 10"#, "false"),
        (r#""left": "2", "operator": "greater", "right": "10""#, "true"),
        (r#""left": "2", "operator": "greater", "right": 10"#, "false"),
        (r#""left": 2, "operator": "greaterEqual", "right": 2"#, "true"),
        (r#""left": 1, "operator": "less", "right": 2"#, "true"),
        (r#""operator": "less", "right": 2"#, "false"),
        (r#""left": 3, "operator": "lessEqual", "right": 2"#, "false"),
        (
            r#""left": "weaver", "operator": "contains", "right": "eav""#,
            "true",
        ),
        (
            r#""left": "weaver 7", "operator": "contains", "right": 7"#,
            "true",
        ),
        (
            r#""left": "null", "operator": "contains", "right": null"#,
            "false",
        ),
        (
            r#""left": [1, {"a": 2}], "operator": "contains", "right": {"a": 2}"#,
            "true",
        ),
        (r#""left": ["10"], "operator": "contains", "right": 10"#, "false"),
        (
            r#""left": {"a": null}, "operator": "contains", "right": "a""#,
            "true",
        ),
        (r#""left": null, "operator": "contains", "right": "a""#, "false"),
        (r#""left": null, "operator": "notContains", "right": "a""#, "true"),
        (
            r#""left": "ab", "operator": "notContains", "right": "a""#,
            "false",
        ),
        (r#""left": "a", "operator": "in", "right": ["a", "b"]"#, "true"),
        (r#""left": "c", "operator": "notIn", "right": ["a", "b"]"#, "true"),
        (r#""left": "b", "operator": "in", "right": "abc""#, "true"),
        (
            r#""left": "größe", "operator": "startsWith", "right": "grö""#,
            "true",
        ),
        (
            r#""left": "größe", "operator": "startsWith", "right": "öße""#,
            "false",
        ),
        (
            r#""left": "größe", "operator": "endsWith", "right": "öße""#,
            "true",
        ),
        (r#""left": 2024, "operator": "startsWith", "right": 20"#, "true"),
        (r#""operator": "endsWith", "right": "a""#, "false"),
    ];
    for (condition, expected) in cases {
        assert_eq!(holds(condition), expected, "{condition}");
    }
}

#[test]
fn if_looks_at_what_is_there() {
    let kinds = [
        "null", "\"\"", "[]", "{}", "0", "false", "true", "\"a\"", "[null]",
    ];
    let table = [
        (
            "isEmpty",
            [true, true, true, true, false, false, false, false, false],
        ),
        ("exists", [false, true, true, true, true, true, true, true, true]),
        (
            "isTrue",
            [false, false, false, false, false, false, true, false, false],
        ),
        (
            "isFalse",
            [false, false, false, false, false, true, false, false, false],
        ),
    ];
    for (operator, row) in table {
        for (left, expected) in kinds.iter().zip(row) {
            let condition = format!(r#""left": {left}, "operator": "{operator}""#);
            assert_eq!(holds(&condition), expected.to_string(), "{condition}");
        }
    }
    assert_eq!(holds(r#""left": [], "operator": "isNotEmpty""#), "false");
    assert_eq!(holds(r#""left": [0], "operator": "isNotEmpty""#), "true");
    assert_eq!(holds(r#""operator": "notExists""#), "true");
    assert_eq!(holds(r#""operator": "exists""#), "false");
}

#[test]
fn every_comparison_of_the_catalogue_is_one() {
    for operator in OPERATORS {
        let result = holds(&format!(r#""left": "a", "operator": "{operator}", "right": "a""#));
        assert!(result == "true" || result == "false", "{operator}: {result}");
    }
}

#[test]
fn if_combines_comparisons() {
    let (yes, no) = (
        r#"{"left": true, "operator": "isTrue"}"#,
        r#"{"left": true, "operator": "isFalse"}"#,
    );
    for (combine, conditions, port) in [
        ("all", vec![yes, yes], 0),
        ("all", vec![yes, no], 1),
        ("all", vec![], 0),
        ("any", vec![no, yes], 0),
        ("any", vec![no, no], 1),
        ("any", vec![], 1),
    ] {
        let parameters = format!(
            r#"{{"combine": "{combine}", "conditions": [{}]}}"#,
            conditions.join(",")
        );
        assert_eq!(
            run("If", &parameters, "1"),
            format!(r#"{{"{port}":1}}"#),
            "{parameters}"
        );
    }
}

#[test]
fn if_says_what_is_wrong() {
    for (parameters, expected) in [
        (
            "{}",
            "PARAMETER: Neither `condition` nor `conditions` is given; there is nothing to decide by.",
        ),
        (
            r#"{"condition": true, "conditions": []}"#,
            "PARAMETER: Both `condition` and `conditions` are given; leave one of them out.",
        ),
        (
            r#"{"conditions": [{"left": 1}]}"#,
            "PARAMETER: Parameter `conditions[0].operator` takes the name of a comparison, but it is undefined.",
        ),
        (
            r#"{"conditions": [7]}"#,
            "PARAMETER: Parameter `conditions[0]` takes an object {left, operator, right}, but it is the number 7.",
        ),
        (
            r#"{"conditions": [{"left": 1, "operator": "contains", "right": 1}]}"#,
            "PARAMETER: Parameter `conditions[0].left` takes a text, a list or an object, but it is the number 1.",
        ),
        (
            r#"{"conditions": [{"left": 1, "operator": "in", "right": 1}]}"#,
            "PARAMETER: Parameter `conditions[0].right` takes a text, a list or an object, but it is the number 1.",
        ),
        (
            r#"{"conditions": [{"left": [], "operator": "endsWith", "right": "a"}]}"#,
            "PARAMETER: Parameter `conditions[0].left` takes a text, but it is an empty array.",
        ),
        (
            r#"{"conditions": [], "combine": "none"}"#,
            "PARAMETER: Parameter `combine` takes one of all, any, but it is the string \"none\".",
        ),
    ] {
        assert_eq!(run("If", parameters, "1"), expected, "{parameters}");
    }
    let unknown = holds(r#""left": 1, "operator": "equal", "right": 1"#);
    assert!(
        unknown.contains("conditions[0].operator` takes one of equals,"),
        "{unknown}"
    );
}

#[test]
fn switch_leaves_by_the_first_case_that_fits() {
    let cases =
        r#""cases": [{"name": "a", "equals": 1}, {"name": "b", "equals": 1}, {"name": "c", "equals": null}]"#;
    for (value, ports) in [("1", "0"), ("null", "2"), ("\"1\"", "3")] {
        let parameters = format!(r#"{{"value": {value}, {cases}}}"#);
        assert_eq!(
            run("Switch", &parameters, "7"),
            format!(r#"{{"{ports}":7}}"#),
            "{value}"
        );
    }
    assert_eq!(
        run("Switch", &format!("{{{cases}}}"), "1"),
        r#"{"0":1}"#,
        "without a value, the input"
    );
    let all = format!(r#"{{"value": 1, "all": true, {cases}}}"#);
    assert_eq!(run("Switch", &all, "7"), r#"{"0":7,"1":7}"#);
    let none = format!(r#"{{"value": 2, "all": true, {cases}}}"#);
    assert_eq!(run("Switch", &none, "7"), r#"{"3":7}"#);
    assert_eq!(run("Switch", r#"{"cases": []}"#, "7"), r#"{"0":7}"#);
}

#[test]
fn switch_evaluates_conditions_only_as_far_as_it_must() {
    let mut fake = by("7");
    fake.functions = vec![
        |_, _| Ok(Value::Number(0.0)),
        |_, _| Ok(Value::from("yes")),
        |_, _| Err(Failure::new(code::EXPRESSION, "reached")),
    ];
    let cases = r#""cases": [{"name": "a", "when": {"$function": 0}}, {"name": "b", "when": {"$function": 1}},
                             {"name": "c", "when": {"$function": 2}}]"#;
    assert_eq!(
        run_with(&mut fake, "Switch", &format!("{{{cases}}}")),
        r#"{"1":7}"#
    );
    let all = format!(r#"{{"all": true, {cases}}}"#);
    assert_eq!(run_with(&mut fake, "Switch", &all), "EXPRESSION: reached");
    let both = r#"{"value": 1, "cases": [{"name": "a", "equals": 2, "when": {"$function": 2}},
                                          {"name": "b", "equals": 1, "when": {"$function": 0}},
                                          {"name": "c", "equals": 1, "when": true}]}"#;
    assert_eq!(run_with(&mut fake, "Switch", both), r#"{"2":7}"#);
}

#[test]
fn switch_says_what_is_wrong() {
    for (parameters, expected) in [
        (
            "{}",
            "PARAMETER: Parameter `cases` takes an array, but it is missing.",
        ),
        (
            r#"{"cases": 1}"#,
            "PARAMETER: Parameter `cases` takes an array, but it is the number 1.",
        ),
        (
            r#"{"cases": [{"name": "a"}]}"#,
            "PARAMETER: Parameter `cases[0]` has neither `equals` nor `when`; there is nothing to choose by.",
        ),
        (
            r#"{"cases": ["a"]}"#,
            "PARAMETER: Parameter `cases[0]` takes an object {name, equals} or {name, when}, but it is the string \"a\".",
        ),
    ] {
        assert_eq!(run("Switch", parameters, "1"), expected, "{parameters}");
    }
}

#[test]
fn merge_makes_one_value_of_several() {
    for (mode, input, expected) in [
        ("first", "[1, 2]", "[1,2]"),
        ("append", "[[1, 2], 3, [], [[4]], null]", "[1,2,3,[4],null]"),
        ("append", "[[1, 2]]", "[1,2]"),
        ("append", "[7]", "[7]"),
        (
            "combine",
            r#"[{"a": 1, "b": {"x": 1}}, {"b": {"y": 2}, "c": 3}]"#,
            r#"{"a":1,"b":{"y":2},"c":3}"#,
        ),
        ("zip", "[[1, 2, 3], [\"a\", \"b\"]]", r#"[[1,"a"],[2,"b"]]"#),
        (
            "zip",
            r#"[[{"a": 1}, {"a": 2}], [{"b": 1}, 5]]"#,
            r#"[{"a":1,"b":1},[{"a":2},5]]"#,
        ),
        ("zip", "[[1], []]", "[]"),
    ] {
        let merged = run("Merge", &format!(r#"{{"mode": "{mode}"}}"#), input);
        assert_eq!(merged, format!(r#"{{"0":{expected}}}"#), "{mode} of {input}");
    }
    assert_eq!(
        run("Merge", "{}", "[[1], [2]]"),
        r#"{"0":[1,2]}"#,
        "append is the default"
    );
}

#[test]
fn merge_goes_into_fields_where_asked() {
    for (mode, input, expected) in [
        (
            "combine",
            r#"[{"a": {"x": 1, "y": {"z": 1}}, "b": 1}, {"a": {"y": {"w": 2}, "x": null}, "b": {"c": 1}}]"#,
            r#"{"a":{"x":null,"y":{"z":1,"w":2}},"b":{"c":1}}"#,
        ),
        (
            "zip",
            r#"[[{"l": [1, {"a": 1}, 3]}, {"l": 1}], [{"l": [2, {"b": 2}]}, {"l": [1]}]]"#,
            r#"[{"l":[2,{"a":1,"b":2},3]},{"l":[1]}]"#,
        ),
        (
            "combine",
            r#"[{"l": [1], "o": {"a": 1}}, {"l": {"a": 1, "0": 2, "2": 3, "01": 4, "4000000000": 5}, "o": [1]}]"#,
            r#"{"l":[2,null,3],"o":[1]}"#,
        ),
        (
            "append",
            r#"[[{"a": {"x": 1}}], {"a": {}}]"#,
            r#"[{"a":{"x":1}},{"a":{}}]"#,
        ),
    ] {
        let merged = run("Merge", &format!(r#"{{"mode": "{mode}", "deep": true}}"#), input);
        assert_eq!(merged, format!(r#"{{"0":{expected}}}"#), "{mode} of {input}");
    }
    // Many levels of objects and lists.
    let (opening, closing) = (r#"{"l":[1,{"a":"#.repeat(30), "}]}".repeat(30));
    let deep = |fields: &str| format!("{opening}{fields}{closing}");
    let both = format!("[{},{}]", deep(r#"{"x":1}"#), deep(r#"{"y":2}"#));
    assert_eq!(
        run("Merge", r#"{"mode": "combine", "deep": true}"#, &both),
        format!(r#"{{"0":{}}}"#, deep(r#"{"x":1,"y":2}"#))
    );
    let rows = r#"[[{"id": 1, "a": {"x": 1}}], [{"id": 1, "a": {"y": 2}}]]"#;
    assert_eq!(
        run("Merge", r#"{"mode": "join", "key": "id", "deep": true}"#, rows),
        r#"{"0":[{"id":1,"a":{"x":1,"y":2}}]}"#
    );
}

#[test]
fn merge_joins_rows_by_their_keys() {
    let left = r#"[{"id": 1, "a": "x"}, {"id": "1", "a": "y"}, {"id": null}, {}, {"id": {"p": 1, "q": 2}}]"#;
    let right = r#"[{"id": 1, "a": "z"}, {"id": 1, "b": 2}, {"id": null}, {"id": {"q": 2, "p": 1}, "c": 3}]"#;
    assert_eq!(
        run(
            "Merge",
            r#"{"mode": "join", "key": "id"}"#,
            &format!("[{left}, {right}]")
        ),
        r#"{"0":[{"id":1,"a":"z"},{"id":1,"a":"x","b":2},{"id":{"q":2,"p":1},"c":3}]}"#
    );
    let nested = r#"[[{"user": {"id": 4}}], [{"key": 4, "name": "Ada"}]]"#;
    assert_eq!(
        run(
            "Merge",
            r#"{"mode": "join", "key": "user.id", "rightKey": "key"}"#,
            nested
        ),
        r#"{"0":[{"user":{"id":4},"key":4,"name":"Ada"}]}"#
    );
    let mut fake = by(r#"[[{"n": 1}], [{"n": 1, "m": 2}]]"#);
    fake.functions = vec![|item, _| Ok(ops::get(item, "n").unwrap())];
    assert_eq!(
        run_with(&mut fake, "Merge", r#"{"mode": "join", "key": {"$function": 0}}"#),
        r#"{"0":[{"n":1,"m":2}]}"#
    );
}

#[test]
fn merge_says_what_it_can_not_merge() {
    for (parameters, input, expected) in [
        (
            r#"{"mode": "combine"}"#,
            r#"[{}, [1]]"#,
            "PARAMETER: Merge by `combine` takes objects, but value 2 of those that came is an array of 1.",
        ),
        (
            r#"{"mode": "zip"}"#,
            "[1]",
            "PARAMETER: Merge by `zip` takes lists, but value 1 of those that came is the number 1.",
        ),
        (
            r#"{"mode": "join", "key": "id"}"#,
            "[[]]",
            "PARAMETER: Merge joins two lists, but 1 came. Connect two edges to it that both bring a list.",
        ),
        (
            r#"{"mode": "join"}"#,
            "[[], []]",
            "PARAMETER: Parameter `key` takes a dotted path or an expression with `$item`, but it is missing.",
        ),
        (
            r#"{"mode": "join", "key": "id"}"#,
            "[[], [7]]",
            "PARAMETER: Merge by `join` takes lists of objects, but list 2 holds the number 7.",
        ),
    ] {
        assert_eq!(
            run("Merge", parameters, input),
            expected,
            "{parameters} of {input}"
        );
    }
}

fn iterations(parameters: &str, input: &str) -> (String, u32) {
    match outcome(&mut by(input), "ForEach", parameters) {
        Ok(Outcome::Iterate { items, concurrency }) => (Value::from(items).to_json(), concurrency),
        other => panic!("{other:?}"),
    }
}

#[test]
fn for_each_iterates_over_elements_or_slices() {
    assert_eq!(iterations("{}", "[1, [2], null]"), ("[1,[2],null]".into(), 1));
    assert_eq!(iterations("{}", "[]"), ("[]".into(), 1));
    assert_eq!(
        iterations(r#"{"items": [4], "concurrency": 8}"#, "null"),
        ("[4]".into(), 8)
    );
    assert_eq!(
        iterations(r#"{"batchSize": 2}"#, "[1, 2, 3]"),
        ("[[1,2],[3]]".into(), 1)
    );
    assert_eq!(iterations(r#"{"batchSize": 2}"#, "[]"), ("[]".into(), 1));
}

#[test]
fn for_each_says_what_is_wrong() {
    let input = run("ForEach", "{}", r#"{"items": []}"#);
    assert!(
        input.starts_with("PARAMETER: This node works on an array, but its input is an object"),
        "{input}"
    );
    for name in ["batchSize", "concurrency"] {
        let zero = run("ForEach", &format!(r#"{{"{name}": 0}}"#), "[]");
        assert!(
            zero.starts_with(&format!(
                "PARAMETER: Parameter `{name}` takes a whole number from 1"
            )),
            "{zero}"
        );
    }
}

#[test]
fn loop_repeats_while_its_condition_holds() {
    let repeat = |parameters: &str| match outcome(&mut by("7"), "Loop", parameters) {
        Ok(Outcome::Repeat {
            condition,
            iterations_max,
        }) => format!("{condition:?} {iterations_max}"),
        Ok(Outcome::Emit(emission)) => format!("{:?}", emission.0),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        repeat(r#"{"condition": {"$function": 3}, "maxIterations": 5}"#),
        "Some(3) 5"
    );
    assert_eq!(repeat(r#"{"condition": true, "maxIterations": 5}"#), "None 5");
    assert_eq!(
        repeat(r#"{"condition": false, "maxIterations": 5}"#),
        "[(1, Number(7.0))]"
    );
    for (parameters, expected) in [
        (
            r#"{"condition": true}"#,
            "PARAMETER: Parameter `maxIterations` takes a whole number, but it is missing.",
        ),
        (
            r#"{"maxIterations": 2}"#,
            "PARAMETER: Parameter `condition` takes a condition, but it is missing.",
        ),
    ] {
        assert_eq!(run("Loop", parameters, "7"), expected);
    }
}

#[test]
fn throw_fails_with_a_message_and_a_code() {
    for (parameters, expected) in [
        (r#"{"message": "No stock"}"#, "THROWN: No stock"),
        (r#"{"message": "No stock", "code": "STOCK"}"#, "STOCK: No stock"),
        (r#"{"message": {"left": 0}, "code": ""}"#, "THROWN: {\"left\":0}"),
        (r#"{"message": null}"#, "THROWN: Thrown without a message."),
    ] {
        assert_eq!(run("Throw", parameters, "1"), expected);
    }
}

#[test]
fn return_gives_its_value_or_its_input() {
    for (parameters, expected) in [
        ("{}", "7"),
        (r#"{"value": [1]}"#, "[1]"),
        (r#"{"value": null}"#, "null"),
    ] {
        match outcome(&mut by("7"), "Return", parameters) {
            Ok(Outcome::Return(output)) => assert_eq!(output.to_json(), expected, "{parameters}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn respond_to_webhook_answers_and_passes_its_input_on() {
    for (parameters, expected) in [
        (
            "{}",
            r#"{"status":200,"headers":{},"body":{"id":7},"bodyType":"json"}"#,
        ),
        (
            r#"{"status": 404, "body": null, "headers": {"X-Count": 3, "x-none": null}}"#,
            r#"{"status":404,"headers":{"X-Count":"3"},"body":null,"bodyType":"json"}"#,
        ),
        (
            r#"{"bodyType": "text"}"#,
            r#"{"status":200,"headers":{},"body":"{\"id\":7}","bodyType":"text"}"#,
        ),
        (
            r#"{"bodyType": "base64", "body": "AAE="}"#,
            r#"{"status":200,"headers":{},"body":"AAE=","bodyType":"base64"}"#,
        ),
    ] {
        let mut fake = by(r#"{"id": 7}"#);
        assert_eq!(
            run_with(&mut fake, "RespondToWebhook", parameters),
            r#"{"0":{"id":7}}"#
        );
        assert_eq!(fake.response.unwrap().to_json(), expected, "{parameters}");
    }
}

/// What StreamResponse asks the host for.
fn piece(parameters: &str) -> String {
    match outcome(&mut by(r#"{"id": 7}"#), "StreamResponse", parameters) {
        Ok(Outcome::Effect { kind, request }) => format!("{kind} {}", request.to_json()),
        Ok(other) => format!("{other:?}"),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

#[test]
fn stream_response_sends_its_data_as_text() {
    for (parameters, expected) in [
        (
            "{}",
            r#"stream {"format":"sse","data":"{\"id\":7}","status":200,"headers":{}}"#,
        ),
        (
            r#"{"data": "a\nb", "event": "said", "id": "1", "status": 203, "headers": {"x-a": 1}}"#,
            r#"stream {"format":"sse","data":"a\nb","status":203,"headers":{"x-a":"1"},"event":"said","id":"1"}"#,
        ),
        (
            r#"{"format": "json-lines", "data": "a"}"#,
            r#"stream {"format":"json-lines","data":"\"a\"","status":200,"headers":{}}"#,
        ),
        (
            r#"{"format": "text", "data": 1.50}"#,
            r#"stream {"format":"text","data":"1.5","status":200,"headers":{}}"#,
        ),
        (
            r#"{"status": 204}"#,
            "PARAMETER: Parameter `status`: a response with the status 204 has no body to stream.",
        ),
        (
            r#"{"format": "text", "event": "a"}"#,
            "PARAMETER: Parameter `event` is for the format `sse`; `text` has none.",
        ),
    ] {
        assert_eq!(piece(parameters), expected, "{parameters}");
    }
    let broken = piece(r#"{"event": "a\n\ndata: b"}"#);
    assert!(
        broken.starts_with("PARAMETER: Parameter `event` takes text of one line"),
        "{broken}"
    );
}

#[test]
fn respond_to_webhook_refuses_what_http_can_not_carry() {
    for (parameters, expected) in [
        (
            r#"{"status": 101}"#,
            "PARAMETER: Parameter `status` takes a whole number from 200 to 599, but it is the number 101.",
        ),
        (
            r#"{"headers": {"a b": "c"}}"#,
            "PARAMETER: Parameter `headers`: `a b` can't be the name of a header.",
        ),
        (
            r#"{"headers": {"a": ["c"]}}"#,
            "PARAMETER: Parameter `headers.a` takes text, but it is an array of 1.",
        ),
        (
            r#"{"bodyType": "base64", "body": {}}"#,
            "PARAMETER: Parameter `body` takes base64 text, since `bodyType` is base64, but it is an empty object.",
        ),
    ] {
        let mut fake = by("1");
        assert_eq!(
            run_with(&mut fake, "RespondToWebhook", parameters),
            expected,
            "{parameters}"
        );
        assert!(fake.response.is_none(), "{parameters}");
    }
    let split = run(
        "RespondToWebhook",
        r#"{"headers": {"a": "b\r\nset-cookie: c"}}"#,
        "1",
    );
    assert!(
        split.starts_with("PARAMETER: Parameter `headers.a` takes text without line breaks"),
        "{split}"
    );
    let wrong = run(
        "RespondToWebhook",
        r#"{"bodyType": "base64", "body": "***"}"#,
        "1",
    );
    assert!(
        wrong.starts_with("PARSE: Parameter `body` is not valid base64"),
        "{wrong}"
    );
}

#[test]
fn no_op_passes_its_input_through() {
    assert_eq!(run("NoOp", "{}", "[1]"), r#"{"0":[1]}"#);
}
