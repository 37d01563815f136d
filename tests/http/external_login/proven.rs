//! An account that somebody registered with a stranger's email, and the stranger's first login by the provider.

use super::cheating::{GOOD, Next, signed, start};
use super::{CLIENT_ID, ext, service};
use crate::harness::{Database, Reply, Service, User, doubling, until};
use heddle_model::access::WorkspaceRole;
use heddle_store::accounts;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Has the provider say that whoever logs in next is the person with this subject.
fn will_be(issuer: &str, next: &Next, subject: &str, email: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let claims = json!({
        "iss": issuer, "aud": CLIENT_ID, "sub": subject, "exp": now + 600, "iat": now,
        "email": email, "email_verified": true, "name": "Vera Real"
    });
    *next.lock().unwrap() = signed(GOOD, "good", &claims);
}

/// A login at the provider as the person with this subject.
async fn arrives(service: &Service, issuer: &str, next: &Next, subject: &str, email: &str) -> Reply {
    will_be(issuer, next, subject, email);
    ext(service, json!({"code": "x"})).await
}

async fn login(service: &Service, email: &str) -> Reply {
    let body = json!({"email": email, "password": "correct-horse"});
    service.post("/api/auth/login").json(&body).send().await
}

async fn is_over(service: &Service, token: &str) {
    let reply = service.get("/api/auth/me").bearer(token).send().await;
    reply.assert_refused(401, "UNAUTHORIZED");
}

fn user(reply: &Reply) -> User {
    User {
        id: reply.data(200)["user"]["id"].as_str().unwrap().to_owned(),
        token: reply.data(200)["token"].as_str().unwrap().to_owned(),
    }
}

async fn squatted(service: &Service, issuer: &str, next: &Next) {
    let squatter = service.user("vera").await;
    let key = service.post("/api/auth/api-keys").bearer(&squatter.token);
    let key = key.json(&json!({"name": "x"})).send().await;
    let key = key.data(201)["key"].as_str().unwrap().to_owned();
    let accomplice = service
        .member(&squatter, "accomplice", WorkspaceRole::Owner)
        .await;
    let deployment = service.deployed(&squatter, &doubling()).await;
    let members = format!(
        "/api/workspaces/{}/members",
        service.workspace_of(&squatter).await
    );
    let body = json!({"email": "later@example.com", "role": "owner"});
    let invited = service
        .post(&members)
        .bearer(&squatter.token)
        .json(&body)
        .send()
        .await;
    invited.data(201);

    let arrived = arrives(service, issuer, next, "vera", "vera@example.com").await;
    let vera = user(&arrived);
    assert_eq!(vera.id, squatter.id);
    let notice = arrived.data(200)["notice"].as_str().unwrap();
    assert!(
        notice.contains("1 API keys")
            && notice.contains("1 other members")
            && notice.contains("1 deployments"),
        "{notice}"
    );
    is_over(service, &squatter.token).await;
    is_over(service, &accomplice.token).await;
    is_over(service, &key).await;
    login(service, "vera@example.com")
        .await
        .assert_refused(401, "INVALID_CREDENTIALS");
    let listed = service.get(&members).bearer(&vera.token).send().await;
    assert_eq!(listed.data(200).as_array().unwrap().len(), 1, "{listed}");
    let invitations = members.replace("/members", "/invitations");
    assert_eq!(
        service
            .get(&invitations)
            .bearer(&vera.token)
            .send()
            .await
            .data(200),
        &json!([])
    );
    // What was made is there, and does nothing until its new owner has looked at it.
    let run = service.execute(&vera, &deployment, "", &json!({})).await;
    assert_eq!((run.status, run.code()), (400, "PAUSED"), "{run}");
    service.operate(&vera, &deployment, "resume").await.data(200);

    // From now on the account is proven: later logins clear nothing, and a password of their own is possible.
    let choose = |body: Value| {
        service
            .put("/api/auth/password")
            .bearer(&vera.token)
            .json(&body)
            .send()
    };
    let chosen = choose(json!({"newPassword": "battery-staple"})).await;
    assert_eq!(chosen.status, 200, "{chosen}");
    let again = arrives(service, issuer, next, "vera", "vera@example.com").await;
    assert_eq!(again.data(200).get("notice"), None);
    let body = json!({"email": "vera@example.com", "password": "battery-staple"});
    service.post("/api/auth/login").json(&body).send().await.data(200);
}

async fn verified_before(service: &Service, issuer: &str, next: &Next) {
    let olga = service.user("olga").await;
    let id = olga.id.parse().unwrap();
    let verified = service
        .app
        .store
        .write(move |db| Box::pin(async move { heddle_store::credentials::verify(db, id).await }));
    verified.await.unwrap();
    let deployment = service.deployed(&olga, &doubling()).await;
    let arrived = arrives(service, issuer, next, "olga", "olga@example.com").await;
    assert_eq!(arrived.data(200).get("notice"), None);
    assert_eq!(user(&arrived).id, olga.id);
    service
        .get("/api/auth/me")
        .bearer(&olga.token)
        .send()
        .await
        .data(200);
    login(service, "olga@example.com").await.data(200);
    service.ran(&olga, &deployment, &json!({"n": 1})).await;
    // A second person with this email is not her.
    let other = arrives(service, issuer, next, "another", "olga@example.com").await;
    other.assert_refused(409, "EMAIL_ALREADY_EXISTS");
}

/// Linked by an earlier version, which cleared nothing.
async fn linked_before(service: &Service, issuer: &str, next: &Next) {
    let squatter = service.user("lena").await;
    let id = squatter.id.parse().unwrap();
    let (provider, subject) = (issuer.to_owned(), format!("{issuer}|lena"));
    let linked = service.app.store.write(move |db| {
        Box::pin(async move { heddle_store::credentials::link(db, id, &provider, &subject).await })
    });
    assert!(linked.await.unwrap());
    let arrived = arrives(service, issuer, next, "lena", "lena@example.com").await;
    assert_eq!(user(&arrived).id, squatter.id);
    is_over(service, &squatter.token).await;
    login(service, "lena@example.com")
        .await
        .assert_refused(401, "INVALID_CREDENTIALS");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_was_registered_for_a_stranger_is_theirs_alone_once_they_come() {
    let (issuer, address, next) = start().await;
    for database in [Database::Sqlite, Database::Postgres] {
        let service = service(database, &issuer, &address).await;
        squatted(&service, &issuer, &next).await;
        verified_before(&service, &issuer, &next).await;
        linked_before(&service, &issuer, &next).await;
        crate::workspaces::invitations::only_the_proven_answer(&service).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_stranger_has_deployed_is_paused_although_nobody_waits_for_the_login() {
    let (issuer, address, next) = start().await;
    for database in [Database::Sqlite, Database::Postgres] {
        let service = service(database, &issuer, &address).await;
        let squatter = service.user("vera").await;
        let deployment = service.deployed(&squatter, &doubling()).await;
        service.ran(&squatter, &deployment, &json!({"n": 1})).await;
        will_be(&issuer, &next, "vera", "vera@example.com");
        let is_proven = async || {
            let mut reader = service.app.store.reader().await.unwrap();
            let found = accounts::by_email(&mut reader.db(), "vera@example.com").await;
            found.unwrap().unwrap().email_verified
        };
        let login = ("POST", "/api/auth/ext", None);
        service.leave(login, &json!({"code": "x"}), is_proven).await;
        let vera = user(&arrives(&service, &issuer, &next, "vera", "vera@example.com").await);
        let run = async || service.execute(&vera, &deployment, "", &json!({})).await;
        until(async || run().await.code() == "PAUSED").await;
    }
}
