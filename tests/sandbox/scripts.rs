//! Expressions that the JavaScript engine evaluates, in every place where an expression may stand, and within the
//! limits of the run.

use crate::harness::code;
use crate::patterns::{SECRET, node, output, pattern, run, run_limited};
use heddle_compiler::Options;
use heddle_runtime::Limits;
use serde_json::{Value, json};
use std::time::Duration;

/// A pattern whose output is the value of an expression.
fn returning(source: &str) -> Value {
    pattern(
        &[node(
            "end",
            "Return",
            json!({ "value": format!("{{{{ {source} }}}}") }),
        )],
        &["start -> end"],
    )
}

#[tokio::test]
async fn conditions_of_filters_see_their_item() {
    let nodes = [
        node(
            "keep",
            "Filter",
            json!({ "items": "{{ $input.rows }}", "condition": "{{ /^a/i.test($item.name) && $index !== 1 }}" }),
        ),
        node("end", "Return", json!({})),
    ];
    let event = json!({ "rows": [{"name": "Ann"}, {"name": "abe"}, {"name": "Bob"}, {"name": "al"}] });
    let outcome = run(&pattern(&nodes, &["start -> keep", "keep.out -> end"]), &event).await;
    assert_eq!(output(&outcome), json!([{"name": "Ann"}, {"name": "al"}]));
}

#[tokio::test]
async fn sorting_sees_its_two_items() {
    let nodes = [
        node(
            "sort",
            "Sort",
            json!({ "by": "{{ ((a, b) => { const [x, y] = [a, b].map(s => +s.match(/\\d+/)[0]); return x - y; })($a, $b) }}" }),
        ),
        node("end", "Return", json!({})),
    ];
    let outcome = run(
        &pattern(&nodes, &["start -> sort", "sort -> end"]),
        &json!(["item 10", "item 9", "item 100"]),
    )
    .await;
    assert_eq!(output(&outcome), json!(["item 9", "item 10", "item 100"]));
}

#[tokio::test]
async fn each_evaluates_for_every_element() {
    let mut set = node(
        "set",
        "Transform",
        json!({ "value": "{{ [$index, $item.replace(/(.)(.)/, '$2$1'), $('start').item.length + /x/.source] }}" }),
    );
    set["data"]["each"] = json!(true);
    let nodes = [set, node("end", "Return", json!({}))];
    let outcome = run(
        &pattern(&nodes, &["start -> set", "set -> end"]),
        &json!(["ab", "cd"]),
    )
    .await;
    assert_eq!(output(&outcome), json!([[0, "ba", "2x"], [1, "dc", "2x"]]));
}

#[tokio::test]
async fn loops_end_by_their_condition_and_bodies_see_their_item() {
    let nodes = [
        node(
            "loop",
            "Loop",
            json!({ "maxIterations": 20, "condition": "{{ !/^x{3}/.test($item) && $index < 10 }}" }),
        ),
        node(
            "grow",
            "Transform",
            json!({ "value": "{{ (s => { s += 'x'; return s; })($item) }}" }),
        ),
        node("end", "Return", json!({})),
    ];
    let edges = [
        "start -> loop",
        "loop.item -> grow",
        "grow -> loop.next",
        "loop.done -> end",
    ];
    assert_eq!(output(&run(&pattern(&nodes, &edges), &json!("")).await), "xxx");
    let nodes = [
        node("each", "ForEach", json!({})),
        node(
            "upper",
            "Transform",
            json!({ "value": "{{ `${$index}${$item}`.replace(/[a-z]/g, c => c.toUpperCase()) }}" }),
        ),
        node("end", "Return", json!({})),
    ];
    let edges = [
        "start -> each",
        "each.item -> upper",
        "upper -> each.next",
        "each.done -> end",
    ];
    assert_eq!(
        output(&run(&pattern(&nodes, &edges), &json!(["a", "b"])).await),
        json!(["0A", "1B"])
    );
}

