//! Expressions out of a generator: compiled against the engine, and both against Node.js, 20,000 cases and more each.

use crate::generator::Generator;
use crate::{Sandbox, node, request};
use heddle_compiler::expression::{Names, NodeName, Problem, parse, route};
use heddle_compiler::{ExpressionRoute, Options, Severity};
use heddle_runtime::Tier;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const ZONE_NAME: &str = " (Coordinated Universal Time)";

/// Expressions in one pattern, and how many patterns.
const BATCH: usize = 320;
const BATCHES: usize = 9;

/// JSON texts, since some can't be told in Rust: null, unicode with lone surrogates, big and negative and integer-like
/// keys, -0, dates, sparse shapes, names that objects inherit.
pub const VALUES: &[&str] = &[
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

/// The forms of expressions that people wrote.
fn corpus() -> Vec<String> {
    let lines = include_str!("../shared/expressions.jsonl").lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["e"].as_str().unwrap().to_owned()).collect()
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
fn answers(sandbox: &Sandbox, sources: &[String], route: ExpressionRoute) -> String {
    let options = Options {
        expressions: route,
        ..Options::default()
    };
    let compiled = heddle_compiler::compile(&pattern(sources), &json!({}), &options);
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

/// What Node.js makes of the answers.
#[derive(Deserialize)]
struct Comparison {
    differences: Vec<(String, usize, String, String)>,
    unsupported: usize,
}

/// Cases that were compared, and how they differ.
#[derive(Default)]
struct Report {
    cases: usize,
    unsupported: usize,
    differing: usize,
    text: String,
}

impl Report {
    fn differs(&mut self, source: &str, value: usize, one: &str, other: &str) {
        self.differing += 1;
        if self.differing <= 40 {
            self.text += &format!("{source}\n    on value {value}: {one}\n    {other}\n");
        }
    }

    /// The compiled answers against the engine's, text by text.
    fn compare(&mut self, sources: &[String], compiled: &str, engine: &str) {
        let compiled: Vec<Vec<&RawValue>> = serde_json::from_str(compiled).unwrap();
        let engine: Vec<Vec<&RawValue>> = serde_json::from_str(engine).unwrap();
        for (source, (compiled, engine)) in sources.iter().zip(compiled.iter().zip(&engine)) {
            for (value, (compiled, engine)) in compiled.iter().zip(engine).enumerate() {
                self.cases += 1;
                // Texts of a `Date` have no name of the zone in the engine.
                let compiled = compiled.get().replace(ZONE_NAME, "");
                let engine = engine.get().replace(ZONE_NAME, "");
                let (compiled, engine) = (compiled.as_str(), engine.as_str());
                if is_unsupported(compiled) {
                    self.unsupported += 1;
                } else if compiled != engine && !(is_failure(compiled) && is_failure(engine)) {
                    self.differs(source, value, compiled, &format!("engine: {engine}"));
                }
            }
        }
    }

    /// The answers against Node's; false where there is none.
    fn compare_with_node(&mut self, sources: &[String], ours: &str) -> bool {
        let question = json!({"sources": sources, "values": VALUES, "ours": ours});
        let Some(answer) = node::ask::<Comparison>(include_str!("generated.js"), &question) else {
            return false;
        };
        self.cases += sources.len() * VALUES.len();
        self.unsupported += answer.unsupported;
        for (source, value, ours, theirs) in &answer.differences {
            self.differs(source, *value, ours, &format!("Node: {theirs}"));
        }
        true
    }

    /// At least so many cases, none of which differs, and few of which need what compiled methods don't have.
    fn check(self, cases_min: usize) {
        let Report {
            cases,
            unsupported,
            differing,
            text,
        } = self;
        println!("{cases} cases, {unsupported} unsupported, {differing} differ");
        assert!(text.is_empty(), "{differing} differ\n{text}");
        assert!(cases >= cases_min, "only {cases} cases");
        assert!(
            unsupported * 20 < cases,
            "{unsupported} of {cases} are unsupported"
        );
    }
}

fn is_failure(answer: &str) -> bool {
    answer.starts_with(r#"{"error":{"message":"#) && answer.contains(r#""code":"EXPRESSION""#)
}

/// What compiled methods don't have fails, saying so: see generated.js for the same.
fn is_unsupported(answer: &str) -> bool {
    let said = [
        "isn't supported",
        "aren't supported",
        "not supported",
        "knows no language",
        "only extends objects",
    ];
    is_failure(answer) && said.iter().any(|said| answer.contains(said))
}

/// A batch of expressions that go this way.
fn batch(generator: &mut Generator, is_wanted: fn(&str) -> bool) -> Vec<String> {
    let mut sources = Vec::with_capacity(BATCH);
    while sources.len() < BATCH {
        let source = generator.next();
        if source.len() < 1_000 && !source.contains("}}") && !dates_a_list(&source) && is_wanted(&source) {
            sources.push(source);
        }
    }
    sources
}

/// A text such as `,0,` is no date by any standard: what each engine makes of it is its own.
fn dates_a_list(source: &str) -> bool {
    source.contains("Date($input.holes") || source.contains("Date.parse($input.holes")
}

fn is_compiled(source: &str) -> bool {
    parse(source, &AnyName).is_ok_and(|parsed| !parsed.is_script())
}

fn is_script(source: &str) -> bool {
    parse(source, &AnyName).is_ok_and(|parsed| parsed.is_script())
}

fn may_go_both_ways(source: &str) -> bool {
    is_compiled(source) && route(source, &AnyName, ExpressionRoute::EngineOnly).is_ok()
}

/// `HEDDLE_SEED` makes it others.
pub fn generator() -> Generator {
    let seed = std::env::var("HEDDLE_SEED");
    let seed = seed.ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    Generator::new(seed, &corpus())
}

#[test]
fn recombined_expressions_mean_the_same_compiled_and_in_the_engine() {
    let (mut generator, sandbox, mut report) = (generator(), Sandbox::new(), Report::default());
    for _ in 0..BATCHES {
        let sources = batch(&mut generator, may_go_both_ways);
        let compiled = answers(&sandbox, &sources, ExpressionRoute::Cheapest);
        let engine = answers(&sandbox, &sources, ExpressionRoute::EngineOnly);
        report.compare(&sources, &compiled, &engine);
    }
    report.check(20_000);
}

#[test]
fn recombined_expressions_give_what_javascript_gives() {
    let (mut generator, sandbox, mut report) = (generator(), Sandbox::new(), Report::default());
    for at in 0..BATCHES + 1 {
        // The last ones are those that the engine has to evaluate.
        let is_wanted = if at < BATCHES { is_compiled } else { is_script };
        let sources = batch(&mut generator, is_wanted);
        let ours = answers(&sandbox, &sources, ExpressionRoute::Cheapest);
        if !report.compare_with_node(&sources, &ours) {
            return;
        }
    }
    report.check(20_000);
}
