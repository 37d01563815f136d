//! Who may make an account: anybody, the invited, people of a domain, nobody.

use super::{get, login, mailing_with, register, secret, send, user};
use crate::harness::{Service, User, each_database};
use heddle_service::auth::registration::{Mode, Registration};
use serde_json::json;

async fn with_mode(like: &Service, mode: Mode) -> Service {
    Service::with(like.database(), |config| {
        config.registration = Registration {
            mode,
            domains: Vec::new(),
        };
    })
    .await
}

/// Somebody whom the operator has made an account for.
async fn made(service: &Service, name: &str) -> User {
    use heddle_model::access::Role;
    use heddle_store::accounts::{self, UserRow};
    let email = format!("{name}@example.com");
    let row = UserRow {
        id: heddle_model::ids::UserId::new(),
        email: email.clone(),
        first_name: name.to_owned(),
        last_name: "Test".to_owned(),
        role: Role::User,
        password_hash: Some(
            heddle_service::auth::password::hash(super::PASSWORD.to_owned())
                .await
                .unwrap(),
        ),
        avatar_url: None,
        created_at: service.app.clock.now(),
        email_verified: true,
        generation: 0,
        is_disabled: false,
    };
    let created = service
        .app
        .store
        .write(move |db| Box::pin(async move { accounts::create(db, &row).await }));
    created.await.unwrap();
    user(&login(service, &email, json!({})).await, 200)
}

async fn link(service: &Service, by: &User, body: serde_json::Value) -> String {
    let path = format!(
        "/api/workspaces/{}/invitation-links",
        service.workspace_of(by).await
    );
    let made = send(service, by, "POST", &path, body).await;
    secret(made.data(201)["url"].as_str().unwrap())
}

each_database! {
    async fn an_open_server_says_nothing_of_it_and_a_closed_one_refuses(service: Service) {
        let providers = service.get("/api/auth/providers").send().await;
        assert_eq!(providers.data(200), &json!({"local": true, "ext": false}));
        let closed = with_mode(&service, Mode::Closed).await;
        let providers = closed.get("/api/auth/providers").send().await;
        assert_eq!(providers.data(200), &json!({"local": true, "ext": false, "registration": "closed"}));
        register(&closed, "eve@example.com", json!({})).await.assert_refused(403, "REGISTRATION_CLOSED");
        let ann = made(&closed, "ann").await;
        // It does not tell who is registered, and a link changes nothing.
        register(&closed, "ann@example.com", json!({})).await.assert_refused(403, "REGISTRATION_CLOSED");
        let invitation = link(&closed, &ann, json!({"role": "viewer"})).await;
        let invited = register(&closed, "eve@example.com", json!({"invitation": invitation})).await;
        invited.assert_refused(403, "REGISTRATION_CLOSED");
        let account = crate::sessions::account("eve@example.com");
        let browser = closed.post("/api/session/register").json(&account).send().await;
        browser.assert_refused(403, "REGISTRATION_CLOSED");
    }

    async fn the_invited_register_and_are_members_at_once(service: Service) {
        let service = with_mode(&service, Mode::Invitation).await;
        register(&service, "bob@example.com", json!({})).await.assert_refused(403, "INVITATION_REQUIRED");
        let nonsense = register(&service, "bob@example.com", json!({"invitation": "nonsense"})).await;
        nonsense.assert_refused(404, "NOT_FOUND");
        let ann = made(&service, "ann").await;
        let invitation = link(&service, &ann, json!({"role": "editor"})).await;
        let looked = service.post("/api/invitations/look").json(&json!({"token": invitation})).send().await;
        assert_eq!(looked.data(200), &json!({
            "workspaceName": "ann's workspace", "role": "editor", "invitedBy": "ann@example.com", "email": null,
            "expiresAt": "2026-11-28T09:00:00.000Z"
        }));
        let bob = user(&register(&service, "bob@example.com", json!({"invitation": invitation})).await, 201);
        let workspaces = get(&service, &bob, "/api/workspaces").await;
        let names: Vec<_> = workspaces.data(200).as_array().unwrap().iter().map(|it| (&it["name"], &it["role"])).collect();
        assert!(names.contains(&(&json!("ann's workspace"), &json!("editor"))), "{workspaces}");
        // Once.
        let again = register(&service, "eve@example.com", json!({"invitation": invitation})).await;
        again.assert_refused(404, "NOT_FOUND");
        // A refused registration leaves the link alone.
        let invitation = link(&service, &ann, json!({"role": "viewer"})).await;
        let taken = register(&service, "bob@example.com", json!({"invitation": invitation})).await;
        taken.assert_refused(409, "EMAIL_ALREADY_EXISTS");
        register(&service, "eve@example.com", json!({"invitation": invitation})).await.data(201);
    }

    async fn people_of_a_domain_get_in_once_they_read_its_mail(service: Service) {
        let (service, mut mailbox) = mailing_with(service.database(), |config| {
            config.registration = Registration { mode: Mode::Domains, domains: vec!["example.com".to_owned()] };
        }).await;
        let stranger = register(&service, "eve@elsewhere.org", json!({})).await;
        stranger.assert_refused(403, "EMAIL_DOMAIN_NOT_ALLOWED");
        let registered = register(&service, "ann@Example.com", json!({})).await;
        registered.assert_refused(403, "EMAIL_NOT_VERIFIED");
        let first = mailbox.letter_to("ann@Example.com").await.secret("/verify-email");
        login(&service, "ann@example.com", json!({})).await.assert_refused(403, "EMAIL_NOT_VERIFIED");
        let second = mailbox.letter_to("ann@Example.com").await.secret("/verify-email");
        assert_ne!(first, second);
        // No link has as much.
        let long = login(&service, "ann@example.com", json!({"verification": "0".repeat(101)})).await;
        assert_eq!(long.wrong_fields(), ["verification"], "{long}");
        for (given, status, code) in [("nonsense", 410, "GONE"), (first.as_str(), 200, "")] {
            let reply = login(&service, "ann@example.com", json!({"verification": given})).await;
            assert_eq!((reply.status, reply.code()), (status, code), "{reply}");
        }
        login(&service, "ann@example.com", json!({})).await.data(200);
        // A link without the password is worth nothing.
        register(&service, "bob@example.com", json!({})).await.assert_refused(403, "EMAIL_NOT_VERIFIED");
        let of_bob = mailbox.letter_to("bob@example.com").await.secret("/verify-email");
        let ann = user(&login(&service, "ann@example.com", json!({})).await, 200);
        let confirmed = send(&service, &ann, "POST", "/api/auth/verification/confirm", json!({"token": of_bob})).await;
        confirmed.assert_refused(410, "GONE");
        login(&service, "bob@example.com", json!({"verification": of_bob})).await.data(200);
    }
}
