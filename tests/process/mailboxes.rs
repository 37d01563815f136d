//! The server is killed while it starts runs for the messages of a mailbox: each message has one run all the same, and what is to
//! become of a message does.

use crate::dovecot::{ADDRESS, Dovecot, PASSWORD};
use crate::polls::total;
use crate::server::{Server, database, on, pause};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Messages that are new for each server.
const NEW: u64 = 60;
const KILLS: u64 = 2;

/// `None` where Dovecot is not installed.
fn dovecot() -> Option<Dovecot> {
    let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
    executor.block_on(Dovecot::start())
}

fn deliver(mailbox: &Dovecot, numbers: std::ops::Range<u64>) {
    for number in numbers {
        mailbox.deliver(&format!(
            "From: Ann <ann@example.org>\r\nSubject: {number}\r\nMessage-ID: <{number}@example.org>\r\n\r\nHi\r\n"
        ));
    }
}

/// Waits until so many runs are there.
fn wait_for(server: &Server, (token, deployment): (&str, &str), runs: u64) {
    while total(server, token, deployment).is_none_or(|total| total < runs) {
        pause();
    }
}

fn survives(
    mailbox: &Dovecot,
    (dir, database): (&Path, &[(&str, &str)]),
    (provider, port, afterwards): (&str, u16, &Value),
) {
    let variables = [
        &[
            ("HEDDLE_EGRESS_ALLOW", "127.0.0.0/8"),
            ("HEDDLE_LEASE_MS", "1000"),
        ],
        database,
    ]
    .concat();
    let mut server = Server::start(dir, &variables);
    let token = server.register();
    let connection = json!({"provider": provider, "displayName": "support", "credentials": {
        "host": "127.0.0.1", "port": port.to_string(), "tls": "starttls", "tlsCa": mailbox.certificate,
        "user": ADDRESS, "password": PASSWORD,
    }});
    let path = "/api/connections/credentials";
    let (status, made) = server.call("POST", path, &token, &connection.to_string());
    assert_eq!(status, 201, "{made}");
    let mut parameters = json!({"connection": "support", "startFrom": "beginning", "cron": "* * * * * *"});
    let more = afterwards.as_object().unwrap().clone();
    parameters.as_object_mut().unwrap().extend(more);
    let node = json!({"id": "mail", "type": "OnMailbox", "data": {"parameters": parameters}});
    let deployment = server.deploy_as(&token, &json!({"nodes": [node], "edges": []}));
    let of = (token.as_str(), deployment.as_str());
    let mut killed_after = Vec::new();
    for before in (0..KILLS).map(|kill| kill * NEW) {
        // Before any of these has a run, in their midst, and after all of them.
        let runs = before + fastrand::u64(0..=NEW);
        deliver(mailbox, before..before + NEW);
        wait_for(&server, of, runs);
        server.process.kill().unwrap();
        server.process.wait().unwrap();
        killed_after.push(runs);
        server = Server::start(dir, &variables);
        wait_for(&server, of, before + NEW);
    }
    deliver(mailbox, KILLS * NEW..KILLS * NEW + 1);
    let all = KILLS * NEW + 1;
    wait_for(&server, of, all);
    // Whoever went on did so to the end.
    while !mailbox.names("").is_empty() {
        pause();
    }
    let runs = server.runs(&token, &deployment);
    let subjects: BTreeSet<u64> = runs.iter().map(subject).collect();
    assert_eq!(runs.len() as u64, all, "killed after {killed_after:?} runs");
    assert!(
        subjects.into_iter().eq(0..all),
        "killed after {killed_after:?} runs"
    );
}

fn subject(run: &Value) -> u64 {
    run["eventData"]["subject"].as_str().unwrap().parse().unwrap()
}

#[test]
fn each_message_has_one_run_although_the_server_is_killed() {
    let Some(mailbox) = dovecot() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let moved = json!({"afterwards": "move", "moveTo": "Done"});
    survives(&mailbox, (dir.path(), &[]), ("imap", mailbox.imap, &moved));
}

#[test]
fn it_is_so_by_pop3_and_on_postgres_as_well() {
    let Some(mailbox) = dovecot() else {
        return;
    };
    let (database, dir) = (database(), tempfile::tempdir().unwrap());
    let deleted = json!({"afterwards": "delete"});
    survives(
        &mailbox,
        (dir.path(), &on(&database.url)),
        ("pop3", mailbox.pop3, &deleted),
    );
}
