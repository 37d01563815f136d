//! Members and their roles.

use super::{NOW, active, get, join, send};
use crate::harness::{Service, each_database};
use heddle_model::access::WorkspaceRole;
use serde_json::json;

each_database! {
    async fn members_are_added_listed_changed_and_removed(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let path = format!("/api/workspaces/{}/members", active(&ann));
        let owner = json!({
            "userId": ann.id, "email": "ann@example.com", "firstName": "ann", "lastName": "Test",
            "role": "owner", "createdAt": NOW, "emailVerified": false
        });
        assert_eq!(get(&service, &ann, &path).await.data(200), &json!([owner]));

        service.app.clock.advance(std::time::Duration::from_secs(60));
        let body = json!({"email": " Bob@example.com ", "role": "editor"});
        let invited = send(&service, &ann, "POST", &path, body.clone()).await;
        let invitation = invited.data(201)["id"].as_str().unwrap().to_owned();
        assert_eq!(invited.data(201), &json!({
            "id": invitation, "email": "Bob@example.com", "role": "editor", "status": "invited",
            "createdAt": "2026-11-21T09:01:00.000Z", "expiresAt": "2026-12-21T09:01:00.000Z",
            "url": invited.data(201)["url"]
        }));
        let accept = format!("/api/auth/invitations/{invitation}/accept");
        service.post(&accept).bearer(&bob.token).send().await.data(200);
        let mut member = json!({
            "userId": bob.id, "email": "bob@example.com", "firstName": "bob", "lastName": "Test",
            "role": "editor", "createdAt": "2026-11-21T09:01:00.000Z", "emailVerified": false
        });
        assert_eq!(get(&service, &bob, &path).await.data(200), &json!([owner, member]));
        send(&service, &ann, "POST", &path, body).await.assert_refused(409, "CONFLICT");

        let one = format!("{path}/{}", bob.id);
        member["role"] = json!("viewer");
        assert_eq!(send(&service, &ann, "PATCH", &one, json!({"role": "viewer"})).await.data(200), &member);
        let removed = service.delete(&one).bearer(&ann.token).send().await;
        assert_eq!(removed.data(200), &json!({"id": bob.id, "status": "deleted"}));
        service.delete(&one).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
        send(&service, &ann, "PATCH", &one, json!({"role": "viewer"})).await.assert_refused(404, "NOT_FOUND");
        get(&service, &bob, &path).await.assert_refused(404, "WORKSPACE_NOT_FOUND");
    }

    async fn connections_of_somebody_who_has_gone_are_an_owner_s(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.member(&ann, "bob", WorkspaceRole::Editor).await;
        let body = json!({"provider": "github", "apiKey": "x"});
        let made = send(&service, &bob, "POST", "/api/connections/api-key", body).await;
        assert_eq!(made.status, 201, "{made}");
        let connection = format!("/api/connections/{}", made.body["id"].as_str().unwrap());
        assert_eq!(get(&service, &ann, &connection).await.status, 404);
        let member = format!("/api/workspaces/{}/members/{}", active(&ann), bob.id);
        service.delete(&member).bearer(&ann.token).send().await.data(200);
        let log = get(&service, &ann, "/api/audit?action=member.removed").await;
        assert_eq!(log.body["data"][0]["details"]["connections"], 1, "{log}");
        assert_eq!(get(&service, &ann, &connection).await.status, 200);
        let deleted = service.delete(&connection).bearer(&ann.token).send().await;
        assert_eq!(deleted.status, 204, "{deleted}");
    }

    async fn what_is_wrong_with_a_member_is_named(service: Service) {
        let ann = service.user("ann").await;
        let path = format!("/api/workspaces/{}/members", active(&ann));
        for (body, field) in [
            (json!({"role": "viewer"}), "email"),
            (json!({"email": "x@example.com"}), "role"),
            (json!({"email": "x@example.com", "role": "king"}), "role"),
            (json!({"email": "nobody", "role": "viewer"}), "email"),
        ] {
            assert_eq!(send(&service, &ann, "POST", &path, body).await.wrong_fields(), [field]);
        }
        let one = format!("{path}/{}", ann.id);
        assert_eq!(send(&service, &ann, "PATCH", &one, json!({"role": "king"})).await.wrong_fields(), ["role"]);
        let nonsense = format!("{path}/nonsense");
        service.delete(&nonsense).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
    }

    async fn nobody_deals_with_roles_above_their_own(service: Service) {
        let ann = service.user("ann").await;
        let workspace = active(&ann);
        let path = format!("/api/workspaces/{workspace}/members");
        let admin = join(&service, &ann, "adam", &workspace, "admin").await;
        service.user("carl").await;
        let body = json!({"email": "carl@example.com", "role": "owner"});
        send(&service, &admin, "POST", &path, body).await.assert_refused(403, "FORBIDDEN");
        let (owner, own) = (format!("{path}/{}", ann.id), format!("{path}/{}", admin.id));
        send(&service, &admin, "PATCH", &owner, json!({"role": "viewer"})).await.assert_refused(403, "FORBIDDEN");
        send(&service, &admin, "PATCH", &own, json!({"role": "owner"})).await.assert_refused(403, "FORBIDDEN");
        service.delete(&owner).bearer(&admin.token).send().await.assert_refused(403, "FORBIDDEN");
        for role in ["viewer", "editor"] {
            let member = join(&service, &admin, role, &workspace, role).await;
            let body = json!({"email": "carl@example.com", "role": "viewer"});
            send(&service, &member, "POST", &path, body).await.assert_refused(403, "FORBIDDEN");
            send(&service, &member, "PATCH", &own, json!({"role": "viewer"})).await.assert_refused(403, "FORBIDDEN");
            service.delete(&own).bearer(&member.token).send().await.assert_refused(403, "FORBIDDEN");
            // Everybody may leave.
            let itself = format!("{path}/{}", member.id);
            service.delete(&itself).bearer(&member.token).send().await.data(200);
        }
    }

    async fn a_workspace_keeps_an_owner(service: Service) {
        let ann = service.user("ann").await;
        let path = format!("/api/workspaces/{}/members", active(&ann));
        let own = format!("{path}/{}", ann.id);
        service.delete(&own).bearer(&ann.token).send().await.assert_refused(409, "CONFLICT");
        send(&service, &ann, "PATCH", &own, json!({"role": "admin"})).await.assert_refused(409, "CONFLICT");
        send(&service, &ann, "PATCH", &own, json!({"role": "owner"})).await.data(200);
        let bob = join(&service, &ann, "bob", &active(&ann), "owner").await;

        // Both leave at the same time: one has to stay.
        let other = format!("{path}/{}", bob.id);
        let (first, second) = tokio::join!(
            service.delete(&own).bearer(&ann.token).send(),
            service.delete(&other).bearer(&bob.token).send(),
        );
        let mut statuses = [first.status, second.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{first} {second}");
    }
}
