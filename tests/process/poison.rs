//! A run that brings its server down: a service that it asks kills whoever asks. The server comes back each time, finds
//! the run, and stops its deployment when that does it again; everybody else's runs end as if nothing had been.

use crate::postgres::TestDatabase;
use crate::server::{Server, database, heddle, on, pause};
use heddle_model::clock;
use serde_json::{Value, json};
use sqlx::ConnectOptions as _;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

const INNOCENTS: usize = 100;
/// After which what does not come is missing.
const PATIENCE: Duration = Duration::from_secs(300);

/// What the service knows.
#[derive(Default)]
struct Known {
    /// Processes of the servers.
    servers: BTreeSet<u32>,
    /// Whether it may kill.
    is_armed: bool,
    kills: usize,
}

#[derive(Default)]
struct Upstream {
    known: Mutex<Known>,
    changed: Condvar,
}

impl Upstream {
    /// Begins to listen.
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

    fn kills(&self) -> usize {
        self.known.lock().unwrap().kills
    }

    /// Kills whoever asks for `/poison`, once it may; answers others after the first kill.
    fn answer(&self, stream: TcpStream) -> Option<()> {
        let port = stream.peer_addr().ok()?.port();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let known = self.known.lock().unwrap();
        if line.starts_with("GET /poison") {
            let mut known = self.changed.wait_while(known, |known| !known.is_armed).unwrap();
            let process = known
                .servers
                .iter()
                .copied()
                .find(|server| has_socket(*server, port))?;
            known.servers.remove(&process);
            known.kills += 1;
            let killed = Command::new("kill")
                .arg("-KILL")
                .arg(process.to_string())
                .status();
            assert!(killed.unwrap().success());
            self.changed.notify_all();
            return None;
        }
        drop(self.changed.wait_while(known, |known| known.kills == 0).unwrap());
        let answer = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
        reader.into_inner().write_all(answer.as_bytes()).ok()
    }
}

/// Whether the process has the socket with this local port.
fn has_socket(process: u32, port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table
        .lines()
        .skip(1)
        .map(|row| row.split_whitespace().collect::<Vec<_>>());
    // Several sockets may have it, each connected to somebody else, and some of them are closed already.
    let sockets: Vec<PathBuf> = rows
        .filter(|row| row[1].ends_with(&format!(":{port:04X}")))
        .map(|row| PathBuf::from(format!("socket:[{}]", row[9])))
        .collect();
    let Ok(files) = std::fs::read_dir(format!("/proc/{process}/fd")) else {
        return false;
    };
    files
        .flatten()
        .any(|file| std::fs::read_link(file.path()).is_ok_and(|target| sockets.contains(&target)))
}

/// Servers that are started again when they die, as by a supervisor.
struct Supervised<'a> {
    dir: &'a Path,
    variables: Vec<(&'a str, &'a str)>,
    upstream: Arc<Upstream>,
    servers: Vec<Server>,
}

impl<'a> Supervised<'a> {
    fn start(dir: &'a Path, database: &[(&'a str, &'a str)], count: usize, upstream: Arc<Upstream>) -> Self {
        let variables = [
            &[
                ("HEDDLE_EGRESS_ALLOW", "127.0.0.0/8"),
                ("HEDDLE_LEASE_MS", "1000"),
            ],
            database,
        ]
        .concat();
        let mut this = Supervised {
            dir,
            variables,
            upstream,
            servers: Vec::new(),
        };
        for _ in 0..count {
            let server = this.server();
            this.servers.push(server);
        }
        this
    }

    fn server(&self) -> Server {
        loop {
            let mut command = heddle(self.dir);
            command.arg("serve");
            let process = Server::spawn(command, &self.variables);
            self.upstream.change(|known| known.servers.extend([process.id()]));
            // It may die while it starts.
            if let Ok(server) = Server::listening(process) {
                return server;
            }
        }
    }

    /// Starts again what has died, until `holds` of a server that lives.
    #[track_caller]
    fn until(&mut self, holds: impl Fn(&Server) -> Option<bool>) {
        let began = clock::monotonic();
        loop {
            assert!(clock::since(began) < PATIENCE, "it does not come to that");
            for index in 0..self.servers.len() {
                if self.servers[index].process.try_wait().unwrap().is_some() {
                    self.servers[index] = self.server();
                }
            }
            if holds(&self.servers[0]) == Some(true) {
                return;
            }
            pause();
        }
    }

    fn first(&self) -> &Server {
        &self.servers[0]
    }
}

