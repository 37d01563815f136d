//! Files that senders send, and that they are answered with.

use super::bytes;
use crate::harness::{Database, Service, each_database};
use crate::webhooks::fixture::{Hook, graph, responds, returns};
use futures_util::StreamExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::convert::Infallible;

fn form(boundary: &str, content: &[u8]) -> Vec<u8> {
    let mut body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nAnn\r\n--{boundary}\r\n\
         Content-Disposition: form-data; name=\"photo\"; filename=\"../p.png\"\r\nContent-Type: image/png\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(content);
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    body
}

fn echoing(accept: &str) -> Value {
    graph(
        json!({"scheme": "none", "accept": [accept], "files": true}),
        &[responds(json!({
            "body": "{{ $input.body.photo ?? $input.body }}", "bodyType": "file", "headers": {"x-name": "{{ $input.body.name }}"},
        }))],
    )
}

each_database! {
    async fn what_a_sender_sends_comes_back(service: Service) {
        let hook = Hook::deployed(&service, echoing("multipart")).await;
        // More than a body in memory may have.
        let content = bytes(9_000_000);
        let request = service.post(&format!("/webhooks/{}", hook.webhook))
            .header("content-type", "multipart/form-data; boundary=XX").body(form("XX", &content));
        let answer = request.begin().await;
        assert_eq!(answer.status(), 200);
        for (name, value) in [("content-type", "image/png"), ("content-length", "9000000"), ("x-name", "Ann"), ("x-content-type-options", "nosniff")] {
            assert_eq!(answer.headers()[name], value, "{name}");
        }
        assert!(answer.bytes().await.unwrap() == content, "other bytes came back");
        let listed = service.get("/api/files").bearer(&hook.user.token).send().await;
        let file = listed.body["data"][0].clone();
        assert_eq!((&file["name"], &file["sha256"]), (&json!("p.png"), &json!(hex::encode(Sha256::digest(&content)))));
        assert_eq!(hook.log_statuses().await, [("accepted".to_owned(), 200)]);
    }

    async fn any_body_can_be_a_file(service: Service) {
        let hook = Hook::deployed(&service, echoing("binary")).await;
        let content = bytes(2_000_000);
        let request = service.post(&format!("/webhooks/{}", hook.webhook)).header("content-type", "application/pdf");
        let answer = request.body(content.clone()).begin().await;
        assert_eq!(answer.headers()["content-type"], "application/pdf");
        assert!(answer.bytes().await.unwrap() == content, "other bytes came back");
    }

    async fn an_input_in_which_no_file_was_chosen_is_null(service: Service) {
        let hook = Hook::saved(&service, echoing("multipart")).await;
        let body = "--XX\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"\"\r\n\
            Content-Type: application/octet-stream\r\n\r\n\r\n\
            --XX\r\nContent-Disposition: form-data; name=\"other\"; filename*=UTF-8''gr%C3%BC%C3%9Fe.txt\r\n\r\nx\r\n--XX--\r\n";
        let request = service.post(&format!("/webhooks/{}", hook.webhook));
        let sent = request.header("content-type", "multipart/form-data; boundary=XX").body(body).send().await;
        assert_eq!(sent.status, 202, "{sent}");
        let event = hook.tapped().await[0]["eventData"].clone();
        assert_eq!((&event["body"]["photo"], &event["body"]["other"]["name"]), (&json!(null), &json!("grüße.txt")));
        let listed = service.get("/api/files").bearer(&hook.user.token).send().await;
        assert_eq!(listed.body["data"].as_array().unwrap().len(), 1);
    }

    async fn what_is_wrong_with_a_form_leaves_nothing(service: Service) {
        let mut drawn = echoing("multipart");
        drawn["nodes"][0]["data"]["parameters"]["maxBytes"] = json!(100_000);
        let hook = Hook::deployed(&service, drawn).await;
        let send = async |kind: &str, body: Vec<u8>| {
            let request = service.post(&format!("/webhooks/{}", hook.webhook)).header("content-type", kind);
            request.body(body).send().await
        };
        let whole = form("XX", b"content");
        send("multipart/form-data", whole.clone()).await.assert_refused(400, "VALIDATION");
        send("multipart/form-data; boundary=YY", whole.clone()).await.assert_refused(400, "VALIDATION");
        let cut = whole[..whole.len() - 9].to_vec();
        send("multipart/form-data; boundary=XX", cut).await.assert_refused(400, "VALIDATION");
        send("multipart/form-data; boundary=XX", form("XX", &bytes(100_000))).await.assert_refused(413, "PAYLOAD_TOO_LARGE");
        let endless = "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n".repeat(1_100).into_bytes();
        send("multipart/form-data; boundary=XX", endless).await.assert_refused(400, "VALIDATION");
        let listed = service.get("/api/files").bearer(&hook.user.token).send().await;
        assert_eq!(listed.body["data"], json!([]));
    }

    async fn files_go_that_came_before_what_is_wrong(service: Service) {
        let hook = Hook::deployed(&service, echoing("multipart")).await;
        let whole = String::from_utf8(form("XX", b"content")).unwrap();
        let (first, _) = whole.split_once("--XX--").unwrap();
        let second = "--XX\r\nContent-Disposition: form-data; name=\"more\"; filename=\"b\"\r\n\r\nmore";
        for wrong in [
            format!("{first}{second}"),
            format!("{first}--XX\r\nContent-Type: text/plain\r\n\r\nnameless\r\n--XX--\r\n"),
        ] {
            let request = service.post(&format!("/webhooks/{}", hook.webhook));
            let request = request.header("content-type", "multipart/form-data; boundary=XX").body(wrong);
            request.send().await.assert_refused(400, "VALIDATION");
            service.has_no_files(&hook.user).await;
        }
    }

    async fn a_secret_is_asked_for_before_the_body(service: Service) {
        let hook = Hook::deployed(&service, graph(
            json!({"scheme": "bearer", "accept": ["binary"], "files": true}), &[returns("{{ $input.body.size }}")],
        )).await;
        let send = async |token: &str| {
            let request = service.post(&format!("/webhooks/{}", hook.webhook)).bearer(token);
            request.header("content-type", "image/png").body(bytes(2_000_000)).send().await
        };
        send("wrong").await.assert_refused(401, "SIGNATURE_INVALID");
        let listed = service.get("/api/files").bearer(&hook.user.token).send().await;
        assert_eq!(listed.body["data"], json!([]));
        assert_eq!(send(&hook.secret).await.status, 202);
    }

    async fn a_signed_body_is_checked_before_its_files_are_kept(service: Service) {
        let hook = Hook::deployed(&service, graph(
            json!({"accept": ["binary"], "files": true}), &[returns("{{ $input.body.size }}")],
        )).await;
        let body = "signed".repeat(100);
        let send = async |signature: &str, body: &str| {
            let request = service.post(&format!("/webhooks/{}", hook.webhook)).header("content-type", "image/png");
            request.header("x-webhook-signature", signature).body(body.to_owned()).send().await
        };
        let signature = crate::webhooks::fixture::sign(&hook.secret, &body);
        send(&signature, "another").await.assert_refused(401, "SIGNATURE_INVALID");
        let listed = service.get("/api/files").bearer(&hook.user.token).send().await;
        assert_eq!(listed.body["data"], json!([]));
        assert_eq!(send(&signature, &body).await.status, 202);
        // So is one that is looked at elsewhere, since it is large.
        let body = "signed".repeat(100_000);
        send(&signature, &body).await.assert_refused(401, "SIGNATURE_INVALID");
        assert_eq!(send(&crate::webhooks::fixture::sign(&hook.secret, &body), &body).await.status, 202);
        // Signed bodies are read into memory first, which has its limit.
        let large = "x".repeat((8 << 20) + 1);
        send(&crate::webhooks::fixture::sign(&hook.secret, &large), &large).await.assert_refused(413, "PAYLOAD_TOO_LARGE");
    }

    async fn rows_of_a_file_are_read_in_the_encoding_of_its_type(service: Service) {
        let convert = json!({"value": "{{ $input.body }}", "delimiter": ";"});
        let drawn = |node: &str, parameters: Value| graph(
            json!({"scheme": "none", "accept": ["binary"], "files": true, "responseMode": "sync", "errorDetails": true}),
            &[json!({"id": "read", "type": node, "data": {"parameters": parameters}}), returns("{{ $input }}")],
        );
        let hook = Hook::deployed(&service, drawn("ConvertFile", convert)).await;
        let send = async |kind: &str, body: &[u8]| {
            let request = service.post(&format!("/webhooks/{}", hook.webhook)).header("content-type", kind);
            request.body(body.to_vec()).send().await
        };
        let latin = b"name;price\nM\xfcller;5 \x80\n";
        let rows = json!([{"name": "Müller", "price": "5 €"}]);
        let reply = send("text/csv; charset=iso-8859-1", latin).await;
        assert_eq!(reply.body["output"], rows, "{reply}");
        let units: Vec<u8> = "\u{feff}name;price\nMüller;5 €\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let reply = send("text/csv", &units).await;
        assert_eq!(reply.body["output"], rows, "{reply}");
        let refused = send("text/csv", latin).await.to_string();
        assert!(refused.contains("PARSE") && refused.contains("not text in UTF-8 (at byte 12)"), "{refused}");
        // What takes text only says who takes a file.
        hook.save(drawn("Csv", json!({"value": "{{ $input.body }}"}))).await;
        hook.deploy().await;
        let refused = send("text/csv", latin).await.to_string();
        assert!(refused.contains("PARAMETER") && refused.contains("The node ConvertFile"), "{refused}");
    }

    async fn what_is_captured_can_be_looked_at(service: Service) {
        let hook = Hook::saved(&service, echoing("binary")).await;
        let request = service.post(&format!("/webhooks/{}", hook.webhook)).header("content-type", "image/png");
        let reply = request.body("captured").send().await;
        assert_eq!((reply.status, &reply.body["status"]), (202, &json!("captured")), "{reply}");
        let tapped = hook.tapped().await;
        let text = serde_json::to_string(&tapped).unwrap();
        let listed = service.get("/api/files").bearer(&hook.user.token).send().await;
        let file = listed.body["data"][0].clone();
        assert!(text.contains(file["$file"].as_str().unwrap()), "{text}");
        assert_eq!(service.content(&hook.user, &file).await, (200, b"captured".to_vec()));
        assert_ne!(file["expiresAt"], Value::Null);
    }
}

