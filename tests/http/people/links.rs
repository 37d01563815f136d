//! Invitations by link and by mail.

use super::{get, is_verified, login, mailing, register, secret, send, user};
use crate::harness::{Reply, Service, User, each_database};
use heddle_model::access::WorkspaceRole;
use heddle_store::credentials;
use serde_json::{Value, json};
use std::time::Duration;

async fn path(service: &Service, by: &User) -> String {
    format!(
        "/api/workspaces/{}/invitation-links",
        service.workspace_of(by).await
    )
}

async fn link(service: &Service, by: &User, body: Value) -> (String, String) {
    let made = send(service, by, "POST", &path(service, by).await, body).await;
    let data = made.data(201);
    let url = data["url"].as_str().unwrap();
    assert!(
        url.starts_with(&format!("http://{}/join#", service.address)),
        "{url}"
    );
    (data["id"].as_str().unwrap().to_owned(), secret(url))
}

async fn join(service: &Service, by: &User, token: &str) -> Reply {
    send(
        service,
        by,
        "POST",
        "/api/auth/invitations/join",
        json!({"token": token}),
    )
    .await
}

/// As the operator does.
async fn verified(service: &Service, user: &User) {
    let id = user.id.parse().unwrap();
    let store = &service.app.store;
    let verified = store.write(move |db| Box::pin(async move { credentials::verify(db, id).await }));
    verified.await.unwrap();
}