/// A pattern that asks for a path of the service.
fn asking(address: &str, path: &str) -> Value {
    let url = format!("http://{address}/{path}");
    json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "ask", "type": "HttpRequest", "data": {"parameters": {"url": url, "bodyOnly": true}}},
        ],
        "edges": [{"source": "start", "target": "ask"}],
    })
}

fn execute(server: &Server, token: &str, deployment: &str) -> (u16, Value) {
    let path = format!("/api/deployments/{deployment}/execute");
    server.call("POST", &path, token, "{}")
}

/// How many runs of a deployment have this status; `None`: the server has just died.
fn count(server: &Server, token: &str, deployment: &str, status: &str) -> Option<u64> {
    let path = format!("/api/deployments/{deployment}/runs?limit=1&status={status}");
    server.try_call("GET", &path, token, "")?.1["meta"]["total"].as_u64()
}

fn state(server: &Server, token: &str, deployment: &str) -> Option<Value> {
    let path = format!("/api/deployments/{deployment}");
    Some(server.try_call("GET", &path, token, "")?.1["data"].clone())
}

/// Poison among innocents: how often servers die until all is well, and that nobody else notices.
fn is_found_out(database: &[(&str, &str)], servers: usize, poisons: usize) {
    let dir = tempfile::tempdir().unwrap();
    let (address, upstream) = Upstream::listen();
    let mut supervised = Supervised::start(dir.path(), database, servers, upstream.clone());
    let first = supervised.first();
    let token = first.register();
    let innocent = first.deploy_as(&token, &asking(&address, "innocent"));
    let poison = first.deploy_as(&token, &asking(&address, "poison"));
    for number in 0..INNOCENTS {
        assert_eq!(execute(first, &token, &innocent).0, 200);
        if number % 20 == 0 && number / 20 < poisons {
            assert_eq!(execute(first, &token, &poison).0, 200);
        }
    }
    upstream.change(|known| known.is_armed = true);
    let is_over = |server: &Server| {
        let innocents = count(server, &token, &innocent, "success")?;
        let found = count(server, &token, &poison, "dead_letter")?;
        Some(innocents == INNOCENTS as u64 && found >= poisons.min(2) as u64)
    };
    supervised.until(is_over);
    // The first time nobody knows what it was; the second time the run was alone, if it asked within half a second of its
    // beginning. Later ones cost one more, and those that take longer than two seconds another.
    let kills = if poisons == 1 { 2 } else { 3 };
    let slow = upstream.kills() - kills;
    assert!(slow <= 2, "{slow} more than {kills}");

    if poisons == 1 {
        let (_, listed) = supervised.first().call(
            "GET",
            &format!("/api/deployments/{poison}/runs?status=dead_letter"),
            &token,
            "",
        );
        let run = listed["data"][0]["id"].as_str().unwrap().to_owned();
        let path = format!("/api/deployments/{poison}/runs/{run}");
        let (_, run) = supervised.first().call("GET", &path, &token, "");
        assert_eq!(run["data"]["error"]["code"], "INTERRUPTED", "{run}");
        assert!(
            run["data"]["error"]["message"]
                .as_str()
                .unwrap()
                .contains(&format!("A server crashed {} times", 2 + slow)),
            "{run}"
        );
        assert_eq!(
            state(supervised.first(), &token, &poison).unwrap()["status"],
            "active"
        );
        // Another event of the same kind.
        let _ = supervised.first().try_call(
            "POST",
            &format!("/api/deployments/{poison}/execute"),
            &token,
            "{}",
        );
    }
    supervised.until(|server| Some(state(server, &token, &poison)?["status"] == "failed"));
    assert_eq!(
        upstream.kills(),
        3 + slow,
        "a deployment that was struck needs no second look"
    );
    let stopped = state(supervised.first(), &token, &poison).unwrap();
    assert!(
        stopped["errorMessage"]
            .as_str()
            .unwrap()
            .contains("repeatedly crashed a server"),
        "{stopped}"
    );
    assert_eq!(execute(supervised.first(), &token, &poison).0, 400);
    // Others go on, and nothing of it executes any more, also after another death.
    supervised.servers[0].process.kill().unwrap();
    let path = format!("/api/deployments/{innocent}/execute");
    supervised.until(|server| Some(server.try_call("POST", &path, &token, "{}")?.0 == 200));
    supervised.until(|server| Some(count(server, &token, &innocent, "success")? == INNOCENTS as u64 + 1));
    assert_eq!(upstream.kills(), 3 + slow);
    assert_eq!(
        count(supervised.first(), &token, &innocent, "success"),
        Some(INNOCENTS as u64 + 1)
    );
}