#[tokio::test]
async fn definitions_have_them_too() {
    let definitions = json!({
        "Slug": {
            "kind": "expression",
            "inputs": [{"name": "in"}],
            "outputs": [{"name": "slug"}, {"name": "words"}],
            "outputValues": {
                "slug": "{{ $input.toLowerCase().replace(/[^a-z]+/g, '-') }}",
                "words": "{{ new Set($input.split(/\\s+/)).size }}",
            },
        },
    });
    let nodes = [
        node("slug", "Slug", json!({})),
        node("both", "Merge", json!({ "mode": "append" })),
        node("end", "Return", json!({})),
    ];
    let edges = [
        "start -> slug",
        "slug.slug -> both",
        "slug.words -> both",
        "both -> end",
    ];
    let event = json!("Big  big Data");
    let limits = Limits::default();
    let outcome = run_limited(&pattern(&nodes, &edges), &definitions, &event, limits).await;
    assert_eq!(output(&outcome), json!(["big-big-data", 3]));
}

#[tokio::test]
async fn all_names_are_handed_over() {
    let nodes = [
        node("first", "Transform", json!({ "value": { "a": 1 } })),
        node(
            "end",
            "Return",
            json!({ "value": "{{ [/x/.source, $trigger.t, $nodes['first'].a, $nodes.first.a, $('first').a, $('first').item.a, $input.a, \
                     $run.id, Object.keys($vars).length, typeof $random(), $uuid().length, $secrets.KEY === $secrets.KEY, \
                     `${$now.year}`, new Date().getTime()] }}" }),
        ),
    ];
    let outcome = run(
        &pattern(&nodes, &["start -> first", "first -> end"]),
        &json!({"t": "T"}),
    )
    .await;
    let value = output(&outcome);
    assert_eq!(
        value.as_array().unwrap()[..7],
        [
            json!("x"),
            json!("T"),
            json!(1),
            json!(1),
            json!(1),
            json!(1),
            json!(1)
        ]
    );
    assert_eq!(value[9], "number");
    assert_eq!(value[10], 36);
    assert_eq!(value[11], true);
}

#[tokio::test]
async fn secrets_stay_outside() {
    let outcome = run(
        &returning("(key => key.split('').map(c => { let d = c; return d; }).join('') + key.replace(/x/, ''))($secrets.KEY)"),
        &Value::Null,
    )
    .await;
    let text = output(&outcome).to_string();
    assert!(!text.contains(SECRET.split(' ').next().unwrap()), "{text}");
}

#[tokio::test]
async fn a_node_that_did_not_run_is_undefined_and_errors_can_be_branched() {
    let mut fails = node(
        "fails",
        "Transform",
        json!({ "value": "{{ $input.missing.replace(/x/, '') }}" }),
    );
    fails["data"]["onError"] = json!("branch");
    let nodes = [
        fails,
        node("other", "NoOp", json!({})),
        node(
            "end",
            "Return",
            json!({ "value": "{{ [$error.code, /replace/.test($error.message), $nodes.other === undefined, /x/.test($nodes.other?.a)] }}" }),
        ),
    ];
    let edges = [
        "start -> fails",
        "fails.out -> other",
        "other -> end",
        "fails.error -> end",
    ];
    let outcome = run(&pattern(&nodes, &edges), &json!({})).await;
    assert_eq!(output(&outcome), json!(["EXPRESSION", true, true, false]));
}

#[tokio::test]
async fn what_an_expression_changes_is_seen_by_no_other() {
    let spoil = "{{ (() => { $input.list.push(9); $input.o = 1; Object.freeze($input.list); return $input.list.length; })() }}";
    let nodes = [
        node(
            "spoil",
            "SetFields",
            json!({ "fields": { "n": spoil, "again": spoil, "seen": "{{ $input.list.length }}" } }),
        ),
        node(
            "end",
            "Return",
            json!({ "value": "{{ [$input.n, $input.again, $input.seen, $trigger.list.join(), $trigger.list.join().replace(/,/, ';')] }}" }),
        ),
    ];
    let outcome = run(
        &pattern(&nodes, &["start -> spoil", "spoil -> end"]),
        &json!({"list": [1, 2]}),
    )
    .await;
    assert_eq!(output(&outcome), json!([3, 3, 2, "1,2", "1;2"]));
}

