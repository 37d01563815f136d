//! Where requests may go, in both directions: paths that lead out of where they begin, addresses that pass a check for
//! being written in another way, and calls inside the network that the service stands in.

use super::{all_of, row};
use crate::harness::{Service, each_database};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::{TcpListener, TcpStream};

/// A server that nobody may reach; how many have.
async fn inside() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let reached = Arc::new(AtomicUsize::new(0));
    let count = reached.clone();
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, reached)
}

async fn without_token(service: &Service, line: &str, headers: &str) -> (u16, String) {
    let answer = service
        .raw(&format!(
            "{line} HTTP/1.1\r\nHost: heddle\r\n{headers}Connection: close\r\n\r\n"
        ))
        .await;
    let status = answer
        .get(9..12)
        .and_then(|status| status.parse().ok())
        .unwrap_or_default();
    (status, answer)
}

each_database! {
    /// CVE-2023-27562, CVE-2025-49595 (n8n), CVE-2026-29059 (Windmill), CVE-2021-21298 (Node-RED): a name in
    /// a path reaches a file.
    async fn no_path_reaches_a_file(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &row(&[], &json!(1))).await;
        for escape in [
            "../../../../etc/passwd",
            "..%2f..%2f..%2f..%2fetc%2fpasswd",
            "%2e%2e/%2e%2e/%2e%2e/etc/passwd",
            "..%252f..%252f..%252fetc%252fpasswd",
            "..%5c..%5c..%5cetc%5cpasswd",
            "....//....//....//etc/passwd",
            "..;/..;/..;/etc/passwd",
            "%2fetc%2fpasswd",
            "/etc/passwd",
            "%c0%ae%c0%ae/%c0%ae%c0%ae/etc/passwd",
            "file:///etc/passwd",
            "filesystem://",
            "filesystem-v2://",
            "%00/etc/passwd",
            "heddle.db",
            "..%2fheddle.db",
            "master.key",
        ] {
            for base in ["/", "/docs/", "/api/nodes/", "/api/patterns/", &format!("/api/patterns/{pattern}/"), "/webhooks/", "/callbacks/x/y/"] {
                let token = format!("Authorization: Bearer {}\r\n", ann.token);
                let (status, answer) = without_token(&service, &format!("GET {base}{escape}"), &token).await;
                assert!([400, 404, 405, 414].contains(&status), "{base}{escape}: {answer}");
                assert!(!answer.contains("root:") && !answer.contains("SQLite format"), "{base}{escape}: {answer}");
            }
        }
    }

    /// CVE-2026-31816 (Budibase): what is public is found in the whole URL, so that a query opens everything.
    async fn no_spelling_of_an_address_needs_no_token(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &row(&[], &json!("kept"))).await;
        let of = format!("/api/patterns/{pattern}");
        for line in [
            format!("GET {of}?/webhooks/trigger"),
            format!("GET {of}?x=/healthz"),
            format!("GET {of}%3f/webhooks/x"),
            format!("GET {of};/webhooks/x"),
            format!("GET {of}/.;/healthz"),
            format!("GET {of}#/webhooks/x"),
            format!("GET /webhooks/..{of}"),
            format!("GET /webhooks/%2e%2e{of}"),
            format!("GET /healthz/..{of}"),
            format!("GET /{of}"),
            format!("GET {}", of.to_uppercase()),
            format!("GET {of}/"),
            format!("GET {of}%00"),
            format!("GET http://heddle{of}"),
            format!("GET http://heddle/webhooks/x?{of}"),
            format!("HEAD {of}"),
            format!("GET {of}?access_token={0}&token={0}", ann.token),
        ] {
            let (status, answer) = without_token(&service, &line, "").await;
            assert!([400, 401, 404].contains(&status), "{line}: {answer}");
            assert!(!answer.contains("kept"), "{line}: {answer}");
        }
        for header in [
            "X-Original-URL: /healthz", "X-Rewrite-URL: /healthz", "X-Forwarded-Prefix: /webhooks", "X-HTTP-Method-Override: OPTIONS",
            "X-Forwarded-User: ann@example.com", "X-User-Id: 1", "X-Forwarded-For: 127.0.0.1", "X-Internal: true", "Host: localhost",
        ] {
            let (status, answer) = without_token(&service, &format!("GET {of}"), &format!("{header}\r\n")).await;
            assert!([400, 401].contains(&status), "{header}: {answer}");
        }
        let cookies = format!("Cookie: token={0}; authorization=Bearer%20{0}; n8n-auth={0}\r\n", ann.token);
        assert_eq!(without_token(&service, &format!("GET {of}"), &cookies).await.0, 401);
    }

    /// CVE-2026-33713 (n8n), CVE-2026-23696 (Windmill): a column's name, or another text, is put into a statement.
    async fn texts_in_queries_stay_texts(service: Service) {
        let ann = service.user("ann").await;
        let deployment = service.deployed(&ann, &row(&[], &json!(1))).await;
        service.ran(&ann, &deployment, &json!({})).await;
        let lists = ["/api/patterns", "/api/deployments", "/api/triggers/webhook-logs", &format!("/api/deployments/{deployment}/runs"),
            &format!("/api/deployments/{deployment}/runs/stats")];
        let injections = ["name; drop table patterns", "(select password_hash from users)", "1' or '1'='1", "name desc, (select 1/0)", "\"name\"--", "%27", "name\u{0}"];
        for list in lists {
            for parameter in ["sortBy", "sort", "order", "orderBy", "search", "q", "status", "triggeredBy", "period", "limit", "page", "offset", "tags", "from", "to"] {
                for injection in injections {
                    let value: String = form_urlencoded(injection);
                    let reply = service.ask(&ann, "GET", &format!("{list}?{parameter}={value}"), &Value::Null).await;
                    assert!([200, 400].contains(&reply.status), "{list} {parameter}={injection}: {reply}");
                    assert!(!reply.text.contains("$argon2"), "{list} {parameter}={injection}: {reply}");
                }
            }
        }
        assert_eq!(service.ask(&ann, "GET", "/api/patterns", &Value::Null).await.body["meta"]["total"], 1);
    }

    /// CVE-2026-31818, CVE-2026-82246, CVE-2026-100681 (Budibase), GHSA-jp9j-jr97-w9pj, GHSA-95ph-833c-4wrp (n8n): a request to an
    /// address inside, by a URL of the user's or by a field that is not looked at.
    async fn requests_of_runs_stay_outside(service: Service) {
        let (port, reached) = inside().await;
        let ann = service.user("ann").await;
        let url = format!("http://127.0.0.1:{port}/");
        let connection = json!({"provider": "inner", "credentials": {"token": "k", "baseUrl": url}});
        let made = service.ask(&ann, "POST", "/api/connections/credentials", &connection).await;
        assert_eq!(made.status, 201, "{made}");
        let code = |call: &str| json!({"code": format!("export default async () => (await fetch({call})).status;")});
        let nodes = [
            ("HttpRequest", json!({"url": url})),
            ("HttpRequest", json!({"url": format!("http://a@127.0.0.1:{port}/")})),
            ("HttpRequest", json!({"url": format!("http://example.com@127.0.0.1:{port}/")})),
            ("HttpRequest", json!({"url": format!("http://localhost:{port}/#@example.com")})),
            ("HttpRequest", json!({"url": format!("http://[::ffff:7f00:1]:{port}/")})),
            ("HttpRequest", json!({"url": "{{ 'http://127.0.0.' + (2 - 1) + '/' }}"})),
            ("HttpRequest", json!({"url": "http://169.254.169.254/latest/meta-data/"})),
            ("HttpRequest", json!({"url": url, "headers": {"Host": "example.com"}})),
            ("HttpRequest", json!({"url": "/", "connection": "inner"})),
            ("HttpRequest", json!({"url": "file:///etc/passwd"})),
            ("HttpRequest", json!({"url": "gopher://127.0.0.1/"})),
            ("ChatCompletion", json!({"connection": "inner", "model": "m", "prompt": "x"})),
            ("JavaScript", code(&json!(url).to_string())),
            ("JavaScript", code(&format!("new URL({})", json!(url)))),
            ("JavaScript", code(&format!("{{toString() {{ return {}; }}}}", json!(url)))),
            ("JavaScript", code(&format!("['http://127.0.0.1:{port}/']"))),
            ("JavaScript", code(&format!("new Request({}, {{headers: {{host: 'example.com'}}}})", json!(url)))),
        ];
        let graph = row(&nodes, &all_of(nodes.len()));
        let found = service.output_of(&ann, &graph, &json!({})).await;
        let denied = found.as_array().unwrap_or_else(|| panic!("{found}"));
        assert_eq!(denied.len(), nodes.len());
        for (found, (kind, parameters)) in denied.iter().zip(&nodes) {
            let code = found["error"]["code"].as_str().unwrap_or_default();
            assert!(["EGRESS_DENIED", "INVALID_URL", "HTTP_FAILED", "JAVASCRIPT", "NOT_PERMITTED", "PARAMETER"].contains(&code), "{kind} {parameters}: {found}");
            assert!(!found.to_string().contains("root:"), "{kind} {parameters}: {found}");
        }
        assert_eq!(reached.load(Ordering::SeqCst), 0);
        // It would have counted.
        let _open = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        while reached.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    }
}

fn form_urlencoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}
