//! The server is killed again and again under load, and its senders send again what was not answered: every event is
//! one run, which ends.

use crate::sender::{Hook, Sender};
use crate::server::{Server, database, on};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const CLIENTS: usize = 8;
/// Accepted events between two kills.
const ACCEPTED_EACH: usize = 120;

/// Kills: few by default, as many as issue trackers like with HEDDLE_TEST_KILLS.
fn kills() -> usize {
    std::env::var("HEDDLE_TEST_KILLS").map_or(3, |kills| kills.parse().unwrap())
}

/// What has happened to the events so far, by number.
#[derive(Default)]
struct Events {
    sent: AtomicUsize,
    /// Without an answer: the sender has to send them again.
    open: Mutex<Vec<usize>>,
    accepted: Mutex<BTreeSet<String>>,
}

impl Events {
    fn next(&self) -> usize {
        let again = self.open.lock().unwrap().pop();
        again.unwrap_or_else(|| self.sent.fetch_add(1, Ordering::SeqCst))
    }

    /// Sends one event; whether the server has answered.
    fn send(&self, sender: &mut Option<Sender>, address: &str, hook: &Hook) -> bool {
        let event = self.next();
        let answer = sender
            .take()
            .or_else(|| Sender::connect(address))
            .and_then(|mut connected| {
                let answer = connected.send(hook, &format!("event-{event}"), event)?;
                *sender = Some(connected);
                Some(answer)
            });
        let Some(answer) = answer else {
            self.open.lock().unwrap().push(event);
            return false;
        };
        match answer.status {
            202 => {
                let run = answer.body["runId"].as_str().unwrap().to_owned();
                assert!(
                    self.accepted.lock().unwrap().insert(run),
                    "two events have one run"
                );
            }
            // It was stored, but the server was killed before it could say so.
            200 => assert_eq!(answer.body["status"], "duplicate", "{}", answer.body),
            // On a busy machine, a lease as short as here runs out now and then: nothing is accepted without it.
            503 => self.open.lock().unwrap().push(event),
            status => panic!("{status} {}", answer.body),
        }
        true
    }
}

/// Sends events until the server, killed in their midst, is gone.
fn load(server: Server, hook: &Hook, events: &Events) {
    let (address, process) = (server.address.clone(), Mutex::new(server));
    let (answered, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut sender = None;
                while !is_over.load(Ordering::SeqCst) {
                    let is_answered = events.send(&mut sender, &address, hook);
                    if is_answered && answered.fetch_add(1, Ordering::SeqCst) == ACCEPTED_EACH {
                        // SIGKILL, while the other clients wait for their answers.
                        process.lock().unwrap().process.kill().unwrap();
                        is_over.store(true, Ordering::SeqCst);
                    }
                }
            });
        }
    });
}

fn survives(dir: &Path, database: &[(&str, &str)]) {
    let variables = [
        &[("HEDDLE_WEBHOOK_RATE_LIMIT", "0"), ("HEDDLE_LEASE_MS", "1000")],
        database,
    ]
    .concat();
    let server = Server::start(dir, &variables);
    let (hook, events) = (Hook::doubling(&server), Events::default());
    load(server, &hook, &events);
    for _ in 1..kills() {
        load(Server::start(dir, &variables), &hook, &events);
    }
    let server = Server::start(dir, &variables);
    let mut sender = None;
    while !events.open.lock().unwrap().is_empty() {
        assert!(events.send(&mut sender, &server.address, &hook));
    }
    let accepted = events.accepted.into_inner().unwrap();
    let sent = events.sent.into_inner();
    server.assert_one_run_each(&hook, &accepted, sent);
    server.assert_metered(&hook, sent);
}

#[test]
fn every_event_is_one_run_that_ends_although_the_server_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    survives(dir.path(), &[]);
}

#[test]
fn it_is_so_on_postgres_as_well() {
    let (database, dir) = (database(), tempfile::tempdir().unwrap());
    survives(dir.path(), &on(&database.url));
}
