//! The journal: an execution that starts again from the beginning comes to the same place without repeating effects.

use crate::composites;
use crate::harness::{CACHE, code, config, request, unhurried};
use crate::patterns::{node, pattern};
use crate::server::{Server, ok, response};
use crate::services::Given;
use heddle_compiler::Options;
use heddle_runtime::files::{FileFuture, FileSink, Files, MemoryFiles, OpenedFile};
use heddle_runtime::{
    EgressPolicy, Entry, Journal, Limits, Outcome, Recorded, RunJournal, RunRequest, Runtime, RuntimeConfig,
    Services, Signalled, Status, Tier,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

mod parking;

/// Keeps entries in memory; its clock stands where it was set.
#[derive(Debug, Default)]
pub struct Kept {
    pub entries: Mutex<Vec<Entry>>,
    /// What has come, as JSON.
    signals: Mutex<HashMap<String, String>>,
    pub now_ms: Mutex<i64>,
}

impl Journal for Kept {
    fn record(&self, entries: Vec<Entry>) -> Recorded {
        let mut kept = self.entries.lock().unwrap();
        for entry in entries {
            kept.retain(|old| old.key != entry.key);
            kept.push(entry);
        }
        Box::pin(async { Ok(()) })
    }

    fn signal(&self, key: &str) -> Signalled {
        let found = self.signals.lock().unwrap().get(key).cloned();
        Box::pin(async move { Ok(found) })
    }

    fn now_ms(&self) -> i64 {
        *self.now_ms.lock().unwrap()
    }
}

impl Kept {
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.lock().unwrap().clone()
    }
}

pub fn runtime() -> Runtime {
    let (egress, cache_dir) = (EgressPolicy::parse(["127.0.0.0/8"]).unwrap(), Some(CACHE.into()));
    Runtime::new(RuntimeConfig {
        egress,
        cache_dir,
        ..config()
    })
    .unwrap()
}

/// Executes with what was kept; `signals` have come in between.
async fn execute(
    runtime: &Runtime,
    graph: &Value,
    kept: &Arc<Kept>,
    limits: Limits,
    signals: Value,
) -> Outcome {
    execute_with(runtime, graph, kept, (limits, signals), Services::default()).await
}

/// The same, with these services.
pub async fn execute_with(
    runtime: &Runtime,
    graph: &Value,
    kept: &Arc<Kept>,
    (limits, signals): (Limits, Value),
    services: Services,
) -> Outcome {
    // A graph may bring its definitions along.
    let definitions = graph.get("nodeDefinitions").cloned().unwrap_or(json!({}));
    let compiled = heddle_compiler::compile(graph, &definitions, &Options::default());
    let artifact = compiled
        .artifact
        .unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    let program = runtime.load(&artifact.wasm, Tier::Fast).unwrap();
    let signals: HashMap<String, Value> = serde_json::from_value(signals).unwrap();
    let signals: HashMap<String, String> = signals
        .into_iter()
        .map(|(key, signal)| (key, signal.to_string()))
        .collect();
    let keys = signals.keys().cloned().collect();
    *kept.signals.lock().unwrap() = signals;
    let journal = RunJournal {
        entries: kept.entries(),
        signals: keys,
        journal: kept.clone(),
    };
    let request = RunRequest {
        trigger_node_id: Some("start".into()),
        journal: Some(journal),
        limits,
        services,
        ..request(0, &json!({"n": 1}))
    };
    runtime.run(&program, request).await
}

pub async fn again(runtime: &Runtime, graph: &Value, kept: &Arc<Kept>) -> Outcome {
    execute(runtime, graph, kept, unhurried(), json!({})).await
}

pub fn output(outcome: &Outcome) -> Value {
    assert_eq!(outcome.status, Status::Completed, "{:?}", outcome.error);
    serde_json::from_str(outcome.output.as_ref().unwrap().get()).unwrap()
}

/// Two requests side by side, of which the first to end decides; then one more, with something random in it.
fn racing(server: &Server) -> Value {
    let get = |id: &str, path: &str| {
        node(
            id,
            "HttpRequest",
            json!({"url": server.url(path), "bodyOnly": true}),
        )
    };
    let last = json!({"url": format!("{}?{{{{ $random() }}}}", server.url("/c")), "bodyOnly": true});
    pattern(
        &[
            get("a", "/a"),
            get("b", "/b"),
            node("first", "Merge", json!({"mode": "first"})),
            node("c", "HttpRequest", last),
            node(
                "end",
                "Return",
                json!({"value": "{{ [$input, $nodes.first, $nodes.a, $nodes.b] }}"}),
            ),
        ],
        &[
            "start -> a",
            "start -> b",
            "a -> first",
            "b -> first",
            "first -> c",
            "c -> end",
        ],
    )
}

