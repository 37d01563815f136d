//! ChatCompletion against a server that speaks OpenAI's chat API.

use crate::server::{Server, response};
use crate::services::{Given, closed_runtime, open_runtime, run, run_data};
use heddle_runtime::Limits;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

async fn answering(status: &'static str, body: Value) -> Server {
    Server::start(move |_| {
        response(
            status,
            "content-type: application/json",
            body.to_string().as_bytes(),
        )
    })
    .await
}

fn completion(message: Value, finish: &str) -> Value {
    json!({"choices": [{"message": message, "finish_reason": finish}], "usage": {"total_tokens": 7}})
}

fn given(server: &Server) -> Given {
    Given::one(
        "llm",
        json!({"apiKey": "sk-s3cret", "baseUrl": server.url("/v1"), "organization": "org-1"}),
    )
}

#[tokio::test]
async fn a_conversation_is_sent_and_its_answer_taken() {
    let server = answering("200 OK", completion(json!({"content": "Hi sk-s3cret"}), "stop")).await;
    let parameters = json!({
        "connection": "llm", "model": "m-1", "system": "Be brief.", "temperature": 0.5, "maxTokens": 9,
        "messages": [{"role": "user", "content": "Hello"}],
    });
    let output = run(&open_runtime(), "ChatCompletion", parameters, &given(&server))
        .await
        .output();
    assert_eq!(
        output,
        json!({"text": "Hi ***", "json": null, "usage": {"total_tokens": 7}})
    );
    let sent = server.requests().remove(0);
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{head}"
    );
    for line in [
        "authorization: Bearer sk-s3cret",
        "openai-organization: org-1",
        "idempotency-key: run-1/it/",
    ] {
        assert!(head.contains(line), "{line} in {head}");
    }
    let expected = json!({
        "model": "m-1", "temperature": 0.5, "max_tokens": 9,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
    });
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), expected);
}

#[tokio::test]
async fn a_schema_makes_the_answer_json() {
    let server = answering("200 OK", completion(json!({"content": "{\"ok\": true}"}), "stop")).await;
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}});
    let parameters = json!({"connection": "llm", "model": "m", "prompt": "?", "jsonSchema": schema});
    let output = run(&open_runtime(), "ChatCompletion", parameters, &given(&server))
        .await
        .output();
    assert_eq!(output["json"], json!({"ok": true}));
    let sent = server.requests().remove(0);
    let body: Value = serde_json::from_str(sent.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(
        body["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "answer", "strict": true, "schema": schema}})
    );
}

#[tokio::test]
async fn answers_that_are_none_fail_the_node() {
    let runtime = open_runtime();
    let text = |text: &str, finish: &str| completion(json!({"content": text}), finish);
    for (status, body, expected) in [
        (
            "200 OK",
            completion(json!({"refusal": "I won't."}), "stop"),
            "CHAT_REFUSED: The model refused to answer: I won't.",
        ),
        ("200 OK", text("", "content_filter"), "CHAT_REFUSED: "),
        (
            "200 OK",
            text("{\"a\": ", "length"),
            "CHAT_JSON: The answer should be JSON, but it is not: it was cut at `maxTokens`.",
        ),
        ("200 OK", text("Sure!", "stop"), "CHAT_JSON: "),
        ("200 OK", json!({"choices": []}), "PARSE: "),
        ("200 OK", json!([]), "PARSE: "),
        (
            "401 Unauthorized",
            json!({"error": {"message": "Incorrect key sk-s3cret"}}),
            "HTTP_401: The chat service answered with the status 401: {\"error\":{\"message\":\"Incorrect key ***\"}}",
        ),
    ] {
        let server = answering(status, body).await;
        let parameters =
            json!({"connection": "llm", "model": "m", "prompt": "?", "jsonSchema": {"type": "object"}});
        let failure = run(&runtime, "ChatCompletion", parameters, &given(&server))
            .await
            .failure();
        assert!(failure.starts_with(expected), "{failure}");
    }
    for (parameters, expected) in [
        (json!({"connection": "llm", "model": "m"}), "both are missing"),
        (
            json!({"connection": "llm", "model": "m", "prompt": "?", "messages": []}),
            "give one of them",
        ),
        (
            json!({"connection": "llm", "model": "m", "prompt": "?", "temperature": 3}),
            "a number from 0 to 2",
        ),
        (
            json!({"connection": "other", "model": "m", "prompt": "?"}),
            "There is no connection `other`",
        ),
    ] {
        let failure = run(&runtime, "ChatCompletion", parameters, &Given::default())
            .await
            .failure();
        assert!(failure.contains(expected), "{failure}");
    }
}

#[tokio::test]
async fn a_busy_service_is_asked_again() {
    let asked = AtomicUsize::new(0);
    let server = Server::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => response("429 Too Many Requests", "retry-after: 0", b"slow down"),
        _ => {
            let body = completion(json!({"content": "now"}), "stop").to_string();
            response("200 OK", "content-type: application/json", body.as_bytes())
        }
    })
    .await;
    let data = json!({
        "parameters": {"connection": "llm", "model": "m", "prompt": "?"}, "retry": {"maxAttempts": 2, "backoffMs": 1},
    });
    let ran = run_data(
        &open_runtime(),
        "ChatCompletion",
        data,
        &given(&server),
        Limits::default(),
    )
    .await;
    assert_eq!(ran.output()["text"], "now");
    let sent = server.requests();
    let key = |request: &String| {
        let line = request.lines().find(|line| line.starts_with("idempotency-key: "));
        line.unwrap().to_owned()
    };
    assert_eq!(key(&sent[0]), key(&sent[1]));
}

#[tokio::test]
async fn the_service_is_behind_the_guard() {
    let server = answering("200 OK", json!({})).await;
    let parameters = json!({"connection": "llm", "model": "m", "prompt": "?"});
    let runtime = closed_runtime();
    for base in [
        server.url("/v1"),
        "http://2130706433/v1".into(),
        "http://[::ffff:7f00:1]/v1".into(),
        "http://0177.0.0.1/v1".into(),
        "http://169.254.169.254/v1".into(),
        "http://localhost/v1".into(),
    ] {
        let given = Given::one("llm", json!({"apiKey": "k", "baseUrl": base}));
        let failure = run(&runtime, "ChatCompletion", parameters.clone(), &given)
            .await
            .failure();
        assert!(failure.starts_with("EGRESS_DENIED: "), "{base}: {failure}");
    }
    assert!(server.requests().is_empty());
}
