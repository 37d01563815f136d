//! Tokens: how they are had, renewed and refused; limits of trying.

mod cookies;
mod ending;
mod forged;
mod limits;
mod slow;
mod tampering;

use crate::harness::{Database, Service, User, each_database};
use serde_json::{Value, json};

pub fn account(email: &str) -> Value {
    json!({"email": email, "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"})
}

/// Another workspace of the user; its id.
pub async fn workspace(service: &Service, user: &User, name: &str) -> String {
    let reply = service
        .post("/api/workspaces")
        .bearer(&user.token)
        .json(&json!({"name": name}))
        .send()
        .await;
    reply.data(201)["id"].as_str().unwrap().to_owned()
}

/// A token of the user for a workspace.
pub async fn switched(service: &Service, user: &User, workspace: &str) -> User {
    let body = json!({"workspaceId": workspace});
    let reply = service
        .post("/api/auth/switch-workspace")
        .bearer(&user.token)
        .json(&body)
        .send()
        .await;
    User {
        id: user.id.clone(),
        token: reply.data(200)["token"].as_str().unwrap().to_owned(),
    }
}

/// What a token says, unchecked.
pub fn claims(token: &str) -> Value {
    use base64::Engine as _;
    let payload = token.split('.').nth(1).unwrap();
    let payload = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(payload)
        .unwrap();
    serde_json::from_slice(&payload).unwrap()
}

