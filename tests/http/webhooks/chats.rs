//! Chats of OnChat nodes: their pages, with and without script, and what programs are answered.

use super::fixture::{Hook, responds, returns};
use crate::harness::{Reply, Request, Service, each_database};
use serde_json::{Value, json};

const ENCODED: &str = "application/x-www-form-urlencoded";
const MARKUP: &str = "</textarea>\"'><script>alert(1)</script>&amp;";
const ESCAPED: &str = "&lt;/textarea&gt;&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;";

fn graph(parameters: Value, after: &[Value]) -> Value {
    let mut graph = super::fixture::graph(parameters, after);
    graph["nodes"][0]["type"] = json!("OnChat");
    graph
}

fn chat() -> Value {
    json!({"title": "Hours", "greeting": "Which <day>?", "placeholder": "On Friday"})
}

fn echoes() -> Vec<Value> {
    vec![returns("{{ 'You said: ' + $input.body.message }}")]
}

/// Counts the messages of a conversation.
fn counts() -> Vec<Value> {
    let parameters = json!({"operation": "increment", "key": "chat of {{ $input.body.sessionId }}"});
    let count = json!({"id": "count", "type": "KeyValue", "data": {"parameters": parameters}});
    vec![count, returns("{{ ({ text: 'Message ' + $input }) }}")]
}

fn request(hook: &Hook<'_>, method: &str) -> Request {
    hook.service
        .request(method, &format!("/webhooks/{}", hook.webhook))
}

fn json_message(hook: &Hook<'_>, message: &Value) -> Request {
    request(hook, "POST").json(message)
}

async fn by_page(hook: &Hook<'_>, fields: &[(&str, &str)]) -> Reply {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    request(hook, "POST")
        .header("content-type", ENCODED)
        .body(body)
        .send()
        .await
}

/// The title of a page, which is checked as all of them are.
fn title(reply: &Reply) -> (u16, &str) {
    assert_eq!(
        reply.headers["content-type"], "text/html; charset=utf-8",
        "{reply}"
    );
    assert_eq!(reply.headers["cache-control"], "no-store", "{reply}");
    let policy = reply.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-"),
        "{policy}"
    );
    assert!(
        policy.contains("; script-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert!(
        policy.ends_with("connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"),
        "{policy}"
    );
    let (_, rest) = reply.text.split_once("<title>").unwrap();
    (reply.status, rest.split_once("</title>").unwrap().0)
}

