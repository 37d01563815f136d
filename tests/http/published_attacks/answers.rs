//! What browsers do with answers: nothing that a user, a pattern or a sender wrote is executed as the service's own page,
//! and nobody is led elsewhere.

use crate::access::ENDLESS;
use crate::access::fixture::Fixture;
use crate::document::operations;
use crate::harness::{Reply, Service, each_database};
use crate::webhooks::fixture::{Hook, graph, responds, returns};
use heddle_api::http::routes::document;
use serde_json::{Value, json};

/// Markup that executes wherever it is shown as such.
const MARKUP: &str =
    "\"><script>alert(1)</script><img src=x onerror=alert(1)><iframe srcdoc='<script>alert(1)</script>'>";

/// What a browser shows or hands on, and never executes. With `nosniff` it takes it for nothing else.
const HARMLESS: &[&str] = &["application/json", "text/event-stream", "text/plain"];

fn content_type(reply: &Reply) -> String {
    let given = reply
        .headers
        .get("content-type")
        .map(|value| value.to_str().unwrap());
    let essence = given.unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// A browser executes nothing of this answer with the rights of the service's origin.
fn assert_harmless(what: &str, reply: &Reply) {
    let kind = content_type(reply);
    let policies: Vec<&str> = reply
        .headers
        .get_all("content-security-policy")
        .iter()
        .map(|value| value.to_str().unwrap())
        .collect();
    let sandboxed = policies.iter().any(|policy| {
        let mut directives = policy.split(';').map(str::trim);
        directives
            .any(|directive| directive.starts_with("sandbox") && !directive.contains("allow-same-origin"))
    });
    assert!(
        sandboxed || HARMLESS.contains(&kind.as_str()) || reply.text.is_empty(),
        "{what}: {kind} {policies:?}: {reply}"
    );
    // Browsers guess at text, and neither at JSON nor at events.
    let unmistakable = ["", "application/json", "text/event-stream"].contains(&kind.as_str());
    let guessed = !unmistakable && !reply.headers.contains_key("x-content-type-options");
    assert!(!guessed, "{what}: may be taken for another type: {reply}");
}

each_database! {
    /// CVE-2025-46343 (attachments), CVE-2025-58177, CVE-2025-52478, CVE-2026-25054, CVE-2026-27578, CVE-2026-33749, CVE-2026-110847,
    /// CVE-2026-110849 (stored values on pages), CVE-2026-25737 (Budibase): what one user stores is executed when
    /// another looks at it. Here it is stored wherever a value can be, and everything that can be read is read.
    async fn stored_markup_is_never_a_page(service: Service) {
        let fixture = Fixture::new(&service).await;
        let owner = &fixture.owner;
        let document = document();
        let all = operations(&document);
        let address = |name: &str| fixture.address(all.iter().find(|operation| operation.to_string() == name).unwrap());
        let pattern = address("GET /api/patterns/{id}");
        let deployment = address("GET /api/deployments/{id}");
        let marked = graph(json!({"alias": MARKUP}), &[
            json!({"id": "log", "type": "Log", "data": {"label": MARKUP, "notes": MARKUP, "parameters": {"message": MARKUP}}}),
            returns(&format!("{{{{ [$input, {}] }}}}", json!(MARKUP))),
        ]);
        let environment = address("GET /api/workspaces/{id}/environments/{envId}/variables");
        for (method, path, body) in [
            ("PUT", &pattern, json!({"name": MARKUP, "description": MARKUP, "tags": ["<script>alert(1)</script>"], "summary": MARKUP, "graphData": marked})),
            ("POST", &format!("{pattern}/deploy"), json!({"nodeDefinitions": {}})),
            ("PUT", &environment, json!({"greeting": MARKUP})),
            ("PATCH", &address("GET /api/workspaces/{id}"), json!({"name": MARKUP})),
            ("POST", &"/api/auth/api-keys".to_owned(), json!({"name": MARKUP})),
            ("POST", &"/api/connections/api-key".to_owned(), json!({"provider": "x", "apiKey": "k", "displayName": MARKUP})),
            ("POST", &"/api/auth/register".to_owned(),
                json!({"email": "markup@example.com", "firstName": MARKUP, "lastName": MARKUP, "password": "correct-horse"})),
        ] {
            let stored = service.ask(owner, method, path, &body).await;
            assert!(stored.status < 300, "{method} {path}: {stored}");
            assert_harmless(path, &stored);
        }
        let webhooks = service.ask(owner, "GET", &format!("{pattern}/webhooks"), &Value::Null).await;
        let webhook = webhooks.body["data"]["endpoints"][0]["webhookId"].as_str().unwrap().to_owned();
        let refused = service.post(&format!("/webhooks/{webhook}?{}", "x=%3Cscript%3E")).header("content-type", "application/json")
            .header("user-agent", MARKUP).header("x-webhook-signature", MARKUP).body("{}").send().await;
        assert_harmless("a refused webhook", &refused);
        service.ask(owner, "POST", &format!("{deployment}/execute?wait=true"), &json!({"eventData": {"<script>": MARKUP}})).await;

        for operation in all.iter().filter(|operation| operation.method == "GET" && !ENDLESS.contains(&operation.to_string().as_str())) {
            // The operator has a token of another kind, which this service takes from nobody.
            let apart = ["/docs", "/metrics", "/webhooks", "/callbacks", "/operator/"];
            if apart.iter().any(|path| operation.path.starts_with(path)) {
                continue;
            }
            // The type of an answer is not the reader's to choose.
            let address = fixture.address(operation);
            let sign = if address.contains('?') { '&' } else { '?' };
            let ask = format!("{address}{sign}mimeType=text/html&contentType=text/html&callback=alert&format=html");
            let reply = service.get(&ask).bearer(&owner.token).header("accept", "text/html").send().await;
            assert_harmless(&operation.to_string(), &reply);
            if let Some(disposition) = reply.headers.get("content-disposition") {
                assert!(disposition.to_str().unwrap().starts_with("attachment"), "{operation}");
            }
        }
        let page = service.get("/docs").send().await;
        assert!(!page.text.contains("alert(1)"), "the page of the reference shows nobody's values");
        assert!(page.headers.contains_key("content-security-policy"));
    }

    /// CVE-2025-61914, CVE-2026-25051: a page that a pattern answers with is outside of the frame that was to hold it, or
    /// has no policy in some cases.
    async fn pages_that_patterns_make_have_no_origin(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let pages = [
            json!({"body": MARKUP, "bodyType": "text", "headers": {"Content-Type": "text/html"}}),
            json!({"body": MARKUP, "bodyType": "text", "headers": {"content-TYPE": "text/html; charset=utf-7"}}),
            json!({"body": MARKUP, "bodyType": "text", "status": 404, "headers": {"Content-Type": "application/xhtml+xml"}}),
            json!({"body": "PHNjcmlwdD4=", "bodyType": "base64", "status": 500, "headers": {"Content-Type": "image/svg+xml"}}),
            json!({"body": MARKUP, "bodyType": "text", "headers": {"Content-Type": "text/xml"}}),
            json!({"body": "alert(1)", "bodyType": "text", "headers": {"Content-Type": "text/javascript"}}),
            json!({"body": MARKUP, "bodyType": "text", "headers": {"Content-Type": "multipart/x-mixed-replace; boundary=x"}}),
            json!({"body": MARKUP, "bodyType": "text", "headers": {
                "Content-Type": "text/html", "Content-Security-Policy": "sandbox allow-scripts allow-same-origin; default-src *",
                "X-Content-Type-Options": "sniff", "X-Frame-Options": "ALLOWALL", "Content-Security-Policy-Report-Only": "sandbox",
            }}),
            json!({"body": MARKUP, "bodyType": "text", "headers": {"Content-Type": "text/html\r\nX-Injected: 1", "X-A": "b\r\nX-Injected: 1"}}),
            json!({"body": MARKUP, "bodyType": "json", "headers": {"Content-Type": "text/html"}}),
        ];
        let (count, mut sandboxed) = (pages.len(), 0);
        for page in pages {
            hook.save(graph(json!({}), &[responds(page.clone())])).await;
            hook.deploy().await;
            let reply = hook.signed("{}").send().await;
            assert_harmless(&page.to_string(), &reply);
            assert!(!reply.headers.contains_key("x-injected"), "{page}");
            let policies = reply.headers.get_all("content-security-policy");
            let strict = |policy: &str| policy.starts_with("sandbox") && !policy.contains("allow-same-origin");
            sandboxed += usize::from(policies.iter().any(|policy| strict(policy.to_str().unwrap())));
        }
        // All but the one whose type is no header's value, which fails its run.
        assert_eq!(sandboxed, count - 1);
        // Answers that no node made.
        for graph in [graph(json!({"responseMode": "sync"}), &[returns("{{ $input.body }}")]),
            graph(json!({"responseMode": "sync"}), &[json!({"id": "t", "type": "Throw", "data": {"parameters": {"message": MARKUP, "code": "X"}}})])] {
            hook.save(graph).await;
            hook.deploy().await;
            let body = json!(MARKUP).to_string();
            let reply = hook.signed(&body).header("accept", "text/html").send().await;
            assert_eq!(content_type(&reply), "application/json");
            assert_harmless("a synchronous answer", &reply);
        }
        let challenge = service.get(&format!("/webhooks/{}?challenge=%3Cscript%3Ealert(1)%3C/script%3E", hook.webhook)).send().await;
        assert_eq!(challenge.text, "<script>alert(1)</script>");
        assert_harmless("a challenge", &challenge);
    }

    /// CVE-2025-49592: a link to the login leads elsewhere afterwards.
    async fn no_link_leads_elsewhere(service: Service) {
        let ann = service.user("ann").await;
        let elsewhere = "https://evil.example/";
        for parameter in ["redirect", "next", "returnTo", "url", "redirect_uri", "continue"] {
            let login = json!({"email": "ann@example.com", "password": "correct-horse", parameter: elsewhere});
            for (method, path, body) in [
                ("POST", format!("/api/auth/login?{parameter}={elsewhere}"), login),
                ("POST", format!("/api/auth/ext?{parameter}={elsewhere}"), json!({"code": "x", parameter: elsewhere})),
                ("GET", format!("/docs?{parameter}={elsewhere}"), Value::Null),
                ("GET", format!("/api/auth/me?{parameter}={elsewhere}"), Value::Null),
            ] {
                let reply = service.ask(&ann, method, &path, &body).await;
                assert!(!(300..400).contains(&reply.status) && !reply.headers.contains_key("location"), "{path}: {reply}");
                assert!(!reply.headers.contains_key("refresh") && !reply.text.contains("evil.example"), "{path}: {reply}");
            }
        }
        for path in ["//evil.example", "/\\evil.example", "///evil.example/%2e%2e", "/https://evil.example", "/docs//evil.example", "/docs/", "/api/auth/login/"] {
            let host = "Host: evil.example\r\nX-Forwarded-Host: evil.example\r\nConnection: close\r\n\r\n";
            let answer = service.raw(&format!("GET {path} HTTP/1.1\r\n{host}")).await;
            let head = answer.split("\r\n\r\n").next().unwrap().to_ascii_lowercase();
            assert!(!head.starts_with("http/1.1 3") && !head.contains("location:"), "{path}: {answer}");
            assert!(!answer.contains("evil.example"), "{path}: {answer}");
        }
    }
}