each_database! {
    async fn without_an_external_login_there_is_the_local_one(service: Service) {
        let reply = service.get("/api/auth/providers").send().await;
        assert_eq!(reply.data(200), &json!({"local": true, "ext": false}));
        let reply = service.post("/api/auth/ext").json(&json!({"code": "x"})).send().await;
        reply.assert_refused(403, "EXT_AUTH_DISABLED");
    }

    async fn registration_answers_with_the_user_and_a_token_for_their_workspace(service: Service) {
        let reply = service.post("/api/auth/register").json(&account(" Ann@Example.com ")).send().await;
        let data = reply.data(201);
        let id = data["user"]["id"].as_str().unwrap();
        assert_eq!(data["user"], json!({
            "id": id, "email": "Ann@Example.com", "firstName": "Ann", "lastName": "Lee", "role": "user"
        }));
        let claims = claims(data["token"].as_str().unwrap());
        let (workspace, jti, sid) = (&claims["workspaceId"], &claims["jti"], &claims["sid"]);
        assert_eq!(claims, json!({
            "sid": sid, "auth_time": 1_795_251_600, "gen": 0,
            "sub": id, "email": "Ann@Example.com", "role": "user", "workspaceId": workspace,
            "workspaceRole": "owner", "iat": 1_795_251_600, "exp": 1_795_251_600 + 24 * 60 * 60, "jti": jti
        }));
        let again = service.post("/api/auth/register").json(&account("ANN@example.com")).send().await;
        again.assert_refused(409, "EMAIL_ALREADY_EXISTS");
    }

    async fn registration_names_what_is_wrong(service: Service) {
        let with = |field: &str, value: Value| {
            let mut account = account("ann@example.com");
            account[field] = value;
            account
        };
        for (body, field) in [
            (with("email", json!("nobody")), "email"),
            (with("email", json!("a b@example.com")), "email"),
            (with("email", json!(7)), "email"),
            (with("email", json!("\u{430}nn@example.com")), "email"),
            (with("email", json!("ann\u{200b}@example.com")), "email"),
            (with("email", json!("\u{feff}ann@example.com")), "email"),
            (with("email", json!("\u{ff41}nn@example.com")), "email"),
            (with("email", json!("ann@ex\u{e4}mple.com")), "email"),
            (with("email", json!("ann@example.com\u{ad}")), "email"),
            (with("email", json!("ann..lee@example.com")), "email"),
            (with("email", json!("\"ann lee\"@example.com")), "email"),
            (with("email", json!("ann@[192.0.2.1]")), "email"),
            (with("firstName", json!("  ")), "firstName"),
            (with("lastName", json!("x".repeat(101))), "lastName"),
            (with("lastName", json!("a\u{0}b")), "lastName"),
            (with("password", json!("short-1")), "password"),
            (with("password", json!("withoutSpecial1")), "password"),
            (with("password", json!(["correct-horse"])), "password"),
        ] {
            let reply = service.post("/api/auth/register").json(&body).send().await;
            assert_eq!(reply.wrong_fields(), [field], "{body}");
        }
        for field in ["email", "firstName", "lastName", "password"] {
            let mut body = account("ann@example.com");
            body.as_object_mut().unwrap().remove(field);
            let reply = service.post("/api/auth/register").json(&body).send().await;
            assert_eq!(reply.wrong_fields(), [field]);
        }
        let reply = service.post("/api/auth/register").header("content-type", "application/json").body("{").send().await;
        assert_eq!(reply.wrong_fields(), [""]);
        let reply = service.post("/api/auth/register").body("{}").send().await;
        reply.assert_refused(415, "UNSUPPORTED_MEDIA_TYPE");
    }

    async fn a_wrong_value_is_not_repeated_in_the_answer(service: Service) {
        let body = json!({"email": "ann@example.com", "password": ["hunter-2-hunter"]});
        let reply = service.post("/api/auth/login").json(&body).send().await;
        assert_eq!(reply.wrong_fields(), ["password"]);
        let user = service.user("ann").await;
        let body = json!({"provider": "x", "credentials": "hunter-2-hunter"});
        let reply = service.post("/api/connections/credentials").bearer(&user.token).json(&body).send().await;
        assert_eq!(reply.wrong_fields(), ["credentials"]);
        assert!(!reply.text.contains("hunter"), "{reply}");
    }

    async fn a_login_opens_the_workspace_that_one_has_been_in_for_longest(service: Service) {
        let ann = service.user("ann").await;
        workspace(&service, &ann, "Later").await;
        let login = json!({"email": "ann@example.com", "password": "correct-horse"});
        let reply = service.post("/api/auth/login").json(&login).send().await;
        let data = reply.data(200);
        assert_eq!(data["user"]["id"], ann.id.as_str());
        let token = data["token"].as_str().unwrap();
        assert_eq!(claims(token)["workspaceId"], claims(&ann.token)["workspaceId"]);
        for (field, value) in [("email", Value::Null), ("password", json!(1))] {
            let mut body = login.clone();
            body[field] = value;
            let reply = service.post("/api/auth/login").json(&body).send().await;
            assert_eq!(reply.wrong_fields(), [field]);
        }
    }

    async fn me_is_the_whole_user(service: Service) {
        let ann = service.user("ann").await;
        let reply = service.get("/api/auth/me").bearer(&ann.token).send().await;
        assert_eq!(reply.data(200), &json!({
            "id": ann.id, "email": "ann@example.com", "firstName": "ann", "lastName": "Test", "role": "user",
            "avatarUrl": null, "createdAt": "2026-11-21T09:00:00.000Z", "emailVerified": false
        }));
    }

    async fn a_refreshed_token_has_the_roles_of_now(service: Service) {
        let ann = service.user("ann").await;
        let promoted = service.app.store.write(|db| Box::pin(async move {
            heddle_store::accounts::set_role(db, "ann@example.com", heddle_model::access::Role::Admin).await
        }));
        assert!(promoted.await.unwrap());
        service.app.clock.advance(std::time::Duration::from_secs(60));
        let reply = service.post("/api/auth/refresh").bearer(&ann.token).send().await;
        let data = reply.data(200);
        assert_eq!(data["user"], json!({
            "id": ann.id, "email": "ann@example.com", "firstName": "ann", "lastName": "Test", "role": "admin"
        }));
        let (old, new) = (claims(&ann.token), claims(data["token"].as_str().unwrap()));
        assert_eq!((&new["role"], &new["workspaceId"]), (&json!("admin"), &old["workspaceId"]));
        assert_eq!(new["exp"].as_i64(), old["exp"].as_i64().map(|exp| exp + 60));
        assert_ne!(new["jti"], old["jti"]);
        service.post("/api/auth/refresh").send().await.assert_refused(401, "UNAUTHORIZED");
    }

    async fn switching_gives_a_token_for_ones_own_workspaces_only(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let other = workspace(&service, &ann, "Other").await;
        let switched = switched(&service, &ann, &other).await;
        assert_eq!(claims(&switched.token)["workspaceId"], other.as_str());
        assert_eq!(claims(&switched.token)["workspaceRole"], "owner");

        let switch = |token: &str, body: Value| service.post("/api/auth/switch-workspace").bearer(token).json(&body).send();
        switch(&bob.token, json!({"workspaceId": other})).await.assert_refused(404, "WORKSPACE_NOT_FOUND");
        let missing = heddle_model::ids::WorkspaceId::new();
        switch(&bob.token, json!({"workspaceId": missing})).await.assert_refused(404, "WORKSPACE_NOT_FOUND");
        assert_eq!(switch(&ann.token, json!({"workspaceId": "x"})).await.wrong_fields(), ["workspaceId"]);
        assert_eq!(switch(&ann.token, json!({})).await.wrong_fields(), ["workspaceId"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn local_authentication_can_be_switched_off() {
    let service = Service::with(Database::Sqlite, |config| config.local_auth = false).await;
    let providers = service.get("/api/auth/providers").send().await;
    assert_eq!(providers.data(200), &json!({"local": false, "ext": false}));
    let register = service
        .post("/api/auth/register")
        .json(&account("ann@example.com"))
        .send()
        .await;
    register.assert_refused(403, "LOCAL_AUTH_DISABLED");
    let login = json!({"email": "ann@example.com", "password": "correct-horse"});
    let login = service.post("/api/auth/login").json(&login).send().await;
    login.assert_refused(403, "LOCAL_AUTH_DISABLED");
}
