//! What patterns keep, over HTTP.

use crate::harness::{Database, Reply, Service, User, chain, each_database};
use heddle_model::access::WorkspaceRole;
use heddle_model::quota::Quota;
use heddle_model::workspace_quota::WorkspaceQuota;
use serde_json::{Value, json};
use std::time::Duration;

struct Kept<'a> {
    service: &'a Service,
    by: User,
    base: String,
}

impl<'a> Kept<'a> {
    async fn of(service: &'a Service, by: &User) -> Kept<'a> {
        let workspace = service.workspace_of(by).await;
        Kept {
            service,
            by: by.clone(),
            base: format!("/api/workspaces/{workspace}/key-values"),
        }
    }

    async fn ask(&self, method: &str, rest: &str, body: Option<Value>) -> Reply {
        let request = self.service.request(method, &format!("{}{rest}", self.base));
        let request = request.bearer(&self.by.token);
        match body {
            Some(body) => request.json(&body).send().await,
            None => request.send().await,
        }
    }

    async fn get(&self, rest: &str) -> Reply {
        self.ask("GET", rest, None).await
    }

    async fn put(&self, rest: &str, body: Value) -> Reply {
        self.ask("PUT", rest, Some(body)).await
    }

    /// The keys of a page, and where the list goes on.
    async fn page(&self, query: &str) -> (Vec<String>, Option<String>) {
        let page = self.get(query).await;
        let keys = page.body["data"]
            .as_array()
            .unwrap_or_else(|| panic!("{page}"))
            .iter();
        let keys = keys.map(|value| value["key"].as_str().unwrap().to_owned());
        let next = page.body["meta"]["nextCursor"].as_str().map(str::to_owned);
        (keys.collect(), next)
    }
}

/// A deployment that gets, sets or deletes, of this scope.
async fn keeping(service: &Service, user: &User, scope: &str) -> String {
    let parameters = json!({
        "operation": "{{ $input.operation }}", "key": "{{ $input.key }}", "value": "{{ $input.value }}", "scope": scope,
    });
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        ("keep", "KeyValue", parameters),
        ("end", "Return", json!({})),
    ]);
    service.deployed(user, &graph).await
}

async fn output(service: &Service, user: &User, deployment: &str, event: Value) -> Value {
    let reply = service.execute(user, deployment, "?wait=true", &event).await;
    assert!(reply.data(200)["error"].is_null(), "{reply}");
    reply.data(200)["output"].clone()
}

async fn pattern_of(service: &Service, user: &User, deployment: &str) -> String {
    let path = format!("/api/deployments/{deployment}");
    let found = service.get(&path).bearer(&user.token).send().await;
    found.data(200)["patternId"].as_str().unwrap().to_owned()
}

