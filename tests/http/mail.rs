//! E-mail that starts runs, by HTTP and by SMTP.

pub mod apart;

use crate::harness::{Reply, Service, each_database};
use crate::webhooks::fixture::Hook;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

const SECRET: &str = "shared with the mail server";

/// A deployed pattern that takes mail, its deployment and its address.
async fn reachable(service: &Service) -> (Hook<'_>, String, String) {
    let graph = json!({"nodes": [
        {"id": "mail", "type": "OnEmail", "data": {"parameters": {"alias": "invoices"}}},
    ], "edges": []});
    let hook = Hook::saved(service, graph).await;
    let deployment = hook.deploy().await;
    let one = hook.get(&format!("/api/deployments/{deployment}")).await;
    let endpoints = one.body["data"]["emailEndpoints"].as_array().unwrap();
    let address = endpoints[0]["address"].as_str().unwrap().to_owned();
    assert_eq!(
        endpoints,
        &[json!({
            "id": endpoints[0]["id"], "nodeId": "mail", "address": address, "alias": "invoices", "status": "active",
        })]
    );
    (hook, deployment, address)
}

fn message(to: &str, id: &str) -> String {
    format!(
        "From: Ann <ann@example.org>\r\nTo: {to}\r\nSubject: Invoice\r\nMessage-ID: <{id}@example.org>\r\n\r\n.Please pay.\r\n"
    )
}

async fn post(service: &Service, query: &str, message: String) -> Reply {
    let request = service.post(&format!("/inbound/email{query}"));
    request
        .header("content-type", "message/rfc822")
        .bearer(SECRET)
        .body(message)
        .send()
        .await
}

async fn with_secret(like: &Service) -> Service {
    Service::with(like.database(), |config| {
        config.inbound_secret = Some(SECRET.into())
    })
    .await
}