async fn counting() -> Server {
    let count = Mutex::new(0);
    let answer = move |_: &str| {
        let mut count = count.lock().unwrap();
        *count += 1;
        ok(&format!("answer {count}"))
    };
    Server::start(answer).await
}

#[tokio::test]
async fn an_execution_from_the_start_is_answered_from_the_journal_in_the_same_order() {
    let (server, runtime, kept) = (counting().await, runtime(), Arc::new(Kept::default()));
    let graph = racing(&server);
    let first = output(&again(&runtime, &graph, &kept).await);
    let entries = kept.entries();
    let numbers: Vec<Option<u64>> = entries.iter().map(|entry| entry.number).collect();
    assert_eq!(numbers, [Some(0), Some(1), Some(2)]);
    assert_eq!(output(&again(&runtime, &graph, &kept).await), first);
    assert_eq!(server.requests().len(), 3, "no effect is repeated");
    assert_eq!(kept.entries(), entries, "nor recorded again");
}

#[tokio::test]
async fn what_a_stop_has_cut_off_is_done_and_what_came_before_is_not() {
    let (server, runtime) = (counting().await, runtime());
    let graph = racing(&server);
    let whole = Arc::new(Kept::default());
    let first = output(&again(&runtime, &graph, &whole).await);
    let keys = |server: &Server| -> Vec<String> {
        let requests = server.requests();
        let key = |request: &String| {
            let line = request
                .lines()
                .find(|line| line.to_ascii_lowercase().starts_with("idempotency-key:"));
            line.unwrap().to_owned()
        };
        requests.iter().map(key).collect()
    };
    for known in 0..=3 {
        let kept = Arc::new(Kept::default());
        *kept.entries.lock().unwrap() = whole.entries().into_iter().take(known).collect();
        let before = server.requests().len();
        let outcome = output(&again(&runtime, &graph, &kept).await);
        assert_eq!(server.requests().len() - before, 3 - known, "{known} were known");
        assert_eq!(kept.entries().len(), 3);
        if known >= 2 {
            assert_eq!(outcome[1], first[1], "the winner is the same");
        }
    }
    let mut keys = keys(&server);
    keys.sort();
    keys.dedup();
    assert_eq!(
        keys.len(),
        3,
        "a repeated request has the key that it had: {keys:?}"
    );
}

#[tokio::test]
async fn what_a_connection_hides_stays_hidden_although_it_is_not_used_again() {
    let server = Server::start(|_| ok("hush-hush-token")).await;
    let ask = |id: &str, parameters: Value| {
        let mut parameters = parameters;
        parameters["url"] = json!(server.url("/"));
        parameters["bodyOnly"] = json!(true);
        node(id, "HttpRequest", parameters)
    };
    let graph = pattern(
        &[
            ask("a", json!({"connection": "api"})),
            ask("b", json!({})),
            node("end", "Return", json!({"value": "{{ [$nodes.a, $nodes.b] }}"})),
        ],
        &["start -> a", "a -> b", "b -> end"],
    );
    let given = Arc::new(Given::one("api", json!({"token": "hush-hush-token"})));
    let (runtime, whole) = (runtime(), Arc::new(Kept::default()));
    for known in [0, 1] {
        let kept = Arc::new(Kept::default());
        *kept.entries.lock().unwrap() = whole.entries().into_iter().take(known).collect();
        let services = Services {
            connections: given.clone(),
            ..Services::default()
        };
        let none = (Limits::default(), json!({}));
        let outcome = execute_with(&runtime, &graph, &kept, none, services).await;
        assert_eq!(output(&outcome), json!(["***", "***"]), "{known} were known");
        *whole.entries.lock().unwrap() = kept.entries();
    }
    assert_eq!(server.requests().len(), 3);
}

