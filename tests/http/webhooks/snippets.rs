//! Snippets are pasted and executed, each by its interpreter.

use super::fixture::{Hook, graph, returns};
use crate::harness::{Service, each_database};
use crate::needs;
use serde_json::{Value, json};
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

/// The snippets of the hook's endpoint, whose request says this.
async fn snippets(hook: &Hook<'_>, deployment: &str, given: Option<&Value>) -> Value {
    let mut path = format!(
        "/api/deployments/{deployment}/webhook/snippets?endpointId={}",
        hook.endpoint
    );
    if let Some(given) = given {
        let body = given.to_string();
        path.push_str("&body=");
        path.extend(form_urlencoded::byte_serialize(body.as_bytes()));
    }
    let reply = hook.get(&path).await;
    assert_eq!(reply.status, 200, "{reply}");
    reply.body["data"].clone()
}

fn form(fields: &Value) -> Value {
    let mut graph = graph(
        json!({"title": "A visit", "fields": fields}),
        &[returns("{{ $input.body }}")],
    );
    graph["nodes"][0]["type"] = json!("OnForm");
    graph
}

/// Executes the snippets for a form; each of them is thanked, and its run gets what `is_filled` looks at.
async fn sends_form(hook: &Hook<'_>, given: Option<&Value>, is_filled: impl Fn(&Value)) {
    let deployment = hook.deploy().await;
    let snippets = snippets(hook, &deployment, given).await;
    for (name, interpreter) in INTERPRETERS {
        let program = snippets[name].as_str().unwrap().to_owned();
        let Some(output) = executed(interpreter, program.clone()).await else {
            continue;
        };
        assert!(output.contains("Thank you"), "{name}: {output}\n{program}");
        let runs = hook.runs(&deployment).await;
        let run = runs[0]["id"].as_str().unwrap();
        let ended = hook.service.ended(&hook.user, &deployment, run).await;
        assert_eq!(ended["status"], "success", "{name}: {ended}");
        is_filled(&ended["output"]);
    }
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
                    let order: Value = serde_json::from_str(text).unwrap();
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

    async fn they_send_messages_to_chats_and_read_the_answers(service: Service) {
        let mut chat = graph(json!({"title": "Hours"}), &[returns("{{ 'You said: ' + $input.body.message }}")]);
        chat["nodes"][0]["type"] = json!("OnChat");
        let hook = Hook::saved(&service, chat).await;
        let deployment = hook.deploy().await;
        let given = json!({"message": "It's \"Ann\" \\ `$HOME` %s", "sessionId": "ann-1"});
        for (given, said) in [(None, "hello world"), (Some(given.clone()), given["message"].as_str().unwrap())] {
            let snippets = snippets(&hook, &deployment, given.as_ref()).await;
            let curl = snippets["curl"].as_str().unwrap();
            assert!(curl.contains("curl -sSN -X POST") && curl.contains("Accept: text/event-stream"), "{curl}");
            assert_eq!(curl.contains("ann-1"), given.is_some(), "{curl}");
            for (name, interpreter) in INTERPRETERS {
                let program = snippets[name].as_str().unwrap().to_owned();
                if let Some(output) = executed(interpreter, program.clone()).await {
                    assert!(output.contains("event: end"), "{name}: {output}\n{program}");
                    assert!(output.contains(&format!("You said: {said}")), "{name}: {output}\n{program}");
                }
            }
        }
    }

    async fn they_fill_in_forms(service: Service) {
        let plain = json!([
            {"name": "who", "required": true, "minLength": 9},
            {"name": "email", "type": "email", "required": true},
            {"name": "guests", "type": "number", "min": 3, "required": true},
            {"name": "day", "type": "date", "min": "2030-01-01", "required": true},
            {"name": "plan", "type": "radio", "options": ["\u{fc}ber", "other"], "required": true},
            {"name": "days", "type": "checkboxes", "options": ["Mon", "Tue", "Wed"], "min": 2},
            {"name": "code", "pattern": "[0-9]{4}"},
            {"name": "note", "type": "textarea", "default": "It's \"Ann\" \\ `$HOME` %s"},
            {"name": "terms", "type": "checkbox", "required": true},
            {"name": "source", "type": "hidden", "default": "card"},
        ]);
        let mut filled = json!({"who": "exampleex", "email": "ann@example.com", "guests": 3, "day": "2030-01-01",
            "plan": "\u{fc}ber", "days": ["Mon", "Tue"], "code": null, "note": "It's \"Ann\" \\ `$HOME` %s",
            "terms": true, "source": "card"});
        let hook = Hook::saved(&service, form(&plain)).await;
        // What does not fit is not sent: it may come from an older version, or be no more than a guess.
        let given = json!({"who": "example", "guests": 4, "days": [], "code": "0042", "terms": true, "note": null});
        for has_given in [false, true] {
            let given = has_given.then_some(&given);
            if has_given {
                for (name, value) in [("guests", json!(4)), ("days", json!([])), ("code", json!("0042")), ("note", json!(null))] {
                    filled[name] = value;
                }
            }
            sends_form(&hook, given, |body| assert_eq!(body, &filled)).await;
        }

        let with_files = json!([
            {"name": "who", "required": true, "default": "@It's \"Ann\"; $HOME"},
            {"name": "plan", "type": "file", "accept": [".pdf", "image/*"], "required": true},
            {"name": "photos", "type": "file", "accept": ["image/*"], "multiple": true, "min": 2, "required": true},
        ]);
        hook.save(form(&with_files)).await;
        sends_form(&hook, None, |body| {
            assert_eq!(body["who"], "@It's \"Ann\"; $HOME");
            assert_eq!((&body["plan"]["name"], &body["plan"]["size"]), (&json!("example.pdf"), &json!(11)));
            let photos = body["photos"].as_array().unwrap();
            assert_eq!(photos.len(), 2);
            assert!(photos.iter().all(|photo| photo["type"] == "image/png"), "{body}");
        })
        .await;
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
