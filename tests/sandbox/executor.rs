//! Runs beside each other: nobody is held up, and what is dropped is gone.

use crate::harness::{START, code, config, load, request, runtime, runtime_with};
use heddle_runtime::{Limits, RunRequest, RuntimeConfig, Status, Tier};
use serde_json::{Value, json};
use std::time::Duration;

const LOOP: &str = r#"(func (export "run") (param i32) (loop $again (br $again)))"#;

fn endless() -> RunRequest {
    let limits = Limits {
        fuel_max: u64::MAX >> 1,
        deadline: Duration::from_secs(3_600),
        ..Limits::default()
    };
    RunRequest {
        limits,
        ..request(0, &Value::Null)
    }
}

#[tokio::test]
async fn short_runs_complete_while_endless_loops_are_on() {
    let runtime = runtime();
    let (endless_program, short) = (load(&runtime, LOOP), load(&runtime, START));
    let loops: Vec<_> = (0..8)
        .map(|_| {
            let (runtime, program) = (runtime.clone(), endless_program.clone());
            tokio::spawn(async move { runtime.run(&program, endless()).await })
        })
        .collect();
    for number in 0..50 {
        let outcome = runtime.run(&short, request(0, &json!(number))).await;
        assert_eq!(outcome.output.unwrap().get(), number.to_string());
    }
    for task in loops {
        assert!(!task.is_finished());
        task.abort();
    }
}

#[tokio::test]
async fn a_dropped_run_frees_its_slot_in_every_phase() {
    let runtime = runtime_with(RuntimeConfig {
        concurrent_runs_max: 1,
        ..config()
    });
    let (endless_program, waiting) = (load(&runtime, LOOP), load(&runtime, START));
    // 3 ms: on the caller's thread; 60 ms: on the background threads; 5: waiting for an effect.
    for (program, trigger, patience) in [
        (&endless_program, 0, 3),
        (&endless_program, 0, 60),
        (&waiting, 5, 20),
    ] {
        let request = RunRequest {
            trigger_node_id: Some(trigger.to_string()),
            ..endless()
        };
        let run = runtime.run(program, request);
        assert!(
            tokio::time::timeout(Duration::from_millis(patience), run)
                .await
                .is_err()
        );
        let next = runtime
            .run(&waiting, crate::harness::request(0, &json!("next")))
            .await;
        assert_eq!(next.status, Status::Completed);
    }
}

#[tokio::test]
async fn more_runs_than_slots_all_complete() {
    let runtime = runtime_with(RuntimeConfig {
        concurrent_runs_max: 2,
        ..config()
    });
    let program = load(&runtime, START);
    let runs: Vec<_> = (0..40)
        .map(|number| {
            let (runtime, program) = (runtime.clone(), program.clone());
            tokio::spawn(async move { runtime.run(&program, request(0, &json!(number))).await })
        })
        .collect();
    for (number, run) in runs.into_iter().enumerate() {
        assert_eq!(run.await.unwrap().output.unwrap().get(), number.to_string());
    }
}

#[tokio::test]
async fn a_long_run_gives_the_same_result_from_the_background() {
    let runtime = runtime();
    let body = format!(
        r#"(func (export "run") (param i32) (local $count i32)
             (loop $again
               (local.set $count (i32.add (local.get $count) (i32.const 1)))
               (br_if $again (i32.lt_u (local.get $count) (i32.const 30000000))))
             (call $run (local.get 0)))
           {}"#,
        START.replace(r#"(func (export "run")"#, "(func $run")
    );
    let program = load(&runtime, &body);
    let first = runtime.run(&program, request(0, &json!("done"))).await;
    let second = runtime.run(&program, request(0, &json!("done"))).await;
    assert_eq!(first.output.unwrap().get(), "\"done\"");
    assert_eq!(first.usage.fuel_used, second.usage.fuel_used);
}

#[tokio::test]
async fn both_tiers_and_every_repetition_use_the_same_fuel_for_the_same_work() {
    let runtime = runtime();
    let wasm = crate::harness::module(START, &crate::harness::manifest());
    let mut fuel = Vec::new();
    for tier in [Tier::Fast, Tier::Optimized, Tier::Fast] {
        let program = runtime.load(&wasm, tier).unwrap();
        fuel.push(runtime.run(&program, request(0, &json!(1))).await.usage.fuel_used);
    }
    assert!(fuel.iter().all(|used| *used == fuel[0]), "{fuel:?}");
}

#[test]
fn a_run_needs_no_particular_executor() {
    let runtime = runtime();
    let program = load(&runtime, START);
    let current_thread = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let limits = Limits {
        deadline: Duration::from_millis(20),
        ..Limits::default()
    };
    let waiting = RunRequest {
        limits,
        ..request(5, &Value::Null)
    };
    assert_eq!(
        code(&current_thread.block_on(runtime.run(&program, waiting))),
        "TIMEOUT"
    );
}

#[tokio::test]
async fn a_runtime_can_be_dropped_within_a_task() {
    let runtime = runtime();
    let program = load(&runtime, START);
    assert_eq!(
        runtime.run(&program, request(0, &Value::Null)).await.status,
        Status::Completed
    );
    drop(runtime);
}
