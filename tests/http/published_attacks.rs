//! Attacks that were published on n8n and other workflow services, replayed by number against deployments, runs and
//! webhooks. Each entry names the number, the technique in our words, and what must happen. What concerns the sandbox
//! alone is in `tests/sandbox/published_attacks.rs` and `javascript/tests/attacks.rs`, names that resolve as an attacker
//! likes are in `tests/cli/egress.rs`.

mod answers;
mod code;
mod inbound;
mod requests;
mod tenants;

use crate::harness::{Reply, Service, User};
use serde_json::{Value, json};

/// A graph of nodes in a row, each of which passes on what it gives or its failure; ends with this value.
fn row(nodes: &[(&str, Value)], value: &Value) -> Value {
    let mut drawn = vec![json!({"id": "start", "type": "OnManual"})];
    let mut edges = Vec::new();
    let mut before = "start".to_owned();
    for (index, (kind, parameters)) in nodes.iter().enumerate() {
        let id = format!("n{index}");
        drawn
            .push(json!({"id": id, "type": kind, "data": {"parameters": parameters, "onError": "continue"}}));
        edges.push(json!({"source": before, "target": id}));
        before = id;
    }
    drawn.push(json!({"id": "end", "type": "Return", "data": {"parameters": {"value": value}}}));
    edges.push(json!({"source": before, "target": "end"}));
    json!({"nodes": drawn, "edges": edges})
}

/// What each of the nodes gave, in order.
fn all_of(count: usize) -> Value {
    let outputs: Vec<String> = (0..count).map(|index| format!("$nodes[\"n{index}\"]")).collect();
    json!(format!("{{{{ [{}] }}}}", outputs.join(", ")))
}

impl Service {
    /// The output of a run of this graph, deployed.
    async fn output_of(&self, user: &User, graph: &Value, event: &Value) -> Value {
        let deployment = self.deployed(user, graph).await;
        self.outcome_of(user, &deployment, event).await["output"].clone()
    }

    /// How a run of a deployment ended.
    async fn outcome_of(&self, user: &User, deployment: &str, event: &Value) -> Value {
        let ran = self.execute(user, deployment, "?wait=true", event).await;
        assert_eq!(ran.status, 200, "{ran}");
        ran.body["data"].clone()
    }

    /// A request by a user.
    async fn ask(&self, user: &User, method: &str, path: &str, body: &Value) -> Reply {
        let request = self.request(method, path).bearer(&user.token);
        let request = if body.is_null() {
            request
        } else {
            request.json(body)
        };
        request.send().await
    }

    /// What comes back for these bytes on a connection of their own. They must ask for its end.
    async fn raw(&self, request: &str) -> String {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut stream = tokio::net::TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }
}
