//! The log as operators read it: its lines about failed runs, slow requests and probes, and its colours.

use crate::needs;
use crate::server::{Server, heddle, on};
use serde_json::json;
use std::io::Read;
use std::net::TcpListener;
use std::process::Command;

const ESCAPE: char = '\u{1b}';

/// A server whose log is read, and what reads it.
pub fn start(dir: &std::path::Path, variables: &[(&str, &str)]) -> (Server, std::thread::JoinHandle<String>) {
    let mut command = heddle(dir);
    command.arg("serve");
    let mut process = Server::spawn(command, variables);
    let mut log = process.stderr.take().unwrap();
    // Read while it is written, so that the pipe is never full.
    let log = std::thread::spawn(move || {
        let mut told = String::new();
        log.read_to_string(&mut told).map(|_| told).unwrap()
    });
    (Server::listening(process).unwrap(), log)
}

#[test]
fn failed_runs_and_slow_requests_have_a_line_each_and_probes_have_none() {
    let dir = tempfile::tempdir().unwrap();
    let (server, log) = start(dir.path(), &[("HEDDLE_SLOW_REQUEST", "1ns")]);
    let (token, deployment) = server.deploy(&json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "stop", "type": "Throw", "data": {"parameters": {"message": "hush"}}},
        ],
        "edges": [{"source": "start", "target": "stop"}],
    }));
    let path = format!("/api/deployments/{deployment}/execute?wait=true");
    let (_, ran) = server.call("POST", &path, &token, "{}");
    let run = ran["data"]["runId"].as_str().unwrap().to_owned();
    assert_eq!(server.stop(), Some(0));
    let log = log.join().unwrap();
    assert!(!log.contains(ESCAPE), "{log}");

    let failed: Vec<&str> = log.lines().filter(|line| line.contains("A run failed")).collect();
    assert_eq!(failed.len(), 1, "{log}");
    for part in [
        format!("run={run}"),
        format!("deployment={deployment}"),
        "status=\"failure\"".to_owned(),
        "code=\"THROWN\"".to_owned(),
        "node=\"stop\"".to_owned(),
        " ms=".to_owned(),
    ] {
        assert!(failed[0].contains(&part), "{part}: {}", failed[0]);
    }
    assert!(!log.contains("hush"), "{log}");

    let path = format!("path=\"/api/deployments/{deployment}/execute\"");
    let slow = log.lines().find(|line| line.contains(&path)).unwrap();
    for part in ["WARN", "request{id=", ": slow, ", "status=", " ms="] {
        assert!(slow.contains(part), "{part}: {slow}");
    }
}

#[test]
fn codes_that_patterns_make_up_forge_no_lines_and_show_no_data() {
    let dir = tempfile::tempdir().unwrap();
    let (server, log) = start(dir.path(), &[]);
    let (token, deployment) = server.deploy(&json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "stop", "type": "Throw", "data": {"parameters": {"message": "no", "code": "hush\nERROR forged"}}},
        ],
        "edges": [{"source": "start", "target": "stop"}],
    }));
    let path = format!("/api/deployments/{deployment}/execute?wait=true");
    let (_, ran) = server.call("POST", &path, &token, "{}");
    assert!(ran.to_string().contains("hush\\nERROR forged"), "{ran}");
    assert_eq!(server.stop(), Some(0));
    let log = log.join().unwrap();
    let failed = log.lines().find(|line| line.contains("A run failed")).unwrap();
    assert!(failed.contains("code=\"(own)\""), "{failed}");
    assert!(!log.contains("hush") && !log.contains("forged"), "{log}");
}

#[test]
fn line_breaks_in_what_is_logged_make_no_lines() {
    let dir = tempfile::tempdir().unwrap();
    let variables = [("HEDDLE_NOTHING\nERROR forged\rERROR forged", "1")];
    let (server, log) = start(dir.path(), &variables);
    assert_eq!(server.stop(), Some(0));
    let log = log.join().unwrap();
    let warned = "HEDDLE_NOTHING\\nERROR forged\\rERROR forged is unknown";
    assert!(log.lines().any(|line| line.contains(warned)), "{log}");
    assert!(!log.contains("\nERROR forged") && !log.contains('\r'), "{log}");
}

#[test]
fn probes_are_not_in_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let (server, log) = start(dir.path(), &[]);
    for path in ["/healthz", "/readyz", "/api/auth/providers"] {
        assert_eq!(server.call("GET", path, "", "").0, 200);
    }
    server.metric("heddle_servers");
    assert_eq!(server.stop(), Some(0));
    let log = log.join().unwrap();
    assert!(log.contains("GET /api/auth/providers 200"), "{log}");
    for probe in ["/healthz", "/readyz", "/metrics"] {
        assert!(!log.contains(probe), "{log}");
    }
}

#[test]
fn a_first_start_says_that_it_compiles() {
    let dir = tempfile::tempdir().unwrap();
    let variables = [
        ("HEDDLE_CACHE_DIR", "cache"),
        ("HEDDLE_PRECOMPILED_DIR", "nowhere"),
    ];
    let (server, log) = start(dir.path(), &variables);
    assert_eq!(server.stop(), Some(0));
    let log = log.join().unwrap();
    assert!(
        log.contains("Compiling a part of heddle for this machine"),
        "{log}"
    );
    let (server, log) = start(dir.path(), &variables);
    assert_eq!(server.stop(), Some(0));
    assert!(!log.join().unwrap().contains("Compiling"));
}

/// What a server that warns and then ends says on a terminal.
fn on_a_terminal(variables: &[(&str, &str)]) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let program = heddle(dir.path()).get_program().to_str().unwrap().to_owned();
    // Somebody is there already.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let mut command = Command::new("script");
    command
        .args([
            "-qec",
            &format!("{program} serve --listen {address}"),
            "/dev/null",
        ])
        .current_dir(dir.path())
        .env_clear()
        .env("TERM", "xterm")
        .env("HEDDLE_UNKNOWN", "so that it warns")
        // It does not come to the database.
        .envs(on("postgres://127.0.0.1:1/heddle"))
        .envs(variables.iter().copied());
    let told = needs::or_skip("script", command.output())?;
    Some(String::from_utf8_lossy(&told.stdout).into_owned())
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    for (variables, is_coloured) in [
        (&[][..], true),
        (&[("NO_COLOR", "1")], false),
        (&[("TERM", "dumb")], false),
    ] {
        let Some(told) = on_a_terminal(variables) else {
            return;
        };
        let line = told
            .lines()
            .find(|line| line.contains("HEDDLE_UNKNOWN is unknown"))
            .unwrap();
        assert_eq!(line.contains(ESCAPE), is_coloured, "{variables:?}: {told}");
    }
}
