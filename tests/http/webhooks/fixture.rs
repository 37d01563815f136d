//! A pattern with webhooks, and senders who know how to sign.

use crate::harness::{Reply, Request, Service, User};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

/// A saved pattern with the first of its webhooks.
pub struct Hook<'s> {
    pub service: &'s Service,
    pub user: User,
    pub pattern: String,
    pub endpoint: String,
    pub webhook: String,
    pub secret: String,
}

/// A graph with one OnWebhook, called `hook`.
pub fn graph(parameters: Value, after: &[Value]) -> Value {
    let mut nodes = vec![json!({"id": "hook", "type": "OnWebhook", "data": {"parameters": parameters}})];
    let mut edges = Vec::new();
    let mut before = "hook".to_owned();
    for node in after {
        let id = node["id"].as_str().unwrap().to_owned();
        edges.push(json!({"source": before, "target": id}));
        nodes.push(node.clone());
        before = id;
    }
    json!({"nodes": nodes, "edges": edges})
}

pub fn returns(value: &str) -> Value {
    json!({"id": "return", "type": "Return", "data": {"parameters": {"value": value}}})
}

pub fn responds(parameters: Value) -> Value {
    json!({"id": "respond", "type": "RespondToWebhook", "data": {"parameters": parameters}})
}

/// Hex HMAC-SHA256.
pub fn sign(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

impl<'s> Hook<'s> {
    /// Of a new user, not deployed.
    pub async fn saved(service: &'s Service, graph: Value) -> Hook<'s> {
        let user = service.user("ann").await;
        Hook::saved_by(service, user, graph).await
    }

    pub async fn saved_by(service: &'s Service, user: User, graph: Value) -> Hook<'s> {
        let made = service
            .post("/api/patterns")
            .bearer(&user.token)
            .json(&json!({"name": "hooked"}))
            .send()
            .await;
        assert_eq!(made.status, 201, "{made}");
        let mut hook = Hook {
            service,
            user,
            pattern: made.body["id"].as_str().unwrap().to_owned(),
            endpoint: String::new(),
            webhook: String::new(),
            secret: String::new(),
        };
        hook.save(graph).await;
        if let Some(endpoint) = hook.endpoints().await.first() {
            let text = |name: &str| endpoint[name].as_str().unwrap().to_owned();
            (hook.endpoint, hook.webhook, hook.secret) =
                (text("id"), text("webhookId"), text("webhookSecret"));
        }
        hook
    }

    /// Of a new user, deployed.
    pub async fn deployed(service: &'s Service, graph: Value) -> Hook<'s> {
        let hook = Hook::saved(service, graph).await;
        hook.deploy().await;
        hook
    }

    pub async fn save(&self, graph: Value) {
        let path = format!("/api/patterns/{}", self.pattern);
        let saved = self
            .service
            .put(&path)
            .bearer(&self.user.token)
            .json(&json!({"graphData": graph}))
            .send()
            .await;
        assert_eq!(saved.status, 200, "{saved}");
    }

    /// The deployment's id.
    pub async fn deploy(&self) -> String {
        let path = format!("/api/patterns/{}/deploy", self.pattern);
        let body = json!({"nodeDefinitions": {}});
        let deployed = self
            .service
            .post(&path)
            .bearer(&self.user.token)
            .json(&body)
            .send()
            .await;
        assert_eq!(deployed.status, 200, "{deployed}");
        deployed.body["data"]["deploymentId"].as_str().unwrap().to_owned()
    }

    pub async fn change(&self, deployment: &str, operation: &str) {
        let path = format!("/api/deployments/{deployment}/{operation}");
        let changed = self.service.post(&path).bearer(&self.user.token).send().await;
        assert_eq!(changed.status, 200, "{changed}");
    }

    pub async fn endpoints(&self) -> Vec<Value> {
        let listed = self
            .get(&format!("/api/patterns/{}/webhooks", self.pattern))
            .await;
        assert_eq!(listed.status, 200, "{listed}");
        listed.body["data"]["endpoints"].as_array().unwrap().clone()
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.service.get(path).bearer(&self.user.token).send().await
    }

    /// An unsigned request.
    pub fn post(&self, body: &str) -> Request {
        self.post_with("", body)
    }

    pub fn post_with(&self, query: &str, body: &str) -> Request {
        let path = format!("/webhooks/{}{query}", self.webhook);
        let request = self
            .service
            .post(&path)
            .header("content-type", "application/json");
        request.body(body.to_owned())
    }

    /// A signed request.
    pub fn signed(&self, body: &str) -> Request {
        self.post(body)
            .header("x-webhook-signature", &sign(&self.secret, body))
    }

    pub async fn logs(&self) -> Vec<Value> {
        let logs = self
            .get(&format!("/api/patterns/{}/webhook-logs", self.pattern))
            .await;
        assert_eq!(logs.status, 200, "{logs}");
        logs.body["logs"].as_array().unwrap().clone()
    }

    /// Statuses of the log, newest first.
    pub async fn log_statuses(&self) -> Vec<(String, u64)> {
        let line = |log: &Value| {
            (
                log["status"].as_str().unwrap().to_owned(),
                log["statusCode"].as_u64().unwrap(),
            )
        };
        self.logs().await.iter().map(line).collect()
    }

    pub async fn tapped(&self) -> Vec<Value> {
        let tapped = self
            .get(&format!("/api/patterns/{}/tap-events", self.pattern))
            .await;
        assert_eq!(tapped.status, 200, "{tapped}");
        tapped.body["events"].as_array().unwrap().clone()
    }

    /// Runs of a deployment, newest first.
    pub async fn runs(&self, deployment: &str) -> Vec<Value> {
        let runs = self.get(&format!("/api/deployments/{deployment}/runs")).await;
        assert_eq!(runs.status, 200, "{runs}");
        runs.body["data"].as_array().unwrap().clone()
    }
}