each_database! {
    async fn a_message_makes_a_run(service: Service) {
        let service = with_secret(&service).await;
        let (hook, deployment, address) = reachable(&service).await;
        let taken = post(&service, "", message(&address, "one")).await;
        assert_eq!(taken.status, 202, "{taken}");
        let run = taken.body["recipients"][0]["runId"].clone();
        assert_eq!(taken.body, json!({"recipients": [{"address": address, "status": "accepted", "runId": run}]}));
        let runs = hook.runs(&deployment).await;
        assert_eq!((runs.len(), &runs[0]["id"], &runs[0]["triggeredBy"]), (1, &run, &json!("email")));
        let event = &runs[0]["eventData"];
        assert_eq!(event["from"], json!({"name": "Ann", "address": "ann@example.org"}));
        assert_eq!(event["subject"], "Invoice");
        assert_eq!(event["text"].as_str().unwrap().trim_end(), ".Please pay.");

        let again = post(&service, "", message(&address, "one")).await;
        assert_eq!(again.body, json!({"recipients": [{"address": address, "status": "duplicate", "runId": run}]}));
        // The envelope counts more than the header.
        let tagged = address.to_uppercase().replace('@', "+tag@");
        let query = format!("?to={}&to=nobody@example.com", tagged.replace('+', "%2B"));
        let blind = post(&service, &query, message("other@example.com", "two")).await;
        assert_eq!(blind.body["recipients"][0]["status"], "accepted", "{blind}");
        assert_eq!(blind.body["recipients"][1], json!({"address": "nobody@example.com", "status": "unknown", "runId": null}));
        hook.change(&deployment, "pause").await;
        let paused = post(&service, "", message(&address, "three")).await;
        assert_eq!(paused.body, json!({"recipients": [{"address": address, "status": "inactive", "runId": null}]}));
        assert_eq!(hook.runs(&deployment).await.len(), 2);
    }

    async fn attachments_are_files_of_the_run_where_the_node_wants_them(service: Service) {
        let service = with_secret(&service).await;
        let graph = json!({
            "nodes": [
                {"id": "mail", "type": "OnEmail", "data": {"parameters": {"files": true}}},
                {"id": "read", "type": "File", "data": {"parameters": {"file": "{{ $input.attachments[0] }}"}}},
                {"id": "end", "type": "Return"},
            ],
            "edges": [{"source": "mail", "target": "read"}, {"source": "read", "target": "end"}],
        });
        let hook = Hook::saved(&service, graph).await;
        let deployment = hook.deploy().await;
        let one = hook.get(&format!("/api/deployments/{deployment}")).await;
        let address = one.body["data"]["emailEndpoints"][0]["address"].as_str().unwrap().to_owned();
        let attached = "--b\r\nContent-Type: text/csv\r\nContent-ID: <one@x>\r\n\
            Content-Disposition: attachment; filename=\"../or ders.csv\"\r\nContent-Transfer-Encoding: base64\r\n\r\naWQKMQo=\r\n";
        let message = format!(
            "From: ann@example.org\r\nTo: {address}\r\nMessage-ID: <one@example.org>\r\n\
             Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHi\r\n{attached}--b--\r\n"
        );
        let taken = post(&service, "", message.clone()).await;
        assert_eq!(taken.status, 202, "{taken}");
        let run = taken.body["recipients"][0]["runId"].as_str().unwrap().to_owned();
        let ended = service.ended(&hook.user, &deployment, &run).await;
        assert_eq!(ended["output"], "id\n1\n", "{ended}");
        let file = &ended["eventData"]["attachments"][0];
        assert_eq!(
            *file,
            json!({
                "$file": file["$file"], "name": "or ders.csv", "type": "text/csv", "size": 5, "contentId": "one@x",
                "sha256": "7cde7fb64fd82bd152710cf238e017b9ab46c0592483edc067ba4f6c75fac108",
            }),
        );
        assert_eq!(ended["eventData"]["text"].as_str().unwrap().trim_end(), "Hi");
        // The run holds it, so that it goes with the run.
        let held = hook.get(&format!("/api/deployments/{deployment}/runs/{run}/files")).await;
        assert_eq!(held.body["data"].as_array().map(Vec::len), Some(1), "{held}");
        let again = post(&service, "", message).await;
        assert_eq!(again.body["recipients"][0]["status"], "duplicate", "{again}");
    }

    async fn only_the_mail_server_hands_messages_over(service: Service) {
        let closed = post(&service, "", message("a@example.com", "one")).await;
        assert_eq!((closed.status, closed.code()), (404, "NOT_FOUND"), "without a secret this way is closed");
        let service = with_secret(&service).await;
        let request = || service.post("/inbound/email").header("content-type", "message/rfc822").body("Subject: x\r\n\r\n");
        for refused in [request().send().await, request().bearer("wrong").send().await] {
            assert_eq!((refused.status, refused.code()), (401, "UNAUTHORIZED"));
        }
        let other = service.post("/inbound/email").bearer(SECRET).header("content-type", "text/plain").body("x").send().await;
        assert_eq!((other.status, other.code()), (415, "UNSUPPORTED_MEDIA_TYPE"));
        assert_eq!(post(&service, "", String::new()).await.status, 400);
        assert_eq!(post(&service, "", message("nobody@localhost", "one")).await.status, 404);
        assert_eq!(post(&service, "", "x".repeat((10 << 20) + 1)).await.status, 413);
    }

    async fn a_mail_server_can_speak_smtp(service: Service) {
        let (hook, deployment, address) = reachable(&service).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap();
        let server = tokio::spawn(heddle_service::mail::smtp::serve(service.app.service.clone(), listener));
        let mut client = Client::connect(place).await;
        client.expect("220").await;
        for (command, reply) in [
            ("MAIL FROM:<ann@example.org>", "503"), ("NONSENSE", "500"), ("EHLO example.org", "250"),
            ("RCPT TO:<nobody@localhost>", "503"), ("MAIL FROM:<ann@example.org> SIZE=99999999", "552"),
            ("MAIL FROM:<ann@example.org> SIZE=1000", "250"), ("DATA", "503"),
            ("RCPT TO:<nobody@localhost>", "550"), ("RCPT TO:<someone@elsewhere.example>", "550"),
        ] {
            client.say(command).await;
            client.expect(reply).await;
        }
        let whole = message(&address, "one");
        let stuffed = whole.replace("\r\n.Please", "\r\n..Please");
        client.say(&format!("RCPT TO:<{address}>")).await;
        client.expect("250").await;
        client.say("DATA").await;
        client.expect("354").await;
        client.say(&format!("{stuffed}.")).await;
        client.expect("250").await;
        let runs = hook.runs(&deployment).await;
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0]["eventData"]["text"].as_str().unwrap().trim_end(), ".Please pay.");

        // Several commands and the message may come at once.
        let second = message(&address, "two");
        let all = format!("MAIL FROM:<>\r\nRCPT TO:<{address}>\r\nDATA\r\n{second}.\r\nQUIT");
        client.say(&all).await;
        for reply in ["250", "250", "354", "250", "221"] {
            client.expect(reply).await;
        }
        assert_eq!(hook.runs(&deployment).await.len(), 2);

        hook.change(&deployment, "pause").await;
        let mut client = Client::connect(place).await;
        client.say(&format!("HELO a\r\nMAIL FROM:<>\r\nRCPT TO:<{address}>\r\nRSET\r\nNOOP\r\nVRFY a\r\n{}", "x".repeat(5000))).await;
        for reply in ["220", "250", "250", "450", "250", "250", "252", "500"] {
            client.expect(reply).await;
        }
        server.abort();
    }

    async fn however_deep_a_message_is_the_service_goes_on(service: Service) {
        let service = with_secret(&service).await;
        let (hook, deployment, address) = reachable(&service).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap();
        let server = tokio::spawn(heddle_service::mail::smtp::serve(service.app.service.clone(), listener));
        let from = format!("To: {address}\r\n");
        // Messages within messages: files, whatever they hold.
        let nested = format!("{from}{}", "Content-Type: message/rfc822\r\n\r\n".repeat(50_000));
        let deep: String = (0..20_000).map(|level| format!("Content-Type: multipart/x; boundary=b{level}\r\n\r\n--b{level}\r\n")).collect();
        let parts = "--b\r\n\r\nx\r\n".repeat(100_000);
        let parts = format!("{from}Content-Type: multipart/mixed; boundary=b\r\n\r\n{parts}--b--");
        // Each character has six bytes in an event, and is there twice.
        let grown = format!("{from}\r\n{}", "\u{1}".repeat(1_400_000));
        let messages = [
            (nested, 202, "250"),
            (format!("{from}{deep}"), 400, "554"),
            (parts, 400, "554"),
            (grown, 400, "554"),
        ];
        for (message, status, reply) in messages {
            let taken = post(&service, "", message.clone()).await;
            assert_eq!(taken.status, status, "{taken}");
            if status == 400 {
                assert_eq!(taken.code(), "VALIDATION");
                assert!(taken.text.contains("The message was rejected: "), "{taken}");
            }
            let mut client = Client::connect(place).await;
            client.say(&format!("HELO a\r\nMAIL FROM:<>\r\nRCPT TO:<{address}>\r\nDATA")).await;
            for expected in ["220", "250", "250", "250", "354"] {
                client.expect(expected).await;
            }
            // Another message than the one before, where it is taken.
            client.say(&format!("X-Way: SMTP\r\n{message}\r\n.")).await;
            client.expect(reply).await;
        }
        assert_eq!(hook.runs(&deployment).await.len(), 2);
        server.abort();
    }

    async fn one_address_leaves_connections_to_others(service: Service) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap();
        let server = tokio::spawn(heddle_service::mail::smtp::serve(service.app.service.clone(), listener));
        let mut open = Vec::new();
        for _ in 0..50 {
            let mut client = Client::connect_from("127.0.0.2", place).await;
            client.expect("220").await;
            open.push(client);
        }
        Client::connect_from("127.0.0.2", place).await.expect("421").await;
        Client::connect(place).await.expect("220").await;
        // A place is free again as soon as its connection has ended.
        drop(open);
        while !Client::connect_from("127.0.0.2", place).await.line().await.starts_with("220") {
            tokio::task::yield_now().await;
        }
        server.abort();
    }

    async fn who_is_not_understood_again_and_again_is_left(service: Service) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap();
        let server = tokio::spawn(heddle_service::mail::smtp::serve(service.app.service.clone(), listener));
        let mut client = Client::connect(place).await;
        client.say(&["NONSENSE"; 30].join("\r\n")).await;
        for (reply, count) in [("220", 1), ("500", 19), ("421", 1)] {
            for _ in 0..count {
                client.expect(reply).await;
            }
        }
        // A connection that was closed before all was read may end by a reset.
        let mut rest = String::new();
        let ended = client.0.read_line(&mut rest).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "{rest}");
        server.abort();
    }

    async fn a_message_that_is_too_large_is_read_and_refused(service: Service) {
        let (hook, deployment, address) = reachable(&service).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap();
        let server = tokio::spawn(heddle_service::mail::smtp::serve(service.app.service.clone(), listener));
        let mut client = Client::connect(place).await;
        client.say(&format!("HELO a\r\nMAIL FROM:<>\r\nRCPT TO:<{address}>\r\nDATA")).await;
        for reply in ["220", "250", "250", "250", "354"] {
            client.expect(reply).await;
        }
        let line = format!("{}\r\n", "x".repeat(998));
        client.say(&format!("{}{}.", message(&address, "one"), line.repeat(11 << 10))).await;
        client.expect("552").await;
        client.say("QUIT").await;
        client.expect("221").await;
        assert_eq!(hook.runs(&deployment).await, [] as [Value; 0]);
        server.abort();
    }
}

/// A client that checks the codes of replies.
struct Client(BufReader<TcpStream>);

impl Client {
    async fn connect(place: std::net::SocketAddr) -> Client {
        Client(BufReader::new(TcpStream::connect(place).await.unwrap()))
    }

    /// From this address of the loopback network.
    async fn connect_from(from: &str, place: std::net::SocketAddr) -> Client {
        let socket = TcpSocket::new_v4().unwrap();
        socket
            .bind(std::net::SocketAddr::new(from.parse().unwrap(), 0))
            .unwrap();
        Client(BufReader::new(socket.connect(place).await.unwrap()))
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        line
    }

    async fn say(&mut self, line: &str) {
        self.0
            .get_mut()
            .write_all(format!("{line}\r\n").as_bytes())
            .await
            .unwrap();
    }

    /// Reads a reply, of several lines if need be.
    async fn expect(&mut self, code: &str) {
        loop {
            let line = self.line().await;
            assert!(line.starts_with(code), "expected {code}: {line}");
            if line.as_bytes().get(3) != Some(&b'-') {
                return;
            }
        }
    }
}