#[test]
fn a_run_that_brings_its_server_down_is_found_out_among_innocents() {
    is_found_out(&[], 1, 1);
}

#[test]
fn so_are_many_of_one_deployment() {
    is_found_out(&[], 1, 5);
}

#[test]
fn on_postgres_it_does_not_bring_down_one_server_after_the_other() {
    let shared: TestDatabase = database();
    is_found_out(&on(&shared.url), 3, 1);
}

/// Whether a server has said in its database that it is about to execute a run under suspicion.
fn is_announced(dir: &Path) -> bool {
    is_any(dir, "runs where status = 'running' and announced_by is not null")
}

/// Whether it has said that it executes nothing else.
fn is_trying(dir: &Path) -> bool {
    is_any(dir, "servers where trying")
}

fn is_any(dir: &Path, rows: &'static str) -> bool {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(dir.join("heddle-data/heddle.db"));
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let found: sqlx::Result<i64> = executor.block_on(async {
        let mut database = options.connect().await?;
        let count = sqlx::AssertSqlSafe(format!("select count(*) from {rows}"));
        sqlx::query_scalar(count).fetch_one(&mut database).await
    });
    found.is_ok_and(|found| found > 0)
}

#[track_caller]
fn wait_until(mut holds: impl FnMut() -> bool) {
    let began = clock::monotonic();
    while !holds() {
        assert!(clock::since(began) < PATIENCE, "it does not come to that");
        pause();
    }
}

/// A server whose runs may compute for longer than a test takes.
fn patient(dir: &Path) -> Child {
    let settings = [
        ("HEDDLE_RUN_FUEL", "1000000000000000"),
        ("HEDDLE_LEASE_MS", "1000"),
    ];
    let mut command = heddle(dir);
    command.arg("serve");
    Server::spawn(command, &settings)
}

/// Computes without end.
fn spinning() -> Value {
    let node = json!({"id": "spin", "type": "JavaScript", "data": {"parameters": {
        "code": "export default () => { for (;;) {} }",
    }}});
    json!({
        "nodes": [{"id": "start", "type": "OnManual"}, node],
        "edges": [{"source": "start", "target": "spin"}],
    })
}

fn kill(process: &mut Child) {
    process.kill().unwrap();
    process.wait().unwrap();
}

/// The server dies while a run computes, of which nobody outside hears.
#[test]
fn a_run_that_brings_its_server_down_without_any_effect_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let spawn = || patient(dir.path());
    let mut server = Server::listening(spawn()).unwrap();
    let token = server.register();
    let poison = server.deploy_as(&token, &spinning());
    assert_eq!(execute(&server, &token, &poison).0, 200);
    wait_until(|| server.metric("heddle_runs_executing") > 0.0);
    kill(&mut server.process);
    // It is tried before the server listens.
    let mut process = spawn();
    wait_until(|| is_announced(dir.path()));
    kill(&mut process);
    let mut server = Server::listening(spawn()).unwrap();
    wait_until(|| count(&server, &token, &poison, "dead_letter") == Some(1));
    // Another event of the same kind.
    assert_eq!(execute(&server, &token, &poison).0, 200);
    wait_until(|| is_announced(dir.path()));
    kill(&mut server.process);
    let server = Server::listening(spawn()).unwrap();
    wait_until(|| state(&server, &token, &poison).is_some_and(|state| state["status"] == "failed"));
    assert_eq!(execute(&server, &token, &poison).0, 400);
}

/// The server dies of a run each time long after it has begun, when others execute beside it again.
#[test]
fn one_that_does_so_late_is_found_out_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let spawn = || patient(dir.path());
    let mut server = Server::listening(spawn()).unwrap();
    let token = server.register();
    let poison = server.deploy_as(&token, &spinning());
    assert_eq!(execute(&server, &token, &poison).0, 200);
    for _ in 0..3 {
        wait_until(|| server.metric("heddle_runs_executing") > 0.0 && !is_trying(dir.path()));
        kill(&mut server.process);
        server = Server::listening(spawn()).unwrap();
    }
    // By now nothing else executes until it has ended.
    wait_until(|| is_trying(dir.path()) && is_announced(dir.path()));
    kill(&mut server.process);
    let server = Server::listening(spawn()).unwrap();
    wait_until(|| count(&server, &token, &poison, "dead_letter") == Some(1));
}