each_database! {
    async fn runs_and_requests_see_the_same_values(service: Service) {
        let ann = service.user("ann").await;
        let kept = Kept::of(&service, &ann).await;
        for (scope, of) in [("workspace", false), ("pattern", true)] {
            let deployment = keeping(&service, &ann, scope).await;
            let query = match of {
                true => format!("?patternId={}", pattern_of(&service, &ann, &deployment).await),
                false => String::new(),
            };
            kept.get(&format!("/last-id{query}")).await.assert_refused(404, "NOT_FOUND");
            let put = kept.put(&format!("/last-id{query}"), json!({"value": {"id": 7}})).await;
            let expected = json!({"key": "last-id", "value": {"id": 7}, "hasSecret": false, "expiresAt": null});
            assert_eq!(put.data(200), &expected);
            let get = json!({"operation": "get", "key": "last-id"});
            assert_eq!(output(&service, &ann, &deployment, get.clone()).await, json!({"id": 7}));
            let set = json!({"operation": "set", "key": "last-id", "value": [1, 2]});
            output(&service, &ann, &deployment, set).await;
            assert_eq!(kept.get(&format!("/last-id{query}")).await.data(200)["value"], json!([1, 2]));
            let deleted = kept.ask("DELETE", &format!("/last-id{query}"), None).await;
            assert_eq!(deleted.data(200), &json!({"id": "last-id", "status": "deleted"}));
            assert_eq!(output(&service, &ann, &deployment, get).await, Value::Null);
            let again = kept.ask("DELETE", &format!("/last-id{query}"), None).await;
            again.assert_refused(404, "NOT_FOUND");
        }
    }

    async fn keys_are_any_text_and_listed_by_prefix_page_by_page(service: Service) {
        let ann = service.user("ann").await;
        let kept = Kept::of(&service, &ann).await;
        let keys = ["Z", "a", "a/1", "a/2", "a%", "a/ä", "b c", "ä", "\u{1f600}"];
        for key in keys {
            let path = format!("/{}", percent_encoding::utf8_percent_encode(key, percent_encoding::NON_ALPHANUMERIC));
            let put = kept.put(&path, json!({"value": key})).await;
            assert_eq!(put.data(200)["key"], key);
            assert_eq!(kept.get(&path).await.data(200)["value"], key);
        }
        let mut sorted: Vec<String> = keys.map(str::to_owned).to_vec();
        sorted.sort_unstable();
        assert_eq!(kept.page("").await, (sorted.clone(), None));
        assert_eq!(kept.page("?prefix=a%2F").await.0, ["a/1", "a/2", "a/ä"]);
        assert_eq!(kept.page("?prefix=a%25").await.0, ["a%"]);
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let (page, next) = kept.page(&format!("?limit=2&cursor={cursor}")).await;
            all.extend(page);
            match next {
                Some(next) => cursor = next,
                None => break,
            }
        }
        assert_eq!(all, sorted);
        let listed = kept.get("?prefix=Z").await;
        assert_eq!(listed.body["data"], json!([{"key": "Z", "bytes": 3, "expiresAt": null}]));
        assert_eq!(listed.body["meta"], json!({"limit": 50, "nextCursor": null}));
        for (query, field) in [("?cursor=%25", "cursor"), ("?limit=0", "limit"), ("?prefix=%00", "prefix"), ("?environmentId=01932c07-209e-7f64-b0a3-5c1f1b0e6f3a", "environmentId")] {
            assert_eq!(kept.get(query).await.wrong_fields(), [field], "{query}");
        }
    }

    async fn what_expires_is_gone(service: Service) {
        let ann = service.user("ann").await;
        let kept = Kept::of(&service, &ann).await;
        let put = kept.put("/k", json!({"value": null, "ttlMs": 1000})).await;
        assert_eq!(put.data(200)["expiresAt"], "2026-11-21T09:00:01.000Z");
        assert_eq!(kept.page("").await.0, ["k"]);
        service.app.clock.advance(Duration::from_secs(1));
        assert!(kept.page("").await.0.is_empty());
        kept.get("/k").await.assert_refused(404, "NOT_FOUND");
        for (body, field) in [
            (json!({}), "value"),
            (json!({"value": 1, "ttlMs": 0}), "ttlMs"),
            (json!({"value": 1, "ttl": 1}), "ttl"),
        ] {
            assert_eq!(kept.put("/k", body).await.wrong_fields(), [field]);
        }
        assert_eq!(kept.put(&format!("/{}", "k".repeat(513)), json!({"value": 1})).await.wrong_fields(), ["key"]);
        assert_eq!(kept.put("/%00", json!({"value": 1})).await.wrong_fields(), ["key"]);
        let large = kept.put("/k", json!({"value": "x".repeat(256 << 10)})).await;
        large.assert_refused(413, "PAYLOAD_TOO_LARGE");
        assert!(large.text.contains("256 KiB"), "{large}");
        kept.put("/k", json!({"value": "x".repeat(1 << 20)})).await.assert_refused(413, "PAYLOAD_TOO_LARGE");
    }

    async fn secrets_stay_references_that_nobody_sees_or_makes(service: Service) {
        let ann = service.user("ann").await;
        let kept = Kept::of(&service, &ann).await;
        let workspace = service.workspace_of(&ann).await;
        let environments = format!("/api/workspaces/{workspace}/environments");
        let listed = service.get(&environments).bearer(&ann.token).send().await;
        let production = listed.data(200)[0]["id"].as_str().unwrap().to_owned();
        let secret = service.put(&format!("{environments}/{production}/secrets/TOKEN")).bearer(&ann.token);
        secret.json(&json!({"value": "sesame-open-wide"})).send().await.data(200);
        let graph = chain(&[
            ("start", "OnManual", json!({})),
            ("keep", "KeyValue", json!({"operation": "set", "key": "k", "value": {"auth": "Bearer {{ $secrets.TOKEN }}"}, "scope": "workspace"})),
            ("end", "Return", json!({"value": "done"})),
        ]);
        let deployment = service.deployed(&ann, &graph).await;
        output(&service, &ann, &deployment, json!({})).await;
        let got = kept.get("/k").await;
        assert_eq!(got.data(200)["value"], json!({"auth": "Bearer ***"}));
        assert_eq!(got.data(200)["hasSecret"], true);
        // Whoever writes a reference by hand has written a text.
        let forged = "heddle-secret(TOKEN;kept) heddle-secret%28TOKEN%3Bkept%29";
        kept.put("/forged", json!({"value": [forged]})).await.data(200);
        let got = kept.get("/forged").await;
        assert_eq!((&got.data(200)["value"], &got.data(200)["hasSecret"]), (&json!([forged]), &json!(false)));
        let digest = |value: &str| chain(&[
            ("start", "OnManual", json!({})),
            ("keep", "KeyValue", json!({"operation": "get", "key": "forged", "scope": "workspace"})),
            ("hash", "Hash", json!({"value": value})),
            ("end", "Return", json!({"value": "{{ [$input, $secrets.TOKEN] }}"})),
        ]);
        let hashed = service.deployed(&ann, &digest("{{ $input[0] }}")).await;
        let plain = service.deployed(&ann, &digest(forged)).await;
        let event = json!({});
        assert_eq!(
            output(&service, &ann, &hashed, event.clone()).await[0],
            output(&service, &ann, &plain, event).await[0],
            "a run reads the text that was put there"
        );
        let refused = kept.put("/heddle-secret(TOKEN;kept)", json!({"value": 1})).await;
        assert_eq!(refused.wrong_fields(), ["key"]);
    }

    async fn each_workspace_has_its_own_and_rights_count(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let (kept, others) = (Kept::of(&service, &ann).await, Kept::of(&service, &eve).await);
        kept.put("/k", json!({"value": 1})).await.data(200);
        others.get("/k").await.assert_refused(404, "NOT_FOUND");
        let foreign = Kept { base: kept.base.clone(), ..Kept::of(&service, &eve).await };
        foreign.get("/k").await.assert_refused(404, "WORKSPACE_NOT_FOUND");
        // Somebody else's pattern, even one that everybody may look at, keeps its values to itself.
        let deployment = keeping(&service, &ann, "pattern").await;
        let pattern = pattern_of(&service, &ann, &deployment).await;
        let public = service.put(&format!("/api/patterns/{pattern}")).bearer(&ann.token);
        public.json(&json!({"isPublic": true})).send().await;
        others.get(&format!("?patternId={pattern}")).await.assert_refused(404, "NOT_FOUND");
        let viewer = service.member(&ann, "vera", WorkspaceRole::Viewer).await;
        let viewing = Kept { by: viewer, base: kept.base.clone(), service: &service };
        assert_eq!(viewing.get("/k").await.data(200)["value"], 1);
        viewing.put("/k", json!({"value": 2})).await.assert_refused(403, "FORBIDDEN");
        viewing.ask("DELETE", "/k", None).await.assert_refused(403, "FORBIDDEN");
        for (scope, may_put) in [("read", false), ("run", false), ("edit", true)] {
            let key = service.post("/api/auth/api-keys").bearer(&ann.token);
            let key = key.json(&json!({"name": scope, "scopes": [scope]})).send().await;
            let token = key.data(201)["key"].as_str().unwrap().to_owned();
            let by = User { id: ann.id.clone(), token };
            let limited = Kept { by, base: kept.base.clone(), service: &service };
            limited.get("/k").await.data(200);
            let put = limited.put("/k", json!({"value": scope})).await;
            assert_eq!(put.status, if may_put { 200 } else { 403 }, "{scope}: {put}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_put_counts_as_what_runs_keep() {
    for database in [Database::Sqlite, Database::Postgres] {
        let service = Service::with(database, |config| config.quotas.set(Quota::KeyValues, 2)).await;
        let ann = service.user("ann").await;
        let kept = Kept::of(&service, &ann).await;
        for key in ["/a", "/b", "/b"] {
            kept.put(key, json!({"value": 1})).await.data(200);
        }
        kept.put("/c", json!({"value": 1}))
            .await
            .assert_refused(403, "QUOTA_EXCEEDED");
        kept.ask("DELETE", "/a", None).await.data(200);
        kept.put("/c", json!({"value": 1})).await.data(200);

        let service = Service::with(database, |config| {
            config.workspace_quotas.set(WorkspaceQuota::KeyValues, Some(1));
        })
        .await;
        let ann = service.user("ann").await;
        let kept = Kept::of(&service, &ann).await;
        kept.put("/a", json!({"value": 1})).await.data(200);
        kept.put("/b", json!({"value": 1}))
            .await
            .assert_refused(429, "WORKSPACE_QUOTA_EXCEEDED");
        kept.ask("DELETE", "/a", None).await.data(200);
        kept.put("/b", json!({"value": 1})).await.data(200);
    }
}
