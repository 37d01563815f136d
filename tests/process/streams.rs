//! The server is killed while a run streams its answer: the sender's stream breaks off without an end, and the run goes on where it
//! was, without sending or asking anything twice.

use crate::sender::{Hook, Sender};
use crate::server::{Server, database, on};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};

/// A service that answers `/hold` once it is free to.
#[derive(Default)]
struct Peer {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    asked: Vec<String>,
    is_free: bool,
}

impl Peer {
    fn count(&self, path: &str) -> usize {
        let state = self.state.lock().unwrap();
        state.asked.iter().filter(|asked| *asked == path).count()
    }

    fn wait_for(&self, path: &str) {
        let mut state = self.state.lock().unwrap();
        while !state.asked.iter().any(|asked| asked == path) {
            state = self.changed.wait(state).unwrap();
        }
    }

    fn free(&self) {
        self.state.lock().unwrap().is_free = true;
        self.changed.notify_all();
    }

    fn answer(&self, stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let path = line.split(' ').nth(1)?.to_owned();
        while !line.trim().is_empty() {
            line.clear();
            reader.read_line(&mut line).ok()?;
        }
        let mut state = self.state.lock().unwrap();
        state.asked.push(path.clone());
        self.changed.notify_all();
        while path == "/hold" && !state.is_free {
            state = self.changed.wait(state).unwrap();
        }
        drop(state);
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: 4\r\n\r\ndone";
        reader.into_inner().write_all(answer.as_bytes()).ok()
    }
}

fn listen() -> (String, Arc<Peer>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let peer = Arc::<Peer>::default();
    let asked = peer.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let asked = asked.clone();
            std::thread::spawn(move || asked.answer(stream));
        }
    });
    (address, peer)
}

/// Streams a piece before and after each of two requests.
fn graph(address: &str) -> Value {
    let node = |id: &str, kind: &str, parameters: Value| json!({"id": id, "type": kind, "data": {"parameters": parameters}});
    let asks = |id: &str| {
        let url = format!("http://{address}/{id}");
        // Its result is stored before anything follows, as that of all that changes something.
        let parameters = json!({"method": "POST", "url": url, "bodyOnly": true});
        node(id, "HttpRequest", parameters)
    };
    let sent = "{{ [$nodes.first.sent, $nodes.second.sent, $nodes.third.sent] }}";
    let nodes = [
        node("hook", "OnWebhook", json!({})),
        node("first", "StreamResponse", json!({"data": "one"})),
        asks("ask"),
        node("second", "StreamResponse", json!({"data": "{{ $input }}"})),
        asks("hold"),
        node("third", "StreamResponse", json!({"data": "three"})),
        node("end", "Return", json!({"value": sent})),
    ];
    let edges: Vec<Value> = nodes
        .windows(2)
        .map(|pair| json!({"source": pair[0]["id"], "target": pair[1]["id"]}))
        .collect();
    json!({"nodes": nodes, "edges": edges})
}

fn goes_on(dir: &Path, database: &[(&str, &str)]) {
    let (address, peer) = listen();
    let variables = [
        &[
            ("HEDDLE_EGRESS_ALLOW", "127.0.0.0/8"),
            ("HEDDLE_LEASE_MS", "1000"),
        ],
        database,
    ]
    .concat();
    let mut server = Server::start(dir, &variables);
    let hook = Hook::of(&server, &graph(&address));
    let mut stream = BufReader::new(TcpStream::connect(&server.address).unwrap());
    stream
        .get_mut()
        .write_all(hook.request("a", 1).as_bytes())
        .unwrap();
    let mut seen = String::new();
    while !seen.contains("data: done") {
        assert_ne!(stream.read_line(&mut seen).unwrap(), 0, "{seen}");
    }
    peer.wait_for("/hold");
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    // What is left of the stream, which may be no more than that the connection was reset.
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    let seen = seen + &String::from_utf8_lossy(&rest);
    assert!(seen.starts_with("HTTP/1.1 200"), "{seen}");
    assert_eq!(seen.matches("data: one\n").count(), 1, "{seen}");
    // Neither an event that says so nor the last chunk: nobody takes it for the whole answer.
    assert!(
        !seen.contains("event: end") && !seen.ends_with("0\r\n\r\n"),
        "{seen}"
    );

    server = Server::start(dir, &variables);
    peer.free();
    server.await_ends(&hook.token, &hook.deployment);
    let runs = server.runs(&hook.token, &hook.deployment);
    assert_eq!(runs.len(), 1, "{runs:?}");
    let path = format!(
        "/api/deployments/{}/runs/{}",
        hook.deployment,
        runs[0]["id"].as_str().unwrap()
    );
    let (_, run) = server.call("GET", &path, &hook.token, "");
    // The journal has what became of the first piece, with the request's result; that of the second would have gone with the
    // next, since repeating it does nothing: nobody hears it, nor the third.
    assert_eq!(
        (&run["data"]["status"], &run["data"]["output"]),
        (&json!("success"), &json!([true, false, false])),
        "{run}"
    );
    assert_eq!((peer.count("/ask"), peer.count("/hold")), (1, 2));
    // Who sends it once more hears that it was there.
    let again = Sender::connect(&server.address)
        .unwrap()
        .send(&hook, "a", 1)
        .unwrap();
    assert_eq!((again.status, &again.body["status"]), (200, &json!("duplicate")));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_run_whose_stream_a_kill_breaks_off_goes_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    goes_on(dir.path(), &[]);
}

#[test]
fn a_run_whose_stream_a_kill_breaks_off_goes_on_postgres() {
    let (database, dir) = (database(), tempfile::tempdir().unwrap());
    goes_on(dir.path(), &on(&database.url));
}
