//! Several servers on one PostgreSQL, some of which die, stand still or stop under load.

use crate::postgres::TestDatabase;
use crate::sender::{Hook, Sender};
use crate::server::{Server, database, on, pause};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const CLIENTS: usize = 6;
/// Accepted events between two misfortunes.
const ACCEPTED_EACH: usize = 150;
/// Of senders, before they turn to another server.
const PATIENCE: Duration = Duration::from_secs(3);

fn start(dir: &Path, database: &TestDatabase) -> Server {
    start_with(dir, database, &[])
}

fn start_with(dir: &Path, database: &TestDatabase, variables: &[(&str, &str)]) -> Server {
    let common = [("HEDDLE_LEASE_MS", "2000"), ("HEDDLE_WEBHOOK_RATE_LIMIT", "0")];
    // Later ones count.
    let all = [&on(&database.url), &common[..], variables].concat();
    Server::start(dir, &all)
}

/// Events, and the servers that they may be sent to.
struct Load {
    addresses: Mutex<Vec<String>>,
    sent: AtomicUsize,
    /// Without an answer, or refused: to be sent again, to whichever server.
    open: Mutex<Vec<usize>>,
    accepted: Mutex<BTreeSet<String>>,
    answered: AtomicUsize,
    is_over: AtomicBool,
}

impl Load {
    fn new(servers: &[&Server]) -> Load {
        Load {
            addresses: Mutex::new(servers.iter().map(|server| server.address.clone()).collect()),
            sent: AtomicUsize::new(0),
            open: Mutex::default(),
            accepted: Mutex::default(),
            answered: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    fn leave_out(&self, server: &Server) {
        self.addresses
            .lock()
            .unwrap()
            .retain(|address| *address != server.address);
    }

    fn address(&self, number: usize) -> String {
        let addresses = self.addresses.lock().unwrap();
        addresses[number % addresses.len()].clone()
    }

    /// Sends one event; `false`: it has to be sent again.
    fn send(&self, hook: &Hook, event: usize, address: &str) -> bool {
        let answer = Sender::connect(address).and_then(|sender| {
            sender
                .with_patience(PATIENCE)
                .send(hook, &format!("event-{event}"), event)
        });
        let Some(answer) = answer else { return false };
        match answer.status {
            202 => {
                let run = answer.body["runId"].as_str().unwrap().to_owned();
                assert!(
                    self.accepted.lock().unwrap().insert(run),
                    "two events have one run"
                );
            }
            // It was stored, but the server could not say so any more.
            200 => assert_eq!(answer.body["status"], "duplicate", "{}", answer.body),
            503 => return false,
            status => panic!("{status} {}", answer.body),
        }
        self.answered.fetch_add(1, Ordering::SeqCst);
        true
    }

    fn send_until_over(&self, hook: &Hook, client: usize) {
        for turn in client.. {
            let again = self.open.lock().unwrap().pop();
            if again.is_none() && self.is_over.load(Ordering::SeqCst) {
                return;
            }
            let event = again.unwrap_or_else(|| self.sent.fetch_add(1, Ordering::SeqCst));
            if !self.send(hook, event, &self.address(turn)) {
                self.open.lock().unwrap().push(event);
            }
        }
    }

    /// Waits until so many more events were answered.
    fn go_on(&self) {
        let until = self.answered.load(Ordering::SeqCst) + ACCEPTED_EACH;
        await_that(|| self.answered.load(Ordering::SeqCst) >= until);
    }
}

fn await_that(holds: impl Fn() -> bool) {
    while !holds() {
        pause();
    }
}

/// Runs of it are under way for a while.
fn waiting() -> Value {
    json!({
        "nodes": [
            {"id": "hook", "type": "OnWebhook"},
            {"id": "wait", "type": "Wait", "data": {"parameters": {"durationMs": 400}}},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": "{{ $('hook').body.n * 2 }}"}}},
        ],
        "edges": [{"source": "hook", "target": "wait"}, {"source": "wait", "target": "end"}],
    })
}

#[test]
fn every_event_is_one_run_that_ends_although_servers_die_stand_still_and_stop() {
    let (dir, database) = (tempfile::tempdir().unwrap(), database());
    let [mut first, second, third] = [(); 3].map(|()| start(dir.path(), &database));
    let hook = Hook::of(&first, &waiting());
    let load = Load::new(&[&first, &second, &third]);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (load, hook) = (&load, &hook);
            scope.spawn(move || load.send_until_over(hook, client));
        }
        load.go_on();
        // SIGKILL.
        first.process.kill().unwrap();
        load.leave_out(&first);
        load.go_on();
        second.signal("STOP");
        load.leave_out(&second);
        // Its lease is over, and the third has its runs.
        await_that(|| third.metric("heddle_servers") == 1.0);
        load.go_on();
        second.signal("CONT");
        await_that(|| second.metric("heddle_leases_lost_total") >= 1.0);
        await_that(|| third.metric("heddle_servers") == 2.0);
        load.addresses.lock().unwrap().push(second.address.clone());
        load.go_on();
        load.leave_out(&third);
        assert_eq!(third.stop(), Some(0));
        load.go_on();
        load.is_over.store(true, Ordering::SeqCst);
    });
    let accepted = load.accepted.into_inner().unwrap();
    second.assert_one_run_each(&hook, &accepted, load.sent.into_inner());
}

