//! Callback URLs: each works once, for the place that it was made for, and nobody guesses another.

use super::waits::{HOUR, parked};
use crate::harness::{Service, User, chain, each_database};
use flate2::Compression;
use flate2::write::GzEncoder;
use heddle_model::access::WorkspaceRole;
use heddle_store::runs::journal::{self, Payload};
use heddle_store::sql;
use serde_json::{Value, json};
use std::io::Write;

/// The path of the URL that a run has logged.
fn logged(run: &Value, line: usize) -> String {
    let url = run["logOutput"][line]["message"].as_str().unwrap();
    let (_, path) = url.split_once("://").unwrap().1.split_once('/').unwrap();
    format!("/{path}")
}

/// Logs its URL and waits to be called.
fn asking(parameters: Value) -> Value {
    let mut graph = chain(&[
        ("start", "OnManual", json!({})),
        ("tell", "Log", json!({"message": "{{ $run.callbackUrls.ask }}"})),
        ("ask", "WaitForCallback", parameters),
        ("end", "Return", json!({})),
    ]);
    let late = json!({"id": "late", "type": "Return", "data": {"parameters": {"value": "{{ 'late ' + $input.n }}"}}});
    graph["nodes"].as_array_mut().unwrap().push(late);
    let edge = json!({"source": "ask", "sourceHandle": "timeout", "target": "late"});
    graph["edges"].as_array_mut().unwrap().push(edge);
    graph
}

