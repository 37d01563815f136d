//! What targets that compile and run share: a runtime with small limits, and what no run may do.
//!
//! Graphs come from the generator of `tests/semantics`, so that most of them are valid before they are mutated.

use heddle_runtime::{Ceilings, Limits, Outcome, Program, RunRequest, Runtime, RuntimeConfig};
use serde_json::Value;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Runtime::new(RuntimeConfig::default()).expect("a runtime with default settings"));

/// The runtime of this process.
pub fn runtime() -> &'static Runtime {
    &RUNTIME
}

/// A valid graph with what belongs to it: an object with graph, nodeDefinitions, pinnedNodes and eventData.
pub fn generated(seed: u64) -> Value {
    crate::generate::case(seed).to_json()
}

/// Compiles a case; `None` when the compiler refuses it.
pub fn compile(case: &Value, trace: bool) -> Option<heddle_compiler::Artifact> {
    let options = heddle_compiler::Options {
        trace,
        pinned_nodes: case["pinnedNodes"].as_object().cloned().unwrap_or_default(),
        breakpoints: case["breakpoints"]
            .as_array()
            .map(|ids| {
                ids.iter()
                    .filter_map(|id| id.as_str().map(str::to_owned))
                    .collect()
            })
            .unwrap_or_default(),
        ..heddle_compiler::Options::default()
    };
    let compiled = heddle_compiler::compile(&case["graph"], &case["nodeDefinitions"], &options);
    let refused = compiled
        .diagnostics
        .iter()
        .any(|d| d.severity == heddle_compiler::Severity::Error);
    assert_eq!(
        refused,
        compiled.artifact.is_none(),
        "an artifact comes exactly when no diagnostic is an error"
    );
    compiled.artifact
}

/// Limits that a few milliseconds reach.
fn limits() -> Limits {
    Limits {
        fuel_max: 20_000_000,
        memory_bytes_max: 16 << 20,
        deadline: Duration::from_millis(500),
        log_bytes_max: 4 << 10,
        log_lines_max: 100,
        output_bytes_max: 64 << 10,
        effects_max: 20,
        event_bytes_max: 1 << 20,
        // No setting of a pattern gets past these.
        ceilings: Ceilings {
            fuel: 20_000_000,
            memory_bytes: 16 << 20,
            effects: 20,
            ..Ceilings::default()
        },
        ..Limits::default()
    }
}

/// Who made a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// heddle's compiler: that its plan does not fit together would be a bug.
    Compiler,
    /// Anyone: that may well be.
    Anyone,
}

/// Runs a program and panics when a limit was passed. Nothing that could reach the network is run.
pub fn run(program: &Program, event: &Value, origin: Origin) {
    let mut effects = program.manifest().rights.effects.iter();
    // A component that may send has `http` besides.
    if effects.any(|effect| !["sleep", "hash", "component"].contains(&effect.as_str())) {
        return;
    }
    let limits = limits();
    let event = serde_json::value::to_raw_value(event).expect("a JSON value prints");
    let request = RunRequest {
        limits: limits.clone(),
        ..RunRequest::new(event)
    };
    let started = Instant::now();
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a thread");
    let outcome = executor.block_on(runtime().run(program, request));
    let is_bug = |code: &str| code == "INTERNAL" || (code == "TRAP" && origin == Origin::Compiler);
    let bug = outcome.error.as_ref().filter(|error| is_bug(&error.code));
    assert!(bug.is_none(), "{bug:?}");
    check(&outcome, &limits, started.elapsed());
}

fn check(outcome: &Outcome, limits: &Limits, elapsed: Duration) {
    // Instrumented code on a busy machine is slow; what must not happen is that nothing ends the run.
    assert!(
        elapsed < limits.deadline + Duration::from_secs(8),
        "the run took {elapsed:?}"
    );
    assert!(
        outcome.usage.fuel_used <= limits.fuel_max + limits.fuel_max / 10,
        "{:?}",
        outcome.usage
    );
    assert!(
        outcome.usage.memory_bytes_peak <= limits.memory_bytes_max,
        "{:?}",
        outcome.usage
    );
    assert!(outcome.usage.effects <= limits.effects_max, "{:?}", outcome.usage);
    assert!(
        outcome.logs.len() <= limits.log_lines_max + 1,
        "{} log lines",
        outcome.logs.len()
    );
    let output_bytes = outcome.output.as_ref().map_or(0, |output| output.get().len());
    assert!(
        output_bytes <= limits.output_bytes_max,
        "{output_bytes} bytes of output"
    );
}
