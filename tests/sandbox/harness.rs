//! A runtime with a standard library that can misbehave, and patterns written by hand.

use heddle_runtime::{
    EgressPolicy, ExecutorConfig, Limits, Outcome, Program, ProgramError, RunRequest, Runtime, RuntimeConfig,
    Tier, WorkerProgram,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Where tests with the real standard library keep machine code, those of other crates too: compiling that and the JavaScript engine
/// takes seconds.
pub const CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/runtime-cache");

/// Declarations with which every hand-written pattern begins.
const PREAMBLE: &str = r#"
    (import "heddle" "memory" (memory 0))
    (import "heddle" "__indirect_function_table" (table $table 0 funcref))
    (import "heddle" "start" (func $start (param i32 i32 i32 i32)))
    (import "heddle" "node_NoOp" (func $at_node (param i32)))"#;

/// Passes its trigger's number on to the standard library.
pub const START: &str = r#"(func (export "run") (param i32)
    (call $start (i32.const 0) (i32.const 0) (i32.const 0) (local.get 0)))"#;

/// The executable that executes runs in processes of their own: honestly, or as somebody who has taken one over.
pub fn executors(who: &str) -> ExecutorConfig {
    ExecutorConfig {
        program: WorkerProgram {
            program: env!("CARGO_BIN_EXE_heddle-test-executor").into(),
            arguments: vec![who.into()],
        },
        processes: 1,
        groups: Vec::new(),
        memory_bytes_max: Some(4 << 30),
    }
}

/// Runs execute in this process, or in others where the environment has HEDDLE_TEST_EXECUTORS, as in the second round of CI.
pub fn config() -> RuntimeConfig {
    RuntimeConfig {
        executors: std::env::var_os("HEDDLE_TEST_EXECUTORS").map(|_| executors("serve")),
        concurrent_runs_max: 16,
        memory_bytes_max: 64 << 20,
        ..RuntimeConfig::default()
    }
}

pub fn runtime_with(config: RuntimeConfig) -> Runtime {
    let guest = wat::parse_str(include_str!("guest.wat")).unwrap();
    Runtime::with_guest(config, &guest).unwrap()
}

pub fn runtime() -> Runtime {
    runtime_with(config())
}

/// A runtime whose effects may reach this machine.
pub fn open_runtime() -> Runtime {
    runtime_with(RuntimeConfig {
        egress: EgressPolicy::parse(["127.0.0.0/8"]).unwrap(),
        ..config()
    })
}

/// A manifest with a trigger for every misbehaviour of `guest.wat`, named by its number.
pub fn manifest() -> Value {
    let nodes: Vec<Value> = (0..32)
        .map(|index| json!({"id": index.to_string(), "type": "NoOp", "outputs": ["out"]}))
        .collect();
    let triggers: Vec<Value> = (0..32)
        .map(|index| json!({"index": index, "nodeId": index.to_string(), "type": "OnCall"}))
        .collect();
    json!({
        "abiVersion": heddle_contract::abi::ABI_VERSION,
        "nodes": nodes,
        "triggers": triggers,
        "rights": {"effects": ["http", "hash", "hmac"], "secrets": ["KEY", "ABSENT"], "hosts": ["*"]},
    })
}

/// A module of the given functions and this manifest.
pub fn module(body: &str, manifest: &Value) -> Vec<u8> {
    let section = manifest.to_string().replace('\\', "\\\\").replace('"', "\\\"");
    raw_module(&format!(
        "(module {PREAMBLE} {body} (@custom \"heddle\" \"{section}\"))"
    ))
}

pub fn raw_module(wat: &str) -> Vec<u8> {
    wat::parse_str(wat).unwrap()
}

pub fn load(runtime: &Runtime, body: &str) -> Program {
    runtime.load(&module(body, &manifest()), Tier::Optimized).unwrap()
}

pub fn refusal(wasm: &[u8]) -> ProgramError {
    runtime().load(wasm, Tier::Fast).unwrap_err()
}

/// The usual limits, and time that is over for nobody: where a machine has other things to do, runs that compute for long get a hundredth
/// of a processor on the background threads.
pub fn unhurried() -> Limits {
    Limits {
        deadline: Duration::from_secs(3_600),
        ..Limits::default()
    }
}

pub fn request(trigger: u32, event: &Value) -> RunRequest {
    RunRequest {
        run_id: "run-1".into(),
        pattern_id: "pattern-1".into(),
        started_at_ms: 1_700_000_000_123,
        seed: 7,
        trigger_node_id: Some(trigger.to_string()),
        secrets: BTreeMap::from([("KEY".to_owned(), "hush \"quiet\" & still".to_owned().into())]),
        limits: unhurried(),
        ..RunRequest::new(RawValue::from_string(event.to_string()).unwrap())
    }
}

/// Runs misbehaviour `trigger` with these limits.
pub async fn misbehave(trigger: u32, limits: Limits) -> Outcome {
    let runtime = runtime();
    let program = load(&runtime, START);
    runtime
        .run(
            &program,
            RunRequest {
                limits,
                ..request(trigger, &Value::Null)
            },
        )
        .await
}

/// Runs a body of its own with these limits.
pub async fn run_body(body: &str, limits: Limits) -> Outcome {
    let runtime = runtime();
    let program = load(&runtime, body);
    runtime
        .run(
            &program,
            RunRequest {
                limits,
                ..request(0, &Value::Null)
            },
        )
        .await
}

pub fn code(outcome: &Outcome) -> &str {
    outcome.error.as_ref().map_or("", |error| &error.code)
}
