//! Patterns: lists, changes, copies, history, stars and call interfaces.

mod beside_n8n;
mod call_interface;
mod changes;
mod copies;
mod definitions;
mod drafts;
mod history;
mod in_pieces;
mod large;
mod lists;
mod n8n;
mod node_red;
mod openapi;
mod presence;
mod templates;

use crate::harness::{Service, User};
use serde_json::{Value, json};

/// The tests' clock stands still.
const NOW: &str = "2026-11-21T09:00:00.000Z";

/// Makes a pattern; its id.
async fn pattern(service: &Service, user: &User, body: Value) -> String {
    let reply = service
        .post("/api/patterns")
        .bearer(&user.token)
        .json(&body)
        .send()
        .await;
    assert_eq!(reply.status, 201, "{reply}");
    reply.body["id"].as_str().unwrap().to_owned()
}

/// Saves a pattern; its new version.
async fn save(service: &Service, user: &User, id: &str, body: Value) -> i64 {
    let path = format!("/api/patterns/{id}");
    let reply = service.put(&path).bearer(&user.token).json(&body).send().await;
    assert_eq!(reply.status, 200, "{reply}");
    reply.body["versionNumber"].as_i64().unwrap()
}

async fn get(service: &Service, user: &User, path: &str) -> crate::harness::Reply {
    service.get(path).bearer(&user.token).send().await
}

fn node(id: &str) -> Value {
    json!({"id": id, "type": "Set", "position": {"x": 1, "y": 2}, "data": {}})
}

fn edge(source: &str, target: &str) -> Value {
    json!({"id": format!("{source}-{target}"), "source": source, "target": target})
}
