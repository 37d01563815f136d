//! Every limit ends a run with a code of its own.

use crate::harness::{
    START, code, config, load, manifest, misbehave, module, request, run_body, runtime, runtime_with,
};
use heddle_runtime::{Ceilings, Limits, Outcome, RunRequest, RuntimeConfig, Status, Tier};
use heddle_sandbox::UNDER_WAY_MAX;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn an_ordinary_run_gives_its_output() {
    let runtime = runtime();
    let program = load(&runtime, START);
    let outcome = runtime.run(&program, request(0, &json!({"a": [1, "ü"]}))).await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(outcome.output.unwrap().get(), r#"{"a":[1,"ü"]}"#);
    assert!(outcome.usage.fuel_used > 100);
    assert_eq!(outcome.usage.memory_bytes_peak, 2 << 16);
}

#[tokio::test]
async fn an_endless_loop_runs_out_of_fuel() {
    let body = r#"(func (export "run") (param i32) (call $at_node (i32.const 3)) (loop $again (br $again)))"#;
    let outcome = run_body(
        body,
        Limits {
            fuel_max: 20_000_000,
            ..Limits::default()
        },
    )
    .await;
    let error = outcome.error.unwrap();
    assert_eq!(error.code, "OUT_OF_FUEL");
    assert_eq!(
        error.message,
        "The run used its 0.004 compute seconds (20,000,000 units of fuel) while node `3` was executing. \
         Look for a loop that does not end, or raise `computeSeconds` in the pattern's settings: up to 60 are allowed here."
    );
    assert_eq!(error.node_id.as_deref(), Some("3"));
    assert_eq!(outcome.usage.fuel_used, 20_000_000);
}

#[tokio::test]
async fn an_endless_loop_meets_the_deadline() {
    let body = r#"(func (export "run") (param i32) (loop $again (br $again)))"#;
    let limits = Limits {
        fuel_max: u64::MAX >> 1,
        deadline: Duration::from_millis(30),
        ..Limits::default()
    };
    assert_eq!(code(&run_body(body, limits).await), "TIMEOUT");
}

#[tokio::test]
async fn endless_recursion_overflows_the_stack() {
    let body = r#"(func $again (export "run") (param i32) (call $again (local.get 0)) (call $at_node (i32.const 1)))"#;
    assert_eq!(code(&run_body(body, Limits::default()).await), "STACK_OVERFLOW");
}

#[tokio::test]
async fn growing_memory_meets_its_limit_even_if_the_module_ignores_failure() {
    let body =
        r#"(func (export "run") (param i32) (loop $again (drop (memory.grow (i32.const 16))) (br $again)))"#;
    let outcome = run_body(body, Limits::default()).await;
    assert_eq!(code(&outcome), "OUT_OF_MEMORY");
    assert!(outcome.usage.memory_bytes_peak <= 64 << 20);
    let at_once = r#"(func (export "run") (param i32) (drop (memory.grow (i32.const 65535))))"#;
    assert_eq!(code(&run_body(at_once, Limits::default()).await), "OUT_OF_MEMORY");
}

#[tokio::test]
async fn a_memory_limit_above_the_pool_is_the_pools() {
    let body =
        r#"(func (export "run") (param i32) (loop $again (drop (memory.grow (i32.const 16))) (br $again)))"#;
    let outcome = run_body(
        body,
        Limits {
            memory_bytes_max: usize::MAX,
            ..Limits::default()
        },
    )
    .await;
    assert_eq!(code(&outcome), "OUT_OF_MEMORY");
}

#[tokio::test]
async fn all_runs_together_have_no_more_memory_than_there_is_for_them() {
    let runtime = runtime_with(RuntimeConfig {
        runs_memory_bytes_max: Some(24 << 20),
        memory_bytes_max: 24 << 20,
        ..config()
    });
    // Sixteen MiB, and then what the trigger does: 5 waits for an effect.
    let body = START.replace(
        "(call $start",
        "(if (i32.eq (memory.grow (i32.const 256)) (i32.const -1)) (then unreachable)) (call $start",
    );
    let program = load(&runtime, &body);
    let limits = Limits {
        deadline: Duration::from_secs(3_600),
        ..Limits::default()
    };
    let ends = || runtime.run(&program, request(0, &json!("done")));
    let (waiting, refused) = 'refused: loop {
        let (runtime, program, limits) = (runtime.clone(), program.clone(), limits.clone());
        let waits = RunRequest {
            limits,
            ..request(5, &Value::Null)
        };
        let waiting = tokio::spawn(async move { runtime.run(&program, waits).await });
        // If it was the one that was refused, it begins again.
        while !waiting.is_finished() {
            match ends().await.error {
                Some(error) => break 'refused (waiting, error),
                None => tokio::task::yield_now().await,
            }
        }
    };
    assert_eq!(refused.code, "OUT_OF_MEMORY");
    // An executor process has its own part, in which there is always room for one whole run.
    let begins = "The run needed more memory than is left of the ";
    let names_the_limit = refused.message.contains(" MiB that all executing runs share");
    assert!(
        refused.message.starts_with(begins) && names_the_limit,
        "{}",
        refused.message
    );
    waiting.abort();
    while let Some(error) = ends().await.error {
        assert_eq!(error.code, "OUT_OF_MEMORY");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_owner_s_runs_leave_memory_for_those_of_others() {
    let runtime = runtime_with(RuntimeConfig {
        runs_memory_bytes_max: Some(100 << 20),
        memory_bytes_max: 24 << 20,
        ..config()
    });
    // Ten MiB, and then what the trigger does: 5 waits for an effect.
    let body = START.replace(
        "(call $start",
        "(if (i32.eq (memory.grow (i32.const 160)) (i32.const -1)) (then unreachable)) (call $start",
    );
    let program = load(&runtime, &body);
    let limits = Limits {
        deadline: Duration::from_secs(3_600),
        ..Limits::default()
    };
    let waits = |owner| {
        let (runtime, program) = (runtime.clone(), program.clone());
        let waits = RunRequest {
            owner: Some(owner),
            limits: limits.clone(),
            ..request(5, &Value::Null)
        };
        tokio::spawn(async move { runtime.run(&program, waits).await })
    };
    // More than there is room for, of which some are refused and the others stay.
    let mut taking: Vec<_> = (0..10).map(|_| waits(1)).collect();
    let refused = loop {
        match taking.iter().position(|run| run.is_finished()) {
            Some(refused) => break taking.swap_remove(refused).await.unwrap().error.unwrap(),
            None => tokio::task::yield_now().await,
        }
    };
    let begins =
        "The run needed more memory than is left for one user of the 100 MiB that all executing runs share";
    assert!(refused.message.starts_with(begins), "{}", refused.message);
    assert!(taking.iter().any(|run| !run.is_finished()));
    let of = |owner| RunRequest {
        owner: Some(owner),
        ..request(0, &json!("done"))
    };
    for other in 2..20 {
        assert_eq!(runtime.run(&program, of(other)).await.error, None);
    }
    for run in &taking {
        run.abort();
    }
}

#[tokio::test]
async fn growing_the_table_meets_its_limit() {
    let body = r#"(func (export "run") (param i32)
        (loop $again (drop (table.grow $table (ref.null func) (i32.const 1000))) (br $again)))"#;
    assert_eq!(code(&run_body(body, Limits::default()).await), "TABLE_LIMIT");
}

#[tokio::test]
async fn bulk_operations_cost_fuel_by_size() {
    let body = r#"(func (export "run") (param i32)
        (memory.fill (i32.const 0) (i32.const 0) (i32.const 65536))
        (memory.copy (i32.const 0) (i32.const 8) (i32.const 65000)))"#;
    let outcome = run_body(body, Limits::default()).await;
    assert!(
        outcome.usage.fuel_used >= 65_536 + 65_000,
        "{}",
        outcome.usage.fuel_used
    );
}