each_database! {
    async fn the_first_call_lets_the_run_go_on_and_no_other(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &asking(json!({"respondBody": {"thanks": "{{ $input.n }}"}}))).await;
        let run = service.started(&ann, &id, &json!({"n": 7})).await;
        let path = logged(&parked(&service, &ann, &id, &run).await, 0);
        assert!(path.ends_with("/ask"), "{path}");
        let [_, _, _, token, _] = path.split('/').collect::<Vec<_>>()[..] else { panic!("{path}") };
        let guessed = path.replace(token, &token.chars().rev().collect::<String>());
        for wrong in [&guessed, &path.replace("/ask", "/end"), &path.replace(token, "00"), &path.replace(token, "x")] {
            let refused = service.post(wrong).json(&json!({})).send().await;
            assert_eq!((refused.status, refused.code()), (404, "NOT_FOUND"), "{wrong}");
        }
        let nonsense = service.post(&path).header("content-type", "application/json").body("{").send().await;
        assert_eq!((nonsense.status, nonsense.code()), (400, "VALIDATION"));
        let large = service.post(&path).body(vec![b'x'; (8 << 20) + 1]).send().await;
        assert_eq!((large.status, large.code()), (413, "PAYLOAD_TOO_LARGE"));
        let fields = service.post(&path).header("content-type", "application/x-www-form-urlencoded").body("a=1&".repeat(1_001));
        let many = fields.send().await;
        assert_eq!((many.status, many.code()), (400, "VALIDATION"));
        assert!(many.text.contains("more than 1000 fields"), "{many}");

        service.operate(&ann, &id, "pause").await;
        let first = service.post(&format!("{path}?by=bob")).header("cookie", "heddle=secret").json(&json!({"approved": true})).send().await;
        assert_eq!((first.status, &first.body), (200, &json!({"thanks": 7})), "{first}");
        let second = service.post(&path).json(&json!({"approved": false})).send().await;
        assert_eq!((second.status, second.code()), (409, "CONFLICT"));
        service.operate(&ann, &id, "resume").await;
        let ended = service.ended(&ann, &id, &run).await;
        let event = &ended["output"];
        assert_eq!(ended["status"], "success", "{ended}");
        assert_eq!(event["body"], json!({"approved": true}));
        assert_eq!(event["headers"]["cookie"], Value::Null, "{event}");
        assert_eq!((&event["method"], &event["query"]), (&json!("POST"), &json!({"by": "bob"})));
        let third = service.post(&path).json(&json!({})).send().await;
        assert_eq!((third.status, third.code()), (410, "GONE"));
    }

    async fn what_is_large_comes_to_the_run_whole(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &asking(json!({}))).await;
        let body = json!({"text": "x".repeat(150_000)});
        let called = service.started(&ann, &id, &json!({"n": 7})).await;
        let path = logged(&parked(&service, &ann, &id, &called).await, 0);
        assert_eq!(service.post(&path).json(&body).send().await.status, 200);
        let answered = service.started(&ann, &id, &json!({"n": 8})).await;
        parked(&service, &ann, &id, &answered).await;
        let answer = format!("/api/deployments/{id}/runs/{answered}/callback");
        let given = service.post(&answer).bearer(&ann.token).json(&json!({"place": "ask", "body": body})).send().await;
        assert_eq!(given.status, 200, "{given}");
        for run in [called, answered] {
            assert_eq!(service.ended(&ann, &id, &run).await["output"]["body"], body);
        }
    }

    async fn what_is_large_and_for_no_run_is_not_read(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &asking(json!({}))).await;
        let run = service.started(&ann, &id, &json!({"n": 7})).await;
        let path = logged(&parked(&service, &ann, &id, &run).await, 0);
        let nonsense = "{".repeat(100_000);
        let send = || {
            let request = service.post(&path).header("content-type", "application/json");
            request.body(nonsense.clone()).send()
        };
        let read = send().await;
        assert_eq!((read.status, read.code()), (400, "VALIDATION"), "{read}");
        let gone = service.app.store.write(move |db| {
            Box::pin(async move { db.execute(sql("delete from runs where id = ?").bind(run)).await })
        });
        assert_eq!(gone.await.unwrap(), 1);
        let refused = send().await;
        assert_eq!((refused.status, refused.code()), (404, "NOT_FOUND"), "{refused}");
    }

    async fn a_run_holds_so_much_of_what_comes_for_it_and_no_more(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &asking(json!({}))).await;
        let run = service.started(&ann, &id, &json!({"n": 7})).await;
        let path = logged(&parked(&service, &ann, &id, &run).await, 0);
        // A run makes as many URLs as it likes, and this has come for another one.
        // Longer than what a compressor of journals looks back on.
        let part: String = (0..1 << 20).map(|_| fastrand::alphanumeric()).collect();
        let text = part.repeat(34);
        let (payload, to) = (Payload::new(json!(text).to_string()), run.parse().unwrap());
        let store = &service.app.store;
        let came = store.write(move |db| {
            Box::pin(async move { journal::signal(db, to, "elsewhere", &payload).await })
        });
        assert!(came.await.unwrap());
        parked(&service, &ann, &id, &run).await;
        let refused = service.post(&path).json(&json!({})).send().await;
        assert_eq!((refused.status, refused.code()), (413, "PAYLOAD_TOO_LARGE"), "{refused}");
        assert!(refused.text.contains("all that a run can hold"), "{refused}");
        let answer = format!("/api/deployments/{id}/runs/{run}/callback");
        let refused = service.post(&answer).bearer(&ann.token).json(&json!({"place": "ask", "body": {}})).send().await;
        assert_eq!((refused.status, refused.code()), (413, "PAYLOAD_TOO_LARGE"), "{refused}");
        assert_eq!(parked(&service, &ann, &id, &run).await["phase"], "waiting");
    }

    async fn what_is_compressed_comes_to_the_run_as_it_was(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &asking(json!({}))).await;
        let run = service.started(&ann, &id, &json!({"n": 7})).await;
        let path = logged(&parked(&service, &ann, &id, &run).await, 0);
        let call = |encoding: &str, body: &[u8]| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(body).unwrap();
            let request = service.post(&path).header("content-type", "application/json").header("content-encoding", encoding);
            request.body(encoder.finish().unwrap()).send()
        };
        for (encoding, body, refused) in [
            ("br", b"{}".to_vec(), (415, "UNSUPPORTED_MEDIA_TYPE")), ("deflate", b"{}".to_vec(), (400, "VALIDATION")),
            ("gzip", vec![b' '; (8 << 20) + 1], (413, "PAYLOAD_TOO_LARGE")),
        ] {
            let told = call(encoding, &body).await;
            assert_eq!((told.status, told.code()), refused, "{told}");
        }
        // Some programs write a byte order mark before JSON.
        assert_eq!(call("gzip", "\u{feff}{\"approved\": true}".as_bytes()).await.status, 200);
        assert_eq!(service.ended(&ann, &id, &run).await["output"]["body"], json!({"approved": true}));
    }

    async fn a_link_asks_and_its_button_decides(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &asking(json!({"respondBody": "<b>Thank</b> you."}))).await;
        let run = service.started(&ann, &id, &json!({"n": 7})).await;
        let path = logged(&parked(&service, &ann, &id, &run).await, 0);
        let link = format!("{path}?decision=yes&why=%3Cscript%3E");
        assert_eq!(service.request("HEAD", &link).send().await.status, 405);
        // However often it is followed, as by what looks for malware in mail.
        for _ in 0..2 {
            let page = service.get(&link).header("accept", "text/html").send().await;
            assert_eq!((page.status, &page.headers["content-type"]), (200, &"text/html; charset=utf-8".parse().unwrap()));
            assert!(page.text.contains("<form method=\"post\"><button>"), "{page}");
            assert!(page.text.contains("<dt>decision</dt><dd>yes</dd>"), "{page}");
            assert!(page.text.contains("&lt;script&gt;") && !page.text.contains("<script"), "{page}");
            let policy = page.headers["content-security-policy"].to_str().unwrap();
            assert!(policy.contains("default-src 'none'") && !policy.contains("script-src"), "{policy}");
        }
        assert_eq!(parked(&service, &ann, &id, &run).await["phase"], "waiting");
        let form = "application/x-www-form-urlencoded";
        let pressed = service.post(&link).header("accept", "text/html").header("content-type", form).body("").send().await;
        assert_eq!(pressed.status, 200, "{pressed}");
        assert!(pressed.text.contains("&lt;b&gt;Thank&lt;/b&gt; you."), "a pattern's text stays one: {pressed}");
        let ended = service.ended(&ann, &id, &run).await;
        assert_eq!((&ended["output"]["query"]["decision"], &ended["output"]["body"]), (&json!("yes"), &Value::Null));
        assert_eq!(ended["output"]["by"], Value::Null, "nobody is known to have called");
        let late = service.get(&link).send().await;
        assert_eq!((late.status, late.text.contains("Nothing is waiting")), (410, true), "{late}");
        let guessed = service.get(&path.replace("/ask", "/end")).send().await;
        assert_eq!((guessed.status, guessed.text.contains("No run created this URL")), (404, true), "{guessed}");
    }

    async fn a_pattern_makes_the_pages_itself(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let form = "<form method=\"post\"><p>Order {{ $input.n }}?</p><button name=\"decision\" value=\"yes\">Approve</button></form>";
        let id = service.deployed(&ann, &asking(json!({
            "page": form, "respondPage": "<h1>Order {{ $input.n }} goes out</h1>", "respondBody": {"taken": true}
        }))).await;
        let html = "text/html; charset=utf-8";
        let look = async |path: &str| service.get(path).header("accept", "text/html").send().await;
        for is_browser in [true, false] {
            let run = service.started(&ann, &id, &json!({"n": 7})).await;
            let path = logged(&parked(&service, &ann, &id, &run).await, 0);
            let page = look(&path).await;
            assert_eq!((page.status, &page.headers["content-type"]), (200, &html.parse().unwrap()));
            assert_eq!(page.text, form.replace("{{ $input.n }}", "7"));
            let policy = page.headers["content-security-policy"].to_str().unwrap();
            assert!(policy.starts_with("sandbox allow-forms") && !policy.contains("script"), "{policy}");
            assert!(policy.contains("default-src 'none'") && policy.contains("form-action 'self'"), "{policy}");
            assert_eq!(page.headers["referrer-policy"], "no-referrer", "the address is the credential");
            assert_eq!(parked(&service, &ann, &id, &run).await["phase"], "waiting", "looking decides nothing");
            let call = service.post(&path).header("content-type", "application/x-www-form-urlencoded").body("decision=yes");
            if is_browser {
                let pressed = call.header("accept", "text/html").send().await;
                assert_eq!((pressed.status, pressed.text.as_str()), (200, "<h1>Order 7 goes out</h1>"), "{pressed}");
                assert_eq!(pressed.headers["content-security-policy"], policy);
            } else {
                assert_eq!(call.send().await.body, json!({"taken": true}), "a program is no browser");
            }
            assert_eq!(service.ended(&ann, &id, &run).await["output"]["body"], json!({"decision": "yes"}));
            let late = look(&path).await;
            assert_eq!((late.status, late.text.contains("Nothing is waiting")), (410, true), "{late}");
        }
        let large = service.deployed(&ann, &asking(json!({"page": "{{ 'x'.repeat(16385) }}"}))).await;
        let run = service.ran(&ann, &large, &json!({"n": 7})).await;
        let error = service.run(&ann, &large, &run).await["error"].clone();
        assert_eq!((&error["code"], &error["nodeId"]), (&json!("PARAMETER"), &json!("ask")), "{error}");
        assert!(error["message"].as_str().unwrap().contains("`page` has 16385 bytes"), "{error}");
    }

    async fn members_see_what_waits_and_answer_it_by_name(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let eve = service.user("eve").await;
        let bob = service.member(&ann, "bob", WorkspaceRole::Editor).await;
        let vic = service.member(&ann, "vic", WorkspaceRole::Viewer).await;
        let list = async |user: &User| service.get("/api/callbacks").bearer(&user.token).send().await;
        let pattern = service.drawn(&ann, &asking(json!({"respondBody": "x".repeat(5_000)}))).await;
        let id = service.deploy(&ann, &pattern).await;
        // Waits as well, but for nobody.
        let other = service.deployed(&ann, &chain(&[
            ("start", "OnManual", json!({})), ("wait", "Wait", json!({"durationMs": 600_000})), ("end", "Return", json!({})),
        ])).await;
        let idle = service.started(&ann, &other, &json!({})).await;
        parked(&service, &ann, &other, &idle).await;
        let run = service.started(&ann, &id, &json!({"n": 7})).await;
        let path = logged(&parked(&service, &ann, &id, &run).await, 0);

        let found = list(&vic).await;
        assert_eq!(found.status, 200, "{found}");
        let rows = found.body["data"].as_array().unwrap();
        assert_eq!(rows.len(), 1, "{found}");
        assert_eq!((&rows[0]["runId"], &rows[0]["deploymentId"]), (&json!(run), &json!(id)));
        assert_eq!((&rows[0]["place"], &rows[0]["versionNumber"]), (&json!("ask"), &json!(2)));
        assert_eq!((&rows[0]["patternId"], &found.body["meta"]["nextCursor"]), (&json!(pattern), &Value::Null));
        assert!(!found.text.contains("/callbacks/"), "the URL is the run's secret: {found}");
        assert_eq!(list(&eve).await.body["data"], json!([]));

        let answer = format!("/api/deployments/{id}/runs/{run}/callback");
        let body = json!({"place": "ask", "body": {"approved": true, "by": "somebody"}, "query": {"from": "console"}});
        service.post(&answer).bearer(&vic.token).json(&body).send().await.assert_refused(403, "FORBIDDEN");
        service.post(&answer).bearer(&eve.token).json(&body).send().await.assert_refused(404, "NOT_FOUND");
        for place in ["end", "ask/1", ""] {
            let nowhere = service.post(&answer).bearer(&bob.token).json(&json!({"place": place})).send().await;
            nowhere.assert_refused(404, "NOT_FOUND");
        }
        let idle = format!("/api/deployments/{other}/runs/{idle}/callback");
        service.post(&idle).bearer(&bob.token).json(&json!({"place": "wait"})).send().await.assert_refused(404, "NOT_FOUND");

        service.operate(&ann, &id, "pause").await;
        let answered = service.post(&answer).bearer(&bob.token).json(&body).send().await;
        assert_eq!(answered.data(200), &json!({"runId": run, "place": "ask"}));
        assert_eq!(list(&ann).await.body["data"], json!([]), "it is answered, although the run has not gone on");
        service.post(&answer).bearer(&ann.token).json(&body).send().await.assert_refused(409, "CONFLICT");
        assert_eq!(service.post(&path).json(&json!({})).send().await.code(), "CONFLICT");
        service.operate(&ann, &id, "resume").await;
        let event = &service.ended(&ann, &id, &run).await["output"];
        assert_eq!((&event["body"], &event["query"]), (&body["body"], &json!({"from": "console"})));
        assert_eq!((&event["by"]["id"], &event["method"]), (&json!(bob.id), &json!("POST")), "{event}");
        service.post(&answer).bearer(&ann.token).json(&body).send().await.assert_refused(410, "GONE");
    }

    async fn the_list_of_what_waits_has_pages(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &asking(json!({"timeoutMs": 600_000}))).await;
        let mut runs = Vec::new();
        for n in 0..3 {
            let run = service.started(&ann, &id, &json!({"n": n})).await;
            parked(&service, &ann, &id, &run).await;
            runs.insert(0, json!(run));
        }
        let page = async |query: &str| {
            let page = service.get(&format!("/api/callbacks{query}")).bearer(&ann.token).send().await;
            assert_eq!(page.status, 200, "{page}");
            page.body
        };
        let first = page("?limit=2").await;
        let cursor = first["meta"]["nextCursor"].as_str().unwrap().replace('/', "%2F");
        let second = page(&format!("?limit=2&cursor={cursor}")).await;
        let of = |page: &Value| page["data"].as_array().unwrap().iter().map(|row| row["runId"].clone()).collect::<Vec<_>>();
        assert_eq!([of(&first), of(&second)].concat(), runs);
        assert_eq!(second["meta"]["nextCursor"], Value::Null);
        for wrong in ["?cursor=x", "?limit=0", "?patternId=x"] {
            let refused = service.get(&format!("/api/callbacks{wrong}")).bearer(&ann.token).send().await;
            refused.assert_refused(400, "VALIDATION");
        }
        let none = page("?patternId=01932c07-209e-7f64-b0a3-5c1f1b0e6f3a").await;
        assert_eq!(none["data"], json!([]));
        // Who comes too late finds nothing to answer.
        service.operate(&ann, &id, "pause").await;
        service.app.clock.advance(HOUR);
        assert_eq!(page("").await["data"], json!([]));
    }

    async fn who_calls_too_late_is_told_so(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &asking(json!({"timeoutMs": 600_000}))).await;
        let run = service.started(&ann, &id, &json!({"n": 7})).await;
        let path = logged(&parked(&service, &ann, &id, &run).await, 0);
        service.operate(&ann, &id, "pause").await;
        service.app.clock.advance(HOUR);
        let late = service.post(&path).json(&json!({})).send().await;
        assert_eq!((late.status, late.code()), (410, "GONE"));
        service.operate(&ann, &id, "resume").await;
        assert_eq!(service.ended(&ann, &id, &run).await["output"], "late 7");
    }

    async fn a_call_may_come_before_the_run_is_there(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &chain(&[
            ("start", "OnManual", json!({})),
            ("tell", "Log", json!({"message": "{{ $run.callbackUrl }}"})),
            ("wait", "Wait", json!({"durationMs": 600_000})),
            ("ask", "WaitForCallback", json!({})),
            ("end", "Return", json!({"value": "{{ $input.body }}"})),
        ])).await;
        let run = service.started(&ann, &id, &json!({})).await;
        let path = logged(&parked(&service, &ann, &id, &run).await, 0);
        let early = service.post(&path).header("content-type", "text/plain").body("soon").send().await;
        assert_eq!((early.status, &early.body), (200, &json!({"status": "accepted"})));
        assert_eq!(service.post(&path).json(&json!({})).send().await.code(), "CONFLICT");
        parked(&service, &ann, &id, &run).await;
        service.app.clock.advance(HOUR);
        assert_eq!(service.ended(&ann, &id, &run).await["output"], "soon");
    }

    async fn every_iteration_has_a_url_of_its_own(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let node = |id: &str, kind: &str, parameters: Value| json!({"id": id, "type": kind, "data": {"parameters": parameters}});
        let edge = |from: &str, port: &str, to: &str, at: &str| json!({
            "source": from, "sourceHandle": port, "target": to, "targetHandle": at
        });
        let id = service.deployed(&ann, &json!({
            "nodes": [
                node("start", "OnManual", json!({})),
                node("each", "ForEach", json!({"items": ["a", "b"], "concurrency": 2})),
                node("tell", "Log", json!({"message": "{{ $run.callbackUrls.ask }}"})),
                node("ask", "WaitForCallback", json!({})),
                node("pick", "Transform", json!({"value": "{{ $item + $input.body }}"})),
                node("end", "Return", json!({})),
            ],
            "edges": [
                edge("start", "out", "each", "in"), edge("each", "item", "tell", "in"), edge("tell", "out", "ask", "in"),
                edge("ask", "out", "pick", "in"), edge("pick", "out", "each", "next"), edge("each", "done", "end", "in"),
            ],
        })).await;
        let run = service.started(&ann, &id, &json!({})).await;
        let found = parked(&service, &ann, &id, &run).await;
        let (first, second) = (logged(&found, 0), logged(&found, 1));
        assert_ne!(first.split('/').nth(3), second.split('/').nth(3), "a token of its own");
        assert_eq!(service.post(&second).json(&json!(2)).send().await.status, 200);
        assert_eq!(service.post(&first).json(&json!(1)).send().await.status, 200);
        assert_eq!(service.ended(&ann, &id, &run).await["output"], json!(["a1", "b2"]));
    }
}
