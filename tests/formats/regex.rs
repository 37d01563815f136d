//! Regex against the regular expressions of Node.js.

use crate::oracle;
use crate::sandbox::Node;
use serde_json::{Value, json};

const OPERATIONS: &[&str] = &["test", "match", "matchAll", "replace", "split"];

/// Expressions with what only some engines do right, and texts for them.
const CASES: &[(&str, &str, &str)] = &[
    ("(?<year>\\d{4})-(?<month>\\d\\d)", "g", "2026-07 and 1999-12"),
    ("(a)|(b)|(?<c>c)", "g", "abcab"),
    ("", "g", "añ😀"),
    ("", "gu", "añ😀"),
    (".", "gs", "a\n😀"),
    (".", "gu", "a\n😀"),
    ("\\u{1F600}", "u", "x😀"),
    ("[\\p{Lu}--[A-Z]]+", "v", "aÄÖz"),
    ("\\p{Script=Greek}+", "gu", "αβγ abc δ"),
    ("(?<=\\$)\\d+(?:\\.\\d+)?", "g", "cost $42.50, 10, $7"),
    ("(?<!a)b", "g", "ab bb cb"),
    ("(?=.*\\d)(?=.*[a-z])\\w{4,}", "", "abcd1 x"),
    ("^\\s*(\\w+)\\s*=\\s*(.*?)\\s*$", "gm", "a = 1\n  b=2  \n#c"),
    ("(\\w)\\1", "gi", "aA bb cd"),
    ("(?<q>['\"]).*?\\k<q>", "g", "say \"it's\" 'x'"),
    ("a{2,3}?", "g", "aaaaa"),
    ("(z)((a+)?(b+)?(c))*", "", "zaacbbbcac"),
    ("\\bfoo\\b", "gi", "Foo food FOO"),
    ("\\d", "y", "1a2"),
    ("[^\\S\\r\\n]+", "g", "a \t\u{a0}\u{3000}b\n"),
    ("\\cJ|\\x41|\\u0042|\\0", "g", "\nAB\u{0}"),
    ("[\\]^-]+|\\[", "g", "a]^-[b"),
    ("ſ|K", "gi", "s S k K"),
    ("ſ|\\u212a", "giu", "s S k K"),
    ("(?:)", "g", "ab"),
    ("x*", "g", "axxb"),
    (",\\s*", "", "a, b,c,,d"),
    ("(,)|(;)", "", "a,b;c"),
    ("\\{\\{(.*?)\\}\\}", "g", "hi {{name}}, {{ x }}"),
    ("i", "gi", "İıIi"),
];

#[tokio::test]
async fn expressions_mean_what_they_mean_in_node() {
    let mut cases = Vec::new();
    for (pattern, flags, text) in CASES {
        for operation in OPERATIONS {
            let replacement = "[$&|$1|$2|$<year>|$$|$`|$'|$9]";
            cases.push(case(operation, pattern, flags, text, replacement));
        }
    }
    let mut random = oracle::random(4);
    for _ in oracle::cases(80) {
        let pattern = generated(&mut random, 3);
        let flags = random.choice(["", "g", "gi", "gm", "gs"]).unwrap();
        let text: String = (0..20)
            .map(|_| random.choice(['a', 'b', 'A', '1', ' ', '\n', 'é']).unwrap())
            .collect();
        let operation = random.choice(OPERATIONS).unwrap();
        cases.push(case(operation, &pattern, flags, &text, "<$1>"));
    }
    let Some(answers) = oracle::ask("regex", &cases) else {
        return;
    };
    let mut wrong = Vec::new();
    for (case, expected) in cases.iter().zip(answers) {
        let ours = node(case).run(case).await;
        if ours != Ok(expected.clone()) {
            wrong.push(format!("{case}: {ours:?}, Node.js: {expected}"));
        }
    }
    oracle::assert_none(&wrong);
}

fn case(operation: &str, pattern: &str, flags: &str, text: &str, replacement: &str) -> Value {
    json!({"operation": operation, "pattern": pattern, "flags": flags, "text": text, "replacement": replacement})
}