/// Three pieces of a file are read, and written as another; a request follows.
fn converting(server: &Server) -> Value {
    let lines = "{{ Array.from({length: 60000}, (_, i) => ({i, text: 'a text of some length'})) }}";
    pattern(
        &[
            node(
                "list",
                "ConvertFile",
                json!({"value": lines, "to": "jsonLines", "name": "a.jsonl"}),
            ),
            node(
                "csv",
                "ConvertFile",
                json!({"to": "csv", "condition": "{{ $item.i % 2 == 0 }}", "record": "{{ ({ i: $item.i, text: $item.text }) }}"}),
            ),
            node(
                "get",
                "HttpRequest",
                json!({"url": server.url("/"), "bodyOnly": true}),
            ),
            node(
                "end",
                "Return",
                json!({"value": "{{ [$nodes.csv.name, $nodes.csv.size, $nodes.csv.sha256] }}"}),
            ),
        ],
        &["start -> list", "list -> csv", "csv -> get", "get -> end"],
    )
}

#[tokio::test]
async fn pieces_of_files_are_done_again_and_take_no_room_in_the_journal() {
    let (server, runtime) = (counting().await, runtime());
    let (graph, whole) = (converting(&server), Arc::new(Kept::default()));
    let first = output(&again(&runtime, &graph, &whole).await);
    assert_eq!(first[0], "a.csv");
    let entries = whole.entries();
    let bytes: usize = entries.iter().map(|entry| entry.json.len()).sum();
    assert!(bytes < 2_000, "{bytes} bytes for {first}");
    let made_again = |entries: &[Entry]| {
        entries
            .iter()
            .filter(|entry| entry.json.contains("again"))
            .count()
    };
    assert!(made_again(&entries) >= 6, "{entries:?}");
    // Files of this test are in memory and end with their execution: what began them must begin again as well. So the journal
    // is cut where the first file was being written.
    for known in 0..made_again(&entries[..3]) + 1 {
        let kept = Arc::new(Kept::default());
        *kept.entries.lock().unwrap() = entries.iter().take(known).cloned().collect();
        assert_eq!(
            output(&again(&runtime, &graph, &kept).await),
            first,
            "{known} were known"
        );
        assert_eq!(kept.entries().len(), entries.len());
    }
}

/// Files that stay, and how many were begun.
#[derive(Debug, Default)]
struct Counted {
    files: MemoryFiles,
    begun: AtomicUsize,
}

impl Files for Counted {
    fn open(&self, id: &str, part: Option<Range<u64>>) -> FileFuture<'static, OpenedFile> {
        self.files.open(id, part)
    }

    fn create(&self, name: &str, media_type: &str) -> FileFuture<'static, Box<dyn FileSink>> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.files.create(name, media_type)
    }
}

#[tokio::test]
async fn a_file_that_the_journal_has_is_not_written_again() {
    let (server, runtime) = (counting().await, runtime());
    let (graph, kept) = (converting(&server), Arc::new(Kept::default()));
    let files = Arc::new(Counted::default());
    let services = || Services {
        files: files.clone(),
        ..Services::default()
    };
    let first = execute_with(&runtime, &graph, &kept, (unhurried(), json!({})), services()).await;
    assert_eq!(files.begun.load(Ordering::Relaxed), 2);
    let entries = kept.entries();
    let last = entries.iter().rposition(|entry| entry.json.contains("$file"));
    // All of it, and without the second of the files.
    for (known, begun) in [(entries.len(), 2), (last.unwrap(), 3)] {
        let kept = Arc::new(Kept::default());
        *kept.entries.lock().unwrap() = entries.iter().take(known).cloned().collect();
        let again = execute_with(&runtime, &graph, &kept, (unhurried(), json!({})), services()).await;
        assert_eq!(output(&again), output(&first));
        assert_eq!(files.begun.load(Ordering::Relaxed), begun, "{known} were known");
    }
}

/// More files than a run writes at a time: those that are finished are given up when the journal has them.
#[tokio::test]
async fn files_that_the_journal_has_are_not_left_open() {
    let runtime = runtime();
    let ids: Vec<String> = (0..12).map(|number| format!("n{number}")).collect();
    let mut nodes: Vec<Value> = ids
        .iter()
        .map(|id| node(id, "ConvertFile", json!({"value": "{{ [{a: 1}] }}", "to": "csv"})))
        .collect();
    nodes.push(node("end", "Return", json!({"value": "{{ $nodes.n11.sha256 }}"})));
    let mut edges: Vec<String> = ids
        .windows(2)
        .map(|two| format!("{} -> {}", two[0], two[1]))
        .collect();
    edges.insert(0, "start -> n0".to_owned());
    edges.push("n11 -> end".to_owned());
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    let (graph, kept) = (pattern(&nodes, &edges), Arc::new(Kept::default()));
    let first = output(&again(&runtime, &graph, &kept).await);
    let known = kept.entries().len();
    assert_eq!(output(&again(&runtime, &graph, &kept).await), first);
    assert_eq!(kept.entries().len(), known);
}

