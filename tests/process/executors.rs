//! A run whose executor dies: it is taken up again alone, with what its journal holds; when that one dies too it is given up,
//! and the second time its deployment is stopped. The server and everybody else's runs go on.

use crate::server::{Server, pause};
use heddle_model::clock::{monotonic, since};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// After which what does not come is missing.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the service that runs ask knows.
#[derive(Default)]
struct Known {
    /// The server whose executors it kills.
    server: u32,
    /// Whether it may kill once more.
    is_armed: bool,
    kills: usize,
    /// Requests for `/before`, and for `/innocent`.
    before: usize,
    innocent: usize,
}

#[derive(Default)]
struct Upstream {
    known: Mutex<Known>,
    changed: Condvar,
}

impl Upstream {
    fn listen() -> (String, Arc<Upstream>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let upstream = Arc::<Upstream>::default();
        let answering = upstream.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answering = answering.clone();
                std::thread::spawn(move || answering.answer(stream));
            }
        });
        (address, upstream)
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.known.lock().unwrap());
        self.changed.notify_all();
    }

    /// Waits until this holds; says whether it does in the end.
    fn wait(&self, holds: impl Fn(&Known) -> bool) -> bool {
        let known = self.known.lock().unwrap();
        let waited = self
            .changed
            .wait_timeout_while(known, PATIENCE, |known| !holds(known));
        !waited.unwrap().1.timed_out()
    }

    /// Who asks for `/poison` loses all executors, once that is allowed; `/innocent` is answered from the second time on.
    /// Other requests stay open until the service gives them up with their runs: a connection that is closed would be an
    /// answer.
    fn answer(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        if reader.read_line(&mut line).is_err() {
            return;
        }
        if line.starts_with("GET /poison") {
            if !self.wait(|known| known.is_armed) {
                return;
            }
            self.change(|known| {
                known.is_armed = false;
                known.kills += 1;
                kill_executors(known.server);
            });
            return hold(reader);
        }
        let mut is_first = false;
        if line.starts_with("GET /before") {
            self.change(|known| known.before += 1);
        } else {
            self.change(|known| {
                known.innocent += 1;
                is_first = known.innocent == 1;
            });
        }
        if is_first {
            return hold(reader);
        }
        let answer = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
        // Whoever asked may be gone.
        let _ = reader.into_inner().write_all(answer.as_bytes());
    }
}

/// Waits until the connection is closed by the other side.
fn hold(mut reader: BufReader<TcpStream>) {
    // How it is closed does not matter.
    let _ = reader.read_to_end(&mut Vec::new());
}

/// Kills all processes that execute runs for this server now, and none that replaces one of them: a run is taken up again at once.
fn kill_executors(server: u32) {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let executors = processes.filter_map(|entry| {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let parent = read("stat")
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        let is_executor = parent == Some(server) && read("cmdline").contains("worker\0execute\0");
        is_executor.then(|| entry.file_name().into_string().unwrap())
    });
    let executors: Vec<String> = executors.collect();
    // One that has just ended by itself can't be killed.
    let _ = Command::new("kill").arg("-KILL").args(executors).status();
}

/// A pattern that asks for these paths of the service, one after the other.
fn asking(address: &str, paths: &[&str]) -> Value {
    let asks = paths.iter().map(|path| {
        let url = format!("http://{address}/{path}");
        json!({"id": path, "type": "HttpRequest", "data": {"parameters": {"url": url, "bodyOnly": true}}})
    });
    let nodes: Vec<Value> = std::iter::once(json!({"id": "start", "type": "OnManual"}))
        .chain(asks)
        .collect();
    let edges: Vec<Value> = nodes
        .windows(2)
        .map(|pair| json!({"source": pair[0]["id"], "target": pair[1]["id"]}))
        .collect();
    json!({"nodes": nodes, "edges": edges})
}

/// Asks until there is an answer.
fn eventually<T>(what: &str, server: &Server, mut ask: impl FnMut(&Server) -> Result<T, Value>) -> T {
    let began = monotonic();
    loop {
        match ask(server) {
            Ok(found) => return found,
            Err(seen) => assert!(since(began) < PATIENCE, "{what}: still {seen}"),
        }
        pause();
    }
}

/// The deployment's newest run, once it has this status.
fn newest_run(status: &str, server: &Server, token: &str, deployment: &str) -> Value {
    let path = format!("/api/deployments/{deployment}/runs");
    let id = eventually(status, server, |server| {
        let runs = server.call("GET", &path, token, "").1;
        let run = &runs["data"][0];
        match run["status"] == status {
            true => Ok(run["id"].as_str().unwrap().to_owned()),
            false => Err(runs),
        }
    });
    server.call("GET", &format!("{path}/{id}"), token, "").1["data"].clone()
}

