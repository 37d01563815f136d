//! The vocabulary of expressions.

use crate::harness::{Database, Service};
use serde_json::Value;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vocabulary_is_public_and_kept_by_clients() {
    let service = Service::with(Database::Sqlite, |_| {}).await;
    let first = service.get("/api/expressions").send().await;
    assert_eq!(first.status, 200, "{first}");
    assert_eq!(first.headers["content-type"], "application/json");
    let named = |list: &Value, name: &str| -> Value {
        let found = list
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["name"] == name);
        found.unwrap_or_else(|| panic!("{name}")).clone()
    };
    assert_eq!(named(&first.body["names"], "$item")["scope"], "item");
    assert_eq!(named(&first.body["foreignNames"], "$env")["system"], "n8n");
    let types = first.body["types"].as_array().unwrap();
    let strings = types.iter().find(|entry| entry["type"] == "string").unwrap();
    let arguments = named(&strings["methods"], "padStart")["arguments"].clone();
    assert_eq!(arguments, serde_json::json!(["length", "fill?"]));
    let tag = first.headers["etag"].to_str().unwrap();
    let again = service
        .get("/api/expressions")
        .header("if-none-match", tag)
        .send()
        .await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    let other = service
        .get("/api/expressions")
        .header("if-none-match", "\"other\"")
        .send()
        .await;
    assert_eq!((other.status, &other.body), (200, &first.body));
}
