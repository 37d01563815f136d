//! SendEmail against an SMTP server of others.

use crate::harness::unhurried;
use crate::patterns::{node, pattern};
use crate::services::{
    Given, closed_runtime_of, open_runtime_of, run, run_data, run_pattern, runtime_with_crashing_connectors,
};
use crate::smtp::Smtp;
use heddle_runtime::{Limits, SqliteFiles};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};

fn mail(more: Value) -> Value {
    let mut mail = json!({
        "connection": "mail", "from": "Shop <shop@example.com>", "to": "ann@example.com", "subject": "Grüße",
        "text": "Hallo Änne",
    });
    for (name, value) in more.as_object().unwrap() {
        mail[name] = value.clone();
    }
    mail
}

fn plain(port: u16) -> Given {
    Given::one("mail", json!({"host": "127.0.0.1", "port": port, "tls": "none"}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_arrives_with_all_its_parts() {
    let Some(mut server) = Smtp::start("none") else {
        return;
    };
    let runtime = open_runtime_of(module_path!());
    let sent = mail(json!({
        "to": ["ann@example.com, Bob <bob@example.com>", "cid@example.com"], "cc": "dan@example.com",
        "bcc": ["eve@example.com"], "replyTo": "help@example.com", "html": "<b>Hallo</b>",
        "attachments": [{"filename": "a ü.txt", "contentType": "text/plain", "base64": "aGV5"}],
    }));
    let output = run(&runtime, "SendEmail", sent.clone(), &plain(server.port))
        .await
        .output();
    let message = server.message();
    assert_eq!(message["from"], "shop@example.com");
    let mut to: Vec<&str> = message["to"]
        .as_array()
        .unwrap()
        .iter()
        .map(|to| to.as_str().unwrap())
        .collect();
    to.sort_unstable();
    let all = [
        "ann@example.com",
        "bob@example.com",
        "cid@example.com",
        "dan@example.com",
        "eve@example.com",
    ];
    assert_eq!(to, all);
    let content = message["content"].as_str().unwrap();
    let id = output["messageId"].as_str().unwrap();
    assert!(id.starts_with('<') && id.ends_with("@example.com>"), "{id}");
    for part in [
        &format!("Message-ID: {id}\r\n"),
        "From: Shop <shop@example.com>\r\n",
        "Reply-To: help@example.com\r\n",
        "Cc: dan@example.com\r\n",
        "Subject: =?utf-8?b?",
        "Content-Type: text/html",
        "Content-Type: multipart/mixed",
        "Content-Disposition: attachment",
        "Date: ",
    ] {
        assert!(content.contains(part), "{part} in {content}");
    }
    assert!(
        !content.contains("eve@example.com"),
        "nobody sees who gets a blind copy"
    );
    // A repetition has the same id.
    let again = run(&runtime, "SendEmail", sent, &plain(server.port))
        .await
        .output();
    assert_eq!(again, output);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_attached() {
    let Some(mut server) = Smtp::start("none") else {
        return;
    };
    let runtime = open_runtime_of(module_path!());
    let attached = mail(json!({"attachments": ["{{ $input }}"]}));
    let graph = pattern(
        &[
            node(
                "file",
                "File",
                json!({"operation": "make", "content": "an invoice", "name": "r ü.txt"}),
            ),
            node("send", "SendEmail", attached),
            node("end", "Return", json!({})),
        ],
        &["start -> file", "file -> send", "send -> end"],
    );
    let sent = run_pattern(&runtime, &graph, &plain(server.port), Limits::default()).await;
    sent.output();
    let content = server.message()["content"].as_str().unwrap().to_owned();
    assert!(content.contains("Content-Disposition: attachment"), "{content}");
    assert!(
        content.contains("Content-Type: text/plain; charset=utf-8"),
        "{content}"
    );
    assert!(
        content.contains("an invoice") || content.contains("YW4gaW52b2ljZQ=="),
        "{content}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_verifies_the_server_and_carries_the_password() {
    let runtime = open_runtime_of(module_path!());
    for mode in ["starttls", "tls"] {
        let Some(mut server) = Smtp::start(mode) else {
            return;
        };
        let (port, certificate) = (server.port, server.certificate.clone());
        let with = |more: Value| {
            let mut fields = json!({
                "host": "localhost", "port": port, "tls": mode, "user": "ann", "password": "s3cret-pw",
                "tlsCa": certificate,
            });
            for (name, value) in more.as_object().unwrap() {
                fields[name] = value.clone();
            }
            Given::one("mail", fields)
        };
        run(&runtime, "SendEmail", mail(json!({})), &with(json!({})))
            .await
            .output();
        assert_eq!(server.message()["to"], json!(["ann@example.com"]), "{mode}");
        let given = with(json!({"tlsCa": null}));
        let failure = run(&runtime, "SendEmail", mail(json!({})), &given)
            .await
            .failure();
        assert!(
            failure.starts_with("MAIL_FAILED: ") && failure.contains("certificate"),
            "{mode}: {failure}"
        );
        let given = with(json!({"password": "wrong-pw"}));
        let failure = run(&runtime, "SendEmail", mail(json!({})), &given)
            .await
            .failure();
        assert!(
            failure.starts_with("MAIL_FAILED: ") && failure.contains("535"),
            "{mode}: {failure}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_taken_fails_the_node() {
    let Some(server) = Smtp::start("none") else {
        return;
    };
    let runtime = open_runtime_of(module_path!());
    for (more, expected) in [
        (
            json!({"to": "nobody@example.com"}),
            "MAIL_FAILED: The mail server 127.0.0.1",
        ),
        (
            json!({"to": "not an address"}),
            "PARAMETER: `not an address` in `to` is not an email address",
        ),
        (
            json!({"from": "me"}),
            "PARAMETER: `me` in `from` is not an email address",
        ),
        (
            json!({"to": []}),
            "PARAMETER: A message must have 1 to 100 recipients, not 0.",
        ),
        (
            json!({"to": vec!["a@example.com"; 101]}),
            "PARAMETER: A message must have 1 to 100 recipients, not 101.",
        ),
        (
            json!({"attachments": [{"filename": "x", "base64": "%"}]}),
            "PARAMETER: The attachment `x` is not valid base64",
        ),
        (
            json!({"attachments": [{"filename": "x", "contentType": "nonsense", "base64": ""}]}),
            "PARAMETER: `nonsense` of the attachment `x` is not a content type.",
        ),
    ] {
        let failure = run(&runtime, "SendEmail", mail(more), &plain(server.port))
            .await
            .failure();
        assert!(failure.starts_with(expected), "{failure}");
    }
    let refused = run(
        &runtime,
        "SendEmail",
        mail(json!({"to": "nobody@example.com"})),
        &plain(server.port),
    )
    .await;
    assert!(
        refused.failure().contains("No such mailbox"),
        "{}",
        refused.failure()
    );
    let upgrade = Given::one("mail", json!({"host": "127.0.0.1", "port": server.port}));
    let failure = run(&runtime, "SendEmail", mail(json!({})), &upgrade)
        .await
        .failure();
    assert!(failure.contains("STARTTLS is not supported"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn line_breaks_make_no_headers() {
    let Some(mut server) = Smtp::start("none") else {
        return;
    };
    let sent = mail(json!({"subject": "Hi\r\nBcc: eve@example.com", "text": "."}));
    run(
        &open_runtime_of(module_path!()),
        "SendEmail",
        sent,
        &plain(server.port),
    )
    .await
    .output();
    let message = server.message();
    assert_eq!(message["to"], json!(["ann@example.com"]));
    assert!(
        !message["content"].as_str().unwrap().contains("\r\nBcc:"),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_is_a_timeout() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let data = json!({"parameters": mail(json!({})), "timeoutMs": 100});
    let ran = run_data(
        &open_runtime_of(module_path!()),
        "SendEmail",
        data,
        &plain(port),
        Limits::default(),
    )
    .await;
    assert!(
        ran.failure().starts_with("TIMEOUT: The mail server 127.0.0.1"),
        "{}",
        ran.failure()
    );
}

/// Whoever is between both sends it with the server's last word before TLS.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_before_tls_is_not_taken_for_what_comes_by_it() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = BufReader::new(stream.try_clone().unwrap());
        stream.write_all(b"220 here\r\n").unwrap();
        for answer in [
            "250-here\r\n250 STARTTLS\r\n",
            "220 go\r\n250 here\r\n250 from\r\n250 to\r\n354 write\r\n250 taken\r\n",
        ] {
            heard.read_line(&mut String::new()).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
        // Until the client has left.
        let _ = heard.read_to_end(&mut Vec::new());
    });
    let given = Given::one(
        "mail",
        json!({"host": "127.0.0.1", "port": port, "tls": "starttls"}),
    );
    let runtime = open_runtime_of(module_path!());
    let failure = run(&runtime, "SendEmail", mail(json!({})), &given)
        .await
        .failure();
    assert!(
        failure.starts_with("MAIL_FAILED: The mail server 127.0.0.1"),
        "it waited for TLS: {failure}"
    );
    server.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_servers_are_behind_the_guard() {
    let runtime = closed_runtime_of(module_path!());
    for host in [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "169.254.169.254",
    ] {
        for tls in ["none", "starttls", "tls"] {
            let given = Given::one("mail", json!({"host": host, "port": 25, "tls": tls}));
            let failure = run(&runtime, "SendEmail", mail(json!({})), &given)
                .await
                .failure();
            assert!(failure.starts_with("EGRESS_DENIED: "), "{host}: {failure}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_fails_the_node_and_says_what_is_not_known() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let crashing = runtime_with_crashing_connectors(SqliteFiles::None);
    let failure = run(&crashing, "SendEmail", mail(json!({})), &plain(port))
        .await
        .failure();
    assert_eq!(
        failure,
        format!(
            "MAIL_FAILED: The mail server 127.0.0.1:{port} sent an unreadable reply: the process that read it \
             crashed. Nothing else is affected, but whether the message was sent is not known."
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn many_messages_of_one_tenant_wait_for_each_other() {
    let Some(mut server) = Smtp::start("none") else {
        return;
    };
    let runtime = open_runtime_of(module_path!());
    let mut together = tokio::task::JoinSet::new();
    for number in 0..40 {
        let (runtime, given) = (runtime.clone(), plain(server.port));
        // Of a message, the time in which others are sent counts as well.
        let data = json!({"parameters": mail(json!({"subject": number.to_string()})), "timeoutMs": 600_000});
        together.spawn(async move {
            run_data(&runtime, "SendEmail", data, &given, unhurried())
                .await
                .output()
        });
    }
    assert_eq!(together.join_all().await.len(), 40);
    for _ in 0..40 {
        assert_eq!(server.message()["to"], json!(["ann@example.com"]));
    }
}
