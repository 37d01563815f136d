//! Messages that end the process that reads them, or have it say what they like: they are refused for good, and others are read.

use super::{Client, SECRET, message, post, reachable};
use crate::harness::{Database, Service};
use heddle_execution::compile::Isolation;
use heddle_runtime::WorkerProgram;
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;
use tokio::net::TcpListener;

/// Workers of which those that read messages do this first, in the shell's words.
pub fn workers(first: &str) -> Isolation {
    let heddle = env!("CARGO_BIN_EXE_heddle");
    let script = format!("case $0 in message) {first};; esac; exec '{heddle}' worker \"$0\" \"$1\"");
    Isolation::Process(WorkerProgram {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
    })
}

/// What so many do that find nothing in a directory, one after the other. Those after them do nothing.
pub fn only(count: usize, dir: &Path, what: &str) -> String {
    let numbers: String = (0..count).map(|number| format!(" {number}")).collect();
    let file = format!("'{}'/$n", dir.display());
    format!("for n in{numbers}; do if [ ! -e {file} ]; then : > {file}; {what}; fi; done")
}

/// Says this, whatever it is asked.
fn lie(said: &[u8]) -> String {
    let said = said.iter().fold(String::new(), |mut written, byte| {
        let _ = write!(written, "\\{byte:03o}");
        written
    });
    format!("printf '{said}' >&0; exec cat > /dev/null")
}

fn frame(answer: &[u8]) -> Vec<u8> {
    [&(answer.len() as u32).to_le_bytes()[..], answer].concat()
}

/// An attachment of a gigabyte, of which nothing comes.
fn large() -> Vec<u8> {
    let attachment = json!({"filename": null, "content_type": "a/b", "content_id": null, "bytes": 1 << 30});
    let head = json!({"Read": {
        "from": null, "to": [], "cc": [], "reply_to": [], "subject": null, "date": null, "message_id": null, "text": null,
        "html": null, "headers": [], "attachments": [attachment], "recipients": [],
    }});
    frame(&frame(head.to_string().as_bytes()))
}

async fn open(first: &str) -> Service {
    Service::with(Database::Sqlite, |config| {
        config.inbound_secret = Some(SECRET.into());
        config.isolation = workers(first);
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_can_t_be_read_is_refused_and_the_next_one_is_read() {
    let out_of_memory = "echo 'memory allocation of 8 bytes failed' >&2; kill -ABRT $$";
    let crashed = "the process that read it crashed";
    for (count, what, reason) in [
        (2, "kill -ABRT $$".to_owned(), crashed),
        (1, "kill -XCPU $$".to_owned(), "it would take too long to read it"),
        (
            1,
            out_of_memory.to_owned(),
            "it would take too much memory to read it",
        ),
        (1, lie(b"\xff\xff\xff\x7f"), crashed),
        (1, lie(&frame(b"anything")), crashed),
        (1, lie(&large()), crashed),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let service = open(&only(count, dir.path(), &what)).await;
        let (hook, deployment, address) = reachable(&service).await;
        let refused = post(&service, "", message(&address, "one")).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "VALIDATION"),
            "{what}: {refused}"
        );
        assert!(
            refused
                .text
                .contains(&format!("The message was rejected: {reason}.")),
            "{what}: {refused}"
        );
        let taken = post(&service, "", message(&address, "two")).await;
        assert_eq!(taken.status, 202, "{what}: {taken}");
        assert_eq!(hook.runs(&deployment).await.len(), 1, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_somebody_else_ends_is_no_reason_to_refuse_its_message() {
    let dir = tempfile::tempdir().unwrap();
    let service = open(&only(1, dir.path(), "kill -KILL $$")).await;
    let (hook, deployment, address) = reachable(&service).await;
    let taken = post(&service, "", message(&address, "one")).await;
    assert_eq!(taken.status, 202, "{taken}");
    assert_eq!(hook.runs(&deployment).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_no_message_can_be_read_senders_send_again() {
    let service = open("kill -ABRT $$").await;
    let (hook, deployment, address) = reachable(&service).await;
    let refused = post(&service, "", message(&address, "one")).await;
    assert_eq!(
        (refused.status, refused.code()),
        (503, "UNAVAILABLE"),
        "{refused}"
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap();
    let server = tokio::spawn(heddle_service::mail::smtp::serve(
        service.app.service.clone(),
        listener,
    ));
    let mut client = Client::connect(place).await;
    client
        .say(&format!("HELO a\r\nMAIL FROM:<>\r\nRCPT TO:<{address}>\r\nDATA"))
        .await;
    for expected in ["220", "250", "250", "250", "354"] {
        client.expect(expected).await;
    }
    client.say(&format!("{}.", message(&address, "one"))).await;
    client.expect("451").await;
    assert!(hook.runs(&deployment).await.is_empty());
    server.abort();
}
