//! PostgreSQL goes away for a while, is slow, or stands still, and comes back: what can't be stored is not accepted, and what
//! was accepted is a run that ends.

use crate::postgres::TestDatabase;
use crate::sender::{Hook, Sender};
use crate::server::{Server, database, on, pause};
use crate::wire::Wire;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const CLIENTS: usize = 4;
/// Answers of a kind that are waited for in each phase.
const ANSWERS: usize = 60;

#[derive(Default)]
struct Load {
    sent: AtomicUsize,
    is_cut: AtomicBool,
    is_over: AtomicBool,
    accepted: Mutex<BTreeSet<String>>,
    refused: AtomicUsize,
}

impl Load {
    /// Sends one event until it is taken.
    fn send(&self, sender: &mut Sender, hook: &Hook) {
        let event = self.sent.fetch_add(1, Ordering::SeqCst);
        loop {
            let was_cut = self.is_cut.load(Ordering::SeqCst);
            let answer = sender.send(hook, &format!("event-{event}"), event).unwrap();
            let is_cut = was_cut && self.is_cut.load(Ordering::SeqCst);
            match answer.status {
                // A duplicate is of an event that was stored when the answer could not say so.
                202 | 200 => {
                    assert!(!is_cut, "accepted without a database");
                    let run = answer.body["runId"].as_str().unwrap().to_owned();
                    assert!(self.accepted.lock().unwrap().insert(run));
                    return;
                }
                503 => {
                    assert!(answer.retry_after_s.is_some());
                    self.refused.fetch_add(1, Ordering::SeqCst);
                }
                status => panic!("{status} {}", answer.body),
            }
        }
    }

    fn accepted(&self) -> usize {
        self.accepted.lock().unwrap().len()
    }

    /// Waits until more was accepted.
    fn go_on(&self) {
        let before = self.accepted();
        wait_until(|| self.accepted() >= before + ANSWERS);
    }
}

fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        pause();
    }
}

fn start(database: &TestDatabase, dir: &Path) -> (Wire, Server) {
    let (wire, url) = Wire::before(&database.url);
    let variables = [("HEDDLE_WEBHOOK_RATE_LIMIT", "0"), ("HEDDLE_LEASE_MS", "3000")];
    let server = Server::start(dir, &[&on(&url), &variables[..]].concat());
    (wire, server)
}

/// Sends events beside what `meanwhile` does; then every event is one run that has ended.
fn under_load(server: Server, meanwhile: impl FnOnce(&Server, &Load)) {
    let (hook, load) = (Hook::doubling(&server), Load::default());
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut sender = Sender::connect(&server.address).unwrap();
                while !load.is_over.load(Ordering::SeqCst) {
                    load.send(&mut sender, &hook);
                }
            });
        }
        load.go_on();
        meanwhile(&server, &load);
        load.go_on();
        load.is_over.store(true, Ordering::SeqCst);
    });
    server.await_ends(&hook.token, &hook.deployment);
    let runs = server.runs(&hook.token, &hook.deployment);
    assert!(runs.iter().all(|run| run["status"] == "success"));
    let ids: BTreeSet<String> = runs
        .iter()
        .map(|run| run["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, load.accepted.into_inner().unwrap(), "every event is one run");
    assert_eq!(runs.len(), load.sent.into_inner());
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn while_the_database_is_away_nothing_is_accepted_and_afterwards_everything_goes_on() {
    let (database, dir) = (database(), tempfile::tempdir().unwrap());
    let (wire, server) = start(&database, dir.path());
    under_load(server, |server, load| {
        for _ in 0..2 {
            wire.cut();
            load.is_cut.store(true, Ordering::SeqCst);
            let before = load.refused.load(Ordering::SeqCst);
            wait_until(|| load.refused.load(Ordering::SeqCst) >= before + ANSWERS);
            assert_eq!(server.call("GET", "/readyz", "", "").0, 503);
            assert_eq!(server.call("GET", "/healthz", "", "").0, 200);
            load.is_cut.store(false, Ordering::SeqCst);
            wire.mend();
            load.go_on();
        }
    });
}

#[test]
fn a_slow_database_makes_answers_late_and_nothing_else() {
    let (database, dir) = (database(), tempfile::tempdir().unwrap());
    let (wire, server) = start(&database, dir.path());
    under_load(server, |server, load| {
        wire.slow_down(Duration::from_millis(20));
        load.go_on();
        assert_eq!(load.refused.load(Ordering::SeqCst), 0);
        wire.slow_down(Duration::ZERO);
        assert_eq!(server.metric("heddle_leases_lost_total"), 0.0);
    });
}

#[test]
fn a_database_that_stands_still_past_the_lease_loses_nothing() {
    let (database, dir) = (database(), tempfile::tempdir().unwrap());
    let (wire, server) = start(&database, dir.path());
    under_load(server, |_, load| {
        wire.stand_still(true);
        // The lease is over by then, and what comes is refused.
        let before = load.refused.load(Ordering::SeqCst);
        wait_until(|| load.refused.load(Ordering::SeqCst) > before);
        wire.stand_still(false);
    });
}