fn answering(value: &str) -> Value {
    json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": value}}},
        ],
        "edges": [{"source": "start", "target": "end"}],
    })
}

/// Executes the deployment and waits for its end: status and body.
fn execute(server: &Server, token: &str, deployment: &str) -> (u16, Value) {
    let path = format!("/api/deployments/{deployment}/execute?wait=true");
    server.call("POST", &path, token, "{}")
}

#[test]
fn what_one_server_changes_the_others_see() {
    let (dir, database) = (tempfile::tempdir().unwrap(), database());
    let [first, second] = [(); 2].map(|()| start(dir.path(), &database));
    let (token, deployment) = first.deploy(&answering("old"));
    let output = |server: &Server| execute(server, &token, &deployment).1["data"]["output"].clone();
    // Now both have it in memory.
    assert_eq!((output(&first), output(&second)), (json!("old"), json!("old")));

    let (_, patterns) = first.call("GET", "/api/patterns", &token, "");
    let path = format!("/api/patterns/{}", patterns["data"][0]["id"].as_str().unwrap());
    let body = json!({"graphData": answering("new")}).to_string();
    assert_eq!(first.call("PUT", &path, &token, &body).0, 200);
    let deploy = format!("{path}/deploy");
    assert_eq!(
        first
            .call("POST", &deploy, &token, r#"{"nodeDefinitions": {}}"#)
            .0,
        200
    );
    assert_eq!(output(&first), json!("new"));
    await_that(|| output(&second) == json!("new"));

    for (operation, is_refused) in [("pause", true), ("resume", false)] {
        let path = format!("/api/deployments/{deployment}/{operation}");
        assert_eq!(first.call("POST", &path, &token, "").0, 200);
        await_that(|| (execute(&second, &token, &deployment).0 != 200) == is_refused);
    }
}

#[test]
fn a_run_is_cancelled_from_another_server_and_whoever_waits_for_it_is_told() {
    let (dir, database) = (tempfile::tempdir().unwrap(), database());
    let [first, second] = [(); 2].map(|()| start(dir.path(), &database));
    let mut graph = answering("late");
    let wait = json!({"id": "wait", "type": "Wait", "data": {"parameters": {"durationMs": 50_000}}});
    graph["nodes"].as_array_mut().unwrap().push(wait);
    graph["edges"] = json!([{"source": "start", "target": "wait"}, {"source": "wait", "target": "end"}]);
    let (token, deployment) = first.deploy(&graph);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| execute(&second, &token, &deployment));
        let runs = format!("/api/deployments/{deployment}/runs");
        let listed = || first.call("GET", &runs, &token, "").1;
        await_that(|| listed()["meta"]["total"] == 1);
        let run = listed()["data"][0]["id"].as_str().unwrap().to_owned();
        let (status, cancelled) = first.call("POST", &format!("{runs}/{run}/cancel"), &token, "");
        assert_eq!(
            (status, &cancelled["data"]["status"]),
            (200, &json!("failure")),
            "{cancelled}"
        );
        let (_, told) = waiter.join().unwrap();
        assert_eq!(told["data"]["error"]["code"], "CANCELLED", "{told}");
        let (_, kept) = first.call("GET", &format!("{runs}/{run}"), &token, "");
        let kept = kept.get("data").unwrap_or(&kept);
        assert_eq!(
            (&kept["status"], &kept["errorMessage"]),
            (&json!("failure"), &json!("cancelled")),
            "{kept}"
        );
    });
}

fn start_as(role: &str, dir: &Path, database: &TestDatabase) -> Server {
    start_with(dir, database, &[("HEDDLE_ROLE", role)])
}

/// Answers its sender, with what comes after a wait.
fn responding(wait_ms: u64) -> Value {
    json!({
        "nodes": [
            {"id": "hook", "type": "OnWebhook"},
            {"id": "wait", "type": "Wait", "data": {"parameters": {"durationMs": wait_ms}}},
            {"id": "answer", "type": "RespondToWebhook", "data": {"parameters": {
                "status": 201, "body": "{{ ({double: $('hook').body.n * 2}) }}"}}},
        ],
        "edges": [{"source": "hook", "target": "wait"}, {"source": "wait", "target": "answer"}],
    })
}

#[test]
fn what_one_server_accepts_others_execute_and_it_answers_the_sender() {
    let (dir, database) = (tempfile::tempdir().unwrap(), database());
    let api = start_as("api", dir.path(), &database);
    let workers = [(); 2].map(|()| start_as("worker", dir.path(), &database));
    let hook = Hook::of(&api, &responding(0));
    for n in 0..20 {
        let answer = Sender::connect(&api.address)
            .unwrap()
            .send(&hook, &format!("event-{n}"), n)
            .unwrap();
        assert_eq!((answer.status, &answer.body), (201, &json!({"double": n * 2})));
    }
    let executed = |server: &Server| server.metric("heddle_runs_ended_total{status=\"success\"}");
    assert_eq!(executed(&api), 0.0);
    assert_eq!(workers.iter().map(executed).sum::<f64>(), 20.0);
    // A worker answers nobody but those who operate it.
    assert_eq!(workers[0].call("GET", "/healthz", "", "").0, 200);
    assert_eq!(workers[0].call("GET", "/api/patterns", &hook.token, "").0, 404);
}