each_database! {
    async fn a_link_lets_one_in_unless_it_says_otherwise(service: Service) {
        let ann = service.user("ann").await;
        let (bob, eve) = (service.user("bob").await, service.user("eve").await);
        let (_, once) = link(&service, &ann, json!({"role": "viewer"})).await;
        assert_eq!(join(&service, &bob, &once).await.data(200), &json!({
            "workspaceId": service.workspace_of(&ann).await, "workspaceName": "ann's workspace", "role": "viewer"
        }));
        join(&service, &eve, &once).await.assert_refused(404, "NOT_FOUND");
        let (id, many) = link(&service, &ann, json!({"role": "editor", "singleUse": false})).await;
        join(&service, &bob, &many).await.assert_refused(409, "CONFLICT");
        join(&service, &eve, &many).await.data(200);
        join(&service, &service.user("ivy").await, &many).await.data(200);
        let listed = get(&service, &ann, &path(&service, &ann).await).await;
        assert_eq!(listed.data(200), &json!([{
            "id": id, "role": "editor", "singleUse": false, "uses": 2, "createdBy": "ann@example.com",
            "createdAt": "2026-11-21T09:00:00.000Z", "expiresAt": "2026-11-28T09:00:00.000Z"
        }]));
        assert!(!listed.text.contains(&many), "{listed}");
    }

    async fn of_many_who_come_at_once_one_gets_in(service: Service) {
        let ann = service.user("ann").await;
        let mut users = Vec::new();
        for number in 0..6 {
            users.push(service.user(&format!("user{number}")).await);
        }
        let (_, once) = link(&service, &ann, json!({"role": "viewer"})).await;
        let joins = users.iter().map(|user| join(&service, user, &once));
        let replies = futures_util::future::join_all(joins).await;
        let joined = replies.iter().filter(|reply| reply.status == 200).count();
        assert_eq!(joined, 1, "{:?}", replies.iter().map(|reply| reply.status).collect::<Vec<_>>());
        let members = format!("/api/workspaces/{}/members", service.workspace_of(&ann).await);
        assert_eq!(get(&service, &ann, &members).await.data(200).as_array().unwrap().len(), 2);
    }

    async fn a_link_ends_by_time_by_hand_and_with_the_right_to_it(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.user("bob").await;
        let soon = json!({"role": "viewer", "expiresAt": "2026-11-21T10:00:00Z"});
        let (_, late) = link(&service, &ann, soon).await;
        let (id, revoked) = link(&service, &ann, json!({"role": "viewer"})).await;
        let one = format!("{}/{id}", path(&service, &ann).await);
        service.delete(&one).bearer(&ann.token).send().await.data(200);
        service.delete(&one).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
        join(&service, &bob, &revoked).await.assert_refused(404, "NOT_FOUND");
        service.app.clock.advance(Duration::from_secs(60 * 60));
        join(&service, &bob, &late).await.assert_refused(404, "NOT_FOUND");
        let look = service.post("/api/invitations/look").json(&json!({"token": late})).send().await;
        look.assert_refused(404, "NOT_FOUND");

        let adam = service.member(&ann, "adam", WorkspaceRole::Admin).await;
        let members = format!("/api/workspaces/{}/members", service.workspace_of(&ann).await);
        let links = members.replace("members", "invitation-links");
        let made = send(&service, &adam, "POST", &links, json!({"role": "admin"})).await;
        let of_adam = secret(made.data(201)["url"].as_str().unwrap());
        let role = json!({"role": "editor"});
        send(&service, &ann, "PATCH", &format!("{members}/{}", adam.id), role).await.data(200);
        join(&service, &bob, &of_adam).await.assert_refused(404, "NOT_FOUND");
    }

    async fn a_link_of_a_disabled_account_lets_nobody_in(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.user("bob").await;
        let (_, token) = link(&service, &ann, json!({"role": "viewer", "singleUse": false})).await;
        let look = async || service.post("/api/invitations/look").json(&json!({"token": token})).send().await;
        let disable = |is_disabled| service.app.store.write(move |db| Box::pin(async move {
            credentials::set_disabled(db, "ann@example.com", is_disabled).await
        }));
        look().await.data(200);
        assert!(disable(true).await.unwrap());
        look().await.assert_refused(404, "NOT_FOUND");
        join(&service, &bob, &token).await.assert_refused(404, "NOT_FOUND");
        let registered = register(&service, "eve@example.com", json!({"invitation": token})).await;
        registered.assert_refused(404, "NOT_FOUND");
        assert!(disable(false).await.unwrap());
        look().await.data(200);
        join(&service, &bob, &token).await.data(200);
    }

    async fn what_a_link_may_be_is_checked(service: Service) {
        let ann = service.user("ann").await;
        let path = path(&service, &ann).await;
        for (body, field) in [
            (json!({}), "role"),
            (json!({"role": "owner"}), "role"),
            (json!({"role": "viewer", "expiresAt": "2026-11-21T09:00:00Z"}), "expiresAt"),
            (json!({"role": "viewer", "expiresAt": "2027-02-20T09:00:01Z"}), "expiresAt"),
            (json!({"role": "viewer", "uses": 5}), "uses"),
        ] {
            assert_eq!(send(&service, &ann, "POST", &path, body).await.wrong_fields(), [field]);
        }
        let editor = service.member(&ann, "editor", WorkspaceRole::Editor).await;
        send(&service, &editor, "POST", &path, json!({"role": "viewer"})).await.assert_refused(403, "FORBIDDEN");
        get(&service, &editor, &path).await.assert_refused(403, "FORBIDDEN");
    }

    async fn without_mail_the_inviter_gets_the_link_of_an_address(service: Service) {
        let ann = service.user("ann").await;
        let members = format!("/api/workspaces/{}/members", service.workspace_of(&ann).await);
        let invite = json!({"email": "Bob@example.com", "role": "editor"});
        let first = send(&service, &ann, "POST", &members, invite.clone()).await;
        let second = send(&service, &ann, "POST", &members, invite).await;
        let [first, second] = [&first, &second].map(|reply| secret(reply.data(201)["url"].as_str().unwrap()));
        let eve = service.user("eve").await;
        join(&service, &eve, &second).await.assert_refused(403, "FORBIDDEN");
        // The one before was replaced.
        let replaced = register(&service, "bob@example.com", json!({"invitation": first})).await;
        replaced.assert_refused(404, "NOT_FOUND");
        let bob = user(&register(&service, "bob@example.com", json!({"invitation": second})).await, 201);
        assert!(!is_verified(&service, &bob).await, "nobody has shown that they read the mail there");
        let list = members.replace("members", "invitations");
        assert_eq!(get(&service, &ann, &list).await.data(200), &json!([]));
        assert_eq!(get(&service, &ann, &members).await.data(200)[1]["role"], "editor");
    }

    async fn by_mail_the_link_proves_the_address(service: Service) {
        let (service, mut mailbox) = mailing(&service).await;
        let ann = service.user("ann").await;
        mailbox.letter_to("ann@example.com").await;
        let members = format!("/api/workspaces/{}/members", service.workspace_of(&ann).await);
        let invite = |email: &str| json!({"email": email, "role": "viewer"});
        // Nobody gets mail by an account whose own address may be somebody else's.
        let copied = send(&service, &ann, "POST", &members, invite("ivy@example.com")).await;
        assert!(copied.data(201)["url"].is_string(), "{copied}");
        verified(&service, &ann).await;
        let mailed = send(&service, &ann, "POST", &members, invite("bob@example.com")).await;
        assert_eq!(mailed.data(201).get("url"), None, "{mailed}");
        // Ivy's would have been before this one.
        let letter = mailbox.letter_to("bob@example.com").await;
        assert!(mailbox.is_empty());
        assert!(letter.text.contains("ann@example.com invites you"), "{letter:?}");
        let token = letter.secret("/join");
        let bob = user(&register(&service, "bob@example.com", json!({"invitation": token})).await, 201);
        assert!(is_verified(&service, &bob).await);
        // An address that might be somebody else's answers no invitation.
        send(&service, &ann, "POST", &members, invite("eve@example.com")).await.data(201);
        mailbox.letter_to("eve@example.com").await;
        let eve = user(&register(&service, "eve@example.com", json!({})).await, 201);
        get(&service, &eve, "/api/auth/invitations").await.assert_refused(403, "FORBIDDEN");
        login(&service, "eve@example.com", json!({})).await.data(200);
    }
}
