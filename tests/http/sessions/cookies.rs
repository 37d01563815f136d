//! Sessions of browsers: how they begin, what their cookie can do, how they end, and what keeps them from others.

use super::{account, workspace};
use crate::harness::{Database, Reply, Request, Service, User, each_database};
use heddle_model::ids::SessionId;
use heddle_store::StoreError;
use heddle_store::sessions::{self, SessionRow};
use serde_json::{Value, json};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(60 * 60);

fn login() -> Value {
    json!({"email": "ann@example.com", "password": "correct-horse"})
}

fn set_cookie(reply: &Reply) -> &str {
    reply.headers["set-cookie"].to_str().unwrap()
}

/// As a page of the service's own sends it.
fn own(request: Request, cookie: &str) -> Request {
    request
        .header("cookie", cookie)
        .header("sec-fetch-site", "same-origin")
}

async fn current(service: &Service, cookie: &str) -> Value {
    let reply = service.get("/api/session").header("cookie", cookie).send().await;
    reply.data(200)["session"].clone()
}

/// A session of a user whose secret nobody has.
async fn begin(service: &Service, user: &User, number: i32) {
    let (now, ended) = (service.app.clock.now(), service.app.tokens.expired());
    let row = SessionRow {
        id: SessionId::new(),
        user_id: user.id.parse().unwrap(),
        generation: 0,
        began_at: now,
        used_at: now,
        ip_address: "192.0.2.7".to_owned(),
        user_agent: "A browser".to_owned(),
    };
    let begun: Result<(), StoreError> = service
        .app
        .store
        .write(move |db| {
            Box::pin(async move { sessions::begin(db, &row, &number.to_string(), None, ended).await })
        })
        .await;
    begun.unwrap();
}

