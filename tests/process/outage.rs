//! PostgreSQL goes away for a while, and comes back: what can't be stored is not accepted, and what was accepted is a run
//! that ends.

use crate::postgres::TestDatabase;
use crate::sender::{Hook, Sender};
use crate::server::Server;
use std::collections::BTreeSet;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const CLIENTS: usize = 4;
/// Answers of a kind that are waited for in each phase.
const ANSWERS: usize = 60;
const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// What lies between a server and its database, and can be cut.
struct Wire {
    address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    open: Vec<TcpStream>,
}

impl Wire {
    fn to(target: String) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::<Mutex<State>>::default();
        let shared = state.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let mut state = shared.lock().unwrap();
                if state.is_cut {
                    continue;
                }
                let far = TcpStream::connect(&target).unwrap();
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || {
                        // However it ends, the other way ends as well.
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                state.open.extend([near, far]);
            }
        });
        Wire { address, state }
    }

    fn cut(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_cut = true;
        for stream in state.open.drain(..) {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        self.state.lock().unwrap().is_cut = false;
    }
}

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
}

fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

#[test]
fn while_the_database_is_away_nothing_is_accepted_and_afterwards_everything_goes_on() {
    let executor = tokio::runtime::Runtime::new().unwrap();
    let database = executor.block_on(TestDatabase::create());
    let (user, rest) = database.url.split_once('@').unwrap();
    let (target, name) = rest.split_once('/').unwrap();
    let wire = Wire::to(target.to_owned());
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(
        dir.path(),
        &[
            ("HEDDLE_WEBHOOK_RATE_LIMIT", "0"),
            (
                "HEDDLE_DATABASE_URL",
                &format!("{user}@{}/{name}?sslmode=disable", wire.address),
            ),
            ("HEDDLE_MASTER_KEY", KEY),
            ("HEDDLE_JWT_SECRET", KEY),
        ],
    );
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
        for _ in 0..2 {
            let before = load.accepted();
            wait_until(|| load.accepted() >= before + ANSWERS);
            wire.cut();
            load.is_cut.store(true, Ordering::SeqCst);
            let before = load.refused.load(Ordering::SeqCst);
            wait_until(|| load.refused.load(Ordering::SeqCst) >= before + ANSWERS);
            assert_eq!(server.call("GET", "/readyz", "", "").0, 503);
            assert_eq!(server.call("GET", "/healthz", "", "").0, 200);
            load.is_cut.store(false, Ordering::SeqCst);
            wire.mend();
        }
        let before = load.accepted();
        wait_until(|| load.accepted() >= before + ANSWERS);
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
