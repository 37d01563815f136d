//! Expressions through the compiler and the sandbox, against Node.js: what stands here as source is evaluated by both.
//! Skipped where there is no `node`, but not in CI.
#![expect(clippy::unwrap_used, reason = "a test that panics where it can not go on")]

mod calls;
mod code;
mod dates;
mod engine;
mod failures;
mod generated;
mod generator;
mod lambdas;
mod n8n;
#[path = "../shared/needs.rs"]
mod needs;
#[path = "../shared/node.rs"]
mod node;

use heddle_compiler::{ExpressionRoute, Options, Severity};
use heddle_runtime::{Limits, Outcome, RunRequest, Runtime, RuntimeConfig, Tier};
use serde_json::{Value, json};
use std::time::Duration;

/// A runtime and a thread to run it on.
struct Sandbox {
    runtime: Runtime,
    executor: tokio::runtime::Runtime,
}

impl Sandbox {
    fn new() -> Self {
        Sandbox {
            // With a cache, since compiling the JavaScript engine takes its time.
            runtime: Runtime::new(RuntimeConfig {
                cache_dir: Some(concat!(env!("CARGO_TARGET_TMPDIR"), "/runtime-cache").into()),
                ..RuntimeConfig::default()
            })
            .unwrap(),
            executor: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
        }
    }

    /// The outcome of a pattern that returns the expression's value; the first diagnostic if it is refused.
    fn evaluate(&self, source: &str, input: &Value) -> Result<Outcome, String> {
        self.evaluate_by(source, input, ExpressionRoute::Cheapest)
    }

    /// What a parameter's text with expressions in it becomes.
    fn text(&self, text: &str, input: &Value) -> String {
        let outcome = self.evaluate_text(text, input, ExpressionRoute::Cheapest);
        let outcome = outcome.unwrap_or_else(|refused| panic!("{text}: {refused}"));
        match &outcome.error {
            None => output_of(&outcome).as_str().unwrap().to_owned(),
            Some(error) => panic!("{text}: {}", error.message),
        }
    }

    /// The same by one way.
    fn evaluate_by(&self, source: &str, input: &Value, route: ExpressionRoute) -> Result<Outcome, String> {
        self.evaluate_text(&format!("{{{{ {source} }}}}"), input, route)
    }

    fn evaluate_text(&self, text: &str, input: &Value, route: ExpressionRoute) -> Result<Outcome, String> {
        let graph = json!({
            "nodes": [
                {"id": "start", "type": "OnManual", "data": {}},
                {"id": "end", "type": "Return", "data": {"parameters": {"value": text}}},
            ],
            "edges": [{"id": "e", "source": "start", "target": "end"}],
        });
        let options = Options {
            expressions: route,
            ..Options::default()
        };
        let compiled = heddle_compiler::compile(&graph, &json!({}), &options);
        let Some(artifact) = compiled.artifact else {
            let error = compiled
                .diagnostics
                .iter()
                .find(|d| d.severity == Severity::Error);
            return Err(error.unwrap().message.clone());
        };
        let program = self.runtime.load(&artifact.wasm, Tier::Fast).unwrap();
        Ok(self.executor.block_on(self.runtime.run(&program, request(input))))
    }
}

/// The value that the run returned.
fn output_of(outcome: &Outcome) -> Value {
    serde_json::from_str(outcome.output.as_ref().unwrap().get()).unwrap()
}

fn request(input: &Value) -> RunRequest {
    RunRequest {
        limits: Limits {
            deadline: Duration::from_secs(60),
            ..Limits::default()
        },
        ..RunRequest::new(serde_json::value::to_raw_value(input).unwrap())
    }
}

/// Checks that each source gives what it gives in Node, or fails where that throws.
fn assert_as_in_javascript(input: &Value, sources: &[&str]) {
    let cases: Vec<_> = sources.iter().map(|source| json!([source, input])).collect();
    let Some(expected) = ask(&Value::from(cases)) else {
        return;
    };
    let sandbox = Sandbox::new();
    let mut differences = String::new();
    for (source, expected) in sources.iter().zip(&expected) {
        let ours = match sandbox.evaluate(source, input) {
            Err(refused) => json!({ "refused": refused }),
            Ok(outcome) => match &outcome.error {
                Some(error) => json!({ "error": error.message }),
                None => json!({ "ok": output_of(&outcome) }),
            },
        };
        let same = match expected.get("ok") {
            Some(value) => ours.get("ok").is_some_and(|ours| same(ours, value)),
            None => ours.get("error").is_some(),
        };
        if !same {
            differences += &format!("{source}\n    {ours}\n    Node: {expected}\n");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// JSON values as JavaScript sees them: 1 is 1.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|((a_name, a), (b_name, b))| a_name == b_name && same(a, b))
        }
        _ => a == b,
    }
}

/// Node's answers; `None` without Node.
fn ask(cases: &Value) -> Option<Vec<Value>> {
    node::ask(include_str!("oracle.js"), cases)
}
