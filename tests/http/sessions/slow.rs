//! Bodies that take their time: who has sent one is looked at again when it is there.

use crate::harness::{Service, asked, each_database};
use axum::body::{Body, to_bytes};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::oneshot;

/// A request's method, path and token.
type Asked<'r> = (&'r str, &'r str, &'r str);

/// What is answered to a request whose body begins to arrive two seconds after its sender was looked at. The status, and the body.
async fn slowly(
    service: &Service,
    (method, path, token): Asked<'_>,
    body: Value,
    meanwhile: impl AsyncFnOnce(),
) -> (u16, Value) {
    let (reads, is_read) = oneshot::channel();
    let (sends, is_sent) = oneshot::channel::<()>();
    let body = futures_util::stream::once(async move {
        reads.send(()).unwrap();
        is_sent.await.unwrap();
        Ok::<_, Infallible>(body.to_string())
    });
    let request = asked((method, path, Some(token)), Body::from_stream(body));
    let mut router = heddle_api::http::router(&service.app);
    let answer = Box::pin(tower::Service::call(&mut router, request));
    let sending = async {
        is_read.await.unwrap();
        meanwhile().await;
        service.app.clock.advance(Duration::from_secs(2));
        sends.send(()).unwrap();
    };
    let (answer, ()) = tokio::join!(answer, sending);
    let answer = answer.unwrap();
    let status = answer.status().as_u16();
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

fn assert_refused((status, body): (u16, Value), expected: u16, code: &str) {
    let found = (status, body["error"]["code"].as_str());
    assert_eq!(found, (expected, Some(code)), "{body}");
}

each_database! {
    async fn no_key_is_made_after_signing_out_everywhere(service: Service) {
        let ann = service.user("ann").await;
        let keys = "/api/auth/api-keys";
        let (status, made) = slowly(&service, ("POST", keys, &ann.token), json!({"name": "now"}), async || {}).await;
        assert_eq!(status, 201, "{made}");
        let key = made["data"]["key"].as_str().unwrap();

        let patterns = ("POST", "/api/patterns", key);
        let gone = slowly(&service, patterns, json!({"name": "later"}), async || {
            let path = format!("{keys}/{}", made["data"]["id"].as_str().unwrap());
            service.delete(&path).bearer(&ann.token).send().await.data(200);
        });
        assert_refused(gone.await, 401, "UNAUTHORIZED");
        let patterns = service.get("/api/patterns").bearer(&ann.token).send().await;
        assert!(!patterns.text.contains("later"), "{patterns}");

        let out = slowly(&service, ("POST", keys, &ann.token), json!({"name": "later"}), async || {
            service.post("/api/auth/logout-all").bearer(&ann.token).send().await.data(200);
        });
        assert_refused(out.await, 401, "UNAUTHORIZED");
        let mut reader = service.app.store.reader().await.unwrap();
        let names = heddle_store::sql("select name from api_keys where user_id = ?").bind(&ann.id);
        let names: Vec<(String,)> = reader.db().all(names).await.unwrap();
        assert!(names.is_empty(), "{names:?}");
    }

    async fn whoever_is_no_admin_any_longer_makes_nobody_one(service: Service) {
        let (ann, bob, eve) = (service.user("ann").await, service.user("bob").await, service.user("eve").await);
        let workspace = service.workspace_of(&ann).await.to_string();
        for (user, name, role) in [(&bob, "bob", "admin"), (&eve, "eve", "viewer")] {
            service.join(&ann, user, name, &workspace, role).await;
        }
        let path = |user: &str| format!("/api/workspaces/{workspace}/members/{user}");
        let (of_bob, of_eve) = (path(&bob.id), path(&eve.id));
        let asked = ("PATCH", of_eve.as_str(), bob.token.as_str());
        let (status, raised) = slowly(&service, asked, json!({"role": "editor"}), async || {}).await;
        assert_eq!((status, &raised["data"]["role"]), (200, &json!("editor")), "{raised}");

        let lowered = slowly(&service, asked, json!({"role": "admin"}), async || {
            let lower = service.request("PATCH", &of_bob).bearer(&ann.token).json(&json!({"role": "viewer"}));
            lower.send().await.data(200);
        });
        assert_refused(lowered.await, 403, "FORBIDDEN");

        let raise = service.request("PATCH", &of_bob).bearer(&ann.token).json(&json!({"role": "admin"}));
        raise.send().await.data(200);
        let removed = slowly(&service, asked, json!({"role": "admin"}), async || {
            service.delete(&of_bob).bearer(&ann.token).send().await.data(200);
        });
        assert_refused(removed.await, 404, "WORKSPACE_NOT_FOUND");
        let members = format!("/api/workspaces/{workspace}/members");
        let members = service.get(&members).bearer(&ann.token).send().await;
        let eve = members.data(200).as_array().unwrap().iter().find(|member| member["userId"] == eve.id.as_str());
        assert_eq!(eve.unwrap()["role"], "editor", "{members}");
    }
}
