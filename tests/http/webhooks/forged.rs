//! Signatures that must not pass, through the interface: for each scheme what is wrong with a request, and what is right.

use super::fixture::{Hook, graph, sign};
use crate::harness::{Request, Service, each_database};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;
use std::time::Duration;

const BODY: &str = r#"{"total": 40}"#;

/// What a request is made of: its headers in order, and its body.
struct Forged {
    what: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
}

fn forged(what: &'static str, headers: &[(&'static str, String)]) -> Forged {
    Forged {
        what,
        headers: headers.to_vec(),
        body: BODY.to_owned(),
    }
}

impl Forged {
    fn with_body(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self
    }

    fn request(&self, hook: &Hook<'_>) -> Request {
        let request = hook.post(&self.body);
        let headers = self.headers.iter();
        headers.fold(request, |request, (name, value)| request.header(name, value))
    }
}

fn base64_of(hex_signature: &str) -> String {
    STANDARD.encode(hex::decode(hex_signature).unwrap())
}

/// Of the service's own scheme.
fn plain(hook: &Hook<'_>) -> Vec<Forged> {
    const HEADER: &str = "x-webhook-signature";
    let right = sign(&hook.secret, BODY);
    let one = |what, value: String| forged(what, &[(HEADER, value)]);
    vec![
        forged("no signature", &[]),
        one("an empty one", String::new()),
        one("a prefix alone", "sha256=".to_owned()),
        one("another case of the prefix", format!("SHA256={right}")),
        one("two prefixes", format!("sha256=sha256={right}")),
        one("another algorithm", format!("sha1={right}")),
        one("a space within", format!("sha256= {right}")),
        one("the beginning of it", right[..32].to_owned()),
        one("all but the last digit", right[..63].to_owned()),
        one("one digit more", format!("{right}0")),
        one("zeros", "0".repeat(64)),
        one("base64", base64_of(&right)),
        one("a list", format!("{right},{right}")),
        one(
            "a wrong one, then the right one",
            format!("{},{right}", "0".repeat(64)),
        ),
        one("quotes", format!("\"{right}\"")),
        one("of an empty secret", sign("", BODY)),
        one("of the secret's bytes", {
            use hmac::{Hmac, Mac};
            let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&hex::decode(&hook.secret).unwrap()).unwrap();
            mac.update(BODY.as_bytes());
            hex::encode(mac.finalize().into_bytes())
        }),
        one("of the address", sign(&hook.webhook, BODY)),
        one("the secret itself", hook.secret.clone()),
        one("of an empty body", sign(&hook.secret, "")),
        one(
            "of the body in another spelling",
            sign(&hook.secret, r#"{"total":40}"#),
        ),
        one(
            "of a body with a line feed",
            sign(&hook.secret, &format!("{BODY}\n")),
        ),
        one("of another body", right.clone()).with_body(r#"{"total": 4000}"#),
        one("of the body without its last byte", right.clone()).with_body(&BODY[..BODY.len() - 1]),
        one("of the body with a space after it", right.clone()).with_body(format!("{BODY} ")),
        forged(
            "two headers, the right one second",
            &[(HEADER, "0".repeat(64)), (HEADER, right.clone())],
        ),
        forged(
            "another scheme's header",
            &[("x-hub-signature-256", format!("sha256={right}"))],
        ),
        forged(
            "a name that begins alike",
            &[("x-webhook-signature-256", right.clone())],
        ),
        forged(
            "Authorization instead",
            &[("authorization", format!("Bearer {}", hook.user.token))],
        ),
    ]
}

/// Of schemes that sign a time.
fn timed(hook: &Hook<'_>, scheme: &str, now: i64) -> Vec<Forged> {
    let seconds = now.to_string();
    match scheme {
        "stripe" => {
            let one = |what, value: String| forged(what, &[("stripe-signature", value)]);
            let right = sign(&hook.secret, &format!("{now}.{BODY}"));
            vec![
                one("no time", format!("v1={right}")),
                one("a time that is not signed", format!("t={},v1={right}", now + 1)),
                one(
                    "two times, the signed one second",
                    format!("t={},t={now},v1={right}", now + 1),
                ),
                one("the old algorithm", format!("t={now},v0={right}")),
                one(
                    "no time in what is signed",
                    format!("t={now},v1={}", sign(&hook.secret, BODY)),
                ),
                one(
                    "seventeen of them, the last one right",
                    format!(
                        "t={now}{},v1={right}",
                        format!(",v1={}", "0".repeat(64)).repeat(16)
                    ),
                ),
                one(
                    "five minutes and a second ago",
                    format!(
                        "t={},v1={}",
                        now - 301,
                        sign(&hook.secret, &format!("{}.{BODY}", now - 301))
                    ),
                ),
                one(
                    "a time that moves a part of the body",
                    format!("t={now}.{{,v1={right}"),
                ),
            ]
        }
        "slack" => {
            let right = sign(&hook.secret, &format!("v0:{now}:{BODY}"));
            let two = |what, signature: String, time: &str| {
                forged(
                    what,
                    &[
                        ("x-slack-signature", signature),
                        ("x-slack-request-timestamp", time.to_owned()),
                    ],
                )
            };
            vec![
                two(
                    "a time that is not signed",
                    format!("v0={right}"),
                    &(now + 1).to_string(),
                ),
                two("another version", format!("v1={right}"), &seconds),
                two("no prefix", right.clone(), &seconds),
                two("a time with a sign", format!("v0={right}"), &format!("+{now}")),
                two(
                    "a time that is none",
                    format!("v0={}", sign(&hook.secret, &format!("v0::{BODY}"))),
                    "",
                ),
                forged("no time", &[("x-slack-signature", format!("v0={right}"))]),
            ]
        }
        _ => {
            let key = STANDARD.decode(hook.secret.trim_start_matches("whsec_")).unwrap();
            let signed = |content: &str| {
                use hmac::{Hmac, Mac};
                let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&key).unwrap();
                mac.update(content.as_bytes());
                mac.finalize().into_bytes()
            };
            let right = signed(&format!("msg_1.{now}.{BODY}"));
            let of = |what, id: &str, time: &str, signature: String| {
                forged(
                    what,
                    &[
                        ("webhook-id", id.to_owned()),
                        ("webhook-timestamp", time.to_owned()),
                        ("webhook-signature", signature),
                    ],
                )
            };
            vec![
                of(
                    "another id",
                    "msg_2",
                    &seconds,
                    format!("v1,{}", STANDARD.encode(right)),
                ),
                of(
                    "an id that moves the time",
                    "msg_1.1",
                    &seconds,
                    format!("v1,{}", STANDARD.encode(signed(&format!("msg_1.1{now}.{BODY}")))),
                ),
                of(
                    "the asymmetric version",
                    "msg_1",
                    &seconds,
                    format!("v1a,{}", STANDARD.encode(right)),
                ),
                of(
                    "another alphabet and no padding",
                    "msg_1",
                    &seconds,
                    format!("v1,{}", URL_SAFE_NO_PAD.encode(right)),
                ),
                of(
                    "of the secret as text",
                    "msg_1",
                    &seconds,
                    format!(
                        "v1,{}",
                        base64_of(&sign(&hook.secret, &format!("msg_1.{now}.{BODY}")))
                    ),
                ),
                forged(
                    "no id",
                    &[
                        ("webhook-timestamp", seconds.clone()),
                        ("webhook-signature", format!("v1,{}", STANDARD.encode(right))),
                    ],
                ),
            ]
        }
    }
}

