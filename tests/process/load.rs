//! Many senders at a time, who send some events twice: each accepted event is one run, and runs execute in the order in
//! which they were accepted when one executes at a time.

use crate::sender::{Hook, Sender};
use crate::server::Server;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const EVENTS: usize = 10_000;
const CONNECTIONS: usize = 64;
/// Of so many events one is sent twice, by two connections at about the same time.
const REPEATED: usize = 10;

#[derive(Default)]
struct Sent {
    /// Run ids of 202 answers, by event.
    accepted: BTreeMap<usize, String>,
    duplicates: Vec<usize>,
}

fn send_all(server: &Server, hook: &Hook) -> Sent {
    let (next, told) = (AtomicUsize::new(0), Mutex::new(Sent::default()));
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let mut sender = Sender::connect(&server.address).unwrap();
                loop {
                    // After ten events the last of them comes once more.
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let event =
                        number - number / (REPEATED + 1) - usize::from(number % (REPEATED + 1) == REPEATED);
                    if event >= EVENTS {
                        return;
                    }
                    let answer = sender.send(hook, &format!("event-{event}"), event).unwrap();
                    let mut told = told.lock().unwrap();
                    match answer.status {
                        202 => {
                            let run = answer.body["runId"].as_str().unwrap().to_owned();
                            let before = told.accepted.insert(event, run);
                            assert_eq!(before, None, "event {event} was accepted twice");
                        }
                        200 => {
                            assert_eq!(answer.body["status"], "duplicate", "{}", answer.body);
                            told.duplicates.push(event);
                        }
                        status => panic!("event {event}: {status} {}", answer.body),
                    }
                }
            });
        }
    });
    told.into_inner().unwrap()
}

#[test]
fn every_accepted_event_is_one_run_in_the_order_of_acceptance() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(
        dir.path(),
        &[
            ("HEDDLE_WEBHOOK_RATE_LIMIT", "0"),
            ("HEDDLE_WORKSPACE_CONCURRENCY", "1"),
            // More than an owner's part of it are sent, and on a busy machine nearly all of them may wait.
            ("HEDDLE_QUEUE_RUNS", "40000"),
        ],
    );
    let hook = Hook::doubling(&server);
    let told = send_all(&server, &hook);
    assert_eq!(told.accepted.len(), EVENTS);
    assert_eq!(told.duplicates.len(), EVENTS / REPEATED);
    assert!(
        told.duplicates
            .iter()
            .all(|event| event % REPEATED == REPEATED - 1)
    );

    server.await_ends(&hook.token, &hook.deployment);
    let runs = server.runs(&hook.token, &hook.deployment);
    let ids: BTreeSet<&str> = runs.iter().map(|run| run["id"].as_str().unwrap()).collect();
    let accepted: BTreeSet<&str> = told.accepted.values().map(String::as_str).collect();
    assert_eq!(runs.len(), EVENTS);
    assert_eq!(ids, accepted);
    assert!(runs.iter().all(|run| run["status"] == "success"));
    // Ids are ordered by acceptance.
    let text = |run: &Value, name: &str| run[name].as_str().unwrap().to_owned();
    let mut by_start: Vec<_> = runs
        .iter()
        .map(|run| (text(run, "id"), text(run, "startedAt")))
        .collect();
    by_start.sort();
    assert!(by_start.is_sorted_by(|(_, before), (_, after)| before <= after));
}
