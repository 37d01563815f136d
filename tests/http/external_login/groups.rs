//! Roles that people have by the groups of their login provider: given and taken back at each login, never the last owner's.

use super::oidc_provider::OidcProvider;
use super::several::{RETURN, login};
use super::tell_the_time;
use crate::harness::{Database, Request, Service, User};
use crate::needs;
use heddle_model::access::WorkspaceRole;
use heddle_model::ids::WorkspaceId;
use heddle_runtime::EgressPolicy;
use heddle_service::auth::external::GroupRole;
use serde_json::{Value, json};
use std::net::SocketAddr;

fn rule(value: &str, workspace: WorkspaceId, role: WorkspaceRole) -> GroupRole {
    GroupRole {
        claim: "groups".to_owned(),
        value: value.to_owned(),
        workspace,
        role,
    }
}

/// A workspace of Olga's, and a service with providers whose groups give roles in it.
struct Place<'a> {
    service: &'a Service,
    address: SocketAddr,
    provider: &'a OidcProvider,
    olga: User,
    workspace: WorkspaceId,
}

impl Place<'_> {
    /// Signs a person in who is in these groups.
    async fn arrives(&self, person: &str, groups: &[&str]) -> User {
        self.provider.put_into(person, groups).await;
        let begin = Request::new(self.address, "POST", "/api/session/ext/begin");
        let begun = begin.send().await;
        let cookie = begun.headers["set-cookie"]
            .to_str()
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        let came = self
            .provider
            .answer_to(begun.data(200)["authorizeUrl"].as_str().unwrap(), person)
            .await;
        let body = json!({"code": came["code"], "state": came["state"], "iss": came["iss"]});
        let answer = Request::new(self.address, "POST", "/api/session/ext").header("cookie", &cookie);
        let arrived = answer.json(&body).send().await;
        User {
            id: arrived.data(200)["user"]["id"].as_str().unwrap().to_owned(),
            token: String::new(),
        }
    }

    /// A member's role in the workspace.
    async fn role(&self, user: &User) -> Option<String> {
        let path = format!("/api/workspaces/{}/members", self.workspace);
        let members = self.service.get(&path).bearer(&self.olga.token).send().await;
        let members = members.data(200).as_array().unwrap();
        let member = members
            .iter()
            .find(|member| member["userId"] == user.id.as_str())?;
        Some(member["role"].as_str().unwrap().to_owned())
    }

    async fn set_role(&self, user: &User, role: &str) {
        let path = format!("/api/workspaces/{}/members/{}", self.workspace, user.id);
        let set = self.service.request("PATCH", &path).bearer(&self.olga.token);
        set.json(&json!({"role": role})).send().await.data(200);
    }

    /// What the audit log tells of members, the newest first, without who and when.
    async fn told(&self) -> Vec<(String, Value)> {
        let path = "/api/audit?action=member";
        let log = self.service.get(path).bearer(&self.olga.token).send().await;
        let entries = log.body["data"].as_array().unwrap().iter();
        entries
            .map(|entry| {
                (
                    entry["action"].as_str().unwrap().to_owned(),
                    entry["details"].clone(),
                )
            })
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_give_roles_and_take_them_back() {
    let Some(provider) = needs::or_skip("oidc-provider", OidcProvider::returning_to(RETURN).await) else {
        return;
    };
    for database in [Database::Sqlite, Database::Postgres] {
        let service = Service::start(database).await;
        tell_the_time(&service);
        let olga = service.user("olga").await;
        let workspace = service.workspace_of(&olga).await;
        let rules = vec![
            rule("staff", workspace, WorkspaceRole::Viewer),
            rule("ops", workspace, WorkspaceRole::Admin),
            rule("bosses", workspace, WorkspaceRole::Owner),
            rule("ops", WorkspaceId::new(), WorkspaceRole::Owner),
        ];
        let (_app, address) = service
            .restarted_with(|config| {
                config.external_logins = vec![login("sso", &provider, rules)];
                config.egress = EgressPolicy::parse([provider.address.as_str()]).unwrap();
            })
            .await;
        let place = Place {
            service: &service,
            address,
            provider: &provider,
            olga,
            workspace,
        };
        follow_the_groups(&place).await;
        keep_what_was_set_by_hand(&place).await;
        keep_the_last_owner(&place).await;
    }
}

async fn follow_the_groups(place: &Place<'_>) {
    let ann = place.arrives("ann", &["others"]).await;
    assert_eq!(place.role(&ann).await, None);
    for (groups, role) in [
        (vec!["staff"], Some("viewer")),
        (vec!["ops", "staff"], Some("admin")),
        (vec!["ops", "staff"], Some("admin")),
        (vec!["staff"], Some("viewer")),
        (vec![], None),
    ] {
        place.arrives("ann", &groups).await;
        assert_eq!(place.role(&ann).await.as_deref(), role, "{groups:?}");
    }
    let of = |action: &str, details: Value| (action.to_owned(), details);
    assert_eq!(
        place.told().await,
        [
            of("member.removed", json!({"provider": "sso", "from": "viewer"})),
            of(
                "member.role_changed",
                json!({"provider": "sso", "from": "admin", "to": "viewer"})
            ),
            of(
                "member.role_changed",
                json!({"provider": "sso", "from": "viewer", "to": "admin"})
            ),
            of("member.added", json!({"provider": "sso", "to": "viewer"})),
        ]
    );
}

async fn keep_what_was_set_by_hand(place: &Place<'_>) {
    // Groups raise a role that somebody has without them, never lower it, and take back what they gave.
    let carl = place.service.user("carl").await;
    place
        .service
        .join(&place.olga, &carl, "carl", &place.workspace.to_string(), "editor")
        .await;
    for (groups, role) in [
        (vec!["staff"], "editor"),
        (vec!["ops"], "admin"),
        (vec!["staff"], "editor"),
        (vec![], "editor"),
    ] {
        let arrived = place.arrives("carl", &groups).await;
        assert_eq!(arrived.id, carl.id);
        assert_eq!(place.role(&carl).await.as_deref(), Some(role), "{groups:?}");
    }
    // What somebody changes afterwards is the member's own from then on.
    let ann = place.arrives("ann", &["staff"]).await;
    place.set_role(&ann, "editor").await;
    place.arrives("ann", &["staff"]).await;
    assert_eq!(place.role(&ann).await.as_deref(), Some("editor"));
    place.arrives("ann", &[]).await;
    assert_eq!(place.role(&ann).await.as_deref(), Some("editor"));
}

async fn keep_the_last_owner(place: &Place<'_>) {
    let carl = place.arrives("carl", &["bosses"]).await;
    assert_eq!(place.role(&carl).await.as_deref(), Some("owner"));
    // Olga makes way: Carl is the only owner now.
    let path = format!("/api/workspaces/{}/members/{}", place.workspace, place.olga.id);
    let ceded = place.service.request("PATCH", &path).bearer(&place.olga.token);
    ceded.json(&json!({"role": "admin"})).send().await.data(200);
    for _ in 0..2 {
        place.arrives("carl", &[]).await;
        assert_eq!(
            place.role(&carl).await.as_deref(),
            Some("owner"),
            "nobody else is one"
        );
    }
    // Once somebody else is, what the groups no longer give is taken back.
    place.arrives("ann", &["bosses"]).await;
    place.arrives("carl", &[]).await;
    assert_eq!(place.role(&carl).await.as_deref(), Some("editor"));
}
