//! How long it takes after an executor was killed until another one stands ready in its place, and until a run has ended in that one.

use heddle_runtime::{
    ExecutorConfig, Program, RunRequest, Runtime, RuntimeConfig, Status, Tier, WorkerProgram,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use serde_json::value::RawValue;
use std::time::{Duration, Instant};

const KILLS: usize = 20;
/// How long an executor lives before it is killed: one that ends within a second of its start is replaced a little later.
const LIFE: Duration = Duration::from_millis(1_200);
/// How often it is looked whether there is another one.
const LOOK: Duration = Duration::from_millis(1);

/// Kills the only executor again and again, while nothing else happens.
pub async fn measure() {
    let cache = tempfile::tempdir().unwrap();
    let program = WorkerProgram {
        program: env!("CARGO_BIN_EXE_heddle").into(),
        arguments: vec!["worker".into()],
    };
    let config = RuntimeConfig {
        cache_dir: Some(cache.path().join("cache")),
        executors: Some(ExecutorConfig {
            program,
            processes: 1,
            groups: Vec::new(),
            memory_bytes_max: None,
        }),
        ..RuntimeConfig::default()
    };
    let runtime = Runtime::new(config).unwrap();
    let program = runtime.load(&pattern(), Tier::Optimized).unwrap();
    run(&runtime, &program).await;
    let mut executor = replacement(&runtime, 0).await;
    let (mut ready, mut ended) = (Vec::new(), Vec::new());
    for _ in 0..KILLS {
        tokio::time::sleep(LIFE).await;
        let id = Pid::from_raw(i32::try_from(executor).unwrap()).unwrap();
        let began = Instant::now();
        kill_process(id, Signal::KILL).unwrap();
        executor = replacement(&runtime, executor).await;
        ready.push(began.elapsed());
        run(&runtime, &program).await;
        ended.push(began.elapsed());
    }
    println!(
        "\n{:<40} {:>10} {:>12}",
        format!("{KILLS} executors killed, after that"),
        "p50 ms",
        "at most ms"
    );
    for (name, took) in [
        ("the next one is ready", &mut ready),
        ("a run in that one has ended", &mut ended),
    ] {
        took.sort();
        println!(
            "{name:<40} {:>10.1} {:>12.1}",
            took[KILLS / 2].as_secs_f64() * 1e3,
            took[KILLS - 1].as_secs_f64() * 1e3
        );
    }
}

/// The executor that stands ready once it is another one than this.
async fn replacement(runtime: &Runtime, before: u32) -> u32 {
    loop {
        match runtime.executor_process_ids(None)[..] {
            [id] if id != before => return id,
            _ => tokio::time::sleep(LOOK).await,
        }
    }
}

async fn run(runtime: &Runtime, program: &Program) {
    let event = RawValue::from_string(r#"{"body": {"total": 2}}"#.to_owned()).unwrap();
    let outcome = runtime.run(program, RunRequest::new(event)).await;
    assert_eq!(outcome.status, Status::Completed, "{:?}", outcome.error);
}

fn pattern() -> Vec<u8> {
    let graph = json!({
        "nodes": [{"id": "hook", "type": "OnWebhook"}, super::set_fields()],
        "edges": [{"source": "hook", "target": "set"}],
    });
    let compiled = heddle_compiler::compile(&graph, &json!({}), &heddle_compiler::Options::default());
    let artifact = compiled.artifact;
    artifact
        .unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics))
        .wasm
}