#[tokio::test]
async fn a_flood_of_log_lines_ends_the_run() {
    let outcome = misbehave(
        1,
        Limits {
            log_lines_max: 50,
            ..Limits::default()
        },
    )
    .await;
    assert_eq!(code(&outcome), "LOG_LIMIT");
    assert_eq!(outcome.logs.len(), 50);
    assert_eq!(outcome.logs[0].message, "sleep");
    let outcome = misbehave(
        1,
        Limits {
            log_bytes_max: 24,
            ..Limits::default()
        },
    )
    .await;
    assert_eq!(code(&outcome), "LOG_LIMIT");
    assert_eq!(outcome.logs.len(), 4);
}

#[tokio::test]
async fn too_large_an_output_or_response_ends_the_run() {
    for trigger in [2, 15] {
        let outcome = misbehave(
            trigger,
            Limits {
                output_bytes_max: 100_000,
                ..Limits::default()
            },
        )
        .await;
        assert_eq!(code(&outcome), "OUTPUT_LIMIT", "{trigger}");
        assert!(outcome.output.is_none() && outcome.response.is_none());
    }
}

#[tokio::test]
async fn a_flood_of_traces_is_cut_and_the_run_goes_on_until_its_fuel_is_used_up() {
    let limits = Limits {
        output_bytes_max: 100_000,
        fuel_max: 1_000_000,
        ..Limits::default()
    };
    let outcome = misbehave(16, limits).await;
    assert_eq!(code(&outcome), "OUT_OF_FUEL");
    assert!(
        (300..600).contains(&outcome.trace.len()),
        "{}",
        outcome.trace.len()
    );
    assert!(outcome.trace_omitted > 0);
}

