//! What a run is told, what it leaves behind, and machine code on disk.

use crate::harness::{START, config, load, request, runtime, runtime_with};
use heddle_runtime::{
    CacheKey, Limits, NodePhase, RunEvent, RunRequest, Runtime, RuntimeConfig, RuntimeError, Secret, Status,
    Tier,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A directory of this test's own; what an earlier run left there is removed.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sandbox-{name}"));
    let _ = fs::remove_dir_all(&path);
    path
}

fn cached(dir: &Path) -> Runtime {
    runtime_with(RuntimeConfig {
        cache_dir: Some(dir.to_owned()),
        ..config()
    })
}

fn machine_code(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "cwasm"))
        .collect()
}

#[tokio::test]
async fn the_real_standard_library_is_linked() {
    let runtime = Runtime::new(config()).unwrap();
    // The module has no plan, which the real standard library refuses.
    let outcome = runtime
        .run(&load(&runtime, START), request(0, &Value::Null))
        .await;
    let error = outcome.error.unwrap();
    assert_eq!((outcome.status, error.code.as_str()), (Status::Failed, "TRAP"));
    assert!(
        error.message.contains("not made by this heddle"),
        "{}",
        error.message
    );
    assert!(outcome.usage.fuel_used > 100);
}

#[tokio::test]
async fn the_context_tells_a_run_about_itself() {
    let runtime = runtime();
    let program = load(&runtime, START);
    let mut context = Value::Null;
    let mut nonces = Vec::new();
    for _ in 0..2 {
        let mut request = request(7, &Value::Null);
        request.variables.insert("REGION".into(), json!("eu"));
        let output = runtime.run(&program, request).await.output.unwrap();
        context = serde_json::from_str(output.get()).unwrap();
        nonces.push(context["nonce"].take());
    }
    assert_ne!(nonces[0], nonces[1]);
    assert_eq!(
        context,
        json!({
            "run": {"id": "run-1", "patternId": "pattern-1", "attempt": 1, "triggeredBy": "manual",
                    "startedAt": "2023-11-14T22:13:20.123Z"},
            "vars": {"REGION": "eu"}, "nonce": null, "seed": "7", "startedAtMs": 1_700_000_000_123_i64, "runKey": "run-1",
        })
    );
}

#[tokio::test]
async fn a_trace_tells_what_each_node_did() {
    let runtime = runtime();
    let outcome = runtime
        .run(&load(&runtime, START), request(14, &Value::Null))
        .await;
    let [entry] = outcome.trace.as_slice() else {
        panic!("{outcome:?}")
    };
    assert_eq!((entry.node_id.as_str(), entry.path.as_str()), ("1", "sleep"));
    assert_eq!(
        (entry.port.as_deref(), entry.output.as_ref().unwrap().get()),
        (Some("out"), "null")
    );
    assert!(entry.fuel > 0 && entry.fuel < outcome.usage.fuel_used && !entry.pinned && entry.error.is_none());
}

#[tokio::test]
async fn machine_code_is_kept_for_its_owner_only_and_a_broken_file_is_made_again() {
    let dir = directory("cache");
    let wasm = crate::harness::module(START, &crate::harness::manifest());
    let runtime = cached(&dir);
    runtime.load(&wasm, Tier::Fast).unwrap();
    assert_eq!(machine_code(&dir).len(), 1, "the standard library's only");
    runtime.load(&wasm, Tier::Optimized).unwrap();
    let files = machine_code(&dir);
    assert_eq!(files.len(), 2);
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    for file in &files {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        let mut bytes = fs::read(file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..].fill(0x90);
        fs::write(file, bytes).unwrap();
    }
    let runtime = cached(&dir);
    let program = runtime.load(&wasm, Tier::Optimized).unwrap();
    assert_eq!(
        runtime
            .run(&program, request(0, &json!(5)))
            .await
            .output
            .unwrap()
            .get(),
        "5"
    );
    assert_eq!(machine_code(&dir).len(), 2);
    for file in files {
        let bytes = fs::read(file).unwrap();
        assert!(bytes[bytes.len() / 2..].iter().any(|byte| *byte != 0x90));
    }
}

