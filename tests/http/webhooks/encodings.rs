//! Bodies that their senders have compressed.

use super::fixture::{Hook, graph, returns};
use crate::harness::{Reply, Service, each_database};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::io::Write;

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn deflate(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn signed(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

/// A signed body as it is on its way.
async fn send(hook: &Hook<'_>, (content_type, encoding): (&str, &str), body: Vec<u8>) -> Reply {
    let signature = signed(&hook.secret, &body);
    let request = hook.service.post(&format!("/webhooks/{}", hook.webhook));
    let request = request
        .header("content-type", content_type)
        .header("content-encoding", encoding);
    request
        .header("x-webhook-signature", &signature)
        .body(body)
        .send()
        .await
}

async fn body_of(hook: &Hook<'_>, sent: &Reply) -> Value {
    assert_eq!(sent.status, 202, "{sent}");
    hook.tapped().await[0]["eventData"]["body"].clone()
}

const JSON: &str = "application/json";
const FORM: &[u8] = b"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--b--\r\n";

each_database! {
    async fn signatures_are_over_what_was_sent_and_events_have_what_was_meant(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        for (encoding, body) in [("gzip", gzip(b"{\"n\": 1}")), ("X-Gzip", gzip(b"{\"n\": 1}")), ("deflate", deflate(b"{\"n\": 1}")),
            ("identity", b"{\"n\": 1}".to_vec()), ("utf-8", b"{\"n\": 1}".to_vec())] {
            let sent = send(&hook, (JSON, encoding), body).await;
            assert_eq!(body_of(&hook, &sent).await, json!({"n": 1}), "{encoding}");
        }
        let packed = gzip(b"{\"n\": 1}");
        let request = hook.service.post(&format!("/webhooks/{}", hook.webhook)).header("content-type", JSON);
        let unpacked_signed = request.header("content-encoding", "gzip").header("x-webhook-signature", &signed(&hook.secret, b"{\"n\": 1}"));
        let refused = unpacked_signed.body(packed).send().await;
        assert_eq!((refused.status, refused.code()), (401, "SIGNATURE_INVALID"), "{refused}");
    }

    async fn limits_hold_for_what_comes_of_a_body(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2)).into_bytes();
        assert_eq!(send(&hook, (JSON, "gzip"), gzip(&text(8 << 20))).await.status, 202);
        for body in [gzip(&text((8 << 20) + 1)), gzip(&text(20_000_000))] {
            let refused = send(&hook, (JSON, "gzip"), body).await;
            assert_eq!((refused.status, refused.code()), (413, "PAYLOAD_TOO_LARGE"), "{refused}");
        }
        assert_eq!(hook.logs().await[0]["rejectionReason"], "The body is larger than 8388608 bytes once it is decompressed.");
    }

    async fn what_is_not_compressed_as_it_says_is_refused(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let whole = gzip(b"{\"n\": 1}");
        for body in [b"{\"n\": 1}".to_vec(), whole[..whole.len() - 1].to_vec(), [&whole[..], b"{}"].concat()] {
            let refused = send(&hook, (JSON, "gzip"), body).await;
            assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{refused}");
            let told = refused.body["error"]["details"][0]["message"].as_str().unwrap();
            assert!(told.starts_with("the body is not what `Content-Encoding` says"), "{told}");
        }
        for encoding in ["br", "gzip, gzip", "compress"] {
            let refused = send(&hook, (JSON, encoding), whole.clone()).await;
            assert_eq!((refused.status, refused.code()), (415, "UNSUPPORTED_MEDIA_TYPE"), "{refused}");
            assert!(refused.text.contains("send gzip or deflate"), "{refused}");
        }
        assert_eq!(hook.tapped().await.len(), 0);
    }

    async fn all_kinds_of_bodies_may_be_compressed(service: Service) {
        let parameters = json!({"accept": ["form", "multipart", "text", "binary"], "rawBody": true});
        let hook = Hook::saved(&service, graph(parameters, &[])).await;
        let file = |name: Option<&str>, kind: &str, base64: &str, size: u64| json!({"filename": name, "contentType": kind, "size": size, "base64": base64});
        for (content_type, body, expected) in [
            ("application/x-www-form-urlencoded", &b"a=%31"[..], json!({"a": "1"})),
            ("multipart/form-data; boundary=b", FORM, json!({"f": file(Some("a.txt"), "text/plain", "aGVsbG8=", 5)})),
            ("text/plain", b"hello", json!("hello")),
            ("image/png", b"\x00\xff", file(None, "image/png", "AP8=", 2)),
        ] {
            let sent = send(&hook, (content_type, "gzip"), gzip(body)).await;
            assert_eq!(body_of(&hook, &sent).await, expected, "{content_type}");
        }
    }

    async fn files_are_stored_as_they_were_before_they_were_compressed(service: Service) {
        let user = service.user("ann").await;
        // By a signature they are read into memory first, and while they arrive without one.
        for scheme in ["heddle", "none"] {
            let parameters = json!({"scheme": scheme, "accept": ["multipart", "binary"], "files": true, "maxBytes": 100_000});
            let hook = Hook::saved_by(&service, user.clone(), graph(parameters, &[returns("{{ $input.body }}")])).await;
            let sent = send(&hook, ("multipart/form-data; boundary=b", "gzip"), gzip(FORM)).await;
            let stored = body_of(&hook, &sent).await["f"].clone();
            assert_eq!((&stored["name"], &stored["size"]), (&json!("a.txt"), &json!(5)), "{scheme}");
            let sent = send(&hook, ("text/csv", "deflate"), deflate(&[b'x'; 100_000])).await;
            assert_eq!(body_of(&hook, &sent).await["size"], 100_000, "{scheme}");
            let refused = send(&hook, ("text/csv", "gzip"), gzip(&[b'x'; 100_001])).await;
            assert_eq!((refused.status, refused.code()), (413, "PAYLOAD_TOO_LARGE"), "{scheme}: {refused}");
            let whole = gzip(FORM);
            let cut = whole[..whole.len() - 1].to_vec();
            for (content_type, body) in [("multipart/form-data; boundary=b", b"--b".to_vec()), ("text/csv", cut)] {
                let refused = send(&hook, (content_type, "gzip"), body).await;
                assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{scheme}: {refused}");
                assert!(refused.text.contains("is not what `Content-Encoding` says"), "{refused}");
            }
        }
    }
}