#[tokio::test]
async fn a_flood_of_effects_ends_the_run() {
    let outcome = misbehave(
        3,
        Limits {
            effects_max: 20,
            ..Limits::default()
        },
    )
    .await;
    assert_eq!((code(&outcome), outcome.usage.effects), ("EFFECT_LIMIT", 20));
}

#[tokio::test]
async fn a_thousand_effects_can_be_under_way_at_a_time_however_many_are_allowed() {
    let limits = Limits {
        effects_max: 5_000,
        ..Limits::default()
    };
    let outcome = misbehave(3, limits).await;
    assert_eq!(
        (code(&outcome), outcome.usage.effects),
        ("EFFECT_LIMIT", UNDER_WAY_MAX)
    );
    let message = outcome.error.unwrap().message;
    assert!(
        message.starts_with("The run started more than 1,000 effects at the same time"),
        "{message}"
    );
}

#[tokio::test]
async fn the_patterns_own_number_of_effects_counts_up_to_the_ceiling() {
    let runtime = runtime();
    let limits = Limits {
        effects_max: 20,
        ceilings: Ceilings {
            effects: 40,
            ..Ceilings::default()
        },
        ..Limits::default()
    };
    for (settings, effects, advice) in [
        (
            json!({}),
            20,
            "raise `maxEffects` in the pattern's settings: up to 40 are allowed here.",
        ),
        (json!({"maxEffects": 5}), 5, "up to 40 are allowed here."),
        (json!({"maxEffects": 30}), 30, "up to 40 are allowed here."),
        (
            json!({"maxEffects": 100_000}),
            40,
            "`run_effects_ceiling` of the server, or the workspace's quota `effectsPerRun`.",
        ),
    ] {
        let mut manifest = manifest();
        manifest["settings"] = settings;
        let program = runtime.load(&module(START, &manifest), Tier::Fast).unwrap();
        let request = RunRequest {
            limits: limits.clone(),
            ..request(3, &Value::Null)
        };
        let outcome = runtime.run(&program, request).await;
        assert_eq!((code(&outcome), outcome.usage.effects), ("EFFECT_LIMIT", effects));
        let message = outcome.error.unwrap().message;
        let begins = format!("The run started more than its {effects} effects");
        assert!(
            message.starts_with(&begins) && message.ends_with(advice),
            "{message}"
        );
    }
}

#[tokio::test]
async fn lengths_outside_of_memory_end_the_run() {
    for trigger in [4, 11, 12] {
        assert_eq!(
            code(&misbehave(trigger, Limits::default()).await),
            "TRAP",
            "{trigger}"
        );
    }
}

#[tokio::test]
async fn a_run_that_ends_without_a_result_or_breaks_the_interface_fails() {
    assert_eq!(code(&misbehave(6, Limits::default()).await), "TRAP");
    assert_eq!(code(&misbehave(13, Limits::default()).await), "INTERNAL");
    assert_eq!(code(&misbehave(17, Limits::default()).await), "INTERNAL");
    let body = r#"(func (export "run") (param i32) unreachable)"#;
    assert_eq!(code(&run_body(body, Limits::default()).await), "TRAP");
}

