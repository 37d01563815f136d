//! What operators and browsers ask, and what stands around every request.

use crate::harness::{Database, Service, each_database};

each_database! {
    async fn a_service_with_its_database_is_ready(service: Service) {
        for path in ["/healthz", "/readyz"] {
            let reply = service.get(path).send().await;
            assert_eq!((reply.status, reply.text.as_str()), (200, r#"{"status":"ok"}"#), "{path}");
        }
    }

    async fn an_unknown_path_and_an_unknown_method_are_told_as_errors(service: Service) {
        let reply = service.get("/api/nothing").send().await;
        assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"));
        assert_eq!(reply.body["success"], false);
        let reply = service.delete("/api/auth/login").send().await;
        assert_eq!((reply.status, reply.code()), (405, "METHOD_NOT_ALLOWED"));
    }

    async fn a_sane_request_id_is_taken_over(service: Service) {
        let id = |reply: &crate::harness::Reply| reply.headers["x-request-id"].to_str().unwrap().to_owned();
        let reply = service.get("/healthz").header("x-request-id", "order-17.a:b_c").send().await;
        assert_eq!(id(&reply), "order-17.a:b_c");
        let long = "x".repeat(129);
        for strange in ["with space", long.as_str()] {
            let reply = service.get("/healthz").header("x-request-id", strange).send().await;
            assert_eq!(id(&reply).len(), 36);
        }
    }

    async fn requests_are_counted_by_route(service: Service) {
        service.get("/api/nothing-that-is-there").send().await;
        service.get("/healthz").send().await;
        service.request("MADE-UP", "/healthz").send().await;
        let metrics = service.get("/metrics").send().await;
        for (method, status) in [("GET", 200), ("(other)", 405)] {
            let counted = format!("heddle_http_requests_total{{method=\"{method}\",route=\"/healthz\",status=\"{status}\"}}");
            assert!(metrics.text.contains(&counted), "{}", metrics.text);
        }
        for made_up in ["nothing-that-is-there", "MADE-UP"] {
            assert!(!metrics.text.contains(made_up));
        }
    }

    async fn a_body_over_the_limit_is_refused(service: Service) {
        let ann = service.user("ann").await;
        let body = format!("{{\"name\": \"{}\"}}", "x".repeat(service.app.config.api_body_bytes_max));
        let reply = service.post("/api/workspaces").bearer(&ann.token).header("content-type", "application/json").body(body);
        let reply = reply.send().await;
        assert_eq!((reply.status, reply.code()), (413, "PAYLOAD_TOO_LARGE"));
        let reply = service.post("/api/auth/login").body("{}").send().await;
        assert_eq!((reply.status, reply.code()), (415, "UNSUPPORTED_MEDIA_TYPE"));
    }
}

#[tokio::test]
async fn only_pages_of_listed_origins_may_ask() {
    let origins = vec!["https://app.example".to_owned()];
    let listing = Service::with(Database::Sqlite, |config| config.cors_origins = origins).await;
    let listing_none = Service::with(Database::Sqlite, |_| {}).await;
    let allowed = async |service: &Service, origin: &str| {
        let reply = service.get("/healthz").header("origin", origin).send().await;
        reply
            .headers
            .get("access-control-allow-origin")
            .map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(
        allowed(&listing, "https://app.example").await.as_deref(),
        Some("https://app.example")
    );
    assert_eq!(allowed(&listing, "https://evil.example").await, None);
    assert_eq!(allowed(&listing_none, "https://app.example").await, None);
    let asked = listing_none
        .request("OPTIONS", "/healthz")
        .header("origin", "https://app.example");
    assert_eq!(asked.send().await.status, 405);
}
