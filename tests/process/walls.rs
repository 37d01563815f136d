//! What the log says at the start of walls that the system lacks; and that the service works without them.

use crate::needs;
use crate::server::{Server, heddle};
use serde_json::json;
use std::io::Read;
use std::process::Command;

/// What the log says of a server on a system without these walls (letters of `without_walls.py`), which executes a run.
fn log_without(walls: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new("python3");
    command
        .current_dir(dir.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../tests/process/without_walls.py"
        ))
        .arg(walls)
        .arg(heddle(dir.path()).get_program())
        .arg("serve");
    let mut process = Server::spawn(command, &[("HEDDLE_RUN_ISOLATION", "process")]);
    let mut log = process.stderr.take().unwrap();
    // Read while it is written, so that the pipe is never full.
    let log = std::thread::spawn(move || {
        let mut told = String::new();
        log.read_to_string(&mut told).map(|_| told)
    });
    let server = Server::listening(process).unwrap();
    let graph = json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": "{{ 6 * 7 }}"}}},
        ],
        "edges": [{"source": "start", "target": "end"}],
    });
    let (token, deployment) = server.deploy(&graph);
    let path = format!("/api/deployments/{deployment}/execute?wait=true");
    let (status, ran) = server.call("POST", &path, &token, "{}");
    assert_eq!((status, &ran["data"]["output"]), (200, &json!(42)), "{ran}");
    assert_eq!(server.stop(), Some(0));
    log.join().unwrap().unwrap()
}

#[test]
fn the_log_says_which_walls_the_system_lacks() {
    const NO_NETWORK: &str = "Worker processes can't use the network";
    const NO_FILES: &str = "this system can't keep them from files";
    for (walls, missing, told, not_told) in [
        ("n", "network namespaces", NO_NETWORK, NO_FILES),
        ("fn", "Landlock, network namespaces", NO_FILES, NO_NETWORK),
    ] {
        let log = log_without(walls);
        let line = log.lines().find(|line| line.contains(told));
        let line = line.unwrap_or_else(|| panic!("{walls}: {log}"));
        assert!(line.contains(missing), "{line}");
        assert!(line.contains("compilers, connectors, runs"), "{line}");
        assert!(!log.contains(not_told), "{log}");
    }
}

#[test]
fn where_none_is_missing_the_log_says_nothing() {
    let made = Command::new("unshare").args(["--user", "--net", "true"]).status();
    let made = made.is_ok_and(|status| status.success());
    let made = made.then_some(()).ok_or("`unshare` can't make one");
    let Some(()) = needs::or_skip("a network namespace", made) else {
        return;
    };
    let log = log_without("");
    assert!(!log.contains("Worker processes"), "{log}");
}
