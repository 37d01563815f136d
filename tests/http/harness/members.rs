//! Members and admins, made in the database so that a test depends on nothing else.

use super::{Service, User};
use heddle_model::access::{Role, WorkspaceRole};
use heddle_model::ids::{UserId, WorkspaceId};
use heddle_store::{StoreError, sql};
use serde_json::json;

impl Service {
    /// The workspace that was made for a user.
    pub async fn workspace_of(&self, user: &User) -> WorkspaceId {
        let mut reader = self.app.store.reader().await.unwrap();
        let (id,): (WorkspaceId,) = reader
            .db()
            .one(
                sql("select workspace_id from memberships where user_id = ? order by created_at limit 1")
                    .bind(&user.id),
            )
            .await
            .unwrap();
        id
    }

    /// Registers a user as another member of `owner`'s workspace, with a token for it.
    pub async fn member(&self, owner: &User, name: &str, role: WorkspaceRole) -> User {
        let workspace = self.workspace_of(owner).await;
        let user = self.user(name).await;
        let id: UserId = user.id.parse().unwrap();
        let now = self.app.clock.now();
        self.app
            .store
            .write(move |db| {
                Box::pin(async move {
                    db.execute(
                        sql("insert into memberships (workspace_id, user_id, role, created_at) values (?, ?, ?, ?)")
                            .bind(workspace)
                            .bind(id)
                            .bind(role)
                            .bind(now.plus(std::time::Duration::from_secs(1))),
                    )
                    .await
                })
            })
            .await
            .unwrap();
        let email = format!("{name}@example.com");
        let token = self.app.tokens.issue(
            id,
            &email,
            Role::User,
            Some((workspace, role)),
            &self.app.tokens.begin(0),
        );
        User {
            id: user.id,
            token: token.unwrap(),
        }
    }

    /// Signs `<name>@example.com` in as a browser does; the cookie that its requests have.
    pub async fn cookie(&self, name: &str) -> String {
        let body = json!({"email": format!("{name}@example.com"), "password": "correct-horse"});
        let reply = self.post("/api/session").json(&body).send().await;
        reply.data(200);
        let given = reply.headers["set-cookie"].to_str().unwrap();
        given.split(';').next().unwrap().to_owned()
    }

    /// Invites `<name>@example.com` to a workspace, and accepts it as that user.
    pub async fn join(&self, by: &User, user: &User, name: &str, workspace: &str, role: &str) {
        let path = format!("/api/workspaces/{workspace}/members");
        let body = json!({"email": format!("{name}@example.com"), "role": role});
        let invited = self.post(&path).bearer(&by.token).json(&body).send().await;
        let id = invited.data(201)["id"].as_str().unwrap().to_owned();
        let path = format!("/api/auth/invitations/{id}/accept");
        let joined = self.post(&path).bearer(&user.token).send().await;
        assert_eq!(joined.data(200)["workspaceId"], workspace, "{joined}");
    }

    /// Registers a user with the role admin in the service.
    pub async fn admin(&self, name: &str) -> User {
        let user = self.user(name).await;
        let id = user.id.clone();
        let promoted: Result<u64, StoreError> = self
            .app
            .store
            .write(move |db| {
                Box::pin(async move {
                    db.execute(sql("update users set role = 'admin' where id = ?").bind(&id))
                        .await
                })
            })
            .await;
        promoted.unwrap();
        user
    }
}
