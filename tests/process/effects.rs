//! The server is killed at random moments of runs with effects: no effect that was completed is done again, and no run
//! is lost. A server beside it counts requests by their Idempotency-Key.

use crate::server::{Server, pause};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// Requests of one run, one after another.
const STEPS: usize = 4;
/// Runs between two kills.
const RUNS: usize = 6;

/// What was asked, by run: the steps in the order of their requests, each with its key.
#[derive(Default)]
struct Asked {
    runs: Mutex<BTreeMap<String, Vec<(usize, String)>>>,
    total: AtomicUsize,
    grown: Condvar,
}

impl Asked {
    /// Waits until there have been so many requests.
    fn wait_for(&self, total: usize) {
        let mut runs = self.runs.lock().unwrap();
        while self.total.load(Ordering::SeqCst) < total {
            runs = self.grown.wait(runs).unwrap();
        }
    }
}

/// Answers `GET /<run>/<step>`.
fn answer(stream: TcpStream, asked: &Asked) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut key = String::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("idempotency-key:") {
            key = value.trim().to_owned();
        }
    }
    let (run, step) = path.trim_start_matches('/').split_once('/')?;
    let mut runs = asked.runs.lock().unwrap();
    runs.entry(run.to_owned())
        .or_default()
        .push((step.parse().ok()?, key));
    asked.total.fetch_add(1, Ordering::SeqCst);
    asked.grown.notify_all();
    drop(runs);
    let answer =
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
    reader.into_inner().write_all(answer.as_bytes()).ok()
}

fn listen() -> (String, Arc<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = Arc::<Asked>::default();
    let seen = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = seen.clone();
            std::thread::spawn(move || answer(stream, &seen));
        }
    });
    (address, asked)
}

/// Registers, and deploys the requests in a row; token and deployment.
fn prepare(server: &Server, address: &str) -> (String, String) {
    let account = json!({"email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"});
    let (_, registered) = server.call("POST", "/api/auth/register", "", &account.to_string());
    let token = registered["data"]["token"].as_str().unwrap().to_owned();
    let (_, pattern) = server.call("POST", "/api/patterns", &token, r#"{"name": "Asking"}"#);
    let mut nodes = vec![json!({"id": "start", "type": "OnManual"})];
    let mut edges = Vec::new();
    for step in 0..STEPS {
        let url = format!("http://{address}/{{{{ $run.id }}}}/{step}");
        let id = format!("ask{step}");
        let before = step
            .checked_sub(1)
            .map_or("start".to_owned(), |step| format!("ask{step}"));
        nodes.push(
            json!({"id": id, "type": "HttpRequest", "data": {"parameters": {"url": url, "bodyOnly": true}}}),
        );
        edges.push(json!({"source": before, "target": id}));
    }
    let graph = json!({"graphData": {"nodes": nodes, "edges": edges}}).to_string();
    let path = format!("/api/patterns/{}", pattern["id"].as_str().unwrap());
    assert_eq!(server.call("PUT", &path, &token, &graph).0, 200);
    let (deployed, deployment) = server.call(
        "POST",
        &format!("{path}/deploy"),
        &token,
        r#"{"nodeDefinitions": {}}"#,
    );
    assert_eq!(deployed, 200, "{deployment}");
    (
        token,
        deployment["data"]["deploymentId"].as_str().unwrap().to_owned(),
    )
}

#[test]
fn no_completed_effect_is_repeated_although_the_server_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let (address, asked) = listen();
    let variables = [("HEDDLE_EGRESS_ALLOW", "127.0.0.0/8")];
    let mut server = Server::start(dir.path(), &variables);
    let (token, deployment) = prepare(&server, &address);
    let mut accepted = BTreeSet::new();
    // At a different place of the work each time.
    for kill in 0..4 {
        for _ in 0..RUNS {
            let path = format!("/api/deployments/{deployment}/execute");
            let (status, started) = server.call("POST", &path, &token, "{}");
            assert_eq!(status, 200, "{started}");
            accepted.insert(started["data"]["runId"].as_str().unwrap().to_owned());
        }
        asked.wait_for(kill * RUNS * STEPS + 2 + 5 * kill);
        server.process.kill().unwrap();
        server.process.wait().unwrap();
        server = Server::start(dir.path(), &variables);
        // What was left comes to its end.
        loop {
            let path = format!("/api/deployments/{deployment}/runs?status=running");
            match server.call("GET", &path, &token, "").1["meta"]["total"].as_i64() {
                Some(0) => break,
                _ => pause(),
            }
        }
    }
    let path = format!("/api/deployments/{deployment}/runs?limit=100");
    let listed = server.call("GET", &path, &token, "").1;
    for run in listed["data"].as_array().unwrap() {
        assert_eq!(run["status"], "success", "{run}");
    }
    let asked = asked.runs.lock().unwrap();
    assert_eq!(
        asked.keys().cloned().collect::<BTreeSet<_>>(),
        accepted,
        "no run is lost"
    );
    for (run, steps) in asked.iter() {
        // A step was begun only when the one before it had been completed and recorded: from then on that one must
        // not be asked for again. The one that was under way may be, with its key.
        assert!(steps.is_sorted_by_key(|(step, _)| *step), "{run}: {steps:?}");
        assert_eq!(
            steps.last().map(|(step, _)| *step),
            Some(STEPS - 1),
            "{run}: {steps:?}"
        );
        let keys: BTreeSet<&(usize, String)> = steps.iter().collect();
        assert_eq!(keys.len(), STEPS, "a key for each step: {run}: {steps:?}");
        assert!(keys.iter().all(|(_, key)| !key.is_empty()), "{run}: {steps:?}");
    }
}