#[tokio::test]
async fn attempts_of_a_composite_are_answered_from_the_journal() {
    let count = Mutex::new(0);
    let server = Server::start(move |request| {
        let mut count = count.lock().unwrap();
        *count += i32::from(request.starts_with("GET /b"));
        match request.starts_with("GET /b") && *count < 3 {
            true => response("500 Internal Server Error", "content-type: text/plain", b"no"),
            false => ok(&format!(
                "{} {count}",
                request.split(' ').nth(1).unwrap_or_default()
            )),
        }
    })
    .await;
    let get = |id: &str, path: &str| {
        let url = format!("{}?{{{{ $random() }}}}", server.url(path));
        node(id, "HttpRequest", json!({"url": url, "bodyOnly": true}))
    };
    let edges = ["call -> a", "call -> b", "a -> end", "b -> end"];
    let mut graph = composites::around(json!({"retry": {"maxAttempts": 3, "backoffMs": 1}}));
    graph["nodeDefinitions"] = composites::whole(&[get("a", "/a"), get("b", "/b")], &edges);
    let (runtime, whole) = (runtime(), Arc::new(Kept::default()));
    let first = output(&again(&runtime, &graph, &whole).await);
    let requests = server.requests().len();
    let entries = whole.entries();
    let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    for key in [
        "whole/b//1.0",
        "whole//1.0",
        "whole/b/whole~2/1.0",
        "whole//2.0",
        "whole/b/whole~3/1.0",
    ] {
        assert!(keys.contains(&key), "{key} in {keys:?}");
    }
    assert_eq!(output(&again(&runtime, &graph, &whole).await), first);
    assert_eq!(server.requests().len(), requests, "no effect is repeated");
    assert_eq!(whole.entries(), entries, "nor recorded again");
    // Wherever it was cut off, it comes to its end.
    for known in 0..entries.len() {
        let kept = Arc::new(Kept::default());
        *kept.entries.lock().unwrap() = entries[..known].to_vec();
        output(&again(&runtime, &graph, &kept).await);
    }
}

#[tokio::test]
async fn the_execution_that_failed_is_named_so_that_it_can_be_done_again() {
    let count = Mutex::new(0);
    let server = Server::start(move |request| {
        let mut count = count.lock().unwrap();
        *count += i32::from(request.starts_with("GET /bad"));
        match request.starts_with("GET /bad") && *count == 2 {
            true => response("500 Internal Server Error", "content-type: text/plain", b"no"),
            false => ok("fine"),
        }
    })
    .await;
    let (runtime, kept) = (runtime(), Arc::new(Kept::default()));
    let graph = pattern(
        &[
            node("good", "HttpRequest", json!({"url": server.url("/good")})),
            node("loop", "ForEach", json!({"items": [0, 1, 2]})),
            node(
                "bad",
                "HttpRequest",
                json!({"url": format!("{}/{{{{ $item }}}}", server.url("/bad"))}),
            ),
            node("end", "Return", json!({"value": "{{ $input.length }}"})),
        ],
        &[
            "start -> good",
            "good -> loop",
            "loop.item -> bad",
            "bad -> loop.next",
            "loop.done -> end",
        ],
    );
    let failed = again(&runtime, &graph, &kept).await;
    assert_eq!(code(&failed), "HTTP_500");
    let execution = failed.failed_execution.unwrap();
    assert_eq!(execution, "bad/loop[1]");
    let replayed = again(&runtime, &graph, &kept).await;
    assert_eq!(code(&replayed), "HTTP_500", "the journal has the failure too");
    assert_eq!(server.requests().len(), 3);
    let prefix = format!("{execution}/");
    kept.entries
        .lock()
        .unwrap()
        .retain(|entry| !entry.key.starts_with(&prefix));
    assert_eq!(output(&again(&runtime, &graph, &kept).await), 3);
    assert_eq!(
        server.requests().len(),
        5,
        "only the failed one and those after it"
    );
}

#[tokio::test]
async fn a_journal_has_a_limit() {
    let (server, runtime, kept) = (
        Server::start(|_| ok(&"x".repeat(600))).await,
        runtime(),
        Arc::default(),
    );
    let limits = Limits {
        journal_bytes_max: 2_000,
        ..Limits::default()
    };
    let outcome = execute(&runtime, &racing(&server), &kept, limits, json!({})).await;
    assert_eq!(code(&outcome), "JOURNAL_LIMIT");
    assert!(outcome.failed_execution.is_none());
}
