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
            let path = format!("/api/deployments/{deployment}/webhook/snippets?endpointId={}", hook.endpoint);
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
