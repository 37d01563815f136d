//! Senders with tokens of an issuer that publishes its keys.

use super::fixture::{Hook, graph};
use crate::harness::{Database, Service};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use heddle_runtime::EgressPolicy;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

#[derive(Clone, Default)]
struct Issuer {
    address: String,
    /// What it publishes; `None`: it fails.
    set: Arc<Mutex<Option<Value>>>,
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    async fn start() -> Issuer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = Issuer {
            address: format!("http://{}", listener.local_addr().unwrap()),
            ..Issuer::default()
        };
        let shared = issuer.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                shared.asked.fetch_add(1, Ordering::SeqCst);
                let set = shared.set.lock().unwrap().clone();
                let status = if set.is_some() { "200 OK" } else { "500 Failed" };
                let body = set.map(|set| set.to_string()).unwrap_or_default();
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
                stream.write_all((head + &body).as_bytes()).await.unwrap();
            }
        });
        issuer
    }

    fn publishes(&self, keys: &[&Key]) {
        let mut keys: Vec<Value> = keys.iter().map(|key| key.published()).collect();
        // Of a kind that nobody here knows.
        keys.push(json!({"kty": "AKP", "alg": "ML-DSA-44", "kid": "3", "pub": "AA"}));
        *self.set.lock().unwrap() = Some(json!({ "keys": keys }));
    }

    fn fails(&self) {
        *self.set.lock().unwrap() = None;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// One of its keys.
pub struct Key {
    /// Empty: neither the key nor its tokens have one.
    id: &'static str,
    pair: Ed25519KeyPair,
}

impl Key {
    pub fn new(id: &'static str, seed: u8) -> Key {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        Key { id, pair }
    }

    pub fn published(&self) -> Value {
        let x = URL_SAFE_NO_PAD.encode(self.pair.public_key());
        self.named(json!({"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "x": x}))
    }

    fn named(&self, mut object: Value) -> Value {
        if !self.id.is_empty() {
            object["kid"] = json!(self.id);
        }
        object
    }

    pub fn token(&self, claims: &Value) -> String {
        let head = self.named(json!({"alg": "EdDSA"}));
        let signed = [&head, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = signed.join(".");
        let signature = URL_SAFE_NO_PAD.encode(self.pair.sign(signed.as_bytes()));
        format!("Bearer {signed}.{signature}")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_read_where_the_issuer_publishes_them() {
    let service = Service::with(Database::Sqlite, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    })
    .await;
    let issuer = Issuer::start().await;
    let jwt = json!({
        "algorithm": "EdDSA", "keysUrl": format!("{}/keys", issuer.address), "issuer": "https://id.example.com",
    });
    let hook = Hook::deployed(&service, graph(json!({"scheme": "jwt", "jwt": jwt}), &[])).await;
    let clock = &service.app.clock;
    let in_a_week = clock.now().millis() / 1000 + 7 * 24 * 60 * 60;
    let claims = json!({"iss": "https://id.example.com", "exp": in_a_week});
    let send = async |token: &str| {
        let sent = hook.post("{}").header("authorization", token).send().await;
        (sent.status, sent.code().to_owned(), issuer.asked())
    };
    let [accepted, refused, unknown] = [(202, ""), (401, "SIGNATURE_INVALID"), (503, "UNAVAILABLE")]
        .map(|(status, code)| move |asked: usize| (status, code.to_owned(), asked));
    let (first, second) = (Key::new("1", 1), Key::new("2", 2));
    let (of_first, of_second) = (first.token(&claims), second.token(&claims));
    let rest = Duration::from_secs(31);

    // For a token that can't be the webhook's, the issuer is asked nothing.
    assert_eq!(send("Bearer x").await, refused(0));
    assert_eq!(send(&of_first).await, unknown(1));
    issuer.publishes(&[&first]);
    let again = hook.post("{}").header("authorization", &of_first).send().await;
    assert_eq!(
        (again.status, issuer.asked()),
        (503, 1),
        "an issuer that fails has its rest: {again}"
    );
    assert_eq!(again.headers["retry-after"], "30");
    // Who the issuer is, and what it answers, is the owner's business.
    assert_eq!(
        again.body["error"]["message"],
        "The sender's token can't be checked right now: send the request again later."
    );
    let logged = hook.logs().await[0]["rejectionReason"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        logged.contains(&issuer.address) && logged.contains("answered 500"),
        "{logged}"
    );
    clock.advance(rest);
    assert_eq!(send(&of_first).await, accepted(2));
    assert_eq!(send(&of_first).await, accepted(2));

    // A key that is new is looked for, but not as often as somebody makes one up. Until then the token may be genuine.
    issuer.publishes(&[&first, &second]);
    assert_eq!(send(&of_second).await, unknown(2));
    let logged = hook.logs().await[0]["rejectionReason"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        logged.contains("the key of the token is not among them"),
        "{logged}"
    );
    clock.advance(rest);
    assert_eq!(send(&of_second).await, accepted(3));
    let forged = Key::new("2", 3).token(&claims);
    assert_eq!(send(&forged).await, refused(3));

    // An issuer that can't be reached stops nobody for a day.
    issuer.fails();
    clock.advance(Duration::from_secs(11 * 60));
    assert_eq!(send(&of_first).await, accepted(4));
    clock.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(send(&of_first).await, unknown(5));

    // A key that is withdrawn counts no more.
    issuer.publishes(&[&second]);
    clock.advance(rest);
    assert_eq!(send(&of_first).await, refused(6));
    assert_eq!(send(&of_second).await, accepted(6));
    assert_eq!(send(&of_first).await, unknown(6));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_that_a_token_names_is_tried_first_and_few_others() {
    let service = Service::with(Database::Sqlite, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    })
    .await;
    let issuer = Issuer::start().await;
    let of = |algorithm: &str| {
        let jwt = json!({"algorithm": algorithm, "keysUrl": format!("{}/keys", issuer.address)});
        graph(json!({"scheme": "jwt", "jwt": jwt}), &[])
    };
    let hook = Hook::deployed(&service, of("EdDSA")).await;
    let bob = service.user("bob").await;
    let by_rsa = Hook::saved_by(&service, bob, of("RS256")).await;
    by_rsa.deploy().await;
    let claims = json!({"exp": service.app.clock.now().millis() / 1000 + 60 * 60});
    let nameless: Vec<Key> = (0..40).map(|seed| Key::new("", seed)).collect();
    let named = Key::new("mine", 99);
    let mut keys: Vec<Value> = nameless.iter().map(Key::published).collect();
    keys.push(named.published());
    keys.push(json!({"kty": "RSA", "kid": "large", "n": "u".repeat(1_366), "e": "AQAB"}));
    *issuer.set.lock().unwrap() = Some(json!({ "keys": keys }));

    let refused = async |hook: &Hook<'_>, token: &str| {
        let sent = hook.post("{}").header("authorization", token).send().await;
        assert_eq!(sent.status, 401, "{sent}");
        sent.body["error"]["message"].as_str().unwrap().to_owned()
    };
    let sent = hook
        .post("{}")
        .header("authorization", &named.token(&claims))
        .send()
        .await;
    assert_eq!(sent.status, 202, "{sent}");
    service.app.clock.advance(Duration::from_secs(31));
    let told = refused(&hook, &nameless[39].token(&claims)).await;
    assert!(told.contains("more than 4 keys"), "{told}");
    let signed = [json!({"alg": "RS256", "kid": "large"}), claims]
        .map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let token = format!(
        "Bearer {}.{}",
        signed.join("."),
        URL_SAFE_NO_PAD.encode([7_u8; 1_024])
    );
    let told = refused(&by_rsa, &token).await;
    assert!(told.contains("more than 4,096 bits"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_keys_without_ids_are_found_by_what_they_have_signed() {
    let service = Service::with(Database::Sqlite, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    })
    .await;
    let issuer = Issuer::start().await;
    let jwt = json!({"algorithm": "EdDSA", "keysUrl": format!("{}/keys", issuer.address)});
    let hook = Hook::deployed(&service, graph(json!({"scheme": "jwt", "jwt": jwt}), &[])).await;
    let clock = &service.app.clock;
    let claims = json!({"exp": clock.now().millis() / 1000 + 60 * 60});
    let send = async |key: &Key| {
        let token = key.token(&claims);
        let sent = hook.post("{}").header("authorization", &token).send().await;
        (sent.status, issuer.asked())
    };
    let rest = Duration::from_secs(31);
    let [old, new] = [1, 2].map(|seed| Key::new("", seed));
    // What it signs names a key, and the keys have no ids.
    let named = Key::new("1", 2);

    issuer.publishes(&[&old]);
    assert_eq!(send(&old).await, (202, 1));
    clock.advance(rest);
    assert_eq!(send(&old).await, (202, 1), "what is known is not asked for");
    issuer.publishes(&[&new]);
    assert_eq!(send(&new).await, (202, 2), "no key that was known has signed it");
    assert_eq!(send(&named).await, (202, 2));
    assert_eq!(send(&old).await, (503, 2), "the issuer has its rest");
    clock.advance(rest);
    assert_eq!(send(&old).await, (401, 3));
    assert_eq!(send(&new).await, (202, 3));
    issuer.publishes(&[&old]);
    assert_eq!(send(&named).await, (202, 3));
    clock.advance(rest);
    assert_eq!(send(&named).await, (202, 3));
    assert_eq!(send(&old).await, (202, 4));
    assert_eq!(send(&named).await, (503, 4));
}
