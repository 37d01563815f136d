//! Runs that are taken up again, and what they hide.

use crate::journal::{Kept, execute_with, output, runtime};
use crate::patterns::{node, pattern};
use crate::server::{Server, ok};
use crate::services::Given;
use heddle_runtime::files::MemoryFiles;
use heddle_runtime::{ConnectionFuture, Connections, Entry, Limits, Outcome, Services};
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

/// All that an execution has recorded, by number: what need not be safe before what follows it comes with the outcome.
fn recorded(kept: &Kept, outcome: &Outcome) -> Vec<Entry> {
    let mut entries = kept.entries();
    entries.extend(outcome.unsaved.iter().cloned());
    entries.sort_by_key(|entry| entry.number);
    entries
}

#[tokio::test]
async fn what_need_not_be_safe_is_recorded_all_the_same_once_it_is_much() {
    let rows: Vec<u32> = (0..1_500).collect();
    let mut waits = node("wait", "Wait", json!({"durationMs": 0}));
    waits["data"]["each"] = true.into();
    let mut graph = pattern(
        &[
            node("rows", "Transform", json!({"value": rows})),
            waits,
            node("end", "Return", json!({"value": "{{ $input.length }}"})),
        ],
        &["start -> rows", "rows -> wait", "wait -> end"],
    );
    graph["settings"] = json!({"maxEffects": 2_000});
    let (runtime, kept) = (runtime(), Arc::new(Kept::default()));
    let limits = || (Limits::default(), json!({}));
    let outcome = execute_with(&runtime, &graph, &kept, limits(), Services::default()).await;
    assert_eq!(output(&outcome), 1_500);
    let entries = recorded(&kept, &outcome);
    assert_eq!(entries.len(), 1_500);
    assert!(
        (1..=1_000).contains(&outcome.unsaved.len()),
        "{}",
        outcome.unsaved.len()
    );
    // A further execution is answered from all of them.
    *kept.entries.lock().unwrap() = entries;
    let outcome = execute_with(&runtime, &graph, &kept, limits(), Services::default()).await;
    assert_eq!((output(&outcome), outcome.unsaved.len()), (json!(1_500), 0));
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
    let outcome = execute(&whole).await;
    output(&outcome);
    let kept = Arc::new(Kept::default());
    let is_known = |json: &str| json.contains("/first") || json.contains("/last");
    let mut entries = recorded(&whole, &outcome);
    entries.retain(|entry| is_known(&entry.json));
    assert_eq!(entries.len(), 2, "{entries:?}");
    *kept.entries.lock().unwrap() = entries;
    told.lock().unwrap().clear();
    let outcome = execute(&kept).await;
    assert_eq!(output(&outcome), json!(["/last", "***"]));
    assert_eq!(*told.lock().unwrap(), ["opened", "asked"]);
    let entries = recorded(&kept, &outcome);
    assert_eq!(entries.len(), 3);
    assert!(
        entries.iter().all(|entry| !entry.json.contains("hush-hush")),
        "nor is it kept"
    );
}

#[tokio::test]
async fn what_is_read_again_is_masked_by_what_had_begun_before() {
    let server = Server::start(|_| ok("/slow")).await;
    let request = json!({"url": server.url("/slow"), "connection": "api", "bodyOnly": true});
    let graph = pattern(
        &[
            node("slow", "HttpRequest", request),
            node(
                "list",
                "ConvertFile",
                json!({"value": "{{ [{text: 'hush-hush-token'}] }}", "to": "jsonLines", "name": "a.jsonl"}),
            ),
            node(
                "csv",
                "ConvertFile",
                json!({"to": "csv", "record": "{{ ({ text: $item.text }) }}"}),
            ),
            node("both", "Merge", json!({"mode": "append"})),
            node("end", "Return", json!({"value": "{{ $nodes.csv.size }}"})),
        ],
        &[
            "start -> slow",
            "start -> list",
            "list -> csv",
            "slow -> both",
            "csv -> both",
            "both -> end",
        ],
    );
    let (runtime, files) = (runtime(), Arc::new(MemoryFiles::default()));
    let connections = Arc::new(Given::one("api", json!({"token": "hush-hush-token"})));
    let execute = async |kept: &Arc<Kept>| {
        let services = Services {
            connections: connections.clone(),
            files: files.clone(),
            ..Services::default()
        };
        let none = (Limits::default(), json!({}));
        execute_with(&runtime, &graph, kept, none, services).await
    };
    let whole = Arc::new(Kept::default());
    let outcome = execute(&whole).await;
    output(&outcome);
    // It stopped before the request had its answer, and before the second file was finished.
    let mut entries = recorded(&whole, &outcome);
    entries.retain(|entry| !entry.json.contains("/slow"));
    let finished = entries.iter().rposition(|entry| entry.json.contains("$file"));
    let finished = finished.unwrap_or_else(|| panic!("no file was made: {entries:?}"));
    entries.truncate(finished);
    let kept = Arc::new(Kept::default());
    *kept.entries.lock().unwrap() = entries;
    let size = output(&execute(&kept).await);
    assert!(
        size.as_u64().unwrap() < "hush-hush-token".len() as u64,
        "{size} bytes: the heading and `***`"
    );
}