#[tokio::test]
async fn only_patterns_that_need_the_engine_may_start_it() {
    let rights = |source: &str| {
        let compiled = heddle_compiler::compile(&returning(source), &json!({}), &Options::default());
        compiled.artifact.unwrap().manifest.rights.javascript
    };
    assert!(!rights("$input.a.trim()"));
    assert!(rights("$input.a.replace(/x/, '')"));
}

#[tokio::test]
async fn limits_of_the_run_hold_in_expressions() {
    for (source, expected) in [
        // Regular expressions that backtrack (ReDoS).
        ("/^(a+)+$/.test('a'.repeat(50) + '!')", "OUT_OF_FUEL"),
        ("$input.s.match(/(x+x+)+y/)", "OUT_OF_FUEL"),
        (
            "$input.s.replace(/(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^x]$/s, '')",
            "OUT_OF_FUEL",
        ),
        (
            "new RegExp('^(([a-z])+.)+[A-Z]([a-z])+$').test('a'.repeat(60))",
            "OUT_OF_FUEL",
        ),
        ("(() => { for (;;); })()", "OUT_OF_FUEL"),
        // Promises that never settle, by way of what code makes at run time.
        (
            "new Function('return new ((async () => {})().constructor)(() => {})')()",
            "EXPRESSION",
        ),
        (
            "new Function('return (async () => { for (;;) await 0; })()')()",
            "OUT_OF_FUEL",
        ),
        // Memory.
        (
            "Array.from({length: 1e8}, (_, i) => { let x = i; x++; return x; })",
            "OUT_OF_MEMORY",
        ),
        (
            "(() => { const all = []; for (;;) all.push(new Array(1e6).fill(7)); })()",
            "OUT_OF_MEMORY",
        ),
        ("(() => { let s = 'x'; for (;;) s += s; })()", "EXPRESSION"),
        (
            "(() => { const m = new Map(); for (let i = 0; ; i++) m.set(i, {i}); })()",
            "OUT_OF_MEMORY",
        ),
        // Depth.
        ("(function f() { return f() + 1; })()", "EXPRESSION"),
        ("JSON.parse('['.repeat(1e6) + /x/.source)", "STACK_OVERFLOW"),
        (
            "new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5))",
            "EXPRESSION|STACK_OVERFLOW",
        ),
        (
            "(() => { let a = []; for (let i = 0; i < 515; i++) a = [a]; return a; })()",
            "DEPTH_LIMIT",
        ),
        (
            "(() => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a; })()",
            "EXPRESSION",
        ),
        // The log.
        ("(() => { for (;;) console.log('x'); })()", "LOG_LIMIT"),
    ] {
        let event = json!({ "s": "x".repeat(60) });
        let outcome = run(&returning(source), &event).await;
        let code = code(&outcome);
        // What fills memory may use up the fuel before.
        let uses_fuel_first = expected == "OUT_OF_MEMORY" && code == "OUT_OF_FUEL";
        let is_expected = expected.split('|').any(|expected| expected == code) || uses_fuel_first;
        assert!(is_expected, "{source}: {:?}", outcome.error);
        assert_eq!(outcome.error.unwrap().node_id.as_deref(), Some("end"), "{source}");
    }
}

#[tokio::test]
async fn a_regular_expression_ends_at_the_deadline() {
    let limits = Limits {
        fuel_max: u64::MAX,
        deadline: Duration::from_millis(300),
        ..Limits::default()
    };
    let graph = returning("/^(a+)+$/.test('a'.repeat(60) + '!')");
    let outcome = run_limited(&graph, &json!({}), &Value::Null, limits).await;
    assert_eq!(code(&outcome), "TIMEOUT");
}