#[test]
fn runs_that_wait_for_workers_are_one_each_although_workers_die() {
    let (dir, database) = (tempfile::tempdir().unwrap(), database());
    let [first, second] = [(); 2].map(|()| start_as("api", dir.path(), &database));
    let mut worker = start_as("worker", dir.path(), &database);
    let hook = Hook::of(&first, &waiting());
    let load = Load::new(&[&first, &second]);
    let _last = std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (load, hook) = (&load, &hook);
            scope.spawn(move || load.send_until_over(hook, client));
        }
        for _ in 0..2 {
            load.go_on();
            // SIGKILL, with runs under way; what comes meanwhile waits in the database.
            worker.process.kill().unwrap();
            load.go_on();
            worker = start_as("worker", dir.path(), &database);
        }
        load.go_on();
        load.is_over.store(true, Ordering::SeqCst);
        worker
    });
    let accepted = load.accepted.into_inner().unwrap();
    first.assert_one_run_each(&hook, &accepted, load.sent.into_inner());
}

#[test]
fn a_sender_is_answered_although_another_server_has_woken_the_run() {
    let (dir, database) = (tempfile::tempdir().unwrap(), database());
    let api = start_as("api", dir.path(), &database);
    let worker = start_as("worker", dir.path(), &database);
    let node = |id: &str, kind: &str, parameters: Value| json!({"id": id, "type": kind, "data": {"parameters": parameters}});
    let edge = |source: &str, target: &str| json!({"source": source, "target": target});
    let graph = json!({
        "nodes": [
            node("hook", "OnWebhook", json!({})),
            node("tell", "Log", json!({"message": "{{ $run.callbackUrl }}"})),
            node("ask", "WaitForCallback", json!({})),
            node("answer", "RespondToWebhook", json!({"status": 201, "body": "{{ $input.body }}"})),
        ],
        "edges": [edge("hook", "tell"), edge("tell", "ask"), edge("ask", "answer")],
    });
    let hook = Hook::of(&api, &graph);
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let sender = Sender::connect(&api.address).unwrap();
            sender
                .with_patience(Duration::from_secs(60))
                .send(&hook, "event", 1)
        });
        let runs = format!("/api/deployments/{}/runs", hook.deployment);
        let listed = || api.call("GET", &runs, &hook.token, "").1["data"][0].clone();
        await_that(|| listed()["phase"] == "waiting");
        let (_, run) = api.call(
            "GET",
            &format!("{runs}/{}", listed()["id"].as_str().unwrap()),
            &hook.token,
            "",
        );
        let url = run["data"]["logOutput"][0]["message"].as_str().unwrap();
        let path = &url[url.find("/callbacks/").unwrap()..];
        assert_eq!(api.call("POST", path, "", r#"{"approved": true}"#).0, 200);
        let answer = sender.join().unwrap().unwrap();
        assert_eq!((answer.status, &answer.body), (201, &json!({"approved": true})));
    });
    assert_eq!(worker.metric("heddle_runs_woken_total"), 1.0);
}

#[test]
fn a_rate_limit_is_one_for_all_servers() {
    let (dir, database) = (tempfile::tempdir().unwrap(), database());
    let limited = || start_with(dir.path(), &database, &[("HEDDLE_WEBHOOK_RATE_LIMIT", "5")]);
    let (first, second) = (limited(), limited());
    let hook = Hook::doubling(&first);
    let status = |server: &Server, key: String| {
        let mut sender = Sender::connect(&server.address).unwrap();
        sender.send(&hook, &key, 1).unwrap().status
    };
    for n in 0..5 {
        assert_eq!(status(&first, format!("first-{n}")), 202);
    }
    assert_eq!(status(&first, "first-too-many".to_owned()), 429);
    // The second lets through what it may until it has heard of these.
    let mut let_through = 0;
    while status(&second, format!("second-{let_through}")) == 202 {
        let_through += 1;
        assert!(let_through <= 5, "the second server has a limit of its own");
    }
}

#[test]
fn onlookers_see_runs_of_other_servers() {
    let (dir, database) = (tempfile::tempdir().unwrap(), database());
    let [first, second] = [(); 2].map(|()| start(dir.path(), &database));
    let (token, deployment) = first.deploy(&answering("seen"));
    let path = format!("/api/deployments/{deployment}/runs/stream");
    let mut stream = first.stream(&path, &token);
    // Until the second server has heard that somebody looks on, its runs are not told.
    let is_over = AtomicBool::new(false);
    let told = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                assert_eq!(execute(&second, &token, &deployment).0, 200);
            }
        });
        let told = stream.next_event();
        is_over.store(true, Ordering::SeqCst);
        told
    });
    assert_eq!(told["deploymentId"], json!(deployment), "{told}");
}
