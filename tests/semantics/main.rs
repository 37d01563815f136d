//! A naive evaluator of graph semantics, written from the documents, agrees with compiled runs on random graphs.
//!
//! `HEDDLE_SEMANTICS_CASES` and `HEDDLE_SEMANTICS_SEED` choose how many graphs there are and the first seed.
//! A disagreement is printed as the smallest case found: save its `graph` and try it with `heddle run`.

#![expect(clippy::unwrap_used, reason = "a test that panics where it can not go on")]

mod compare;
mod evaluate;
mod expression;
mod features;
mod flat;
mod generate;
mod graph;
mod js;
mod lists;
mod names;
mod nodes;
mod pairing;
mod shrink;
mod terms;

use graph::Case;
use heddle_compiler::{Options, Severity};
use heddle_runtime::{Limits, RunRequest, Runtime, RuntimeConfig, Tier};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const CASES: u64 = 2_500;
const SEED: u64 = 1;
/// Disagreements that are shrunk and printed before giving up.
const REPORTS_MAX: usize = 5;

/// What became of the cases.
#[derive(Default)]
struct Tally {
    compared: u64,
    refused: Vec<(u64, String)>,
    open: u64,
    features: BTreeMap<&'static str, u64>,
    disagreements: Vec<String>,
}

enum Verdict {
    Agrees(evaluate::Expected),
    Differs(String),
    /// The compiler refuses the graph.
    Refused(String),
    /// The documents leave the outcome open.
    Open,
}

#[test]
fn compiled_runs_agree_with_the_reference() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (cases, seed) = (
        number("HEDDLE_SEMANTICS_CASES", CASES),
        number("HEDDLE_SEMANTICS_SEED", SEED),
    );
    let runtime = Runtime::new(RuntimeConfig {
        cache_dir: Some(concat!(env!("CARGO_TARGET_TMPDIR"), "/runtime-cache").into()),
        ..RuntimeConfig::default()
    })
    .unwrap();
    let next = AtomicU64::new(0);
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| work(&runtime, seed, cases, &next, &tally));
        }
    });
    let tally = tally.into_inner().unwrap();
    println!(
        "{} compared, {} refused, {} open",
        tally.compared,
        tally.refused.len(),
        tally.open
    );
    println!("{:#?}", tally.features);
    for (seed, reason) in tally.refused.iter().take(10) {
        println!("seed {seed} was refused: {reason}");
    }
    assert!(
        tally.disagreements.is_empty(),
        "{}",
        tally.disagreements.join("\n\n")
    );
    assert!(
        tally.refused.len() as u64 * 20 < cases,
        "{} graphs were refused",
        tally.refused.len()
    );
    assert!(
        tally.compared * 10 >= cases * 8,
        "only {} of {cases} were compared",
        tally.compared
    );
    for (feature, times_min) in features::REQUIRED {
        let times = tally.features.get(feature).copied().unwrap_or(0);
        let needed = times_min * cases / CASES;
        assert!(times >= needed, "{feature} occurred {times} times, not {needed}");
    }
}

fn work(runtime: &Runtime, seed: u64, cases: u64, next: &AtomicU64, tally: &Mutex<Tally>) {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= cases || tally.lock().unwrap().disagreements.len() >= REPORTS_MAX {
            return;
        }
        let case = generate::case(seed + index);
        let verdict = judge(runtime, &executor, &case);
        let report = match &verdict {
            Verdict::Differs(_) => Some(report(runtime, &executor, seed + index, case.clone())),
            _ => None,
        };
        let mut tally = tally.lock().unwrap();
        tally.disagreements.extend(report);
        match verdict {
            Verdict::Agrees(expected) => {
                tally.compared += 1;
                for feature in features::features(&case, &expected) {
                    *tally.features.entry(feature).or_default() += 1;
                }
            }
            Verdict::Differs(_) => {}
            Verdict::Refused(reason) => tally.refused.push((seed + index, reason)),
            Verdict::Open => tally.open += 1,
        }
    }
}

fn judge(runtime: &Runtime, executor: &tokio::runtime::Runtime, case: &Case) -> Verdict {
    let options = Options {
        trace: true,
        pinned_nodes: case.pins_json(),
        ..Options::default()
    };
    let compiled = heddle_compiler::compile(&case.graph_json(), &case.definitions_json(), &options);
    let Some(artifact) = compiled.artifact else {
        let errors = compiled
            .diagnostics
            .iter()
            .filter(|d| d.severity == Severity::Error);
        return Verdict::Refused(
            errors
                .map(|d| format!("{:?}: {}", d.node_id, d.message))
                .collect::<Vec<_>>()
                .join("; "),
        );
    };
    // Whatever compiles is loaded, also where the documents leave open what it does.
    let program = match runtime.load(&artifact.wasm, Tier::Fast) {
        Ok(program) => program,
        Err(error) => return Verdict::Differs(format!("what was compiled is not loaded: {error}")),
    };
    let Some(expected) = evaluate::evaluate(case) else {
        return Verdict::Open;
    };
    let outcome = executor.block_on(runtime.run(&program, request(case)));
    match compare::difference(&expected, &outcome) {
        None => Verdict::Agrees(expected),
        Some(difference) => Verdict::Differs(difference),
    }
}

fn report(runtime: &Runtime, executor: &tokio::runtime::Runtime, seed: u64, case: Case) -> String {
    let smallest = shrink::shrink(case, |candidate| {
        let judged = std::panic::AssertUnwindSafe(|| judge(runtime, executor, candidate));
        matches!(std::panic::catch_unwind(judged), Ok(Verdict::Differs(_)))
    });
    let Verdict::Differs(difference) = judge(runtime, executor, &smallest) else {
        return format!("seed {seed} disagrees, but not every time");
    };
    format!(
        "seed {seed}: {difference}\n{}",
        serde_json::to_string(&smallest.to_json()).unwrap()
    )
}

fn request(case: &Case) -> RunRequest {
    RunRequest {
        trigger_node_id: Some(case.trigger.clone()),
        limits: Limits {
            deadline: Duration::from_secs(20),
            ..Limits::default()
        },
        ..RunRequest::new(serde_json::value::to_raw_value(&case.event).unwrap())
    }
}
