//! HTTP requests of a run, against real servers on this machine.

use crate::harness::{START, code, load, manifest, module, open_runtime, request, runtime, runtime_with};
use crate::port;
use crate::server::{Server, ok, redirect, response};
use heddle_contract::abi::secret_reference;
use heddle_runtime::{
    EgressPolicy, Limits, Outcome, Program, RunRequest, Runtime, RuntimeConfig, Secret, Tier,
};
use serde_json::{Value, json};
use std::time::Duration;

const HTTP: u32 = 8;
/// As `HTTP`, with the run's nonce in place of every 32 `@`.
const WITH_SECRET: u32 = 19;
const HMAC: u32 = 20;
const SECRET_REFERENCE: &str = "heddle-secret(KEY;@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@)";
const SECRET: &str = "hush \"quiet\" & still";

/// The effect's result for this request, on a runtime that may reach this machine.
async fn perform(http: Value) -> Value {
    let runtime = open_runtime();
    perform_on(&runtime, &load(&runtime, START), request(HTTP, &http)).await
}

async fn perform_on(runtime: &Runtime, program: &Program, request: RunRequest) -> Value {
    result(&runtime.run(program, request).await)
}

fn result(outcome: &Outcome) -> Value {
    let output = outcome.output.as_ref().unwrap_or_else(|| panic!("{outcome:?}"));
    serde_json::from_str(output.get()).unwrap()
}

fn get(url: &str) -> Value {
    json!({"method": "GET", "url": url, "headers": [], "followRedirects": true})
}

fn error_code(result: &Value) -> &str {
    result["error"]["code"]
        .as_str()
        .unwrap_or_else(|| panic!("{result}"))
}

#[tokio::test]
async fn a_request_and_its_answer() {
    let server = Server::start(|_| {
        response(
            "201 Created",
            "content-type: application/json\r\nSet-Cookie: a=1\r\nset-cookie: b=2",
            b"{\"a\":1}",
        )
    })
    .await;
    let result = perform(json!({
        "method": "post", "url": server.url("/things?x=1"), "headers": [["X-Own", "1"], ["Content-Length", "999"]],
        "body": {"text": "hello"}, "auth": {"basic": {"user": "ann", "password": "pw"}}, "followRedirects": true,
    }))
    .await;
    assert_eq!(result["ok"]["status"], 201);
    assert_eq!(result["ok"]["text"], "{\"a\":1}");
    assert_eq!(result["ok"]["headers"]["set-cookie"], json!(["a=1", "b=2"]));
    let sent = server.requests().remove(0).to_lowercase();
    assert!(
        sent.starts_with("post /things?x=1 http/1.1\r\n") && sent.ends_with("\r\n\r\nhello"),
        "{sent}"
    );
    for line in [
        "x-own: 1\r\n",
        "authorization: basic yw5uonb3\r\n",
        "idempotency-key: run-1/sleep\r\n",
        "content-length: 5\r\n",
    ] {
        assert!(sent.contains(line), "{line} in {sent}");
    }
}

#[tokio::test]
async fn an_idempotency_key_of_the_user_is_kept() {
    let server = Server::start(|_| ok("")).await;
    let mut http = get(&server.url("/"));
    http["headers"] = json!([["idempotency-key", "mine"]]);
    http["idempotencyKey"] = json!("guest");
    perform(http.clone()).await;
    http["headers"] = json!([]);
    perform(http).await;
    let sent = server.requests();
    assert!(sent[0].contains("idempotency-key: mine\r\n") && sent[1].contains("idempotency-key: guest\r\n"));
}

#[tokio::test]
async fn a_body_that_is_no_text_comes_as_base64() {
    let server = Server::start(|_| response("200 OK", "x: y", &[0xff, 0xfe])).await;
    let result = perform(get(&server.url("/"))).await;
    assert_eq!(result["ok"]["base64"], "//4=");
}

