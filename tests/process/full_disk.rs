//! A disk that is full, as far as the database's files are concerned: a limit on the size of files, which is lifted
//! again.

use crate::sender::{Hook, Sender};
use crate::server::{Server, heddle};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const VARIABLES: [(&str, &str); 1] = [("HEDDLE_WEBHOOK_RATE_LIMIT", "0")];
/// Room that is left for what is written.
const ROOM_BYTES: u64 = 1 << 20;
/// More events than fit there.
const EVENTS_MAX: usize = 20_000;

/// A server whose files can't grow beyond so many bytes, until the soft limit is lifted.
fn start_limited(dir: &Path, bytes: u64) -> Server {
    // The shell counts in blocks of 512 bytes. A write beyond the limit is to fail, not to end the process.
    let script = r#"trap "" XFSZ; ulimit -S -f "$1"; exec "$2" serve"#;
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", script, "sh", &(bytes / 512).to_string()])
        .arg(heddle(dir).get_program())
        .env_clear()
        .current_dir(dir);
    Server::start_by(command, &VARIABLES)
}

fn lift(server: &Server) {
    let process = server.process.id().to_string();
    let lifted = Command::new("prlimit")
        .args(["--pid", &process, "--fsize=unlimited:"])
        .status();
    assert!(lifted.unwrap().success());
}

#[test]
fn on_a_full_disk_nothing_is_accepted_and_nothing_accepted_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &VARIABLES);
    let hook = Hook::doubling(&server);
    assert_eq!(server.stop(), Some(0));
    let database = dir.path().join("heddle-data/heddle.db");
    let server = start_limited(dir.path(), database.metadata().unwrap().len() + ROOM_BYTES);

    let mut sender = Sender::connect(&server.address).unwrap();
    let mut accepted = BTreeSet::new();
    let mut send = |event: usize| {
        let answer = sender.send(&hook, &format!("event-{event}"), event).unwrap();
        if answer.status == 202 {
            accepted.insert(answer.body["runId"].as_str().unwrap().to_owned());
        } else {
            assert_eq!(answer.status, 503, "{}", answer.body);
            assert_eq!(answer.retry_after_s, Some(1));
        }
        answer.status == 202
    };
    // What the log has moved into the database meanwhile makes room for a few more between those that are refused.
    let refused: Vec<usize> = (0..EVENTS_MAX).filter(|event| !send(*event)).take(20).collect();
    assert_eq!(refused.len(), 20);
    assert!(refused[0] > 0);
    let path = format!("/api/deployments/{}/runs", hook.deployment);
    assert_eq!(
        server.call("GET", &path, &hook.token, "").0,
        200,
        "what is there can be read"
    );

    // As if somebody had made room: the server goes on by itself.
    lift(&server);
    while !send(refused[0]) {}
    for event in &refused[1..] {
        assert!(send(*event));
    }
    server.await_ends(&hook.token, &hook.deployment);
    assert_eq!(server.stop(), Some(0));

    let server = Server::start(dir.path(), &VARIABLES);
    let runs = server.runs(&hook.token, &hook.deployment);
    assert!(runs.iter().all(|run| run["status"] == "success"));
    let ids: BTreeSet<String> = runs
        .iter()
        .map(|run| run["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!((ids.len(), &ids), (runs.len(), &accepted));
}

#[test]
fn a_server_that_is_killed_on_a_full_disk_has_lost_nothing_that_it_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &VARIABLES);
    let hook = Hook::doubling(&server);
    assert_eq!(server.stop(), Some(0));
    let database = dir.path().join("heddle-data/heddle.db");
    let server = start_limited(dir.path(), database.metadata().unwrap().len() + ROOM_BYTES);
    let mut sender = Sender::connect(&server.address).unwrap();
    let mut accepted = BTreeSet::new();
    for event in 0..EVENTS_MAX {
        let answer = sender.send(&hook, &format!("event-{event}"), event).unwrap();
        if answer.status != 202 {
            break;
        }
        accepted.insert(answer.body["runId"].as_str().unwrap().to_owned());
    }
    drop(server);

    let server = Server::start(dir.path(), &VARIABLES);
    server.await_ends(&hook.token, &hook.deployment);
    let runs = server.runs(&hook.token, &hook.deployment);
    assert!(runs.iter().all(|run| run["status"] == "success"));
    let ids: BTreeSet<String> = runs
        .iter()
        .map(|run| run["id"].as_str().unwrap().to_owned())
        .collect();
    assert!(accepted.is_subset(&ids), "{} of {}", ids.len(), accepted.len());
}