each_database! {
    async fn forged_signatures_are_refused(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let deployment = hook.deploy().await;
        let cases = plain(&hook);
        for case in &cases {
            let reply = case.request(&hook).send().await;
            assert_eq!((reply.status, reply.code()), (401, "SIGNATURE_INVALID"), "{}: {reply}", case.what);
        }
        // The same body with the right one, in each spelling that is one.
        let right = sign(&hook.secret, BODY);
        for signature in [right.clone(), right.to_uppercase(), format!("sha256={right}"), format!("  {right} ")] {
            let taken = hook.post(BODY).header("x-webhook-signature", &signature).send().await;
            assert_eq!(taken.status, 202, "{signature}: {taken}");
        }
        assert_eq!(hook.runs(&deployment).await.len(), 4);
        // Of another endpoint, and of the secret before this one.
        let other = Hook::saved_by(&service, hook.user.clone(), graph(json!({}), &[])).await;
        let reply = hook.post(BODY).header("x-webhook-signature", &sign(&other.secret, BODY)).send().await;
        assert_eq!(reply.status, 401, "{reply}");
        assert_eq!(cases.len() + 1, 30);
    }

    async fn forged_times_are_refused(service: Service) {
        let mut count = 0;
        for (index, scheme) in ["stripe", "slack", "standard-webhooks"].into_iter().enumerate() {
            let user = service.user(&format!("sender{index}")).await;
            let hook = Hook::saved_by(&service, user, graph(json!({"scheme": scheme}), &[])).await;
            let now = service.app.clock.now().millis() / 1000;
            for case in timed(&hook, scheme, now) {
                let reply = case.request(&hook).send().await;
                assert_eq!((reply.status, reply.code()), (401, "SIGNATURE_INVALID"), "{scheme}: {}: {reply}", case.what);
                count += 1;
            }
            service.app.clock.advance(Duration::from_secs(60));
        }
        assert_eq!(count, 20);
    }
}
