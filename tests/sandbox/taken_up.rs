//! Runs that are taken up again, and what they hide.

use crate::journal::{Kept, execute_with, output, runtime};
use crate::patterns::{node, pattern};
use crate::server::{Server, ok};
use crate::services::Given;
use heddle_runtime::{ConnectionFuture, Connections, Limits, Services};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Tells when a connection is opened.
#[derive(Debug)]
struct Telling {
    given: Given,
    told: Arc<Mutex<Vec<&'static str>>>,
}

impl Connections for Telling {
    fn open(&self, reference: String) -> ConnectionFuture {
        self.told.lock().unwrap().push("opened");
        self.given.open(reference)
    }
}

#[tokio::test]
async fn nothing_new_begins_before_it_is_known_what_other_branches_hide() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let asked = told.clone();
    let server = Server::start(move |request| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        match path {
            "/new" => {
                asked.lock().unwrap().push("asked");
                ok("hush-hush-token")
            }
            path => ok(path),
        }
    })
    .await;
    let ask = |id: &str, more: Value| {
        let mut parameters = json!({"url": server.url(&format!("/{id}")), "bodyOnly": true});
        parameters
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        node(id, "HttpRequest", parameters)
    };
    // `last` is known as well, but begins only once `first` was told again.
    let graph = pattern(
        &[
            ask("first", json!({})),
            ask("last", json!({"connection": "api"})),
            ask("new", json!({})),
            node("both", "Merge", json!({"mode": "append"})),
            node(
                "end",
                "Return",
                json!({"value": "{{ [$nodes.last, $nodes.new] }}"}),
            ),
        ],
        &[
            "start -> first",
            "first -> last",
            "start -> new",
            "last -> both",
            "new -> both",
            "both -> end",
        ],
    );
    let connections = Arc::new(Telling {
        given: Given::one("api", json!({"token": "hush-hush-token"})),
        told: told.clone(),
    });
    let execute = async |kept: &Arc<Kept>| {
        let services = Services {
            connections: connections.clone(),
            ..Services::default()
        };
        let none = (Limits::default(), json!({}));
        execute_with(&runtime(), &graph, kept, none, services).await
    };
    let whole = Arc::new(Kept::default());
    output(&execute(&whole).await);
    let kept = Arc::new(Kept::default());
    let is_known = |json: &str| json.contains("/first") || json.contains("/last");
    let mut entries = whole.entries();
    entries.retain(|entry| is_known(&entry.json));
    assert_eq!(entries.len(), 2, "{entries:?}");
    *kept.entries.lock().unwrap() = entries;
    told.lock().unwrap().clear();
    let outcome = execute(&kept).await;
    assert_eq!(output(&outcome), json!(["/last", "***"]));
    assert_eq!(*told.lock().unwrap(), ["opened", "asked"]);
    assert_eq!(kept.entries().len(), 3);
    assert!(
        kept.entries()
            .iter()
            .all(|entry| !entry.json.contains("hush-hush")),
        "nor is it kept"
    );
}
