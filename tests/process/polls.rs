//! The server is killed while it starts runs for what it has found at a service: each thing has one run all the same.

use crate::server::{Server, database, on, pause};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;

/// Things that are new for each server.
const NEW: usize = 300;
/// Runs after which a server is killed: right away, and in their midst.
const KILLS: [u64; 2] = [0, 40];

/// Gives a list that grows with each server, and tells of each answer.
fn listen(
    servers: std::sync::Arc<std::sync::atomic::AtomicUsize>,
) -> (String, std::sync::mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                line.clear();
            }
            let count = NEW * servers.load(std::sync::atomic::Ordering::SeqCst);
            let list = json!((0..count).collect::<Vec<_>>()).to_string();
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length";
            let answer = format!("{head}: {}\r\n\r\n{list}", list.len());
            let _ = reader.into_inner().write_all(answer.as_bytes());
            let _ = tell.send(());
        }
    });
    (url, told)
}

/// Runs of a deployment; `None`: the server has died, or refuses.
pub fn total(server: &Server, token: &str, deployment: &str) -> Option<u64> {
    let path = format!("/api/deployments/{deployment}/runs?limit=1");
    server.try_call("GET", &path, token, "")?.1["meta"]["total"].as_u64()
}

fn survives(dir: &Path, database: &[(&str, &str)]) {
    let variables = [
        &[
            ("HEDDLE_EGRESS_ALLOW", "127.0.0.0/8"),
            ("HEDDLE_LEASE_MS", "1000"),
        ],
        database,
    ]
    .concat();
    let servers = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(1));
    let (url, answered) = listen(servers.clone());
    let mut server = Server::start(dir, &variables);
    let parameters = json!({"url": url, "startFrom": "beginning", "cron": "* * * * * *"});
    let poll = json!({"id": "list", "type": "OnPoll", "data": {"parameters": parameters}});
    let (token, deployment) = server.deploy(&json!({"nodes": [poll], "edges": []}));
    for (kill, runs) in KILLS.into_iter().enumerate() {
        answered.recv().unwrap();
        let before = (NEW * kill) as u64;
        while runs > 0 && total(&server, &token, &deployment).unwrap() < before + runs {
            pause();
        }
        server.process.kill().unwrap();
        server.process.wait().unwrap();
        while answered.try_recv().is_ok() {}
        server = Server::start(dir, &variables);
        // Those of the killed server come to their end before others are there.
        while total(&server, &token, &deployment).unwrap() < before + NEW as u64 {
            pause();
        }
        while answered.try_recv().is_ok() {}
        servers.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
    let all = NEW * (KILLS.len() + 1);
    while total(&server, &token, &deployment).unwrap() < all as u64 {
        pause();
    }
    // Two more polls find nothing that is new.
    while answered.try_recv().is_ok() {}
    answered.recv().unwrap();
    answered.recv().unwrap();
    let runs = server.runs(&token, &deployment);
    let items: BTreeSet<u64> = runs.iter().filter_map(item).collect();
    assert_eq!((runs.len(), items.len()), (all, all));
}

/// The same where all that is new has one run. The server is killed at any moment, so that some of these are between the note of a run
/// and the run itself, or behind both.
fn survives_with_lists(dir: &Path, database: &[(&str, &str)]) {
    let variables = [
        &[
            ("HEDDLE_EGRESS_ALLOW", "127.0.0.0/8"),
            ("HEDDLE_LEASE_MS", "1000"),
        ],
        database,
    ]
    .concat();
    let servers = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(1));
    let (url, answered) = listen(servers.clone());
    let mut server = Server::start(dir, &variables);
    let parameters = json!({"url": url, "as": "list", "startFrom": "beginning", "cron": "* * * * * *"});
    let poll = json!({"id": "list", "type": "OnPoll", "data": {"parameters": parameters}});
    let (token, deployment) = server.deploy(&json!({"nodes": [poll], "edges": []}));
    for kill in 0..KILLS.len() as u64 {
        answered.recv().unwrap();
        // The time that some requests take.
        for _ in 0..fastrand::u64(0..12) {
            total(&server, &token, &deployment).unwrap();
        }
        server.process.kill().unwrap();
        server.process.wait().unwrap();
        server = Server::start(dir, &variables);
        while total(&server, &token, &deployment).unwrap() < kill + 1 {
            pause();
        }
        while answered.try_recv().is_ok() {}
        servers.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
    let all = NEW * (KILLS.len() + 1);
    while total(&server, &token, &deployment).unwrap() < KILLS.len() as u64 + 1 {
        pause();
    }
    // Two more polls find nothing that is new.
    while answered.try_recv().is_ok() {}
    answered.recv().unwrap();
    answered.recv().unwrap();
    let runs = server.runs(&token, &deployment);
    let mut items: Vec<u64> = runs.iter().flat_map(items).collect();
    items.sort_unstable();
    assert!(items.into_iter().eq(0..all as u64), "{runs:?}");
    assert_eq!(runs.len(), KILLS.len() + 1);
}

fn items(run: &Value) -> Vec<u64> {
    let items = run["eventData"]["items"].as_array().unwrap();
    items.iter().filter_map(Value::as_u64).collect()
}

fn item(run: &Value) -> Option<u64> {
    run["eventData"]["item"].as_u64()
}

#[test]
fn each_new_thing_has_one_run_although_the_server_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    survives(dir.path(), &[]);
}

#[test]
fn each_has_one_run_with_others_although_the_server_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    survives_with_lists(dir.path(), &[]);
}

#[test]
fn so_it_is_on_postgres() {
    let (database, dir) = (database(), tempfile::tempdir().unwrap());
    survives_with_lists(dir.path(), &on(&database.url));
}

#[test]
fn it_is_so_on_postgres_as_well() {
    let (database, dir) = (database(), tempfile::tempdir().unwrap());
    survives(dir.path(), &on(&database.url));
}
