//! One object of each kind, and how the operations of the document are called on them.

use crate::document::Operation;
use crate::harness::{Service, User, doubling};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SNIPPETS: &str = "GET /api/deployments/{id}/webhook/snippets";
const DRAFT: &str = "GET /api/patterns/{id}/draft";
const AUDIT: &str = "GET /api/audit";
const INVITATIONS: &str = "GET /api/workspaces/{id}/invitations";
const LINKS: &str = "GET /api/workspaces/{id}/invitation-links";
const USAGE: &str = "GET /api/workspaces/{id}/usage";
const QUOTAS: &str = "GET /api/workspaces/{id}/quotas";

/// Objects of one workspace.
pub struct Fixture {
    /// Owns everything.
    pub owner: User,
    /// A viewer of the owner's workspace.
    pub viewer: User,
    /// What stands for a parameter of a path, by the two words that end there, as in `patterns/{id}`.
    values: BTreeMap<&'static str, String>,
}

impl Fixture {
    /// Makes the objects. A new kind of object gets its lines here.
    pub async fn new(service: &Service) -> Fixture {
        let owner = service.user("owner").await;
        let viewer = service.member(&owner, "viewer", WorkspaceRole::Viewer).await;
        let mut fixture = Fixture {
            owner,
            viewer,
            values: BTreeMap::new(),
        };
        let pattern = fixture.made(service, "/api/patterns", json!({"name": "x"})).await;
        let pattern = text(&pattern["id"]);
        service.redrawn(&fixture.owner, &pattern, &doubling()).await;
        let deployment = service.deploy(&fixture.owner, &pattern).await;
        let run = service
            .ran(&fixture.owner, &deployment, &json!({"fail": true}))
            .await;
        let tests = format!("/api/patterns/{pattern}/tests");
        let test = fixture.made(service, &tests, json!({"name": "x"})).await;
        fixture.values.insert("tests/{testId}", text(&test["id"]));
        let file = fixture.made(service, "/api/files", json!({})).await;
        fixture.values.insert("files/{id}", text(&file["data"]["$file"]));
        fixture.values.insert("patterns/{id}", pattern);
        fixture.values.insert("deployments/{id}", deployment);
        fixture.values.insert("runs/{runId}", run);
        fixture.values.insert("versions/{n}", "1".to_owned());
        // A tab names itself.
        let tab = "0b0e2f52-5d1c-4a6e-9e0b-4b1c6f1c0001";
        fixture.values.insert("presence/{tab}", tab.to_owned());
        fixture.values.insert("nodes/{type}", "Filter".to_owned());
        fixture.of_accounts(service).await;
        fixture
    }

    async fn of_accounts(&mut self, service: &Service) {
        let workspace = service.workspace_of(&self.owner).await.to_string();
        let environments = format!("/api/workspaces/{workspace}/environments");
        let environment = self
            .made(service, &environments, json!({"name": "staging"}))
            .await;
        let environment = text(&environment["data"]["id"]);
        let secret = format!("{environments}/{environment}/secrets/TOKEN");
        let secret = service
            .put(&secret)
            .bearer(&self.owner.token)
            .json(&json!({"value": "x"}));
        assert_eq!(secret.send().await.status, 200);
        let kept = format!("/api/workspaces/{workspace}/key-values/k");
        let kept = service
            .put(&kept)
            .bearer(&self.owner.token)
            .json(&json!({"value": 1}));
        assert_eq!(kept.send().await.status, 200);
        self.values.insert("key-values/{key}", "k".to_owned());
        let connection = json!({"provider": "github", "apiKey": "x"});
        let connection = self.made(service, "/api/connections/api-key", connection).await;
        let key = self
            .made(service, "/api/auth/api-keys", json!({"name": "x"}))
            .await;
        let members = format!("/api/workspaces/{workspace}/members");
        let body = json!({"email": "invited@example.com", "role": "viewer"});
        let invitation = self.made(service, &members, body).await;
        let invitation = text(&invitation["data"]["id"]);
        self.values.insert("invitations/{id}", invitation.clone());
        self.values.insert("invitations/{invitationId}", invitation);
        let links = format!("/api/workspaces/{workspace}/invitation-links");
        let link = self.made(service, &links, json!({"role": "viewer"})).await;
        self.values
            .insert("invitation-links/{linkId}", text(&link["data"]["id"]));
        self.values.insert("workspaces/{id}", workspace);
        let cookie = service.cookie("owner").await;
        let sessions = service
            .get("/api/sessions")
            .header("cookie", &cookie)
            .send()
            .await;
        self.values
            .insert("sessions/{id}", text(&sessions.data(200)[0]["id"]));
        self.values.insert("members/{userId}", self.owner.id.clone());
        self.values.insert("environments/{envId}", environment);
        self.values.insert("secrets/{name}", "TOKEN".to_owned());
        self.values.insert("connections/{id}", text(&connection["id"]));
        self.values.insert("api-keys/{id}", text(&key["data"]["id"]));
    }

    /// The same calls on objects that don't exist.
    pub fn of_nothing(&self) -> Fixture {
        let nothing = "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a".to_owned();
        Fixture {
            owner: self.owner.clone(),
            viewer: self.viewer.clone(),
            values: self.values.keys().map(|key| (*key, nothing.clone())).collect(),
        }
    }

    /// What a POST by the owner gave.
    async fn made(&self, service: &Service, path: &str, body: Value) -> Value {
        let reply = service
            .post(path)
            .bearer(&self.owner.token)
            .json(&body)
            .send()
            .await;
        assert!(matches!(reply.status, 200 | 201), "{path}: {reply}");
        reply.body
    }

    /// An operation's address on these objects.
    pub fn address(&self, operation: &Operation) -> String {
        let mut address = String::new();
        let mut before = "";
        for part in operation.path.split('/').skip(1) {
            address.push('/');
            if part.starts_with('{') {
                let key = format!("{before}/{part}");
                let value = self.values.get(key.as_str());
                address.push_str(value.unwrap_or_else(|| panic!("{operation}: no object for {key}")));
            } else {
                address.push_str(part);
            }
            before = part;
        }
        let query = match operation.to_string().as_str() {
            "GET /api/patterns/{id}/versions/compare" => "?v1=1&v2=1",
            SNIPPETS => "?endpointId=01932c07-209e-7f64-b0a3-5c1f1b0e6f3a",
            _ => "",
        };
        address + query
    }

    /// A body that the operation takes: the document's example, unless it must name one of these objects.
    pub fn body(&self, document: &Value, operation: &Operation) -> Option<Value> {
        operation.example(document)
    }

    /// Whether the operation is on what belongs to a user alone, so that a member is a stranger.
    pub fn is_personal(&self, operation: &Operation) -> bool {
        ["/api/connections", "/api/auth", "/api/session"]
            .iter()
            .any(|path| operation.path.starts_with(path))
    }

    /// The status of what a viewer may not even read.
    pub fn viewer_may_not(&self, operation: &Operation) -> Option<u16> {
        match operation.to_string().as_str() {
            // A snippet has the secret in it; invitations have strangers' addresses; usage is for those who pay for it.
            SNIPPETS | INVITATIONS | LINKS | AUDIT | USAGE | QUOTAS => Some(403),
            // A viewer has none.
            DRAFT => Some(404),
            _ => None,
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
