//! The server is killed again and again under load: what it has accepted ends, each run exactly once.

use crate::server::Server;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const CLIENTS: usize = 8;
/// Accepted runs between two kills.
const ACCEPTED_EACH: usize = 120;

/// Kills: few by default, as many as issue trackers like with HEDDLE_TEST_KILLS.
fn kills() -> usize {
    std::env::var("HEDDLE_TEST_KILLS").map_or(3, |kills| kills.parse().unwrap())
}

/// The id of an accepted run; `None`: the server was gone before it had answered.
fn execute(address: &str, deployment: &str, token: &str, n: usize) -> Option<String> {
    let body = json!({"eventData": {"n": n}}).to_string();
    let mut stream = TcpStream::connect(address).ok()?;
    write!(
        stream,
        "POST /api/deployments/{deployment}/execute HTTP/1.1\r\nhost: heddle\r\nconnection: close\r\n\
         authorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    if !answer.starts_with("HTTP/1.1 200") {
        return None;
    }
    let answer: Value = serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()?;
    Some(answer["data"]["runId"].as_str()?.to_owned())
}

/// Sends events until the server is gone; what it has accepted.
fn load(server: Server, deployment: &str, token: &str) -> BTreeSet<String> {
    let (address, process) = (server.address.clone(), Mutex::new(server));
    let (accepted, count, is_over) = (
        Mutex::new(BTreeSet::new()),
        AtomicUsize::new(0),
        AtomicBool::new(false),
    );
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    let n = count.fetch_add(1, Ordering::SeqCst);
                    let Some(run) = execute(&address, deployment, token, n) else {
                        continue;
                    };
                    let mut accepted = accepted.lock().unwrap();
                    assert!(accepted.insert(run), "two events have one run");
                    if accepted.len() == ACCEPTED_EACH {
                        // SIGKILL, while the other clients wait for their answers.
                        process.lock().unwrap().process.kill().unwrap();
                        is_over.store(true, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    accepted.into_inner().unwrap()
}

fn prepare(server: &Server) -> (String, String) {
    let account = json!({"email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"});
    let (_, registered) = server.call("POST", "/api/auth/register", "", &account.to_string());
    let token = registered["data"]["token"].as_str().unwrap().to_owned();
    let (_, pattern) = server.call("POST", "/api/patterns", &token, r#"{"name": "Doubling"}"#);
    let pattern = pattern["id"].as_str().unwrap();
    let graph = json!({"graphData": {
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": "{{ $input.n * 2 }}"}}},
        ],
        "edges": [{"source": "start", "target": "end"}],
    }});
    let (saved, _) = server.call(
        "PUT",
        &format!("/api/patterns/{pattern}"),
        &token,
        &graph.to_string(),
    );
    assert_eq!(saved, 200);
    let path = format!("/api/patterns/{pattern}/deploy");
    let (deployed, deployment) = server.call("POST", &path, &token, r#"{"nodeDefinitions": {}}"#);
    assert_eq!(deployed, 200, "{deployment}");
    (
        token,
        deployment["data"]["deploymentId"].as_str().unwrap().to_owned(),
    )
}

fn total(server: &Server, deployment: &str, token: &str, query: &str) -> i64 {
    let path = format!("/api/deployments/{deployment}/runs?limit=1{query}");
    server.call("GET", &path, token, "").1["meta"]["total"]
        .as_i64()
        .unwrap()
}

/// All runs of the deployment, page by page.
fn runs(server: &Server, deployment: &str, token: &str) -> Vec<Value> {
    let mut runs = Vec::new();
    for page in 1.. {
        let path = format!("/api/deployments/{deployment}/runs?limit=100&page={page}");
        let (_, listed) = server.call("GET", &path, token, "");
        let listed = listed["data"].as_array().unwrap().clone();
        if listed.is_empty() {
            break;
        }
        runs.extend(listed);
    }
    runs
}

fn survives(dir: &Path, variables: &[(&str, &str)]) {
    let server = Server::start(dir, variables);
    let (token, deployment) = prepare(&server);
    let mut accepted = load(server, &deployment, &token);
    for _ in 1..kills() {
        accepted.extend(load(Server::start(dir, variables), &deployment, &token));
    }
    let server = Server::start(dir, variables);
    while total(&server, &deployment, &token, "&status=running") > 0 {
        std::thread::yield_now();
    }
    let runs = runs(&server, &deployment, &token);
    let ids: BTreeSet<&str> = runs.iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), runs.len(), "a run is there twice");
    let lost: Vec<&String> = accepted
        .iter()
        .filter(|run| !ids.contains(run.as_str()))
        .collect();
    assert_eq!(lost, Vec::<&String>::new());
    for run in runs {
        assert_eq!(
            (&run["status"], &run["phase"]),
            (&json!("success"), &json!("ended")),
            "{run}"
        );
        assert!(run["completedAt"].is_string());
    }
}

#[test]
fn every_accepted_run_ends_once_although_the_server_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    survives(dir.path(), &[]);
}