#[test]
fn a_run_that_kills_executors_is_given_up_and_the_server_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (address, upstream) = Upstream::listen();
    let variables = [
        ("HEDDLE_EGRESS_ALLOW", "127.0.0.0/8"),
        ("HEDDLE_RUN_ISOLATION", "process"),
    ];
    let mut server = Server::start(dir.path(), &variables);
    upstream.change(|known| known.server = server.process.id());
    let token = server.register();
    let innocent = server.deploy_as(&token, &asking(&address, &["innocent"]));
    let poison = server.deploy_as(&token, &asking(&address, &["before", "poison"]));
    let execute = |server: &Server, deployment: &str| {
        let path = format!("/api/deployments/{deployment}/execute");
        server.call("POST", &path, &token, "{}").0
    };
    assert_eq!(execute(&server, &innocent), 200);
    assert!(upstream.wait(|known| known.innocent == 1));
    assert_eq!(execute(&server, &poison), 200);
    upstream.change(|known| known.is_armed = true);
    // Both were in executors that died; the innocent one does its request again.
    newest_run("success", &server, &token, &innocent);
    upstream.change(|known| known.is_armed = true);
    let found = newest_run("dead_letter", &server, &token, &poison);
    assert_eq!(found["error"]["code"], "INTERRUPTED", "{found}");
    {
        let known = upstream.known.lock().unwrap();
        let done = (known.kills, known.before, known.innocent);
        assert_eq!(done, (2, 1, 2), "what was done is in the journal");
    }
    let status = |server: &Server| {
        let path = format!("/api/deployments/{poison}");
        server.call("GET", &path, &token, "").1["data"]["status"].clone()
    };
    assert_eq!(status(&server), "active");
    assert!(server.metric("heddle_executor_deaths_total") >= 2.0);

    assert_eq!(execute(&server, &poison), 200);
    eventually("failed", &server, |server| {
        // As often as it asks: a request that was given up on a slow machine may have used one kill up.
        upstream.change(|known| known.is_armed = true);
        match status(server) {
            status if status == "failed" => Ok(()),
            status => Err(status),
        }
    });
    // Two more, or one: the run may be given to an executor that the last kill ended, before that is heard.
    assert!(upstream.known.lock().unwrap().kills >= 3);
    assert_eq!(execute(&server, &poison), 400);
    assert_eq!(execute(&server, &innocent), 200);
    assert!(
        server.process.try_wait().unwrap().is_none(),
        "the server is the same"
    );
}

/// What the pattern of a deployment is called by.
fn pattern_of(server: &Server, token: &str, deployment: &str) -> Value {
    let found = server
        .call("GET", &format!("/api/deployments/{deployment}"), token, "")
        .1;
    found["data"]["patternId"].clone()
}

#[test]
fn a_called_run_goes_on_when_the_executor_of_its_caller_dies() {
    let dir = tempfile::tempdir().unwrap();
    let (address, upstream) = Upstream::listen();
    let variables = [
        ("HEDDLE_EGRESS_ALLOW", "127.0.0.0/8"),
        ("HEDDLE_RUN_ISOLATION", "process"),
    ];
    let server = Server::start(dir.path(), &variables);
    let token = server.register();
    let url = format!("http://{address}/innocent");
    let called = server.deploy_as(
        &token,
        &json!({
            "nodes": [
                {"id": "on", "type": "OnCall"},
                {"id": "ask", "type": "HttpRequest", "data": {"parameters": {"url": url, "bodyOnly": true}}},
                {"id": "end", "type": "Return"},
            ],
            "edges": [{"source": "on", "target": "ask"}, {"source": "ask", "target": "end"}],
        }),
    );
    let pattern = pattern_of(&server, &token, &called);
    let calling = server.deploy_as(
        &token,
        &json!({
            "nodes": [
                {"id": "start", "type": "OnManual"},
                {"id": "call", "type": "CallPattern", "data": {"parameters": {"patternId": pattern}}},
                {"id": "end", "type": "Return"},
            ],
            "edges": [{"source": "start", "target": "call"}, {"source": "call", "target": "end"}],
        }),
    );
    let path = format!("/api/deployments/{calling}/execute");
    assert_eq!(server.call("POST", &path, &token, "{}").0, 200);
    assert!(upstream.wait(|known| known.innocent == 1));
    // Those of both: the one that is called asks once more.
    kill_executors(server.process.id());
    newest_run("success", &server, &token, &calling);
    let runs = server.runs(&token, &called);
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!(runs[0]["status"], "success", "{runs:?}");
}