/// Gives the result as JSON text on both sides: what is found may end amid a character, and texts with half of one
/// can't leave a run, nor can serde_json read them, but `JSON.stringify` has an escape for it.
fn node(case: &Value) -> Node {
    let parameters = json!({
        "operation": case["operation"], "pattern": case["pattern"], "flags": case["flags"],
        "text": "{{ $input.text }}", "replacement": "{{ $input.replacement }}"
    });
    Node::of(&json!({
        "nodes": [
            { "id": "start", "type": "OnManual" },
            { "id": "it", "type": "Regex", "data": { "parameters": parameters } },
            { "id": "end", "type": "Return", "data": { "parameters": { "value": "{{ JSON.stringify($input) }}" } } },
        ],
        "edges": [{ "source": "start", "target": "it" }, { "source": "it", "target": "end" }],
    }))
}

/// An expression of limited depth.
fn generated(random: &mut fastrand::Rng, depth: u32) -> String {
    let atoms = [
        "a", "b", ".", "\\w", "\\s", "[ab]", "[^a1]", "\\d", "\\b", "^", "$", "é",
    ];
    if depth == 0 {
        return random.choice(atoms).unwrap().to_owned();
    }
    let mut inner = || generated(random, depth - 1);
    let (first, second) = (inner(), inner());
    match random.u32(0..6) {
        0 => format!("{first}|{second}"),
        1 => format!("({first}){second}"),
        2 => format!(
            "(?:{first}){}",
            random.choice(["*", "+?", "?", "{1,2}", "??"]).unwrap()
        ),
        3 => format!("(?={first}){second}"),
        4 => format!("(?:({first}){second})"),
        _ => format!("{first}{second}"),
    }
}

#[tokio::test]
async fn what_is_no_expression_is_refused() {
    for (pattern, flags, expected) in [
        (
            "(",
            "",
            "PARAMETER: `/(/` is not a valid JavaScript regular expression: ",
        ),
        (
            "a",
            "gg",
            "PARAMETER: `/a/gg` is not a valid JavaScript regular expression: ",
        ),
        ("[z-a]", "", "PARAMETER: "),
        ("(?<n>a)\\k<m>", "u", "PARAMETER: "),
    ] {
        let node = Node::new("Regex", json!({"text": "x", "pattern": pattern, "flags": flags}));
        let failure = node.run(&Value::Null).await.unwrap_err();
        assert!(failure.starts_with(expected), "{pattern}: {failure}");
    }
    let text = Node::new("Regex", json!({"text": "{{ $input }}", "pattern": "\\d+"}));
    assert_eq!(text.run(&json!(12)).await.unwrap()["match"], "12");
    for input in [json!(null), json!({"a": 1})] {
        let failure = text.run(&input).await.unwrap_err();
        assert!(
            failure.starts_with("PARAMETER: Parameter `text` takes text, but it is "),
            "{failure}"
        );
    }
}

/// A match that takes exponential time ends by the run's fuel, not by its user's patience.
#[tokio::test]
async fn a_blow_up_ends_by_fuel() {
    let node = Node::new(
        "Regex",
        json!({"operation": "test", "text": "{{ $input }}", "pattern": "^(a+)+$"}),
    );
    let failure = node.run(&json!("a".repeat(40) + "!")).await.unwrap_err();
    assert!(
        failure.starts_with("OUT_OF_FUEL: ") || failure.starts_with("TIMEOUT: "),
        "{failure}"
    );
}

/// Code of the same run can't change what the node does.
#[tokio::test]
async fn code_of_the_run_does_not_reach_it() {
    let pattern = json!({
        "nodes": [
            { "id": "start", "type": "OnManual" },
            { "id": "code", "type": "JavaScript", "data": { "parameters": {
                "code": "export default () => { RegExp.prototype.exec = () => null; Array.from = () => []; \
                         String.prototype.matchAll = () => []; return 'a1b2'; }" } } },
            { "id": "it", "type": "Regex", "data": { "parameters": {
                "operation": "matchAll", "text": "{{ $input }}", "pattern": "\\d" } } },
            { "id": "end", "type": "Return", "data": { "parameters": { "value": "{{ $input.map(m => m.match) }}" } } },
        ],
        "edges": [
            { "source": "start", "target": "code" }, { "source": "code", "target": "it" },
            { "source": "it", "target": "end" },
        ],
    });
    let node = Node::of(&pattern);
    assert_eq!(node.run(&Value::Null).await, Ok(json!(["1", "2"])));
}
