//! Patterns that are deployed, and their runs.

use super::{Reply, Service, User};
use serde_json::{Value, json};

/// A graph of nodes in a row: `(id, type, parameters)`.
pub fn chain(nodes: &[(&str, &str, Value)]) -> Value {
    let drawn: Vec<Value> = nodes
        .iter()
        .map(|(id, kind, parameters)| json!({"id": id, "type": kind, "data": {"parameters": parameters}}))
        .collect();
    let edges: Vec<Value> = nodes
        .windows(2)
        .map(|pair| json!({"source": pair[0].0, "target": pair[1].0}))
        .collect();
    json!({"nodes": drawn, "edges": edges})
}

/// Logs its event, then doubles `n`, or fails when `fail` is true.
pub fn doubling() -> Value {
    json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "note", "type": "Log", "data": {"parameters": {"message": "got {{ $input?.n }}"}}},
            {"id": "check", "type": "If", "data": {"parameters": {"condition": "{{ $input?.fail === true }}"}}},
            {"id": "boom", "type": "Throw", "data": {"parameters": {"message": "no luck", "code": "UNLUCKY"}}},
            {"id": "done", "type": "Return", "data": {"parameters": {"value": "{{ { double: ($input?.n ?? 0) * 2 } }}"}}},
        ],
        "edges": [
            {"source": "start", "target": "note"},
            {"source": "note", "target": "check"},
            {"source": "check", "sourceHandle": "true", "target": "boom"},
            {"source": "check", "sourceHandle": "false", "target": "done"},
        ],
    })
}

/// Waits ten minutes for a second attempt that would fail too.
pub fn endless() -> Value {
    json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "wait", "type": "Throw", "data": {
                "parameters": {"message": "not yet"}, "retry": {"maxAttempts": 2, "backoffMs": 600_000},
            }},
        ],
        "edges": [{"source": "start", "target": "wait"}],
    })
}

impl Service {
    /// A pattern with this graph; its id.
    pub async fn drawn(&self, user: &User, graph: &Value) -> String {
        let made = self
            .post("/api/patterns")
            .bearer(&user.token)
            .json(&json!({"name": "Pattern"}))
            .send()
            .await;
        assert_eq!(made.status, 201, "{made}");
        let id = made.body["id"].as_str().unwrap().to_owned();
        self.redrawn(user, &id, graph).await;
        id
    }

    /// Saves another graph of a pattern.
    pub async fn redrawn(&self, user: &User, pattern: &str, graph: &Value) {
        let path = format!("/api/patterns/{pattern}");
        let saved = self
            .put(&path)
            .bearer(&user.token)
            .json(&json!({"graphData": graph}));
        let saved = saved.send().await;
        assert_eq!(saved.status, 200, "{saved}");
    }

    /// Deploys a pattern; the deployment's id.
    pub async fn deploy(&self, user: &User, pattern: &str) -> String {
        let path = format!("/api/patterns/{pattern}/deploy");
        let body = json!({"nodeDefinitions": {}, "trace": true});
        let deployed = self.post(&path).bearer(&user.token).json(&body).send().await;
        assert_eq!(deployed.status, 200, "{deployed}");
        deployed.body["data"]["deploymentId"].as_str().unwrap().to_owned()
    }

    /// Draws and deploys a pattern; the deployment's id.
    pub async fn deployed(&self, user: &User, graph: &Value) -> String {
        let pattern = self.drawn(user, graph).await;
        self.deploy(user, &pattern).await
    }

    /// Runs a deployment, with what `path` says after `execute`.
    pub async fn execute(&self, user: &User, deployment: &str, query: &str, event: &Value) -> Reply {
        let path = format!("/api/deployments/{deployment}/execute{query}");
        let body = json!({"eventData": event});
        self.post(&path).bearer(&user.token).json(&body).send().await
    }

    /// Starts a run; its id.
    pub async fn started(&self, user: &User, deployment: &str, event: &Value) -> String {
        let started = self.execute(user, deployment, "", event).await;
        assert_eq!(started.status, 200, "{started}");
        started.body["data"]["runId"].as_str().unwrap().to_owned()
    }

    /// Runs to the end; the run's id.
    pub async fn ran(&self, user: &User, deployment: &str, event: &Value) -> String {
        let ran = self.execute(user, deployment, "?wait=true", event).await;
        assert_eq!(ran.status, 200, "{ran}");
        ran.body["data"]["runId"].as_str().unwrap().to_owned()
    }

    /// A run, as it is now.
    pub async fn run(&self, user: &User, deployment: &str, run: &str) -> Value {
        let path = format!("/api/deployments/{deployment}/runs/{run}");
        let reply = self.get(&path).bearer(&user.token).send().await;
        assert_eq!(reply.status, 200, "{reply}");
        reply.body["data"].clone()
    }

    /// A run, once it has ended: the last of its events tells.
    pub async fn ended(&self, user: &User, deployment: &str, run: &str) -> Value {
        let path = format!("/api/deployments/{deployment}/runs/{run}/stream");
        let stream = self.get(&path).bearer(&user.token).send().await;
        assert_eq!(stream.status, 200, "{stream}");
        self.run(user, deployment, run).await
    }

    /// Calls an operation of a deployment.
    pub async fn operate(&self, user: &User, deployment: &str, operation: &str) -> Reply {
        let path = format!("/api/deployments/{deployment}/{operation}");
        self.post(&path).bearer(&user.token).send().await
    }
}
