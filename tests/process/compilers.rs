//! Compilers in processes of their own: one that is killed fails one request, and none outlives its server.

#![cfg(target_os = "linux")]

use crate::server::Server;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs;

/// A module that takes compilers long, with less than what is refused beforehand.
fn long() -> String {
    let sets: String = (0..700)
        .map(|index| format!("(local.set {index} (i32.add (local.get {index}) (i32.const 1)))"))
        .collect();
    let function = format!(
        "(func (local{}) {} {sets} {})",
        " i32".repeat(700),
        "loop ".repeat(700),
        "(br_if 0 (local.get 0)) end ".repeat(700)
    );
    let manifest = json!({"abiVersion": heddle_contract::abi::ABI_VERSION, "nodes": [], "triggers": []});
    let text = format!(
        "(module (func (export \"run\") (param i32)) {} (@custom \"heddle\" \"{}\"))",
        function.repeat(9),
        manifest.to_string().replace('"', "\\\"")
    );
    json!({"code": STANDARD.encode(wat::parse_str(text).unwrap())}).to_string()
}

/// Ids of the server's workers: it starts nothing else.
fn workers(server: &Server) -> Vec<u32> {
    let id = server.process.id();
    let threads = fs::read_dir(format!("/proc/{id}/task")).unwrap();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    children
        .flat_map(|ids| {
            ids.split_whitespace()
                .map(|id| id.parse().unwrap())
                .collect::<Vec<u32>>()
        })
        .collect()
}

/// A line of what the system tells of a process, in KiB.
fn kib(id: u32, line: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let found = status.lines().find_map(|found| found.strip_prefix(line))?;
    found.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// The server's worker, once it is at work on something large.
fn busy_worker(server: &Server) -> u32 {
    loop {
        if let Some(&worker) = workers(server).first()
            && kib(worker, "VmRSS:").is_some_and(|kib| kib > 60 << 10)
        {
            return worker;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_compiler_that_is_killed_fails_one_request() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[("HEDDLE_COMPILE_MEMORY", "4GiB")]);
    let token = server.register();
    let (status, told) = std::thread::scope(|scope| {
        let answer = scope.spawn(|| server.call("POST", "/api/execute/run", &token, &long()));
        let worker = busy_worker(&server).to_string();
        let killed = std::process::Command::new("kill")
            .args(["-KILL", &worker])
            .status();
        assert!(killed.unwrap().success());
        answer.join().unwrap()
    });
    assert_eq!(status, 500, "{told}");
    assert_eq!(
        told["error"]["message"],
        "Compiling failed: the compiler's process ended unexpectedly."
    );
    let graph = json!({"graphData": {"nodes": [{"id": "go", "type": "OnManual"}], "edges": []}, "nodeDefinitions": {}});
    let (status, transpiled) = server.call("POST", "/api/execute/transpile", &token, &graph.to_string());
    assert_eq!(status, 200, "{transpiled}");
    let code = json!({"code": transpiled["code"]}).to_string();
    let (status, ran) = server.call("POST", "/api/execute/run", &token, &code);
    assert_eq!(
        (status, &ran["status"]),
        (200, &Value::from("completed")),
        "{ran}"
    );
}

#[test]
fn a_bomb_takes_its_memory_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [
        ("HEDDLE_COMPILE_MEMORY", "512MiB"),
        ("HEDDLE_COMPILE_TIMEOUT_MS", "60000"),
    ];
    let server = Server::start(dir.path(), &settings);
    let token = server.register();
    let before = kib(server.process.id(), "VmHWM:").unwrap();
    let (status, told) = server.call("POST", "/api/execute/run", &token, &long());
    assert_eq!(status, 400, "{told}");
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains("of memory allowed"), "{message}");
    let after = kib(server.process.id(), "VmHWM:").unwrap();
    assert!(after < before + (100 << 10), "{before} KiB, then {after} KiB");
    assert_eq!(workers(&server), Vec::<u32>::new());
}

#[test]
fn imports_and_previews_of_too_many_values_take_no_memory() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    let token = server.register();
    let ones = format!("[{}1]", "1,".repeat(3_900_000));
    let node = format!(r#"{{"name":"a","type":"n8n-nodes-base.someService","parameters":{{"x":{ones}}}}}"#);
    let graph = r#""graphData":{"nodes":[{"id":"a","type":"NoOp","data":{}}],"edges":[]},"nodeId":"a""#;
    let before = kib(server.process.id(), "VmHWM:").unwrap();
    for (path, body) in [
        (
            "/api/patterns/import/n8n",
            format!(r#"{{"dryRun":true,"workflows":[{{"name":"W","nodes":[{node}],"connections":{{}}}}]}}"#),
        ),
        (
            "/api/patterns/import/node-red",
            format!(r#"{{"dryRun":true,"flows":[{{"id":"1","type":"x","wires":[],"y":{ones}}}]}}"#),
        ),
        (
            "/api/patterns/import/openapi",
            format!(r#"{{"document":{{"openapi":"3.1.0","x":{ones}}}}}"#),
        ),
        (
            "/api/execute/preview",
            format!(r#"{{{graph},"expressions":{{"x":"{{{{ $input }}}}"}},"input":{ones}}}"#),
        ),
    ] {
        let (status, told) = server.call("POST", path, &token, &body);
        assert_eq!(
            (status, &told["error"]["code"]),
            (400, &"VALIDATION".into()),
            "{path}: {told}"
        );
    }
    // It was more than 400 MiB for the least of them. A body takes some copies of itself.
    let after = kib(server.process.id(), "VmHWM:").unwrap();
    assert!(after < before + (150 << 10), "{before} KiB, then {after} KiB");
}

#[test]
fn people_are_told_that_workers_are_not_for_them() {
    let dir = tempfile::tempdir().unwrap();
    let told = crate::server::heddle(dir.path())
        .args(["worker", "compile", "1,2,3"])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(told.status.code(), Some(2));
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(told.contains("workers are started by heddle itself"), "{told}");
}
