//! Invitations: nobody is a member who has not agreed, and inviting tells nothing of who is registered.

use super::{NOW, active, get, join, send};
use crate::harness::{Reply, Service, User, each_database};
use heddle_store::credentials;
use serde_json::{Value, json};
use std::time::Duration;

async fn invite(service: &Service, by: &User, email: &str, role: &str) -> Reply {
    let path = format!("/api/workspaces/{}/members", active(by));
    send(service, by, "POST", &path, json!({"email": email, "role": role})).await
}

async fn answer(service: &Service, user: &User, invitation: &str, answer: &str) -> Reply {
    let path = format!("/api/auth/invitations/{invitation}/{answer}");
    service.post(&path).bearer(&user.token).send().await
}

fn id(reply: &Reply) -> String {
    reply.data(201)["id"].as_str().unwrap().to_owned()
}

each_database! {
    async fn nobody_is_a_member_without_their_consent(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let members = format!("/api/workspaces/{}/members", active(&ann));
        let invitation = id(&invite(&service, &ann, "BOB@example.com", "editor").await);
        assert_eq!(get(&service, &ann, &members).await.data(200).as_array().unwrap().len(), 1);
        get(&service, &bob, &members).await.assert_refused(404, "WORKSPACE_NOT_FOUND");

        let received = get(&service, &bob, "/api/auth/invitations").await;
        assert_eq!(received.data(200), &json!([{
            "id": invitation, "workspaceId": active(&ann), "workspaceName": "ann's workspace", "role": "editor",
            "invitedBy": "ann@example.com", "createdAt": NOW, "expiresAt": "2026-12-21T09:00:00.000Z"
        }]));
        let accepted = answer(&service, &bob, &invitation, "accept").await;
        assert_eq!(accepted.data(200), &json!({
            "workspaceId": active(&ann), "workspaceName": "ann's workspace", "role": "editor"
        }));
        assert_eq!(get(&service, &bob, &members).await.data(200)[1]["role"], "editor");
        assert_eq!(get(&service, &bob, "/api/auth/invitations").await.data(200), &json!([]));
        answer(&service, &bob, &invitation, "accept").await.assert_refused(404, "NOT_FOUND");
        invite(&service, &ann, "bob@example.com", "viewer").await.assert_refused(409, "CONFLICT");
    }

    async fn who_has_joined_by_a_link_stays_what_they_are(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let invitation = id(&invite(&service, &ann, "bob@example.com", "admin").await);
        let links = format!("/api/workspaces/{}/invitation-links", active(&ann));
        let link = send(&service, &ann, "POST", &links, json!({"role": "viewer"})).await;
        let (_, token) = link.data(201)["url"].as_str().unwrap().split_once('#').unwrap();
        send(&service, &bob, "POST", "/api/auth/invitations/join", json!({"token": token})).await.data(200);

        let accepted = answer(&service, &bob, &invitation, "accept").await;
        assert_eq!(accepted.data(200)["role"], "viewer", "{accepted}");
        let members = format!("/api/workspaces/{}/members", active(&ann));
        assert_eq!(get(&service, &ann, &members).await.data(200)[1]["role"], "viewer");
        let told = get(&service, &ann, "/api/audit?action=invitation.accepted").await;
        let told = told.body["data"].as_array().unwrap();
        assert_eq!(told.iter().map(|entry| &entry["details"]["role"]).collect::<Vec<_>>(), ["viewer", "viewer"]);
    }

    async fn an_invitation_tells_nothing_of_who_is_registered(service: Service) {
        let ann = service.user("ann").await;
        service.user("bob").await;
        let told = async |email: &str| {
            let mut body = invite(&service, &ann, email, "viewer").await.data(201).clone();
            for field in ["id", "email", "url"] {
                assert!(body.as_object_mut().unwrap().remove(field).is_some());
            }
            body
        };
        assert_eq!(told("bob@example.com").await, told("nobody@example.com").await);
        let listed = get(&service, &ann, &format!("/api/workspaces/{}/invitations", active(&ann))).await;
        assert!(!listed.text.contains("Test") && !listed.text.contains("firstName"), "{listed}");
        // Whoever registers later finds it.
        let nobody = service.user("nobody").await;
        assert_eq!(get(&service, &nobody, "/api/auth/invitations").await.data(200).as_array().unwrap().len(), 1);
    }

    async fn an_invitation_is_declined_withdrawn_renewed_and_over(service: Service) {
        let (ann, bob, eve) = (service.user("ann").await, service.user("bob").await, service.user("eve").await);
        let declined = id(&invite(&service, &ann, "bob@example.com", "viewer").await);
        for not_hers in ["accept", "decline"] {
            answer(&service, &eve, &declined, not_hers).await.assert_refused(404, "NOT_FOUND");
        }
        assert_eq!(answer(&service, &bob, &declined, "decline").await.data(200), &json!({"id": declined, "status": "deleted"}));
        answer(&service, &bob, &declined, "accept").await.assert_refused(404, "NOT_FOUND");

        let path = format!("/api/workspaces/{}/invitations", active(&ann));
        let first = id(&invite(&service, &ann, "bob@example.com", "viewer").await);
        let again = id(&invite(&service, &ann, "bob@example.com", "admin").await);
        let listed = get(&service, &ann, &path).await;
        assert_eq!((listed.data(200).as_array().unwrap().len(), &listed.data(200)[0]["role"]), (1, &Value::from("admin")));
        assert_eq!(first, again);
        let one = format!("{path}/{again}");
        service.delete(&one).bearer(&ann.token).send().await.data(200);
        service.delete(&one).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
        answer(&service, &bob, &again, "accept").await.assert_refused(404, "NOT_FOUND");

        let late = id(&invite(&service, &ann, "bob@example.com", "viewer").await);
        for _ in 0..30 {
            service.app.clock.advance(Duration::from_secs(24 * 60 * 60));
        }
        let login = json!({"email": "bob@example.com", "password": "correct-horse"});
        let login = service.post("/api/auth/login").json(&login).send().await;
        let bob = User { token: login.data(200)["token"].as_str().unwrap().to_owned(), ..bob };
        assert_eq!(get(&service, &bob, "/api/auth/invitations").await.data(200), &json!([]));
        answer(&service, &bob, &late, "accept").await.assert_refused(404, "NOT_FOUND");
    }

    async fn an_invitation_ends_with_the_right_to_it(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let workspace = active(&ann);
        let adam = join(&service, &ann, "adam", &workspace, "admin").await;
        let path = format!("/api/workspaces/{workspace}/members");
        let invited = send(&service, &adam, "POST", &path, json!({"email": "bob@example.com", "role": "admin"})).await;
        let one = format!("{path}/{}", adam.id);
        send(&service, &ann, "PATCH", &one, json!({"role": "editor"})).await.data(200);
        assert_eq!(get(&service, &bob, "/api/auth/invitations").await.data(200), &json!([]));
        answer(&service, &bob, &id(&invited), "accept").await.assert_refused(404, "NOT_FOUND");
        send(&service, &ann, "PATCH", &one, json!({"role": "admin"})).await.data(200);
        answer(&service, &bob, &id(&invited), "accept").await.data(200);
    }

    async fn inviting_is_limited(service: Service) {
        let ann = service.user("ann").await;
        for number in 0..30 {
            invite(&service, &ann, &format!("user{number}@example.com"), "viewer").await.data(201);
        }
        invite(&service, &ann, "one-more@example.com", "viewer").await.assert_refused(429, "RATE_LIMITED");
        service.app.clock.advance(Duration::from_secs(60));
        invite(&service, &ann, "one-more@example.com", "viewer").await.data(201);
    }
}

/// Where an external login can prove an email, an account that was registered with a stranger's answers for nothing.
pub async fn only_the_proven_answer(service: &Service) {
    let (ivy, squatter) = (service.user("ivy").await, service.user("victim").await);
    let invitation = id(&invite(service, &ivy, "victim@example.com", "admin").await);
    get(service, &squatter, "/api/auth/invitations")
        .await
        .assert_refused(403, "FORBIDDEN");
    for given in ["accept", "decline"] {
        answer(service, &squatter, &invitation, given)
            .await
            .assert_refused(403, "FORBIDDEN");
    }
    let user = squatter.id.parse().unwrap();
    let verified = service
        .app
        .store
        .write(move |db| Box::pin(async move { credentials::verify(db, user).await }));
    verified.await.unwrap();
    answer(service, &squatter, &invitation, "accept").await.data(200);
}
