//! `heddle serve --demo`: what a newcomer finds.

use crate::server::{Server, heddle};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// A demo server, and what it has said.
fn demo(dir: &Path) -> (Server, String) {
    let mut command = heddle(dir);
    command.args(["serve", "--demo"]);
    let mut process = Server::spawn(command, &[]);
    let mut log = process.stderr.take().unwrap();
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let address = first.strip_prefix("listening on http://").unwrap().to_owned();
    let mut told = String::new();
    for line in lines {
        let line = line.unwrap();
        told.push_str(&line);
        told.push('\n');
        if line.starts_with("# The API's reference") {
            break;
        }
    }
    (Server { address, process }, told)
}

fn token(server: &Server) -> String {
    let (_, providers) = server.call("GET", "/api/auth/providers", "", "");
    let account = &providers["data"]["demo"];
    let (status, session) = server.call("POST", "/api/auth/login", "", &account.to_string());
    assert_eq!(status, 200, "{session}");
    session["data"]["token"].as_str().unwrap().to_owned()
}

/// The patterns by name: id, version, status and last run's status.
fn patterns(server: &Server, token: &str) -> BTreeMap<String, Value> {
    let (_, listed) = server.call("GET", "/api/patterns?owner=workspace", token, "");
    let list = listed["data"].as_array().unwrap().iter();
    list.map(|pattern| (pattern["name"].as_str().unwrap().to_owned(), pattern.clone()))
        .collect()
}

#[test]
fn a_demo_is_deployed_and_alive_and_keeps_what_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    let (server, told) = demo(dir.path());
    let address = &server.address;
    assert!(
        told.starts_with(&format!(
            "demo: open http://{address} and sign in as demo@heddle.example with the password demo-password\n"
        )),
        "{told}"
    );
    let token = token(&server);
    let found = patterns(&server, &token);
    assert_eq!(found.len(), 5, "{found:?}");
    for (name, pattern) in &found {
        assert_eq!(
            pattern["overview"]["deployment"]["status"], "active",
            "{name}: {pattern}"
        );
    }
    let deployment = |name: &str| &found[name]["overview"]["deployment"]["id"];

    // Those with an event have run, and all well.
    for name in [
        "Order routing (demo)",
        "Expense approval (demo)",
        "CSV import (demo)",
        "Invoice totals (demo)",
    ] {
        let id = deployment(name).as_str().unwrap();
        server.await_ends(&token, id);
        let runs = server.runs(&token, id);
        assert_eq!(
            (runs.len(), &runs[0]["status"]),
            (1, &json!("success")),
            "{name}: {runs:?}"
        );
    }
    // One runs by itself.
    let watch = deployment("Stock watch (demo)").as_str().unwrap();
    let mut stream = server.stream(&format!("/api/deployments/{watch}/runs/stream"), &token);
    loop {
        let change = stream.next_event();
        assert_eq!(change["triggeredBy"], "schedule", "{change}");
        if change["phase"] == "ended" {
            let error = &change["error"]["code"];
            assert!(error.is_null() || error == "COUNT_WRONG", "{change}");
            break;
        }
    }
    let (_, runs) = server.call("GET", "/api/runs?triggeredBy=schedule", &token, "");
    assert_eq!(runs["data"][0]["patternName"], "Stock watch (demo)", "{runs}");

    let path = format!(
        "/api/patterns/{}",
        found["CSV import (demo)"]["id"].as_str().unwrap()
    );
    let (status, saved) = server.call(
        "PUT",
        &path,
        &token,
        r#"{"graphData": {"nodes": [], "edges": []}}"#,
    );
    assert_eq!(status, 200, "{saved}");
    server.stop();
    let (server, told) = demo(dir.path());
    assert!(told.contains("/webhooks/"), "{told}");
    let again = patterns(&server, &token);
    for (name, pattern) in &found {
        let changed = i64::from(name == "CSV import (demo)");
        let version = |pattern: &Value| pattern["overview"]["versionNumber"].as_i64().unwrap();
        assert_eq!(version(&again[name]), version(pattern) + changed, "{name}");
    }
    assert_eq!(again.len(), 5);
}
