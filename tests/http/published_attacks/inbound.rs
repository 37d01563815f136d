//! What senders of webhooks may not: claim that a value is a file, change prototypes, have their text evaluated, go
//! without a signature, or pretend to come from elsewhere.

use super::row;
use crate::harness::{Service, User, chain, each_database};
use crate::webhooks::fixture::{Hook, graph, responds, sign};
use serde_json::{Value, json};
use std::time::Duration;

/// A pattern that answers with what it was sent.
fn echo() -> Value {
    graph(json!({}), &[responds(json!({"body": "{{ $input.body }}"}))])
}

/// Texts that look like the templates of some language.
const TEMPLATES: &[&str] = &[
    "{{ 7 * 7 }}",
    "={{ 7 * 7 }}",
    "{{ $secrets.TOKEN }}",
    "heddle-secret(TOKEN;00000000000000000000000000000000)",
    "${7 * 7}",
    "<%= 7 * 7 %>",
    "#{7 * 7}",
    "[[ 7 * 7 ]]",
];

each_database! {
    /// CVE-2026-21858: a body of another type than the one that was declared is taken for uploaded files, of which the
    /// sender has written the paths.
    async fn a_body_is_data_whatever_type_it_claims(service: Service) {
        let hook = Hook::deployed(&service, echo()).await;
        let claim = json!({
            "data": {}, "files": {"f": {"filepath": "/etc/passwd", "originalFilename": "x.txt", "mimetype": "text/plain", "size": 9}},
        });
        let body = claim.to_string();
        let path = format!("/webhooks/{}", hook.webhook);
        let send = |types: &[&str]| {
            let signed = service.post(&path).header("x-webhook-signature", &sign(&hook.secret, &body)).body(body.clone());
            types.iter().fold(signed, |request, content_type| request.header("content-type", content_type)).send()
        };
        for types in [
            &["application/json"][..],
            &["APPLICATION/JSON"],
            &["application/json; charset=utf-8"],
            &["application/json; boundary=x"],
            &["application/json", "multipart/form-data; boundary=x"],
        ] {
            let taken = send(types).await;
            assert_eq!((taken.status, &taken.body), (200, &claim), "{types:?}: {taken}");
        }
        for types in [
            &["multipart/form-data; boundary=x"][..],
            &["multipart/form-data; application/json"],
            &["multipart/form-data", "application/json"],
            &["application/json, multipart/form-data; boundary=x"],
            &["application/x-www-form-urlencoded"],
            &["application/jsonp"],
            &["application/octet-stream"],
            &["text/plain"],
            &[""],
            &[],
        ] {
            let refused = send(types).await;
            assert_eq!((refused.status, refused.code()), (415, "UNSUPPORTED_MEDIA_TYPE"), "{types:?}: {refused}");
        }
    }

    /// CVE-2026-33696, CVE-2026-42232, CVE-2026-44791 (the XML node and two bypasses of its repair), CVE-2026-110848 (names of
    /// nodes), CVE-2021-21297 (Node-RED's API): a key named `__proto__` becomes a field of all objects.
    async fn keys_named_like_prototypes_are_keys(service: Service) {
        let polluting = r#"{"__proto__": {"kept": 1}, "constructor": {"prototype": {"kept": 1}}, "a": {"__proto__": {"kept": 1}}}"#;
        let clean = "({}).kept === undefined && [].kept === undefined && !('kept' in $input)";
        let graph = graph(json!({}), &[
            json!({"id": "set", "type": "SetFields", "data": {"parameters": {"fields": {"clean": format!("{{{{ {clean} && /x/.source }}}}")}}}}),
            responds(json!({"body": "{{ ({ clean: $input.clean, keys: Object.keys($input.body) }) }}"})),
        ]);
        let hook = Hook::deployed(&service, graph).await;
        for _ in 0..2 {
            let answer = hook.signed(polluting).send().await;
            assert_eq!(answer.body, json!({"clean": "x", "keys": ["__proto__", "constructor", "a"]}), "{answer}");
        }

        let ann = &hook.user;
        let texts = [
            ("Xml", "<__proto__><kept>1</kept></__proto__>"),
            ("Xml", "<a><__proto__><kept>1</kept></__proto__><constructor><prototype><kept>1</kept></prototype></constructor></a>"),
            ("Xml", "<a __proto__='x'><b constructor='y'/></a>"),
            ("Yaml", "__proto__: {kept: 1}\nconstructor: {prototype: {kept: 1}}"),
            ("Json", r#"{"__proto__": {"kept": 1}}"#),
            ("Csv", "__proto__,constructor\n1,2\n"),
            ("Url", "https://a.test/?__proto__[kept]=1&constructor[prototype][kept]=1&__proto__.kept=1"),
        ];
        let nodes: Vec<(&str, Value)> = texts.iter().map(|(kind, text)| (*kind, json!({"value": text}))).collect();
        let value = json!("{{ [({}).kept, [].kept, ''.kept, Object.keys(Object.prototype).length, /x/.source] }}");
        let found = service.output_of(ann, &row(&nodes, &value), &json!({})).await;
        assert_eq!(found, json!([null, null, null, 0, "x"]));

        // As the id and the label of a node, and as a variable.
        let mut named = chain(&[("__proto__", "OnManual", json!({})), ("constructor", "Transform", json!({"value": {"kept": 1}})), ("end", "Return", json!({"value": value}))]);
        named["nodes"][1]["data"]["label"] = json!("__proto__");
        named["__proto__"] = json!({"kept": 1});
        assert_eq!(service.output_of(ann, &named, &json!({})).await, json!([null, null, null, 0, "x"]));
        let listed = service.ask(ann, "GET", "/api/patterns", &Value::Null).await;
        assert_eq!(listed.status, 200, "{listed}");
    }

    /// CVE-2026-27493: what a visitor wrote into a form is evaluated when a later node reads it.
    async fn what_senders_write_is_never_evaluated(service: Service) {
        let nodes = [
            ("Transform", json!({"value": "{{ $input }}"})),
            ("Template", json!({"text": "{{ $input }}"})),
            ("Json", json!({"operation": "parse"})),
            ("KeyValue", json!({"operation": "set", "key": "kept {{ $input[0] }}", "value": "{{ $input }}"})),
            ("KeyValue", json!({"operation": "get", "key": "kept {{ $input[0] }}"})),
            ("JavaScript", json!({"code": "export default ({input, params}) => params.all ?? input", "params": {"all": "{{ $input }}"}})),
            ("Log", json!({"message": "{{ $input }}"})),
        ];
        let ann = service.user("ann").await;
        let graph = row(&nodes, &json!("{{ $input }}"));
        let deployment = service.deployed(&ann, &graph).await;
        let ran = service.ran(&ann, &deployment, &json!({"sent": TEMPLATES})).await;
        let run = service.run(&ann, &deployment, &ran).await;
        assert_eq!(run["output"], json!({"sent": TEMPLATES}), "{run}");
        assert_eq!(run["logOutput"][0]["message"], json!({"sent": TEMPLATES}).to_string());
    }

    /// CVE-2026-21894: Stripe's events are taken without a look at their signature. CVE-2026-86080: an endpoint that is used
    /// again has no secret, and nothing is checked.
    async fn no_endpoint_goes_without_a_secret(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"scheme": "stripe"}), &[])).await;
        let deployment = hook.deploy().await;
        let now = service.app.clock.now().millis() / 1000;
        let forged = |secret: &str| format!("t={now},v1={}", sign(secret, &format!("{now}.{{}}")));
        let unsigned = async |hook: &Hook<'_>| {
            for signature in [None, Some(String::new()), Some(format!("t={now}")), Some(format!("t={now},v1=")), Some(forged("")),
                Some(forged("undefined")), Some(forged("null")), Some(forged("whsec_")), Some(forged(&hook.webhook))] {
                let request = hook.post("{}");
                let request = match &signature {
                    Some(signature) => request.header("stripe-signature", signature),
                    None => request,
                };
                let refused = request.send().await;
                assert_eq!((refused.status, refused.code()), (401, "SIGNATURE_INVALID"), "{signature:?}: {refused}");
            }
            service.app.clock.advance(Duration::from_secs(1));
        };
        unsigned(&hook).await;
        assert_eq!(hook.post("{}").header("stripe-signature", &forged(&hook.secret)).send().await.status, 202);
        service.app.clock.advance(Duration::from_secs(60));

        // Through every way to an endpoint that was there before.
        hook.save(graph(json!({"scheme": "stripe", "alias": "again"}), &[])).await;
        hook.save(json!({"nodes": [], "edges": []})).await;
        hook.save(graph(json!({"scheme": "stripe"}), &[])).await;
        let path = format!("/api/deployments/{deployment}/webhook/regenerate");
        service.ask(&hook.user, "POST", &path, &json!({"endpointId": hook.endpoint})).await;
        let cloned = service.ask(&hook.user, "POST", &format!("/api/patterns/{}/clone", hook.pattern), &json!({})).await;
        assert_eq!(cloned.status, 201, "{cloned}");
        let exported = service.ask(&hook.user, "GET", &format!("/api/patterns/{}/export", hook.pattern), &Value::Null).await;
        assert!(!exported.text.contains(&hook.secret) && !exported.text.contains(&hook.webhook), "{exported}");
        let mut file = exported.body.clone();
        file["webhookSecret"] = json!("");
        file["graphData"]["nodes"][0]["data"]["webhookSecret"] = json!("");
        file["graphData"]["nodes"][0]["data"]["webhookId"] = json!(hook.webhook);
        let imported = service.ask(&hook.user, "POST", "/api/patterns/import", &file).await;
        assert_eq!(imported.status, 201, "{imported}");
        let mut seen = vec![hook.secret.clone()];
        for pattern in [json!(hook.pattern), cloned.body["id"].clone(), imported.body["id"].clone()] {
            let path = format!("/api/patterns/{}/webhooks", pattern.as_str().unwrap());
            let listed = service.ask(&hook.user, "GET", &path, &Value::Null).await;
            let endpoint = &listed.body["data"]["endpoints"][0];
            let text = |name: &str| endpoint[name].as_str().unwrap().to_owned();
            let (webhook, secret) = (text("webhookId"), text("webhookSecret"));
            assert!(secret.len() >= 32 && !seen.contains(&secret), "{listed}");
            seen.push(secret.clone());
            unsigned(&Hook { service: &service, user: hook.user.clone(), pattern: hook.pattern.clone(), endpoint: String::new(), webhook, secret }).await;
        }
        assert_eq!(hook.runs(&deployment).await.len(), 1);
    }

    /// CVE-2026-110846: whoever has the token of one waiting node answers for another one, by another spelling of its name.
    async fn a_callback_s_token_is_for_its_place_in_one_spelling(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let mut graph = chain(&[
            ("start", "OnManual", json!({})),
            ("tell", "Log", json!({"message": "{{ $run.callbackUrls.ask }}"})),
            ("ask", "WaitForCallback", json!({"respondBody": "<script>alert(1)</script>"})),
            ("boss", "WaitForCallback", json!({})),
            ("end", "Return", json!({})),
        ]);
        graph["nodes"][3]["data"]["label"] = json!("ask ");
        let deployment = service.deployed(&ann, &graph).await;
        let run = service.started(&ann, &deployment, &json!({})).await;
        let path = waiting_path(&service, &ann, &deployment, &run).await;
        let base = path.strip_suffix("/ask").unwrap();
        for place in ["boss", "Ask", "ASK", "ask%20", "ask%00", "ask~2", "ask,boss", "ask;boss", "ask%2Fboss", "ask/boss", "boss%2F..%2Fask", "%61sk~1", "ask%0d%0a", ""] {
            let refused = service.ask(&ann, "POST", &format!("{base}/{place}"), &json!({"approved": true})).await;
            assert_eq!(refused.status, 404, "{place}: {refused}");
        }
        let told = service.ask(&ann, "POST", &path, &json!({})).await;
        assert_eq!((told.status, told.text.as_str()), (200, "<script>alert(1)</script>"));
        assert_eq!(told.headers["content-type"], "text/plain; charset=utf-8");
        assert_eq!(told.headers["x-content-type-options"], "nosniff");
        // The second one still waits.
        let left = service.run(&ann, &deployment, &run).await;
        assert_eq!(left["status"], "running", "{left}");
    }

    /// CVE-2025-68949: addresses are compared as text, so that part of one will do. Here addresses are counted, and whoever
    /// writes others into a header is counted by their own.
    async fn headers_do_not_change_a_sender_s_address(service: Service) {
        let hook = Hook::deployed(&service, graph(json!({}), &[])).await;
        for index in 0..100 {
            let sent = hook.post("{}").header("x-forwarded-for", &format!("10.0.0.{index}, 127.0.0.1{}", index % 10))
                .header("forwarded", &format!("for=10.1.0.{index}")).header("x-real-ip", &format!("10.2.0.{index}"))
                .header("client-ip", "127.0.0.1").send().await;
            assert_eq!(sent.status, 401, "{sent}");
        }
        let limited = hook.signed("{}").header("x-forwarded-for", "8.8.8.8").header("x-real-ip", "8.8.8.8").send().await;
        assert_eq!((limited.status, limited.code()), (429, "RATE_LIMITED"));
    }
}

/// The path of the callback that the run has logged, once it waits.
async fn waiting_path(service: &Service, user: &User, deployment: &str, run: &str) -> String {
    loop {
        let found = service.run(user, deployment, run).await;
        assert_eq!(found["status"], "running", "{found}");
        // The log is stored with the wait, a moment after it has begun.
        if found["phase"] == "waiting"
            && let Some(url) = found["logOutput"][0]["message"].as_str()
        {
            let (_, path) = url.split_once("/callbacks/").unwrap();
            return format!("/callbacks/{path}");
        }
        tokio::task::yield_now().await;
    }
}