each_database! {
    async fn signing_in_gives_a_cookie_that_no_script_can_read(service: Service) {
        let ann = service.user("ann").await;
        let home = service.workspace_of(&ann).await.to_string();
        let reply = service.post("/api/session").json(&login()).header("user-agent", "A browser").send().await;
        let (pair, attributes) = set_cookie(&reply).split_once("; ").unwrap();
        assert_eq!(attributes, "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict");
        let secret = pair.strip_prefix("heddle=").unwrap();
        assert_eq!(secret.len(), 43);
        let workspaces = service.get("/api/workspaces").bearer(&ann.token).send().await.data(200).clone();
        let expected = json!({
            "user": {
                "id": ann.id, "email": "ann@example.com", "firstName": "ann", "lastName": "Test", "role": "user",
                "avatarUrl": null, "createdAt": "2026-11-21T09:00:00.000Z", "emailVerified": false
            },
            "workspaces": workspaces, "workspaceId": home, "workspaceRole": "owner",
            "expiresAt": "2026-11-22T09:00:00.000Z",
        });
        assert_eq!(reply.data(200), &expected);
        assert!(!reply.text.contains(secret) && !reply.text.contains("token"), "{reply}");
        assert_eq!(current(&service, pair).await, expected);
        let me = service.get("/api/auth/me").header("cookie", pair).send().await;
        assert_eq!(me.data(200)["id"], ann.id.as_str());
        let made = own(service.post("/api/patterns"), pair).json(&json!({"name": "By hand"})).send().await;
        assert_eq!(made.status, 201, "{made}");
    }

    async fn nobody_is_signed_in_without_a_session(service: Service) {
        assert_eq!(current(&service, "theme=dark").await, Value::Null);
        assert_eq!(current(&service, "heddle=guessed").await, Value::Null);
        let by_token = service.get("/api/session").bearer("nonsense").send().await;
        by_token.assert_refused(401, "UNAUTHORIZED");
        for cookie in ["heddle=guessed", "heddle=", "heddle", "__Host-heddle=guessed"] {
            let reply = own(service.get("/api/patterns"), cookie).send().await;
            reply.assert_refused(401, "UNAUTHORIZED");
        }
        let wrong = json!({"email": "ann@example.com", "password": "wrong-horse"});
        let refused = service.post("/api/session").json(&wrong).send().await;
        refused.assert_refused(401, "INVALID_CREDENTIALS");
        assert!(!refused.headers.contains_key("set-cookie"));
    }

    async fn registering_signs_in(service: Service) {
        let reply = service.post("/api/session/register").json(&account("ann@example.com")).send().await;
        assert_eq!(reply.data(200)["workspaces"][0]["name"], "Ann's workspace", "{reply}");
        let cookie = set_cookie(&reply).split(';').next().unwrap();
        assert_eq!(current(&service, cookie).await["user"]["email"], "ann@example.com");
        let again = service.post("/api/session/register").json(&account("ann@example.com")).send().await;
        again.assert_refused(409, "EMAIL_ALREADY_EXISTS");
        let external = service.post("/api/session/ext").json(&json!({"code": "x"})).send().await;
        external.assert_refused(403, "EXT_AUTH_DISABLED");
    }

    async fn another_site_signs_nobody_in(service: Service) {
        service.user("ann").await;
        let address = service.address;
        for (name, value, expected) in [
            ("sec-fetch-site", "cross-site".to_owned(), 403),
            ("sec-fetch-site", "same-site".to_owned(), 403),
            ("origin", "https://evil.example".to_owned(), 403),
            ("sec-fetch-site", "same-origin".to_owned(), 200),
            ("origin", format!("http://{address}"), 200),
        ] {
            let reply = service.post("/api/session").json(&login()).header(name, &value).send().await;
            assert_eq!(reply.status, expected, "{name}: {value}: {reply}");
        }
        for path in ["/api/session/register", "/api/session/ext"] {
            let body = match path.ends_with("ext") {
                true => json!({"code": "x"}),
                false => account("bob@example.com"),
            };
            let reply = service.post(path).json(&body).header("origin", "null").send().await;
            reply.assert_refused(403, "FORBIDDEN");
        }
    }

    async fn an_old_browser_proves_its_page_by_the_origin(service: Service) {
        service.user("ann").await;
        let cookie = service.cookie("ann").await;
        let port = service.address.port();
        let make = |origin: String, host: String| {
            let request = service.post("/api/patterns").header("cookie", &cookie).header("origin", &origin);
            request.header("host", &host).json(&json!({"name": "x"})).send()
        };
        let here = format!("127.0.0.1:{port}");
        assert_eq!(make(format!("http://{here}"), here.clone()).await.status, 201);
        // By another name of the same server.
        let named = format!("heddle.local:{port}");
        assert_eq!(make(format!("http://{named}"), named.clone()).await.status, 201);
        for (origin, host) in [
            (format!("https://{here}"), here.clone()),
            (format!("http://{here}.evil"), here.clone()),
            (format!("http://127.0.0.1:{}", port ^ 1), here.clone()),
            (String::new(), here.clone()),
        ] {
            make(origin, host).await.assert_refused(403, "FORBIDDEN");
        }
    }

    async fn two_tabs_can_be_in_two_workspaces(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.user("bob").await;
        let home = service.workspace_of(&ann).await.to_string();
        let other = workspace(&service, &ann, "Other").await;
        let foreign = service.workspace_of(&bob).await.to_string();
        let cookie = service.cookie("ann").await;
        let make = |workspace: &str, name: &str| {
            own(service.post("/api/patterns"), &cookie)
                .header("x-heddle-workspace", workspace)
                .json(&json!({"name": name}))
                .send()
        };
        assert_eq!(make(&home, "At home").await.status, 201);
        assert_eq!(make(&other, "Elsewhere").await.status, 201);
        let names = async |path: &str, workspace: Option<&str>| {
            let mut request = service.get(path).header("cookie", &cookie);
            if let Some(workspace) = workspace {
                request = request.header("x-heddle-workspace", workspace);
            }
            let reply = request.send().await;
            let list = reply.body["data"].as_array().cloned().unwrap_or_default();
            list.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names("/api/patterns", None).await, ["At home"]);
        assert_eq!(names("/api/patterns", Some(&other)).await, ["Elsewhere"]);
        let by_query = format!("/api/patterns?workspace={other}");
        assert_eq!(names(&by_query, None).await, ["Elsewhere"]);
        assert_eq!(names(&by_query, Some(&home)).await, ["At home"]);
        for wrong in [foreign.as_str(), "nonsense", "", "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a"] {
            make(wrong, "Nowhere").await.assert_refused(404, "WORKSPACE_NOT_FOUND");
        }
        // A token names its own.
        let by_token = service.get("/api/patterns").bearer(&ann.token).header("x-heddle-workspace", &other).send().await;
        assert_eq!(by_token.body["data"][0]["name"], "At home");
    }

    async fn the_header_counts_rather_than_the_cookie(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.user("bob").await;
        let cookie = service.cookie("ann").await;
        let both = service.get("/api/auth/me").header("cookie", &cookie).bearer(&bob.token).send().await;
        assert_eq!(both.data(200)["id"], bob.id.as_str());
        let wrong = service.get("/api/auth/me").header("cookie", &cookie).bearer("nonsense").send().await;
        wrong.assert_refused(401, "UNAUTHORIZED");
        // And needs no proof of the page.
        let made = service.post("/api/patterns").header("cookie", &cookie).bearer(&ann.token);
        assert_eq!(made.json(&json!({"name": "x"})).send().await.status, 201);
    }

    async fn a_session_lasts_while_it_is_used_and_no_longer_than_any_login(service: Service) {
        service.user("ann").await;
        let cookie = service.cookie("ann").await;
        let get = async || service.get("/api/auth/me").header("cookie", &cookie).send().await;
        for _ in 0..31 {
            service.app.clock.advance(23 * HOUR);
            get().await.data(200);
        }
        // 713 hours have gone; the 720th is the last.
        service.app.clock.advance(6 * HOUR);
        assert_eq!(current(&service, &cookie).await["expiresAt"], "2026-12-21T09:00:00.000Z");
        service.app.clock.advance(HOUR);
        get().await.assert_refused(401, "TOKEN_EXPIRED");
        assert_eq!(current(&service, &cookie).await, Value::Null);

        let cookie = service.cookie("ann").await;
        service.app.clock.advance(24 * HOUR);
        let unused = service.get("/api/auth/me").header("cookie", &cookie).send().await;
        unused.assert_refused(401, "TOKEN_EXPIRED");
    }

    async fn signing_out_ends_the_session_and_no_other(service: Service) {
        let ann = service.user("ann").await;
        let (first, second) = (service.cookie("ann").await, service.cookie("ann").await);
        let out = own(service.delete("/api/session"), &first).send().await;
        assert_eq!(out.data(200)["status"], "deleted");
        assert_eq!(set_cookie(&out), "heddle=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
        assert_eq!(current(&service, &first).await, Value::Null);
        own(service.delete("/api/session"), &first).send().await.assert_refused(401, "UNAUTHORIZED");
        assert_ne!(current(&service, &second).await, Value::Null);
        service.get("/api/auth/me").bearer(&ann.token).send().await.data(200);
        own(service.post("/api/auth/logout-all"), &second).send().await.data(200);
        assert_eq!(current(&service, &second).await, Value::Null);
        service.get("/api/auth/me").bearer(&ann.token).send().await.assert_refused(401, "UNAUTHORIZED");
    }

    async fn one_sees_ones_sessions_and_ends_any(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.user("bob").await;
        let sign_in = |agent: &'static str| service.post("/api/session").json(&login()).header("user-agent", agent).send();
        let cookie_of = |reply: &Reply| set_cookie(reply).split(';').next().unwrap().to_owned();
        let phone = cookie_of(&sign_in("Phone").await);
        service.app.clock.advance(HOUR);
        let desk = cookie_of(&sign_in("Desk").await);
        let listed = service.get("/api/sessions").header("cookie", &desk).send().await;
        let list = listed.data(200).as_array().unwrap().clone();
        assert_eq!(list.len(), 2, "{listed}");
        assert_eq!(list[0], json!({
            "id": list[0]["id"], "isCurrent": true, "beganAt": "2026-11-21T10:00:00.000Z",
            "usedAt": "2026-11-21T10:00:00.000Z", "expiresAt": "2026-11-22T10:00:00.000Z",
            "ipAddress": "127.0.0.1", "userAgent": "Desk",
        }));
        assert_eq!((&list[1]["userAgent"], &list[1]["isCurrent"]), (&json!("Phone"), &json!(false)));
        let path = format!("/api/sessions/{}", list[1]["id"].as_str().unwrap());
        service.delete(&path).bearer(&bob.token).send().await.assert_refused(404, "NOT_FOUND");
        assert_ne!(current(&service, &phone).await, Value::Null);
        assert_eq!(own(service.delete(&path), &desk).send().await.data(200)["id"], list[1]["id"]);
        assert_eq!(current(&service, &phone).await, Value::Null);
        own(service.delete(&path), &desk).send().await.assert_refused(404, "NOT_FOUND");
        assert_eq!(service.get("/api/sessions").bearer(&bob.token).send().await.data(200), &json!([]));
        // Signing in again replaces the session of the same browser.
        let again = service.post("/api/session").json(&login()).header("cookie", &desk).send().await;
        again.data(200);
        assert_eq!(current(&service, &desk).await, Value::Null);
        assert_eq!(service.get("/api/sessions").bearer(&ann.token).send().await.data(200).as_array().unwrap().len(), 1);
    }

    async fn a_cookie_gives_no_token_and_survives_a_new_password(service: Service) {
        let ann = service.user("ann").await;
        let home = service.workspace_of(&ann).await.to_string();
        let cookie = service.cookie("ann").await;
        own(service.post("/api/auth/refresh"), &cookie).send().await.assert_refused(403, "FORBIDDEN");
        let switched = own(service.post("/api/auth/switch-workspace"), &cookie).json(&json!({"workspaceId": home}));
        switched.send().await.assert_refused(403, "FORBIDDEN");

        let other = service.cookie("ann").await;
        let body = json!({"currentPassword": "correct-horse", "newPassword": "battery-staple"});
        let changed = own(service.put("/api/auth/password"), &cookie).json(&body).send().await;
        assert_eq!(changed.data(200)["user"]["id"], ann.id.as_str());
        assert_eq!(changed.body["data"]["token"], Value::Null, "{changed}");
        let renewed = set_cookie(&changed).split(';').next().unwrap();
        assert_ne!(current(&service, renewed).await, Value::Null);
        for ended in [&cookie, &other] {
            assert_eq!(current(&service, ended).await, Value::Null);
        }
        assert_eq!(service.get("/api/sessions").header("cookie", renewed).send().await.data(200).as_array().unwrap().len(), 1);
    }

    async fn a_user_has_fifty_sessions_at_most(service: Service) {
        let ann = service.user("ann").await;
        let first = service.cookie("ann").await;
        // Passwords take their time: the others begin behind the interface.
        for number in 0..49 {
            service.app.clock.advance(Duration::from_secs(1));
            begin(&service, &ann, number).await;
        }
        assert_ne!(current(&service, &first).await, Value::Null);
        let last = service.cookie("ann").await;
        assert_eq!(current(&service, &first).await, Value::Null);
        let listed = service.get("/api/sessions").header("cookie", &last).send().await;
        assert_eq!(listed.data(200).as_array().unwrap().len(), 50);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls_the_cookie_is_for_tls_only() {
    let service = Service::with(Database::Sqlite, |config| {
        config.base_url = "https://heddle.example".to_owned();
    })
    .await;
    service.user("ann").await;
    let reply = service.post("/api/session").json(&login()).send().await;
    let (pair, attributes) = set_cookie(&reply).split_once("; ").unwrap();
    assert_eq!(
        attributes,
        "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure"
    );
    let secret = pair.strip_prefix("__Host-heddle=").unwrap();
    assert_ne!(current(&service, pair).await, Value::Null);
    // What a page without TLS could set is not taken.
    assert_eq!(current(&service, &format!("heddle={secret}")).await, Value::Null);
    let make = |origin: &str| {
        let request = service.post("/api/patterns").header("cookie", pair);
        request
            .header("origin", origin)
            .json(&json!({"name": "x"}))
            .send()
    };
    assert_eq!(make("https://heddle.example").await.status, 201);
    make("http://heddle.example")
        .await
        .assert_refused(403, "FORBIDDEN");
}
