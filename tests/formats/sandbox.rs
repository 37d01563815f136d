//! One node in a run of its own.

use heddle_compiler::Options;
use heddle_runtime::{Program, RunRequest, Runtime, RuntimeConfig, Tier};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// With a cache on disk, since compiling the JavaScript engine takes its time.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let config = RuntimeConfig {
        cache_dir: Some(concat!(env!("CARGO_TARGET_TMPDIR"), "/runtime-cache").into()),
        ..RuntimeConfig::default()
    };
    Runtime::new(config).unwrap()
});

/// The pattern OnManual -> node -> Return.
pub struct Node(Program);

impl Node {
    /// Parameters may have expressions, which read the event as `$input`.
    pub fn new(node_type: &str, parameters: Value) -> Node {
        let pattern = json!({
            "nodes": [
                { "id": "start", "type": "OnManual" },
                { "id": "it", "type": node_type, "data": { "parameters": parameters } },
                { "id": "end", "type": "Return" },
            ],
            "edges": [{ "source": "start", "target": "it" }, { "source": "it", "target": "end" }],
        });
        Node::of(&pattern)
    }

    /// A pattern of the test's own that begins at `start`.
    pub fn of(pattern: &Value) -> Node {
        let compiled = heddle_compiler::compile(pattern, &json!({}), &Options::default());
        let artifact = compiled
            .artifact
            .unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
        Node(RUNTIME.load(&artifact.wasm, Tier::Fast).unwrap())
    }

    /// What leaves the node, or `CODE: message`.
    pub async fn run(&self, event: &Value) -> Result<Value, String> {
        self.run_with(event, &[]).await
    }

    /// The same with secrets.
    pub async fn run_with(&self, event: &Value, secrets: &[(&str, &str)]) -> Result<Value, String> {
        let secrets = secrets
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned().into()));
        let request = RunRequest {
            started_at_ms: 1_790_000_000_000,
            secrets: BTreeMap::from_iter(secrets),
            ..RunRequest::new(RawValue::from_string(event.to_string()).unwrap())
        };
        let outcome = RUNTIME.run(&self.0, request).await;
        match (outcome.output, outcome.error) {
            (_, Some(error)) => Err(format!("{}: {}", error.code, error.message)),
            (Some(output), None) => Ok(serde_json::from_str(output.get()).unwrap()),
            (None, None) => panic!("no output and no error"),
        }
    }
}

/// Numbers as doubles, in which 1 and 1.0 are the same, and objects without their order.
pub fn alike(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("{:?}", number.as_f64().unwrap_or_default() + 0.0),
        Value::Array(items) => format!("{:?}", items.iter().map(alike).collect::<Vec<_>>()),
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.iter().map(|(name, field)| (name, alike(field))).collect();
            format!("{fields:?}")
        }
        other => other.to_string(),
    }
}