/// The value of a hidden field.
fn hidden(page: &Reply, name: &str) -> String {
    let begin = format!("name=\"{name}\" value=\"");
    let (_, rest) = page
        .text
        .split_once(&begin)
        .unwrap_or_else(|| panic!("{name}: {page}"));
    rest.split_once('"')
        .unwrap()
        .0
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

each_database! {
    async fn a_conversation_without_script(service: Service) {
        let hook = Hook::saved(&service, graph(chat(), &counts())).await;
        let closed = request(&hook, "GET").send().await;
        assert_eq!(title(&closed), (404, "There is no chat here"));
        let deployment = hook.deploy().await;
        let page = request(&hook, "GET").send().await;
        assert_eq!(title(&page), (200, "Hours"));
        assert!(page.text.contains("Which &lt;day&gt;?") && page.text.contains("placeholder=\"On Friday\""), "{page}");
        let session = hidden(&page, "sessionId");

        let first = [("message", MARKUP), ("sessionId", &session), ("_token", &hidden(&page, "_token"))];
        let answered = by_page(&hook, &first).await;
        assert_eq!(title(&answered), (200, "Hours"));
        assert!(answered.text.contains(ESCAPED) && !answered.text.contains("alert(1)</script>"), "{answered}");
        assert!(answered.text.contains("<p class=\"text\">Message 1</p>"), "{answered}");
        assert_eq!(hidden(&answered, "sessionId"), session);
        // What is sent twice counts once.
        assert_eq!(title(&by_page(&hook, &first).await), (200, "Your message has arrived"));

        let second = [
            ("message", "again"), ("sessionId", session.as_str()), ("_token", &hidden(&answered, "_token")),
            ("_before", &hidden(&answered, "_before")),
        ];
        let answered = by_page(&hook, &second).await;
        for part in [ESCAPED, ">Message 1<", ">again<", ">Message 2<"] {
            assert!(answered.text.contains(part), "{part}: {answered}");
        }
        let empty = by_page(&hook, &[("message", " "), ("sessionId", &session)]).await;
        assert_eq!(title(&empty).0, 422);
        assert!(empty.text.contains("Write a message."), "{empty}");
        assert_eq!(hidden(&empty, "sessionId"), session);
        assert_eq!(hook.runs(&deployment).await.len(), 2);
        hook.change(&deployment, "pause").await;
        assert_eq!(title(&request(&hook, "GET").send().await), (503, "This chat is closed for now"));
        assert_eq!(title(&by_page(&hook, &second).await), (503, "This chat is closed for now"));
    }

    async fn programs_send_json(service: Service) {
        let hook = Hook::deployed(&service, graph(chat(), &counts())).await;
        let first = json_message(&hook, &json!({"message": "Hi"})).send().await;
        let session = first.body["sessionId"].as_str().unwrap().to_owned();
        assert_eq!((first.status, first.headers["x-session-id"].to_str().unwrap()), (200, session.as_str()), "{first}");
        let run = first.headers["x-run-id"].to_str().unwrap();
        assert_eq!(first.body, json!({"status": "completed", "runId": run, "sessionId": session, "answer": "Message 1"}));
        let second = json_message(&hook, &json!({"message": "Hi", "sessionId": session})).send().await;
        assert_eq!(second.body["answer"], "Message 2");
        let mine = json_message(&hook, &json!({"message": "Hi", "sessionId": "my-own_1"})).send().await;
        assert_eq!((&mine.body["answer"], &mine.body["sessionId"]), (&json!("Message 1"), &json!("my-own_1")));
        for (message, field) in [
            (json!({}), "message"), (json!({"message": ""}), "message"), (json!({"message": 1}), "message"),
            (json!({"message": "x".repeat(16_001)}), "message"), (json!({"message": "a", "sessionId": "a b"}), "sessionId"),
            (json!({"message": "a", "sessionId": "x".repeat(65)}), "sessionId"), (json!([1]), ""),
            (json!({"message": "a", "more": vec![1; 30_000]}), ""),
        ] {
            let refused = json_message(&hook, &message).send().await;
            assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{refused}");
            assert_eq!(refused.wrong_fields(), [field], "{refused}");
        }
        let missing = json_message(&hook, &json!({"text": "Hi"})).send().await;
        assert_eq!(missing.body["error"]["message"], "The field `message` is missing: it is the text that is said.", "{missing}");
        let other = request(&hook, "POST").header("content-type", "text/plain").body("Hi").send().await;
        assert_eq!((other.status, other.code()), (415, "UNSUPPORTED_MEDIA_TYPE"));
        assert_eq!(request(&hook, "PUT").send().await.status, 405);
        let sent = || json_message(&hook, &json!({"message": "once"})).header("idempotency-key", "k");
        assert_eq!(sent().send().await.body["status"], "completed");
        assert_eq!(sent().send().await.body["status"], "duplicate");
    }

    async fn the_answer_is_what_is_streamed_responded_or_returned(service: Service) {
        let piece = |id: &str, data: Value| {
            json!({"id": id, "type": "StreamResponse", "data": {"parameters": data}})
        };
        let hook = Hook::saved(&service, graph(chat(), &echoes())).await;
        for (nodes, answer) in [
            (echoes(), "You said: Hi"),
            (vec![responds(json!({"body": "plain", "bodyType": "text"}))], "plain"),
            (vec![responds(json!({"body": {"answer": "of a field"}}))], "of a field"),
            (vec![returns("{{ ({ a: 1 }) }}")], "{\"a\":1}"),
            (
                vec![
                    piece("one", json!({"data": "two\nlines "})), piece("step", json!({"event": "step", "data": "1"})),
                    piece("two", json!({"data": "and more"})),
                ],
                "two\nlines and more",
            ),
            (
                vec![
                    piece("one", json!({"format": "text", "data": "of "})), piece("two", json!({"format": "text", "data": "text"})),
                ],
                "of text",
            ),
        ] {
            hook.save(graph(chat(), &nodes)).await;
            hook.deploy().await;
            let whole = json_message(&hook, &json!({"message": "Hi"})).send().await;
            assert_eq!((whole.status, whole.body["answer"].as_str()), (200, Some(answer)), "{whole}");
            let page = by_page(&hook, &[("message", "Hi")]).await;
            let shown = answer.replace('"', "&quot;");
            assert!(page.text.contains(&format!("<p class=\"text\">{shown}</p>")), "{page}");
        }
    }

    async fn an_answer_is_streamed_to_who_reads_events(service: Service) {
        let ask = |hook: &Hook<'_>| {
            let message = json_message(hook, &json!({"message": "Hi", "sessionId": "s"}));
            message.header("accept", "text/event-stream, application/json")
        };
        let hook = Hook::deployed(&service, graph(chat(), &echoes())).await;
        let whole = ask(&hook).send().await;
        assert_eq!(whole.headers["content-type"], "text/event-stream");
        assert_eq!(whole.headers["x-session-id"], "s");
        let (text, end) = whole.text.split_once("event: end\ndata: ").unwrap();
        let run = whole.headers["x-run-id"].to_str().unwrap();
        let end: Value = serde_json::from_str(end.trim()).unwrap();
        assert_eq!(text, "data: You said: Hi\n\n");
        assert_eq!(end, json!({"status": "completed", "runId": run, "sessionId": "s"}));
        let piece = |id: &str| json!({"id": id, "type": "StreamResponse", "data": {"parameters": {"data": id}}});
        hook.save(graph(chat(), &[piece("a"), piece("b")])).await;
        hook.deploy().await;
        let streamed = ask(&hook).send().await;
        assert!(streamed.text.starts_with("data: a\n\ndata: b\n\nevent: end\n"), "{streamed}");
        assert_eq!(streamed.headers["x-session-id"], "s");
    }

    async fn a_failure_is_told_and_its_words_are_not(service: Service) {
        let ask = json!({"id": "ask", "type": "HttpRequest", "data": {"parameters": {"url": "http://127.0.0.1:9/inner"}}});
        let hook = Hook::deployed(&service, graph(chat(), &[ask])).await;
        let failed = json_message(&hook, &json!({"message": "Hi"})).send().await;
        assert_eq!((failed.status, &failed.body["status"]), (500, &json!("failed")), "{failed}");
        assert!(!failed.text.contains("127.0.0.1"), "{failed}");
        let page = by_page(&hook, &[("message", "Hi")]).await;
        assert_eq!(title(&page), (500, "There is no answer"));
        let events = json_message(&hook, &json!({"message": "Hi"})).header("accept", "text/event-stream").send().await;
        assert!(events.text.starts_with("event: end\ndata: {\"status\":\"failed\""), "{events}");
    }

    async fn what_a_page_brings_along_is_bounded(service: Service) {
        let heading = "ä".repeat(200);
        let hook = Hook::deployed(&service, graph(json!({"title": heading}), &echoes())).await;
        let before = vec![json!([false, ""]); 5_000];
        let before = [("message", " "), ("_before", &json!(before).to_string())];
        let page = by_page(&hook, &before).await;
        assert_eq!(title(&page), (422, heading.as_str()));
        assert_eq!(page.text.matches("<div class=\"turn ").count(), 100);
        // In the head, and as the heading; beside messages it is cut off.
        assert_eq!(page.text.matches(&heading).count(), 2);
        assert!(page.text.contains(&format!("<p class=\"who\">{}…</p>", "ä".repeat(60))), "{page}");
    }

    async fn a_form_of_another_site_is_refused(service: Service) {
        let hook = Hook::saved(&service, graph(chat(), &echoes())).await;
        let deployment = hook.deploy().await;
        let sent = |name: &str, value: &str| {
            let form = request(&hook, "POST").header("content-type", ENCODED).header(name, value);
            form.body("message=Hi&_before=%5B%5Bfalse%2C%22forged%22%5D%5D")
        };
        for (name, value) in [
            ("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-site"), ("origin", "https://evil.example.com"),
        ] {
            let refused = sent(name, value).send().await;
            assert_eq!(title(&refused), (403, "Your message was not accepted"), "{value}");
            assert!(refused.text.contains("a page of another site") && !refused.text.contains("forged"), "{refused}");
        }
        assert_eq!(hook.runs(&deployment).await.len(), 0);
        assert_eq!(hook.log_statuses().await[0], ("signature_invalid".to_owned(), 403));
        // The chat's own page, which sends no referrer, and what is loaded again.
        for (name, value) in [("sec-fetch-site", "same-origin"), ("sec-fetch-site", "none"), ("origin", "null")] {
            assert_eq!(title(&sent(name, value).send().await), (200, "Hours"), "{value}");
        }
        // Programs say what they are.
        let message = json_message(&hook, &json!({"message": "Hi"})).header("sec-fetch-site", "cross-site");
        assert_eq!(message.send().await.body["answer"], "You said: Hi");
    }

    async fn a_page_of_another_origin_reads_its_session(service: Service) {
        let parameters = json!({"title": "Hours", "cors": ["https://shop.example.com"]});
        let hook = Hook::deployed(&service, graph(parameters, &echoes())).await;
        let message = json_message(&hook, &json!({"message": "Hi"})).header("origin", "https://shop.example.com");
        let answered = message.send().await;
        assert_eq!(answered.headers["access-control-allow-origin"], "https://shop.example.com");
        let exposed = answered.headers["access-control-expose-headers"].to_str().unwrap();
        assert!(exposed.split(',').any(|name| name == "x-session-id"), "{exposed}");
        assert_eq!(answered.headers["x-session-id"], answered.body["sessionId"].as_str().unwrap());
    }

    async fn what_was_streamed_is_the_answer_of_a_run_that_goes_on(service: Service) {
        service.app.executions.start().await.unwrap();
        let piece = json!({"id": "piece", "type": "StreamResponse", "data": {"parameters": {"data": "all of it"}}});
        // Longer than a minute: it parks.
        let wait = json!({"id": "wait", "type": "Wait", "data": {"parameters": {"durationMs": 600_000}}});
        let after = [piece.clone(), responds(json!({"body": "later"})), wait.clone()];
        let hook = Hook::deployed(&service, graph(chat(), &after)).await;
        let message = || json_message(&hook, &json!({"message": "Hi"}));
        let whole = message().send().await;
        assert_eq!((whole.status, &whole.body["status"], &whole.body["answer"]), (200, &json!("completed"), &json!("all of it")), "{whole}");
        let page = by_page(&hook, &[("message", "Hi")]).await;
        assert_eq!(title(&page), (200, "Hours"));
        assert!(page.text.contains("<p class=\"text\">all of it</p>"), "{page}");

        let mut short = chat();
        short["timeoutMs"] = json!(2_000);
        hook.save(graph(short, &[piece, wait])).await;
        hook.deploy().await;
        let form = [("message", "Hi")];
        let (whole, page) = tokio::join!(message().send(), by_page(&hook, &form));
        assert_eq!((whole.status, &whole.body["status"], &whole.body["answer"]), (200, &json!("running"), &json!("all of it")), "{whole}");
        assert_eq!(title(&page), (200, "Hours"));
        assert!(page.text.contains("<p class=\"text\">all of it</p>"), "{page}");
    }

    async fn of_what_is_large_a_page_shows_the_beginning(service: Service) {
        let long = returns("{{ '<'.repeat(300000) }}");
        let hook = Hook::deployed(&service, graph(json!({"title": "Hours"}), &[long])).await;
        let page = by_page(&hook, &[("message", "Hi")]).await;
        assert_eq!(title(&page), (200, "Hours"));
        assert!(page.text.contains("&lt;…\n\n[The rest of this answer is too long to be shown here.]</p>"));
        assert!(page.text.len() < 1 << 20, "{}", page.text.len());
        let whole = json_message(&hook, &json!({"message": "Hi"})).send().await;
        assert_eq!(whole.body["answer"].as_str().map(str::len), Some(300_000));

        let large = "<".repeat(1 << 20);
        let refused = by_page(&hook, &[("message", large.as_str())]).await;
        assert_eq!(title(&refused).0, 422);
        assert!(refused.text.contains("at most 16000 characters") && refused.text.len() < 50_000, "{}", refused.text.len());
        let many = json_message(&hook, &json!({"message": "Hi", "more": vec![1; 20_000]})).send().await;
        assert_eq!((many.status, many.code()), (400, "VALIDATION"), "{many}");
        assert!(many.text.contains("more than 20000 values"), "{many}");
    }
}