#[tokio::test]
async fn the_deadline_ends_a_wait_for_an_effect() {
    let outcome = misbehave(
        5,
        Limits {
            deadline: Duration::from_millis(30),
            ..Limits::default()
        },
    )
    .await;
    let error = outcome.error.unwrap();
    assert_eq!(
        (error.code.as_str(), error.node_id.as_deref()),
        ("TIMEOUT", Some("1"))
    );
}

#[tokio::test]
async fn the_patterns_own_time_limit_can_only_be_the_shorter_one() {
    let runtime = runtime();
    for (own_ms, given) in [
        (20, Duration::from_secs(3_600)),
        (3_600_000, Duration::from_millis(20)),
    ] {
        let mut manifest = manifest();
        manifest["settings"] = json!({"timeoutMs": own_ms});
        let program = runtime.load(&module(START, &manifest), Tier::Fast).unwrap();
        let limits = Limits {
            deadline: given,
            ..Limits::default()
        };
        let outcome = runtime
            .run(
                &program,
                RunRequest {
                    limits,
                    ..request(5, &Value::Null)
                },
            )
            .await;
        assert_eq!(code(&outcome), "TIMEOUT");
        let message = outcome.error.unwrap().message;
        let advice = match own_ms {
            20 => "`timeoutMs` in the pattern's settings: up to 3,600,000 are allowed here",
            _ => "`run_timeout_ms` of the server",
        };
        assert!(
            message.contains("its 20 ms") && message.contains(advice),
            "{message}"
        );
    }
}

/// The message with which a body ends that grows or spins without end, with a pattern's settings.
async fn stopped(body: &str, settings: Value, limits: &Limits) -> String {
    let runtime = runtime();
    let mut manifest = manifest();
    manifest["settings"] = settings;
    let program = runtime.load(&module(body, &manifest), Tier::Fast).unwrap();
    let request = RunRequest {
        limits: limits.clone(),
        ..request(0, &Value::Null)
    };
    runtime.run(&program, request).await.error.unwrap().message
}

#[tokio::test]
async fn the_patterns_own_memory_and_fuel_count_up_to_the_ceilings() {
    let limits = Limits {
        fuel_max: 20_000_000,
        memory_bytes_max: 20 << 20,
        ceilings: Ceilings {
            fuel: 30_000_000,
            memory_bytes: 48 << 20,
            ..Ceilings::default()
        },
        ..Limits::default()
    };
    let grows =
        r#"(func (export "run") (param i32) (loop $again (drop (memory.grow (i32.const 16))) (br $again)))"#;
    for (settings, mebibytes, advice) in [
        (
            json!({}),
            20,
            "raise `memoryMb` in the pattern's settings: up to 48 are",
        ),
        (json!({"memoryMb": 16}), 16, "up to 48 are allowed here"),
        (json!({"memoryMb": 40}), 40, "up to 48 are allowed here"),
        (
            json!({"memoryMb": 4_096}),
            48,
            "the workspace's quota `memoryMbPerRun`",
        ),
    ] {
        let message = stopped(grows, settings, &limits).await;
        let begins = format!("The run needed more than its {mebibytes} MiB of memory");
        assert!(
            message.starts_with(&begins) && message.contains(advice),
            "{message}"
        );
    }
    let spins = r#"(func (export "run") (param i32) (loop $again (br $again)))"#;
    let message = stopped(spins, json!({"computeSeconds": 5}), &limits).await;
    assert!(
        message.starts_with("The run used its 0.006 compute seconds (30,000,000 units of fuel)")
            && message.contains("the workspace's quota `computeSecondsPerRun`"),
        "{message}"
    );
}

#[tokio::test]
async fn an_unknown_trigger_and_too_large_an_event_are_refused() {
    let runtime = runtime();
    let program = load(&runtime, START);
    let unknown = RunRequest {
        trigger_node_id: Some("nope".into()),
        ..request(0, &Value::Null)
    };
    let outcome: Outcome = runtime.run(&program, unknown).await;
    assert_eq!(code(&outcome), "TRIGGER");
    let mut large = request(0, &json!("x".repeat(100)));
    large.limits.event_bytes_max = 50;
    assert_eq!(code(&runtime.run(&program, large).await), "EVENT");
}
