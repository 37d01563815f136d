//! Expressions out of a generator, compiled, against Node.js: 20,000 cases and more.

use crate::generator::Generator;
use crate::{Sandbox, node, request};
use heddle_compiler::expression::{Names, NodeName, Problem, parse};
use heddle_compiler::{Options, Severity};
use heddle_runtime::Tier;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Expressions in one pattern, and how many patterns.
const BATCH: usize = 320;
const BATCHES: usize = 9;

/// JSON texts, since some can't be told in Rust: null, unicode with lone surrogates, big and negative and integer-like
/// keys, -0, dates, sparse shapes, names that objects inherit.
const VALUES: &[&str] = &[
    r#"{"text": "a b-c, A", "emoji": "x😀é\ud83d", "empty": "", "n": 1234.567, "zero": -0, "big": 1e21, "list": [3, 1, 2],
        "words": ["b", "a", "C", "á"], "rows": [{"id": 1, "price": "2.50", "ok": true}, {"id": 2, "price": 10}], "object": {"b": 1, "a": null},
        "keys": {"b": 1, "10": 2, "9": 3, "-1": 4, "01": 5, "4294967295": 6}, "none": null, "flag": true, "at": "2026-03-28T12:00:00.000Z",
        "deep": {"a": {"b": [1, {"c": "x"}]}, "list": [[1, [2]], []]}, "holes": [null, 0, null]}"#,
    r#"{"text": "12px", "emoji": "\udc00\ud800 ﬁİß", "empty": [], "n": -0.5, "zero": 0, "big": 9007199254740993, "list": [10, 9, 1, null, "b", true],
        "words": [], "rows": [{}, {"id": null, "price": null}, {"id": "x", "price": "abc"}], "object": {"toString": 1, "constructor": "c", "__proto__": {"x": 1}, "length": 3},
        "keys": {"2": "b", "1": "a", "": 0}, "none": null, "flag": false, "at": "soon", "deep": {"a": {}, "list": [[{"x": 5}]]}, "holes": []}"#,
    r#"{"text": "2026-01-31", "emoji": "%20%C3%A9", "empty": {}, "n": 255, "zero": "0", "big": -1e-7, "list": [[2], [1], 3], "words": ["10", "9", "1"],
        "rows": [], "object": [], "keys": [1, [2, [3]]], "none": "null", "flag": 1, "at": 1774699200000, "deep": [], "holes": {"length": 2, "0": "x"}}"#,
    r#"{"text": "{\"a\": [1, 2]}", "emoji": "YWJj", "n": 4294967297.5, "list": "abc", "words": "b,a", "rows": {"id": 1}, "object": "text", "keys": 7,
        "flag": "true", "at": null, "deep": null, "holes": [[], [[]], {}]}"#,
    r#"[1, {"text": "x"}, null]"#,
    r#""text""#,
    "null",
    "-0",
];

struct AnyName;

impl Names for AnyName {
    fn node(&self, _: NodeName<'_>) -> Result<u32, Problem> {
        Ok(0)
    }

    fn has_item(&self) -> bool {
        true
    }

    fn has_pair(&self) -> bool {
        false
    }

    fn has_error(&self) -> bool {
        false
    }

    fn definition_only(&self) -> bool {
        false
    }
}

/// Real expressions, when the collection is there.
fn corpus() -> Vec<String> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../shared/data/n8n-expressions.jsonl"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("there is no {path}: only expressions of our own are recombined");
        return Vec::new();
    };
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter_map(|line| line["e"].as_str().map(str::to_owned))
        .collect()
}

/// A pattern that evaluates each expression for each element of its input, and gives an array for each expression.
fn pattern(sources: &[String]) -> Value {
    let mut nodes = vec![json!({"id": "start", "type": "OnManual"})];
    let mut edges = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let id = format!("e{at}");
        edges.push(json!({"source": "start", "target": id}));
        edges.push(json!({"source": id, "target": "end"}));
        nodes.push(json!({"id": id, "type": "Transform", "data": {
            "each": true, "onError": "continue", "parameters": {"value": format!("{{{{ {source} }}}}")},
        }}));
    }
    nodes.push(json!({"id": "end", "type": "Return"}));
    json!({"nodes": nodes, "edges": edges})
}

/// The JSON of what the pattern returns.
fn answers(sandbox: &Sandbox, sources: &[String]) -> String {
    let compiled = heddle_compiler::compile(&pattern(sources), &json!({}), &Options::default());
    let errors = compiled
        .diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error);
    let errors: Vec<_> = errors.map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let program = sandbox
        .runtime
        .load(&compiled.artifact.unwrap().wasm, Tier::Fast)
        .unwrap();
    let mut request = request(&Value::Null);
    request.event = RawValue::from_string(format!("[{}]", VALUES.join(","))).unwrap();
    let outcome = sandbox.executor.block_on(sandbox.runtime.run(&program, request));
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome.output.unwrap().get().to_owned()
}

/// What the script answers.
#[derive(Deserialize)]
struct Comparison {
    differences: Vec<(String, usize, String, String)>,
    unsupported: usize,
}

#[test]
fn recombined_expressions_give_what_javascript_gives() {
    let seed = std::env::var("HEDDLE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(7);
    let mut generator = Generator::new(seed, &corpus());
    let sandbox = Sandbox::new();
    let (mut cases, mut unsupported, mut report) = (0, 0, String::new());
    let mut differing = 0;
    for _ in 0..BATCHES {
        let mut sources = Vec::with_capacity(BATCH);
        while sources.len() < BATCH {
            let source = generator.next();
            let is_compiled = || parse(&source, &AnyName).is_ok_and(|parsed| !parsed.is_script());
            if source.len() < 1_000 && !source.contains("}}") && is_compiled() {
                sources.push(source);
            }
        }
        let ours = answers(&sandbox, &sources);
        let question = json!({"sources": sources, "values": VALUES, "ours": ours});
        let Some(answer) = node::ask::<Comparison>(include_str!("generated.js"), &question) else {
            return;
        };
        cases += sources.len() * VALUES.len();
        unsupported += answer.unsupported;
        differing += answer.differences.len();
        for (source, value, ours, theirs) in answer.differences.iter().take(40) {
            report += &format!("{source}\n    on value {value}: {ours}\n    Node: {theirs}\n");
        }
    }
    println!("{cases} cases of seed {seed}, {unsupported} unsupported, {differing} differ");
    assert!(cases >= 20_000);
    assert!(report.is_empty(), "{differing} differ\n{report}");
    assert!(
        unsupported * 20 < cases,
        "{unsupported} of {cases} are unsupported"
    );
}