#[tokio::test]
async fn private_addresses_are_refused_in_every_spelling() {
    let server = Server::start(|_| ok("never")).await;
    let runtime = runtime();
    let program = load(&runtime, START);
    let port = server.address.port();
    for host in [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0",
    ] {
        let result = perform_on(
            &runtime,
            &program,
            request(HTTP, &get(&format!("http://{host}:{port}/"))),
        )
        .await;
        assert_eq!(error_code(&result), "EGRESS_DENIED", "{host}: {result}");
    }
    for url in ["file:///etc/passwd", "ftp://example.com/", "gopher://127.0.0.1/"] {
        let result = perform_on(&runtime, &program, request(HTTP, &get(url))).await;
        assert_eq!(error_code(&result), "EGRESS_DENIED", "{url}: {result}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn an_allowed_host_and_port_opens_no_other() {
    let (open, closed) = (
        Server::start(|_| ok("open")).await,
        Server::start(|_| ok("closed")).await,
    );
    let allowed = format!("localhost:{}", open.address.port());
    let egress = EgressPolicy::parse([allowed.as_str()]).unwrap();
    let runtime = runtime_with(RuntimeConfig {
        egress,
        ..crate::harness::config()
    });
    let program = load(&runtime, START);
    let answer = perform_on(
        &runtime,
        &program,
        request(HTTP, &get(&format!("http://{allowed}/"))),
    )
    .await;
    assert_eq!(answer["ok"]["text"], "open", "{answer}");
    for url in [
        open.url("/"),
        format!("http://localhost:{}/", closed.address.port()),
    ] {
        let result = perform_on(&runtime, &program, request(HTTP, &get(&url))).await;
        assert_eq!(error_code(&result), "EGRESS_DENIED", "{url}");
    }
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused() {
    let inside = Server::start(|_| ok("inside")).await;
    let target = inside.url("/");
    let outside = Server::start(move |_| redirect("302 Found", &target)).await;
    let egress = EgressPolicy::parse([outside.address.to_string().as_str()]).unwrap();
    let runtime = runtime_with(RuntimeConfig {
        egress,
        ..crate::harness::config()
    });
    let program = load(&runtime, START);
    let result = perform_on(&runtime, &program, request(HTTP, &get(&outside.url("/")))).await;
    assert_eq!(error_code(&result), "EGRESS_DENIED");
    assert_eq!((outside.requests().len(), inside.requests().len()), (1, 0));
}

#[tokio::test]
async fn redirects_are_followed_as_browsers_do_and_only_so_far() {
    let server = Server::start(|request| match request {
        _ if request.starts_with("POST /a ") => redirect("302 Found", "/b"),
        _ if request.starts_with("PUT /c ") => redirect("307 Temporary Redirect", "/d"),
        _ if request.contains(" /loop ") => redirect("302 Found", "/loop"),
        _ => ok(request),
    })
    .await;
    let send = |method: &str, path: &str| json!({"method": method, "url": server.url(path), "headers": [], "body": {"text": "x"}, "followRedirects": true});
    let result = perform(send("POST", "/a")).await;
    assert!(
        result["ok"]["text"].as_str().unwrap().starts_with("GET /b "),
        "{result}"
    );
    let result = perform(send("PUT", "/c")).await;
    let text = result["ok"]["text"].as_str().unwrap();
    assert!(text.starts_with("PUT /d ") && text.ends_with("\r\n\r\nx"));
    assert_eq!(error_code(&perform(send("GET", "/loop")).await), "HTTP_FAILED");
    let mut stay = send("POST", "/a");
    stay["followRedirects"] = json!(false);
    assert_eq!(perform(stay).await["ok"]["status"], 302);
}

#[tokio::test]
async fn credentials_stay_with_their_origin() {
    let other = Server::start(ok).await;
    let target = other.url("/");
    let server = Server::start(move |_| redirect("302 Found", &target)).await;
    let mut http = get(&server.url("/"));
    http["headers"] = json!([["cookie", "c=1"], ["x-plain", "p"]]);
    for auth in [
        json!({"bearer": "t0ken"}),
        json!({"header": {"name": "X-Api-Key", "value": "t0ken"}}),
    ] {
        http["auth"] = auth;
        perform(http.clone()).await;
    }
    assert!(server.requests().iter().all(|sent| sent.contains("t0ken")));
    let received = other.requests();
    assert_eq!(received.len(), 2);
    for sent in received {
        assert!(
            !sent.contains("t0ken") && !sent.contains("cookie") && sent.contains("x-plain: p"),
            "{sent}"
        );
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_is_refused_even_if_it_was_compressed() {
    let server = Server::start(|_| ok(&"x".repeat(3_000))).await;
    let runtime = open_runtime();
    let program = load(&runtime, START);
    let limited = |url: &str| RunRequest {
        limits: Limits {
            effect_result_bytes_max: 2_000,
            ..Limits::default()
        },
        ..request(HTTP, &get(url))
    };
    let result = perform_on(&runtime, &program, limited(&server.url("/"))).await;
    assert_eq!(error_code(&result), "HTTP_FAILED");
    // 100,000 times `x`, gzipped.
    let bomb = GZIPPED_X.to_vec();
    let server = Server::start(move |_| response("200 OK", "content-encoding: gzip", &bomb)).await;
    let result = perform_on(&runtime, &program, limited(&server.url("/"))).await;
    assert_eq!(error_code(&result), "HTTP_FAILED");
    assert!(
        result["error"]["message"]
            .as_str()
            .unwrap()
            .contains("KiB allowed"),
        "{result}"
    );
    let whole = perform(get(&server.url("/"))).await;
    assert_eq!(whole["ok"]["text"].as_str().unwrap().len(), 100_000);
}

const GZIPPED_X: &[u8] = &include!("gzipped_x.in");

#[tokio::test]
async fn failures_say_what_went_wrong() {
    let closed = port::free();
    let refused = perform(get(&format!("http://127.0.0.1:{closed}/"))).await;
    assert_eq!(error_code(&refused), "HTTP_FAILED");
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("connection refused"),
        "{refused}"
    );
    let unknown = perform(get("http://no-such-name.invalid/")).await;
    assert_eq!(error_code(&unknown), "HTTP_FAILED");
    assert!(
        unknown["error"]["message"]
            .as_str()
            .unwrap()
            .contains("could not be resolved"),
        "{unknown}"
    );
    let server = Server::start(|_| ok("plain")).await;
    let tls = perform(get(&format!("https://{}/", server.address))).await;
    assert!(
        tls["error"]["message"]
            .as_str()
            .unwrap()
            .contains("secure connection"),
        "{tls}"
    );
    for bad in [
        json!({"method": "GET", "url": "nowhere"}),
        json!({"method": "A B", "url": server.url("/")}),
        json!(7),
    ] {
        assert_eq!(error_code(&perform(bad).await), "PARAMETER");
    }
    let mut injected = get(&server.url("/"));
    injected["headers"] = json!([["a", "b\r\nc: d"]]);
    assert_eq!(error_code(&perform(injected).await), "PARAMETER");
}

#[tokio::test]
async fn effects_of_one_run_overlap() {
    // The server answers neither request before it has both.
    let server = Server::meeting(2).await;
    let runtime = open_runtime();
    let result = perform_on(
        &runtime,
        &load(&runtime, START),
        request(18, &get(&server.url("/"))),
    )
    .await;
    assert_eq!(result["ok"]["text"], "together");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_a_timeout() {
    let server = Server::meeting(9).await;
    let mut http = get(&server.url("/"));
    http["timeoutMs"] = json!(30);
    assert_eq!(error_code(&perform(http).await), "TIMEOUT");
    let runtime = open_runtime();
    let program = load(&runtime, START);
    let limits = Limits {
        deadline: Duration::from_millis(30),
        ..Limits::default()
    };
    let outcome = runtime
        .run(
            &program,
            RunRequest {
                limits,
                ..request(HTTP, &get(&server.url("/")))
            },
        )
        .await;
    // Whichever notices first, the run or its effect.
    assert!(code(&outcome) == "TIMEOUT" || error_code(&result(&outcome)) == "TIMEOUT");
}

#[tokio::test]
async fn only_what_the_manifest_lists_is_granted() {
    let server = Server::start(|_| ok("")).await;
    let runtime = open_runtime();
    let with_rights = |effects: Value, hosts: Value| {
        let mut manifest = manifest();
        manifest["rights"] = json!({"effects": effects, "hosts": hosts});
        runtime.load(&module(START, &manifest), Tier::Fast).unwrap()
    };
    let address = server.address.to_string();
    for (effects, hosts, granted) in [
        (json!([]), json!(["*"]), false),
        (json!(["http"]), json!([]), false),
        (json!(["http"]), json!(["127.0.0.1"]), false),
        (json!(["http"]), json!([address]), true),
        (json!(["http"]), json!(["*"]), true),
    ] {
        let program = with_rights(effects, hosts.clone());
        let result = perform_on(&runtime, &program, request(HTTP, &get(&server.url("/")))).await;
        if granted {
            assert_eq!(result["ok"]["status"], 200, "{hosts}");
        } else {
            assert_eq!(error_code(&result), "NOT_PERMITTED", "{hosts}");
        }
    }
    let unknown = perform_on(&runtime, &load(&runtime, START), request(10, &json!({}))).await;
    assert_eq!(error_code(&unknown), "NOT_PERMITTED");
}

#[tokio::test]
async fn a_reference_with_another_nonce_stays_as_it_is() {
    let server = Server::start(ok).await;
    let mut http = get(&server.url("/"));
    http["headers"] = json!([[
        "x-key",
        secret_reference("KEY", "0123456789abcdef0123456789abcdef")
    ]]);
    let result = perform(http).await;
    let echoed = result["ok"]["text"].as_str().unwrap();
    assert!(echoed.contains("heddle-secret(KEY;") && !echoed.contains(SECRET));
}

#[tokio::test]
async fn a_secret_goes_out_and_never_comes_in() {
    // Gives the secret back in every spelling that it knows.
    let server = Server::start(|request| {
        let header = request
            .lines()
            .find_map(|line| line.strip_prefix("x-key: "))
            .unwrap();
        let base64 = base64_of(header);
        ok(&format!(
            "{header} {base64} {} {}",
            json!(header),
            header.replace(' ', "%20").replace('"', "%22").replace('&', "%26")
        ))
    })
    .await;
    let runtime = open_runtime();
    let mut http = get(&server.url("/"));
    http["headers"] = json!([["x-key", SECRET_REFERENCE]]);
    let result = perform_on(&runtime, &load(&runtime, START), request(WITH_SECRET, &http)).await;
    assert!(
        server.requests()[0].contains(&format!("x-key: {SECRET}\r\n")),
        "{:?}",
        server.requests()
    );
    assert_eq!(result["ok"]["text"], "*** *** \"***\" ***");
}

#[tokio::test]
async fn a_secret_takes_the_spelling_of_its_place() {
    let server = Server::start(ok).await;
    let runtime = open_runtime();
    let encoded = SECRET_REFERENCE
        .replace('(', "%28")
        .replace(';', "%3B")
        .replace(')', "%29");
    let mut http = get(&server.url(&format!("/?key={encoded}")));
    http["method"] = json!("POST");
    http["body"] = json!({"text": format!("{{\"key\":\"{SECRET_REFERENCE}\"}}")});
    perform_on(&runtime, &load(&runtime, START), request(WITH_SECRET, &http)).await;
    let sent = server.requests().remove(0);
    assert!(
        sent.starts_with("POST /?key=hush%20%22quiet%22%20%26%20still "),
        "{sent}"
    );
    assert!(sent.ends_with(r#"{"key":"hush \"quiet\" & still"}"#), "{sent}");
}

#[tokio::test]
async fn a_secret_in_a_header_or_body_does_not_follow_a_redirect_to_another_origin() {
    let other = Server::start(ok).await;
    let target = other.url("/");
    let server = Server::start(move |_| redirect("307 Temporary Redirect", &target)).await;
    let runtime = open_runtime();
    let program = load(&runtime, START);
    let mut http = get(&server.url("/"));
    http["headers"] = json!([["x-key", SECRET_REFERENCE], ["x-plain", "p"]]);
    perform_on(&runtime, &program, request(WITH_SECRET, &http)).await;
    let sent = other.requests().remove(0);
    assert!(!sent.contains("hush") && sent.contains("x-plain: p"), "{sent}");
    http["body"] = json!({"text": SECRET_REFERENCE});
    let result = perform_on(&runtime, &program, request(WITH_SECRET, &http)).await;
    assert_eq!(error_code(&result), "HTTP_FAILED");
    assert_eq!(other.requests().len(), 1);
}

#[tokio::test]
async fn a_secret_does_not_follow_a_redirect_in_its_address() {
    let other = Server::start(ok).await;
    let target = other.address;
    // It sends on, with all that the query has.
    let server = Server::start(move |request| {
        let path = request.split(' ').nth(1).unwrap();
        redirect("302 Found", &format!("http://{target}{path}"))
    })
    .await;
    let runtime = open_runtime();
    let encoded = SECRET_REFERENCE
        .replace('(', "%28")
        .replace(';', "%3B")
        .replace(')', "%29");
    let program = load(&runtime, START);
    let http = get(&server.url(&format!("/?key={encoded}")));
    let result = perform_on(&runtime, &program, request(WITH_SECRET, &http)).await;
    assert_eq!(error_code(&result), "HTTP_FAILED");
    assert!(!result.to_string().contains("hush"), "{result}");
    assert!(server.requests()[0].contains("key=hush"));
    assert!(other.requests().is_empty());
    let plain = perform_on(&runtime, &program, request(HTTP, &get(&server.url("/?key=open")))).await;
    assert_eq!(plain["ok"]["status"], 200, "{plain}");
}

#[tokio::test]
async fn secrets_that_are_absent_or_not_granted_are_named() {
    let runtime = open_runtime();
    let program = load(&runtime, START);
    for (name, code) in [("ABSENT", "CONNECTION_MISSING"), ("OTHER", "NOT_PERMITTED")] {
        let mut http = get("http://127.0.0.1:1/");
        http["headers"] = json!([["x-key", SECRET_REFERENCE.replace("KEY", name)]]);
        let result = perform_on(&runtime, &program, request(WITH_SECRET, &http)).await;
        assert_eq!(error_code(&result), code);
        assert!(
            result["error"]["message"]
                .as_str()
                .unwrap()
                .contains(&format!("`{name}`")),
            "{result}"
        );
    }
}

#[tokio::test]
async fn digests_are_those_of_the_standards() {
    let runtime = runtime();
    let program = load(&runtime, START);
    // RFC 1321, FIPS 180-2 and RFC 2202/4231 test vectors.
    for (algorithm, encoding, expected) in [
        ("md5", "hex", "900150983cd24fb0d6963f7d28e17f72"),
        ("sha1", "hex", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("sha256", "base64", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="),
    ] {
        let event = json!({"algorithm": algorithm, "value": "abc", "encoding": encoding});
        let result = perform_on(&runtime, &program, request(9, &event)).await;
        assert_eq!(result["ok"], expected, "{result}");
    }
    let event = json!({"algorithm": "sha3", "value": "abc"});
    assert_eq!(
        error_code(&perform_on(&runtime, &program, request(9, &event)).await),
        "PARAMETER"
    );
    let vector = json!({"algorithm": "sha256", "value": "what do ya want for nothing?", "secret": "Jefe"});
    let result = perform_on(&runtime, &program, request(HMAC, &vector)).await;
    assert_eq!(
        result["ok"],
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
    let secret = json!({"algorithm": "sha256", "value": "x", "secret": SECRET_REFERENCE});
    let result = perform_on(&runtime, &program, request(HMAC, &secret)).await;
    assert_eq!(result["ok"].as_str().map(str::len), Some(64), "{result}");
}

fn base64_of(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// The harness's request, with the secret bound to these hosts.
fn bound(trigger: u32, event: &Value, hosts: &[String]) -> RunRequest {
    let secret = Secret::new(SECRET.to_owned(), hosts.to_vec());
    RunRequest {
        secrets: [("KEY".to_owned(), secret)].into(),
        ..request(trigger, event)
    }
}

#[tokio::test]
async fn a_secret_goes_to_its_hosts_only() {
    let server = Server::start(ok).await;
    let runtime = open_runtime();
    let program = load(&runtime, START);
    let port = server.address.port();
    let mut http = get(&server.url("/"));
    http["headers"] = json!([["x-key", SECRET_REFERENCE]]);
    for (hosts, allowed) in [
        (vec!["127.0.0.1".to_owned()], true),
        (
            vec!["a.example.com".to_owned(), format!("127.0.0.1:{port}")],
            true,
        ),
        (vec!["127.0.0.1:1".to_owned()], false),
        (vec!["*.example.com".to_owned()], false),
    ] {
        let result = perform_on(&runtime, &program, bound(WITH_SECRET, &http, &hosts)).await;
        if allowed {
            assert_eq!(result["ok"]["status"], 200, "{result}");
            continue;
        }
        assert_eq!(error_code(&result), "NOT_PERMITTED");
        let message = result["error"]["message"].as_str().unwrap();
        let expected = format!(
            "The secret `KEY` may only be sent to {}, not to 127.0.0.1:{port}. ",
            hosts[0]
        );
        assert!(message.starts_with(&expected), "{message}");
    }
    assert_eq!(server.requests().len(), 2);
    // In every place of a request, and whatever follows it.
    let elsewhere = ["api.example.com".to_owned()];
    for place in [
        json!({"method": "POST", "body": {"text": format!("{{\"a\":\"{SECRET_REFERENCE}\"}}")}}),
        json!({"auth": {"bearer": SECRET_REFERENCE}}),
        json!({"auth": {"basic": {"user": "ann", "password": SECRET_REFERENCE}}}),
        json!({"url": server.url(&format!("/{SECRET_REFERENCE}"))}),
        json!({"url": format!("http://x:{SECRET_REFERENCE}@127.0.0.1:{port}/")}),
        json!({"idempotencyKey": SECRET_REFERENCE}),
    ] {
        let mut http = get(&server.url("/"));
        for (name, value) in place.as_object().unwrap() {
            http[name] = value.clone();
        }
        let result = perform_on(&runtime, &program, bound(WITH_SECRET, &http, &elsewhere)).await;
        assert_eq!(error_code(&result), "NOT_PERMITTED", "{place}");
    }
    assert_eq!(server.requests().len(), 2);
    // A digest tells nobody the value.
    let hmac = json!({"algorithm": "sha256", "value": "x", "secret": SECRET_REFERENCE});
    let result = perform_on(&runtime, &program, bound(HMAC, &hmac, &elsewhere)).await;
    assert_eq!(result["ok"].as_str().map(str::len), Some(64), "{result}");
}

#[tokio::test]
async fn a_value_is_masked_in_longer_base64_and_in_part() {
    let long: String = (0..40).map(|number| format!("{number:03}-key/")).collect();
    let echo = long.clone();
    let server = Server::start(move |_| {
        let parts = [&echo[..100], &echo[200..]].join(" and ");
        ok(&format!(
            "{} {} {} {parts}",
            base64_of(&format!("a:{echo}")),
            base64_of(&format!("ab:{echo}")),
            base64_of(&format!("abc:{echo}"))
        ))
    })
    .await;
    let runtime = open_runtime();
    let mut http = get(&server.url("/"));
    http["headers"] = json!([["x-key", SECRET_REFERENCE]]);
    let request = RunRequest {
        secrets: [("KEY".to_owned(), Secret::from(long.clone()))].into(),
        ..request(WITH_SECRET, &http)
    };
    let result = perform_on(&runtime, &load(&runtime, START), request).await;
    let text = result["ok"]["text"].as_str().unwrap();
    assert!(text.len() < 150 && text.matches("***").count() >= 5, "{text}");
    for index in 0..long.len() - 32 {
        let part = &long[index..index + 32];
        assert!(!text.contains(part), "{part} in {text}");
    }
}

#[tokio::test]
async fn a_request_that_grows_without_end_is_refused() {
    let runtime = open_runtime();
    let mut http = get("http://127.0.0.1:1/");
    http["method"] = json!("POST");
    http["body"] = json!({"text": SECRET_REFERENCE.repeat(100)});
    let request = RunRequest {
        secrets: [("KEY".to_owned(), Secret::from("x".repeat(1 << 20)))].into(),
        ..request(WITH_SECRET, &http)
    };
    let result = perform_on(&runtime, &load(&runtime, START), request).await;
    assert_eq!(error_code(&result), "EFFECT_LIMIT");
}

#[tokio::test]
async fn an_address_may_be_a_secret_that_is_bound_to_itself() {
    let server = Server::start(ok).await;
    let runtime = open_runtime();
    let program = load(&runtime, START);
    for (hosts, expected) in [(["127.0.0.1"], Some(200)), (["hooks.example.com"], None)] {
        let secret = Secret::new(server.url("/hook/t0ken"), hosts.map(str::to_owned).to_vec());
        let request = RunRequest {
            secrets: [("KEY".to_owned(), secret)].into(),
            ..request(WITH_SECRET, &get(SECRET_REFERENCE))
        };
        let result = perform_on(&runtime, &program, request).await;
        assert_eq!(result["ok"]["status"].as_u64(), expected, "{result}");
        assert!(!result.to_string().contains(&server.url("")), "{result}");
    }
    assert_eq!(server.requests().len(), 1);
}

/// A secret within an address decides where it leads, and so whether another secret may be sent there.
#[tokio::test]
async fn a_secret_in_a_base_leads_no_other_secret_astray() {
    let server = Server::start(ok).await;
    let runtime = open_runtime();
    let program = load(&runtime, START);
    let within = SECRET_REFERENCE.replace("KEY", "ABSENT");
    let mut http = get("x");
    http["baseUrl"] = json!(format!("http://{within}@good.example.com/"));
    http["headers"] = json!([["x-key", SECRET_REFERENCE]]);
    let astray = format!("{}/?", server.address);
    let secret = Secret::new(SECRET.to_owned(), vec!["good.example.com".to_owned()]);
    let request = RunRequest {
        secrets: [("KEY".to_owned(), secret), ("ABSENT".to_owned(), astray.into())].into(),
        ..request(WITH_SECRET, &http)
    };
    let result = perform_on(&runtime, &program, request).await;
    assert_eq!(error_code(&result), "NOT_PERMITTED", "{result}");
    assert!(server.requests().is_empty());
}
