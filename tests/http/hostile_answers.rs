//! Strangers whom the service asks outside of runs, and who mean harm: issuers that publish keys, and lists that OnPoll asks for.
//! Senders are let in, refused or told to come again; polls fail; and both go on with the next honest answer, as all others do
//! meanwhile. And names that they give to files.

use crate::harness::{Database, Reply, Service, chain};
use crate::polls::{self, tick};
use crate::spoiler::{Spoiler, cases};
use crate::webhooks::fixture::{Hook, graph};
use crate::webhooks::issuers::Key;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// After that no former key set counts, and nobody rests.
const LATER: Duration = Duration::from_secs(25 * 60 * 60);
/// Of what somebody says for ever, as much as is on its way between two sockets, with what an answer may have.
const TAKEN_BYTES_MAX: usize = 48 << 20;
/// Those who say something for ever stop after so much.
const ENDLESS_BYTES: usize = 1 << 30;
/// Characters of what an owner is told of a failure.
const TOLD_CHARS_MAX: usize = 1_000;

/// Somebody who says what a test wants, to whoever asks.
#[derive(Clone, Default)]
struct Stranger {
    url: String,
    /// Once, and for ever after that unless it is empty.
    says: Arc<Mutex<(Vec<u8>, &'static [u8])>>,
    asked: Arc<AtomicUsize>,
    /// Bytes that somebody has taken of what is said for ever.
    taken: Arc<AtomicUsize>,
}

impl Stranger {
    async fn start() -> Stranger {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stranger = Stranger {
            url: format!("http://{}", listener.local_addr().unwrap()),
            ..Stranger::default()
        };
        let shared = stranger.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                shared.asked.fetch_add(1, Ordering::SeqCst);
                let (once, for_ever) = shared.says.lock().unwrap().clone();
                let taken = shared.taken.clone();
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        head.push(byte);
                    }
                    let _ = stream.write_all(&once).await;
                    let many = for_ever.repeat((64 << 10) / for_ever.len().max(1));
                    let mut written = 0;
                    while !many.is_empty() && written < ENDLESS_BYTES && stream.write_all(&many).await.is_ok()
                    {
                        written += many.len();
                        taken.fetch_add(many.len(), Ordering::SeqCst);
                    }
                });
            }
        });
        stranger
    }

    fn says(&self, once: impl Into<Vec<u8>>, for_ever: &'static str) {
        *self.says.lock().unwrap() = (once.into(), for_ever.as_bytes());
        self.taken.store(0, Ordering::SeqCst);
    }

    fn assert_left(&self, case: &str) {
        let taken = self.taken.load(Ordering::SeqCst);
        assert!(taken <= TAKEN_BYTES_MAX, "{case}: {taken} bytes were taken");
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn answer(headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// So many zeros, compressed.
fn bomb() -> Vec<u8> {
    let (zeros, mut packed) = (
        vec![b'0'; 1 << 20],
        GzEncoder::new(Vec::new(), Compression::fast()),
    );
    (0..64).for_each(|_| packed.write_all(&zeros).unwrap());
    packed.finish().unwrap()
}

/// What never ends, or claims to be what it is not, whatever is asked for.
fn endless() -> Vec<(Vec<u8>, &'static str)> {
    let ok = |headers: &str| format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n").into_bytes();
    vec![
        (answer("content-encoding: gzip\r\n", bomb()), ""),
        (ok("x: y"), "["),
        (ok("x: y"), "{\"keys\":[{}],"),
        (ok("content-length: 18446744073709551615"), "x"),
        (ok("content-length: 4611686018427387904"), " "),
        (ok("content-length: 9"), ""),
        (ok("transfer-encoding: chunked"), "5\r\n[[[[[\r\n"),
        (ok("transfer-encoding: chunked"), "f"),
        (b"HTTP/1.1 200 OK\r\na: ".to_vec(), "b"),
        (b"HTTP/1.1 200 OK\r\n".to_vec(), "a: b\r\n"),
        (Vec::new(), ""),
    ]
}

/// A webhook whose senders have tokens of this issuer.
fn by_tokens(issuer: &Stranger, algorithm: &str) -> Value {
    let jwt = json!({"algorithm": algorithm, "keysUrl": format!("{}/keys", issuer.url)});
    graph(json!({"scheme": "jwt", "jwt": jwt}), &[])
}

/// Somebody else's webhook.
async fn of_others(service: &Service) -> Hook<'_> {
    let bob = service.user("bob").await;
    let other = Hook::saved_by(service, bob, graph(json!({}), &[])).await;
    other.deploy().await;
    other
}

async fn assert_taken(other: &Hook<'_>) {
    let sent = other.signed("{}").send().await;
    assert_eq!(sent.status, 202, "{sent}");
}

/// Claims that are good for an hour.
fn claims(service: &Service) -> Value {
    json!({"exp": service.app.clock.now().millis() / 1_000 + 60 * 60})
}

async fn sent(hook: &Hook<'_>, token: &str) -> Reply {
    hook.post("{}").header("authorization", token).send().await
}

/// A sender may be refused, or told to come again, but is not told of whom the service has asked what.
fn assert_not_in(sent: &Reply, case: &str) {
    let is_known = matches!(
        (sent.status, sent.code()),
        (401, "SIGNATURE_INVALID") | (503, "UNAVAILABLE")
    );
    assert!(is_known, "{case}: {sent}");
    assert!(!sent.text.contains("127.0.0.1"), "{case}: {sent}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generated_key_sets_end_well() {
    let service = polls::open(Database::Sqlite).await;
    let (issuer, key) = (Stranger::start().await, Key::new("1", 1));
    let hook = Hook::deployed(&service, by_tokens(&issuer, "EdDSA")).await;
    let other = of_others(&service).await;
    let rsa =
        json!({"kty": "RSA", "kid": "2", "use": "sig", "alg": "RS256", "n": "u".repeat(342), "e": "AQAB"});
    let point = "u".repeat(43);
    let ec = json!({"kty": "EC", "kid": "3", "crv": "P-256", "x": point, "y": point, "x5c": ["AA=="]});
    let set = json!({"keys": [rsa, key.published(), ec]}).to_string();
    let honest = answer("content-type: application/json\r\n", &set);
    let mut spoilt = 0;
    let count = cases(80);
    for seed in 0..count {
        let mut spoiler = Spoiler::new(seed, 1);
        issuer.says(spoiler.spoil(honest.clone()), "");
        service.app.clock.advance(LATER);
        let got = sent(&hook, &key.token(&claims(&service))).await;
        // What is spoilt may be another key's.
        if got.status != 202 {
            assert_not_in(&got, &format!("seed {seed}"));
        }
        if seed % 16 == 0 {
            assert_taken(&other).await;
        }
        spoilt += u64::from(spoiler.has_spoilt());
    }
    assert!(spoilt * 10 >= count * 8, "{spoilt} of {count} are spoilt");
    issuer.says(honest, "");
    service.app.clock.advance(LATER);
    let got = sent(&hook, &key.token(&claims(&service))).await;
    assert_eq!(got.status, 202, "{got}");
}

/// Key sets that are none, or have no key that anything could be signed with.
fn strange_sets() -> Vec<Vec<u8>> {
    let of = |fields: Value| {
        let keys = [&fields, &json!(null), &fields];
        json!({ "keys": keys }).to_string().into_bytes()
    };
    let rsa = |n: &str, e: &str| of(json!({"kty": "RSA", "n": n, "e": e}));
    let ec = |x: &str, y: &str| of(json!({"kty": "EC", "crv": "P-256", "x": x, "y": y}));
    let ed = |x: &str| of(json!({"kty": "OKP", "crv": "Ed25519", "x": x}));
    let long = "A".repeat(100_000);
    let key = json!({"kty": "OKP", "crv": "Ed25519", "x": "A".repeat(43)}).to_string();
    let many = |count: usize| format!("{{\"keys\":[{}{key}]}}", format!("{key},").repeat(count)).into_bytes();
    let nested = |open: &str| format!("{{\"keys\":{}", open.repeat(100_000)).into_bytes();
    let mut sets = vec![
        many(2_000),
        many(10_000),
        nested("["),
        nested("{\"a\":"),
        format!("{{\"keys\":[{}{}]}}", "[".repeat(100_000), "]".repeat(100_000)).into_bytes(),
        rsa(&long, "AQAB"),
        rsa("", ""),
        rsa(&"_".repeat(342), &long),
        rsa("!!", "AQAB"),
        rsa(&"_".repeat(342), "AA"),
        ec("", ""),
        ec(&"_".repeat(43), &"_".repeat(43)),
        ec(&long, "A"),
        ed(""),
        ed(&long),
        ed("\u{1f511}"),
        of(json!({"kty": "oct", "k": "c2VjcmV0"})),
        of(json!({"kty": "RSA", "n": 5, "e": [], "kid": {}})),
        of(json!({"kty": "EC", "crv": "P-999", "x": "AA", "y": "AA"})),
        of(json!({"kty": [], "use": "sig"})),
        of(
            json!({"kty": "OKP", "crv": "Ed25519", "x": "A".repeat(43), "alg": "none", "kid": long, "key_ops": [1]}),
        ),
        b"{\"keys\":[{\"kty\":\"OKP\",\"kty\":\"RSA\",\"n\":\"\xff\"}]}".to_vec(),
        "\u{feff}{\"keys\":[]}".as_bytes().to_vec(),
    ];
    let texts = [
        "",
        "\0",
        "[]",
        "null",
        "1e999",
        "\"\\ud800\"",
        "{\"keys\":{}}",
        "{\"keys\":[],\"keys\":[5]}",
    ];
    sets.extend(texts.iter().map(|text| text.as_bytes().to_vec()));
    sets
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strange_key_sets_let_nobody_in() {
    let service = polls::open(Database::Sqlite).await;
    let (issuer, elsewhere) = (Stranger::start().await, Stranger::start().await);
    let mut hooks = Vec::new();
    for algorithm in ["EdDSA", "RS256", "ES256"] {
        let user = service.user(&algorithm.to_ascii_lowercase()).await;
        let hook = Hook::saved_by(&service, user, by_tokens(&issuer, algorithm)).await;
        hook.deploy().await;
        hooks.push((algorithm, hook));
    }
    let other = of_others(&service).await;
    let sets = strange_sets().into_iter().map(|set| (answer("", set), ""));
    let moved = format!(
        "HTTP/1.1 302 Found\r\nlocation: {}/keys\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
        elsewhere.url
    );
    let all = sets.chain(endless()).chain([(moved.into_bytes(), "")]);
    for (number, (once, for_ever)) in all.enumerate() {
        issuer.says(once, for_ever);
        service.app.clock.advance(LATER);
        for (algorithm, hook) in &hooks {
            // Names no key, so that each may have signed it.
            let signed = [json!({"alg": algorithm}), claims(&service)];
            let signed = signed.map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
            let signature = URL_SAFE_NO_PAD.encode([7_u8; 64]);
            let token = format!("Bearer {}.{signature}", signed.join("."));
            let case = format!("set {number}, {algorithm}");
            assert_not_in(&sent(hook, &token).await, &case);
            issuer.assert_left(&case);
        }
        if number % 16 == 0 {
            assert_taken(&other).await;
        }
    }
    assert_eq!(elsewhere.asked(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_issuer_that_says_nothing_keeps_its_own_senders_waiting_only() {
    let service = polls::open(Database::Sqlite).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer = Stranger {
        url: format!("http://{}", listener.local_addr().unwrap()),
        ..Stranger::default()
    };
    let hook = Hook::deployed(&service, by_tokens(&issuer, "EdDSA")).await;
    let other = of_others(&service).await;
    let token = Key::new("1", 1).token(&claims(&service));
    let waits = sent(&hook, &token);
    let meanwhile = async {
        let (stream, _) = listener.accept().await.unwrap();
        for _ in 0..5 {
            assert_taken(&other).await;
        }
        drop((stream, listener));
    };
    let (got, ()) = tokio::join!(waits, meanwhile);
    assert_not_in(&got, "silence");
}

/// An answer with orders of these ids.
fn orders(ids: [u64; 2]) -> Vec<u8> {
    let orders = ids.map(|id| json!({"id": id, "total": 1}));
    let list = json!({"data": {"orders": orders}, "next": "c1"});
    answer("content-type: application/json\r\n", list.to_string())
}

/// Lists that are asked for, by the user who has them.
struct Polled<'s> {
    hook: Hook<'s>,
    deployment: String,
    /// When it is due.
    time: String,
}

impl<'s> Polled<'s> {
    async fn of(service: &'s Service, source: &Stranger, more: Value) -> Polled<'s> {
        let mut parameters = json!({
            "url": format!("{}/orders", source.url), "items": "data.orders", "startFrom": "beginning",
            "cron": "*/20 * * * * *",
        });
        let more = more.as_object().unwrap().clone();
        parameters.as_object_mut().unwrap().extend(more);
        let node = json!({"id": "list", "type": "OnPoll", "data": {"parameters": parameters}});
        let hook = Hook::saved(service, json!({"nodes": [node], "edges": []})).await;
        let deployment = hook.deploy().await;
        Polled {
            hook,
            deployment,
            time: "2026-11-21T09:00:01Z".to_owned(),
        }
    }

    /// Asks once: how that went.
    async fn ask(&mut self) -> Value {
        let told = tick(&self.hook, &self.deployment, &self.time).await;
        told["nextTimes"][0].as_str().unwrap().clone_into(&mut self.time);
        told["poll"].clone()
    }

    /// After whatever has been answered before, new orders start runs.
    async fn assert_goes_on(&mut self, source: &Stranger, number: u64, case: &str) {
        let before = self.runs().await;
        let id = 1_000_000 + 2 * number;
        source.says(orders([id, id + 1]), "");
        let told = self.ask().await;
        assert_eq!(
            (&told["failures"], &told["lastError"]),
            (&json!(0), &json!(null)),
            "{case}: {told}"
        );
        assert_eq!(self.runs().await, before + 2, "{case}");
    }

    async fn runs(&self) -> u64 {
        let path = format!("/api/deployments/{}/runs?limit=1", self.deployment);
        let listed = self.hook.get(&path).await;
        listed.body["meta"]["total"].as_u64().unwrap()
    }
}

/// A failure has a code of those that polls have, and a message that quotes nothing at length.
fn assert_failed(told: &Value, case: &str) {
    let code = told["lastError"]["code"].as_str().unwrap();
    let is_status = code
        .strip_prefix("HTTP_")
        .is_some_and(|status| status.parse::<u16>().is_ok());
    assert!(
        is_status || ["PARSE", "HTTP_FAILED", "TIMEOUT"].contains(&code),
        "{case}: {told}"
    );
    let message = told["lastError"]["message"].as_str().unwrap();
    assert!(message.chars().count() <= TOLD_CHARS_MAX, "{case}: {told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generated_answers_to_polls_end_well() {
    let service = polls::open(Database::Sqlite).await;
    let source = Stranger::start().await;
    let more = json!({"id": "id", "cursor": "next", "cursorParameter": "since"});
    let mut polled = Polled::of(&service, &source, more).await;
    let other = of_others(&service).await;
    polled.assert_goes_on(&source, 0, "first").await;
    let mut spoilt = 0;
    let count = cases(30);
    for seed in 0..count {
        let case = format!("seed {seed}");
        let mut spoiler = Spoiler::new(seed, 1);
        source.says(spoiler.spoil(orders([2 * seed, 2 * seed + 1])), "");
        let told = polled.ask().await;
        if told["failures"] != json!(0) {
            assert_failed(&told, &case);
        }
        polled.assert_goes_on(&source, seed + 1, &case).await;
        if seed % 16 == 0 {
            assert_taken(&other).await;
        }
        spoilt += u64::from(spoiler.has_spoilt());
    }
    assert!(spoilt * 10 >= count * 8, "{spoilt} of {count} are spoilt");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strange_answers_to_polls_end_well() {
    let service = polls::open(Database::Sqlite).await;
    let source = Stranger::start().await;
    let mut polled = Polled::of(
        &service,
        &source,
        json!({"cursor": "next", "cursorParameter": "after"}),
    )
    .await;
    let list = |list: String| answer("", format!("{{\"data\":{{\"orders\":{list}}}}}"));
    let lists = [
        list(format!("[{}1]", "1,".repeat(3_000))),
        list(format!("[{}1{}]", "[".repeat(100_000), "]".repeat(100_000))),
        list("[".repeat(100_000)),
        list("{\"a\":".repeat(100_000)),
        list("\"not a list\"".to_owned()),
        list("[\"\\ud800\"]".to_owned()),
        list("[1e999]".to_owned()),
        answer("", "\0"),
        answer("", [0xff, 0xfe, b'[', b']']),
    ];
    let all = lists.into_iter().map(|list| (list, "")).chain(endless());
    for (number, (once, for_ever)) in all.enumerate() {
        let case = format!("answer {number}");
        source.says(once, for_ever);
        let told = polled.ask().await;
        assert_eq!(told["failures"], 1, "{case}: {told}");
        assert_failed(&told, &case);
        source.assert_left(&case);
        let number = u64::try_from(number).unwrap();
        polled.assert_goes_on(&source, number, &case).await;
    }
}

/// What they are kept as, and what browsers are told of them, is the service's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_of_strangers_files_are_names_only() {
    let service = polls::open(Database::Sqlite).await;
    let (ann, source) = (service.user("ann").await, Stranger::start().await);
    let get = json!({"url": format!("{}/x", source.url), "responseType": "file", "bodyOnly": true});
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        ("get", "HttpRequest", get),
        ("end", "Return", json!({})),
    ]);
    let deployment = service.deployed(&ann, &graph).await;
    let long = format!("filename=\"{}\"", "\u{1f4a3}".repeat(10_000));
    for name in [
        "filename=../../../../etc/passwd",
        "filename=..",
        "filename=\"C:\\\\Windows\\\\a.exe\"",
        "filename*=UTF-8''..%2f..%00%0d%0aset-cookie:%20a=b",
        "filename*=UTF-8''%ff%fe%22;%20filename=b",
        "filename=\"a\u{202e}gpj.exe\"",
        "filename=\"\\\"><script>\"",
        "filename=\"",
        long.as_str(),
    ] {
        let headers =
            format!("content-disposition: inline; {name}\r\ncontent-type: text/html; charset=x; {name}\r\n");
        source.says(answer(&headers, "ok"), "");
        let ended = service.execute(&ann, &deployment, "?wait=true", &json!({})).await;
        let file = &ended.data(200)["output"];
        let shown: String = name.chars().take(50).collect();
        let kept = file["name"].as_str().unwrap();
        let is_clean = !kept.contains(['/', '\\', '\0', '\r', '\n', '\u{202e}']) && !kept.starts_with('.');
        assert!(is_clean && (1..=255).contains(&kept.len()), "{shown}: {kept}");
        let path = format!("/api/files/{}", file["$file"].as_str().unwrap());
        let got = service.get(&path).bearer(&ann.token).send().await;
        assert_eq!((got.status, got.text.as_str()), (200, "ok"), "{shown}");
        let offered = got.headers["content-disposition"].to_str().unwrap();
        assert!(offered.starts_with("attachment"), "{shown}: {offered}");
        assert!(!got.headers.contains_key("set-cookie"), "{shown}");
    }
}
