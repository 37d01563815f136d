//! Snippets are pasted and executed, each by its interpreter.

use super::fixture::{Hook, graph};
use crate::harness::{Service, each_database};
use crate::needs;
use serde_json::json;
use std::process::{Command, Stdio};

/// What executes each language.
const INTERPRETERS: [(&str, &[&str]); 4] = [
    ("curl", &["sh", "-c"]),
    ("python", &["python3", "-c"]),
    ("javascript", &["node", "-e"]),
    ("pwsh", &["pwsh", "-NoProfile", "-Command"]),
];

/// What a program prints; `None` without its interpreter.
async fn executed(interpreter: &'static [&'static str], program: String) -> Option<String> {
    let output = tokio::task::spawn_blocking(move || {
        let mut command = Command::new(interpreter[0]);
        command
            .args(&interpreter[1..])
            .arg(program)
            .stdin(Stdio::null())
            .output()
    });
    let output = output.await.unwrap();
    let output = needs::or_skip(interpreter[0], output)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{interpreter:?}: {errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

each_database! {
    async fn they_send_what_is_accepted(service: Service) {
        // Senders use the machine's clock.
        let now = heddle_model::clock::Clock::System.now().millis() - service.app.clock.now().millis();
        service.app.clock.advance(std::time::Duration::from_millis(u64::try_from(now).unwrap_or(0)));
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        for scheme in ["heddle", "github", "stripe", "slack", "shopify", "standard-webhooks"] {
            hook.save(graph(json!({"scheme": scheme}), &[])).await;
            let deployment = hook.deploy().await;
            let regenerate = format!("/api/deployments/{deployment}/webhook/regenerate");
            for secret in [None, Some("it's a \"secret\" \\ with $quotes")] {
                let body = json!({"endpointId": hook.endpoint, "secret": secret});
                let reply = service.post(&regenerate).bearer(&hook.user.token).json(&body).send().await;
                assert_eq!(reply.status, 200, "{reply}");
                let path = format!("/api/deployments/{deployment}/webhook/snippets?endpointId={}", hook.endpoint);
                let reply = hook.get(&path).await;
                assert_eq!(reply.status, 200, "{reply}");
                for (name, interpreter) in INTERPRETERS {
                    let program = reply.body["data"][name].as_str().unwrap().to_owned();
                    if let Some(output) = executed(interpreter, program.clone()).await {
                        assert!(output.contains("accepted"), "{scheme} {name}: {output}\n{program}");
                    }
                }
            }
        }
    }

    async fn they_follow_what_the_node_says(service: Service) {
        let now = heddle_model::clock::Clock::System.now().millis() - service.app.clock.now().millis();
        service.app.clock.advance(std::time::Duration::from_millis(u64::try_from(now).unwrap_or(0)));
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        for parameters in [
            json!({"scheme": "none"}),
            json!({"scheme": "none", "accept": ["form"], "methods": ["PUT"], "path": "/orders/:order"}),
            json!({"scheme": "gitlab", "accept": ["multipart"]}),
            json!({"scheme": "bearer", "methods": ["GET"]}),
            json!({"scheme": "basic", "user": "ann's \"$HOME\"", "accept": ["text"]}),
            json!({"scheme": "header", "tokenHeader": "X-Api-Key", "accept": ["binary"]}),
            json!({"scheme": "hmac", "hmac": {"header": "X-Signed", "algorithm": "sha512", "encoding": "base64",
                "prefix": "v$1=", "timestampHeader": "X-Time", "separator": ":"}}),
            json!({"scheme": "jwt", "jwt": {"algorithm": "HS512", "issuer": "me", "audience": "orders"}}),
            json!({"scheme": "twilio"}),
            json!({"scheme": "twilio", "accept": ["form"]}),
            json!({"scheme": "twilio", "methods": ["DELETE"]}),
        ] {
            hook.save(graph(parameters.clone(), &[])).await;
            let deployment = hook.deploy().await;
            // Whatever the body says, each language sends it as it is.
            let given = json!({"name": "\u{1f980} It's \"Ann\" \\ `$HOME` %s\n", "total": 2.5, "to": "them"});
            let given: String = form_urlencoded::byte_serialize(given.to_string().as_bytes()).collect();
            let path = format!("/api/deployments/{deployment}/webhook/snippets?endpointId={}&body={given}", hook.endpoint);
            let reply = hook.get(&path).await;
            assert_eq!(reply.status, 200, "{reply}");
            for (name, interpreter) in INTERPRETERS {
                let program = reply.body["data"][name].as_str().unwrap().to_owned();
                if let Some(output) = executed(interpreter, program.clone()).await {
                    assert!(output.contains("accepted"), "{parameters} {name}: {output}\n{program}");
                }
            }
        }
    }

    async fn they_send_the_body_that_is_given(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"scheme": "none"}), &[])).await;
        let given = json!({"order": {"id": "\u{1f980} It's \"A\" \\ `$HOME` %s\n", "total": 2.5}});
        let body: String = form_urlencoded::byte_serialize(given.to_string().as_bytes()).collect();
        for (parameters, sent) in [
            (json!({"scheme": "none"}), given.clone()),
            (json!({"scheme": "none", "accept": ["form"]}), json!({"order": given["order"].to_string()})),
        ] {
            hook.save(graph(parameters, &[])).await;
            let deployment = hook.deploy().await;
            let path = format!("/api/deployments/{deployment}/webhook/snippets?endpointId={}", hook.endpoint);
            let reply = hook.get(&format!("{path}&body={body}")).await;
            for (name, interpreter) in INTERPRETERS {
                let program = reply.body["data"][name].as_str().unwrap().to_owned();
                if executed(interpreter, program).await.is_none() {
                    continue;
                }
                let taps = hook.get(&format!("/api/patterns/{}/tap-events", hook.pattern)).await;
                let mut came = taps.body["events"][0]["eventData"]["body"].clone();
                // A form's field is a text, however its JSON is written.
                if let Some(text) = came["order"].as_str() {
                    let order: serde_json::Value = serde_json::from_str(text).unwrap();
                    came["order"] = json!(order.to_string());
                }
                assert_eq!(came, sent, "{name}");
            }
            for wrong in ["nothing".to_owned(), format!("\"{}\"", "x".repeat(4096))] {
                let refused = hook.get(&format!("{path}&body={wrong}")).await;
                assert_eq!(refused.wrong_fields(), ["body"]);
            }
        }
    }

    async fn only_the_deployments_own_endpoints_have_them(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let deployment = hook.deploy().await;
        let path = format!("/api/deployments/{deployment}/webhook/snippets");
        let missing = hook.get(&path).await;
        assert_eq!((missing.status, missing.code()), (400, "VALIDATION"));
        assert_eq!(missing.body["error"]["details"][0]["path"], "endpointId");
        let unknown = hook.get(&format!("{path}?endpointId={}", hook.user.id)).await;
        assert_eq!((unknown.status, unknown.code()), (404, "NOT_FOUND"));
    }
}