#[test]
fn a_cache_that_others_may_write_to_is_refused() {
    let dir = directory("shared");
    fs::create_dir_all(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
    let result = Runtime::new(RuntimeConfig {
        cache_dir: Some(dir),
        ..config()
    });
    assert!(matches!(result.err().unwrap(), RuntimeError::Cache { .. }));
}

/// Code that is executed must be this program's, not only whole: neither another file's MAC nor a digest that anybody
/// can make will do, and whoever has another key sees nothing of it.
#[tokio::test]
async fn machine_code_of_others_is_not_loaded() {
    let dir = directory("forged");
    let wasm = crate::harness::module(START, &crate::harness::manifest());
    cached(&dir).load(&wasm, Tier::Optimized).unwrap();
    let files = machine_code(&dir);
    let [one, other] = files.as_slice() else {
        panic!("{files:?}")
    };
    let codes = [one, other].map(|file| fs::read(file).unwrap());
    // Each under the other's name, with its own MAC.
    let macs = [one, other].map(|file| fs::read(file.with_extension("mac")).unwrap());
    for (file, (code, mac)) in [other, one].into_iter().zip(codes.iter().zip(&macs)) {
        fs::write(file, code).unwrap();
        fs::write(file.with_extension("mac"), mac).unwrap();
    }
    let runtime = cached(&dir);
    let program = runtime.load(&wasm, Tier::Optimized).unwrap();
    let outcome = runtime.run(&program, request(0, &json!(5))).await;
    assert_eq!(outcome.output.unwrap().get(), "5");
    // Both were compiled again.
    assert_ne!(fs::read(one).unwrap(), codes[1]);
    assert_ne!(fs::read(other).unwrap(), codes[0]);

    let keyed = |key: &[u8]| {
        let runtime = runtime_with(RuntimeConfig {
            cache_dir: Some(dir.clone()),
            cache_key: Some(CacheKey::derived(key)),
            ..config()
        });
        runtime.load(&wasm, Tier::Optimized).unwrap();
        machine_code(&dir).len()
    };
    assert_eq!(
        (keyed(b"a server's"), keyed(b"another's"), keyed(b"a server's")),
        (4, 6, 6)
    );
}

#[test]
fn a_key_that_others_may_read_is_refused() {
    let dir = directory("known-key");
    drop(cached(&dir));
    let key = dir.join("key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    for (mode, bytes) in [(0o644, 32), (0o600, 31)] {
        fs::write(&key, vec![7; bytes]).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let refused = Runtime::new(RuntimeConfig {
            cache_dir: Some(dir.clone()),
            ..config()
        });
        let message = refused.err().unwrap().to_string();
        assert!(message.contains("must be readable only by you"), "{message}");
    }
}

#[test]
fn secrets_and_keys_are_printed_by_nothing() {
    let request = RunRequest {
        secrets: [("KEY".to_owned(), Secret::from("hush".to_owned()))].into(),
        ..RunRequest::new(RawValue::NULL.to_owned())
    };
    let config = RuntimeConfig {
        cache_key: Some(CacheKey::derived(b"hush")),
        ..config()
    };
    for printed in [format!("{request:?}"), format!("{config:?}")] {
        assert!(!printed.contains("hush"), "{printed}");
    }
    assert!(format!("{config:?}").contains("cache_key: Some(CacheKey)"));
    assert!(format!("{request:?}").contains("{\"KEY\": Secret {"));
}

#[tokio::test]
async fn whoever_looks_on_is_told_as_it_happens() {
    let runtime = runtime();
    let (watcher, mut watched) = heddle_runtime::watch();
    let event = json!("hush \"quiet\" & still");
    let request = RunRequest {
        watcher: Some(watcher),
        ..request(14, &event)
    };
    let outcome = runtime.run(&load(&runtime, START), request).await;
    let mut phases = Vec::new();
    let mut at_us = 0;
    while let Some(told) = watched.next().await {
        assert!(told.at_us >= at_us, "in order");
        at_us = told.at_us;
        let RunEvent::Node(node) = told.event else {
            panic!("{told:?}");
        };
        assert_eq!(
            (node.execution, node.node_id.as_str(), node.path.as_str()),
            (0, "1", "sleep")
        );
        phases.push(match node.phase {
            NodePhase::Started => "started".to_owned(),
            NodePhase::Waiting => "waiting".to_owned(),
            NodePhase::Resumed => "resumed".to_owned(),
            NodePhase::Ended(end) => {
                let entry = &outcome.trace[0];
                assert_eq!((end.fuel, &end.port), (entry.fuel, &entry.port));
                format!("ended {}", end.output.unwrap().get())
            }
        });
    }
    assert_eq!(phases, ["started", "waiting", "resumed", "ended null"]);
    assert_eq!(watched.take_omitted(), 0);
}

#[tokio::test]
async fn whoever_looks_on_holds_nothing_up() {
    let runtime = runtime();
    let (watcher, mut watched) = heddle_runtime::watch();
    let request = RunRequest {
        watcher: Some(watcher),
        limits: Limits {
            fuel_max: 20_000_000,
            ..Limits::default()
        },
        ..request(16, &Value::Null)
    };
    let outcome = runtime.run(&load(&runtime, START), request).await;
    assert_eq!(outcome.error.unwrap().code, "OUT_OF_FUEL");
    let mut told = 0;
    while watched.next_now().is_some() {
        told += 1;
    }
    let omitted = watched.take_omitted();
    assert!(told > 0 && omitted > 0, "{told}, {omitted}");
    assert_eq!(told + omitted, outcome.trace.len() as u64);
}
