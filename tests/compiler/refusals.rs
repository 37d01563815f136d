//! Graphs that are refused for their depth or size, and what composites can't do.

use crate::diagnostics::{composite, graph, node, noop, said, started, transform, with_definitions};
use heddle_compiler::{GraphLimits, Options, check};
use insta::assert_snapshot;
use serde_json::{Value, json};

#[test]
fn parameters_nest_only_so_deep() {
    let nested = |levels: usize| (0..levels).fold(json!("{{ $input }}"), |inner, _| json!([inner]));
    let pattern = |levels| {
        started(
            [node("a", "Transform", json!({ "value": nested(levels) }))],
            &["start -> a"],
        )
    };
    let of = |levels| with_definitions(pattern(levels), json!({}));
    assert_eq!(of(64), "");
    let (message, path) = of(65)
        .split_once(": ")
        .map(|(path, message)| (message.to_owned(), path.to_owned()))
        .unwrap();
    assert_eq!(message, "is nested more than 64 levels deep\n");
    assert_eq!(path, format!("error[too-deep] a value{}", "[0]".repeat(65)));
}

#[test]
fn composites_nest_only_so_deep() {
    // Each holds the next.
    let chain = |count: usize| {
        let definition = |index: usize| {
            let inner = match index + 1 < count {
                true => node("inner", &format!("C{}", index + 1), json!({})),
                false => noop("inner"),
            };
            let nodes = [
                node("call", "OnCall", json!({})),
                inner,
                node("end", "Return", json!({})),
            ];
            let definition = composite(graph(nodes, &["call -> inner", "inner -> end"]));
            (format!("C{index}"), definition)
        };
        let definitions: serde_json::Map<String, Value> = (0..count).map(definition).collect();
        with_definitions(
            started([node("c", "C0", json!({}))], &["start -> c"]),
            definitions.into(),
        )
    };
    assert_eq!(chain(32), "");
    assert_eq!(
        chain(33),
        "error[too-deep] graph: composites are nested 33 levels deep; 32 are allowed\n"
    );
}

#[test]
fn expressions_have_only_so_many_bytes() {
    let options = Options {
        limits: GraphLimits {
            expression_bytes_max: 20,
            ..GraphLimits::default()
        },
        ..Options::default()
    };
    let pattern = started(
        [
            transform("short", "{{$input.abcdefghijklm}} and {{$input.abcdefghijklm}}"),
            transform("long", "{{$input.abcdefghijklmn}}"),
        ],
        &["start -> short", "short -> long"],
    );
    assert_snapshot!(said(&check(&pattern, &json!({}), &options)), @r#"error[expression-too-long] long value: is an expression of 21 bytes; 20 are allowed"#);
}

/// A composite whose body loops over its input; `inside` and `after` stand in the loop's body and behind it.
fn looping(inside: Value, after: Value) -> Value {
    composite(graph(
        [
            node("call", "OnCall", json!({})),
            node("each", "ForEach", json!({})),
            inside,
            after,
        ],
        &["call -> each", "each.item -> inside", "each.done -> after"],
    ))
}

#[test]
fn a_composite_does_not_return_out_of_a_loop() {
    let inside = node("inside", "Return", json!({}));
    let said = with_definitions(
        started([node("c", "C", json!({}))], &["start -> c"]),
        json!({ "C": looping(inside, node("after", "Return", json!({}))) }),
    );
    assert_snapshot!(said, @r#"
warning[several-returns] nodeDefinitions.C.graphData.nodes.after: in definition `C`, node `after`: a run may reach both this node and `inside`; only the first Return counts
error[composite-return] nodeDefinitions.C.graphData.nodes.inside: in definition `C`, node `inside`: a Return in a composite can't be in a loop's body
  connect it to the loop's port `done`
"#);
}

#[test]
fn a_composite_continues_by_its_only_output() {
    let caught = |on_error: &str| json!({ "id": on_error, "type": "C", "data": { "onError": on_error } });
    let pattern = started(
        [caught("continue"), caught("branch")],
        &["start -> continue", "start -> branch"],
    );
    let mut two_outputs = composite(graph(
        [
            node("call", "OnCall", json!({})),
            node("end", "Return", json!({})),
        ],
        &["call -> end"],
    ));
    two_outputs["outputs"] = json!([{ "name": "a" }, { "name": "b" }]);
    assert_snapshot!(with_definitions(pattern, json!({ "C": two_outputs })), @r#"error[option] continue: onError "continue" on a composite needs exactly one output port; use "branch""#);
}