/// Whoever may open a form may send this: it must cost little memory, however large files may be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_never_comes_to_a_part_is_refused_before_its_end() {
    let service = Service::start(Database::Sqlite).await;
    let hook = Hook::deployed(&service, echoing("multipart")).await;
    let first = form("XX", b"content");
    let second = [&first[..first.len() - 4], b"\r\nX-More: "].concat();
    let begun = [
        Vec::new(),
        b"--XX".to_vec(),
        b"--XX\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"".to_vec(),
        second,
    ];
    for begun in begun {
        let more = std::iter::repeat_n(vec![b' '; 64 << 10], 16);
        let pieces = std::iter::once(begun.clone())
            .chain(more)
            .map(Ok::<_, Infallible>);
        // The sender says no more, and does not go away either.
        let body = futures_util::stream::iter(pieces).chain(futures_util::stream::pending());
        let request = service
            .post(&format!("/webhooks/{}", hook.webhook))
            .header("content-type", "multipart/form-data; boundary=XX")
            .body(reqwest::Body::wrap_stream(body));
        let reply = request.send().await;
        reply.assert_refused(400, "VALIDATION");
        let told = reply.body["error"]["details"][0]["message"].as_str().unwrap();
        assert!(
            told.contains("more than 64 KiB stand before a part"),
            "{:?}: {told}",
            String::from_utf8_lossy(&begun)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_parameter_files_are_part_of_the_event() {
    let service = Service::start(Database::Sqlite).await;
    let hook = Hook::deployed(
        &service,
        graph(
            json!({"scheme": "none", "accept": ["multipart"], "responseMode": "sync"}),
            &[returns("{{ $input.body.photo }}")],
        ),
    )
    .await;
    let request = service
        .post(&format!("/webhooks/{}", hook.webhook))
        .header("content-type", "multipart/form-data; boundary=XX")
        .body(form("XX", b"abc"));
    let reply = request.send().await;
    let file = json!({"filename": "../p.png", "contentType": "image/png", "size": 3, "base64": "YWJj"});
    assert_eq!(reply.body["output"], file, "{reply}");
}
