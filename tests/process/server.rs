//! A `heddle serve` in a process of its own.

use crate::postgres::TestDatabase;
use crate::sender::Hook;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// The command with an environment of nothing but what tests set.
pub fn heddle(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
    command.env_clear().current_dir(dir);
    // Where tests/coverage/run has what was executed counted.
    command.envs(std::env::var_os("LLVM_PROFILE_FILE").map(|file| ("LLVM_PROFILE_FILE", file)));
    command
}

/// The directory that `heddle precompile` has written for all tests.
pub fn precompiled() -> &'static Path {
    static WRITTEN: OnceLock<PathBuf> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (code, _, told) = output(heddle(dir).args(["precompile", "--out", "precompiled"]));
        assert_eq!(code, 0, "{told}");
        dir.join("precompiled")
    })
}

/// Between two looks at what takes its time: who looks all the time takes the processors from what is waited for, and from the tests
/// beside it.
pub fn pause() {
    std::thread::park_timeout(Duration::from_millis(10));
}

/// A PostgreSQL database of the test's own.
pub fn database() -> TestDatabase {
    let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
    executor.block_on(TestDatabase::create(None))
}

/// What servers on the database of this URL are to have in common.
pub fn on(url: &str) -> [(&str, &str); 3] {
    [
        ("HEDDLE_DATABASE_URL", url),
        (
            "HEDDLE_MASTER_KEY",
            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        ),
        ("HEDDLE_JWT_SECRET", "a secret of thirty-two characters or more"),
    ]
}

/// A running server; killed when dropped.
pub struct Server {
    pub address: String,
    pub process: Child,
}

impl Server {
    /// Starts with the data directory `dir`/heddle-data, and waits until it listens.
    pub fn start(dir: &Path, variables: &[(&str, &str)]) -> Server {
        let mut command = heddle(dir);
        command.arg("serve");
        Server::start_by(command, variables)
    }

    /// The same by a command of one's own, which begins in a directory that has the data directory in it.
    pub fn start_by(command: Command, variables: &[(&str, &str)]) -> Server {
        let told = Server::listening(Server::spawn(command, variables));
        told.unwrap_or_else(|told| panic!("the server did not start: {told}"))
    }

    /// Begins to start.
    pub fn spawn(mut command: Command, variables: &[(&str, &str)]) -> Child {
        command
            .env("HEDDLE_LISTEN", "127.0.0.1:0")
            // Compiling heddle's own modules takes its time.
            .env("HEDDLE_PRECOMPILED_DIR", precompiled())
            .env(
                "HEDDLE_CACHE_DIR",
                concat!(env!("CARGO_TARGET_TMPDIR"), "/process"),
            )
            // Tests kill servers faster than anything else does.
            .env("HEDDLE_CRASH_BACKOFF", "0s")
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Waits until a server listens; what it has said if it has ended instead.
    pub fn listening(mut process: Child) -> Result<Server, String> {
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().strip_prefix("listening on ");
        let Some((_, address)) = address.and_then(|url| url.split_once("://")) else {
            let mut told = String::new();
            if let Some(mut log) = process.stderr.take() {
                log.read_to_string(&mut told).unwrap();
            }
            let _ = process.wait();
            return Err(format!("{line}{told}"));
        };
        let address = address.to_owned();
        // Unless somebody has taken it, nobody reads the log: it must not fill its pipe.
        if let Some(mut log) = process.stderr.take() {
            std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        }
        Ok(Server { address, process })
    }

    /// Sends a request; status and body.
    pub fn call(&self, method: &str, path: &str, token: &str, body: &str) -> (u16, Value) {
        self.try_call(method, path, token, body).unwrap()
    }

    /// The same of a server that may die; `None`: it has.
    pub fn try_call(&self, method: &str, path: &str, token: &str, body: &str) -> Option<(u16, Value)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: heddle\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let status = answer.split(' ').nth(1)?.parse().ok()?;
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
    }

    /// Events of a stream, as they come.
    pub fn stream(&self, path: &str, token: &str) -> Events {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: heddle\r\nauthorization: Bearer {token}\r\n\r\n"
        )
        .unwrap();
        Events(BufReader::new(stream))
    }

    /// A number of `/metrics`; 0 if there is none.
    pub fn metric(&self, name: &str) -> f64 {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nhost: heddle\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let line = answer
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0.0, |number| number.parse().unwrap())
    }

    /// Sends it a signal, such as STOP.
    pub fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").arg(format!("-{name}")).arg(pid).status();
        assert!(sent.unwrap().success());
    }

    /// Registers a user and deploys a pattern: the user's token and the deployment's id.
    pub fn deploy(&self, graph: &Value) -> (String, String) {
        let token = self.register();
        let deployment = self.deploy_as(&token, graph);
        (token, deployment)
    }

    /// Deploys a pattern of a user: the deployment's id.
    pub fn deploy_as(&self, token: &str, graph: &Value) -> String {
        let (_, pattern) = self.call("POST", "/api/patterns", token, r#"{"name": "Tested"}"#);
        let path = format!("/api/patterns/{}", pattern["id"].as_str().unwrap());
        let body = json!({"graphData": graph}).to_string();
        let (status, saved) = self.call("PUT", &path, token, &body);
        assert_eq!(status, 200, "{saved}");
        let path = format!("{path}/deploy");
        let (status, deployed) = self.call("POST", &path, token, r#"{"nodeDefinitions": {}}"#);
        assert_eq!(status, 200, "{deployed}");
        deployed["data"]["deploymentId"].as_str().unwrap().to_owned()
    }

    /// Registers a user: its token.
    pub fn register(&self) -> String {
        let account = json!({"email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"});
        let (_, registered) = self.call("POST", "/api/auth/register", "", &account.to_string());
        registered["data"]["token"].as_str().unwrap().to_owned()
    }

    /// Waits until no run of the deployment executes or waits any more.
    pub fn await_ends(&self, token: &str, deployment: &str) {
        let path = format!("/api/deployments/{deployment}/runs?limit=1&status=running");
        while self.call("GET", &path, token, "").1["meta"]["total"] != 0 {
            pause();
        }
    }

    /// All runs of a deployment, page by page.
    pub fn runs(&self, token: &str, deployment: &str) -> Vec<Value> {
        let mut runs = Vec::new();
        for page in 1.. {
            let path = format!("/api/deployments/{deployment}/runs?limit=100&page={page}");
            let (_, listed) = self.call("GET", &path, token, "");
            let listed = listed["data"].as_array().unwrap().clone();
            if listed.is_empty() {
                break;
            }
            runs.extend(listed);
        }
        runs
    }

    /// Waits until all runs have ended, and checks that there is one for each of `sent` events, those that were
    /// accepted among them, and that each succeeded.
    pub fn assert_one_run_each(&self, hook: &Hook, accepted: &BTreeSet<String>, sent: usize) {
        self.await_ends(&hook.token, &hook.deployment);
        let runs = self.runs(&hook.token, &hook.deployment);
        let ids: BTreeSet<&str> = runs.iter().map(|run| run["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), runs.len(), "a run is there twice");
        let lost: Vec<&String> = accepted
            .iter()
            .filter(|run| !ids.contains(run.as_str()))
            .collect();
        assert_eq!(lost, Vec::<&String>::new());
        assert_eq!(runs.len(), sent, "events and runs are not as many");
        for run in runs {
            assert_eq!(
                (&run["status"], &run["phase"]),
                (&json!("success"), &json!("ended")),
                "{run}"
            );
            assert!(run["completedAt"].is_string());
        }
    }

    /// Asserts that so many runs of the user's only workspace were metered, with their fuel.
    pub fn assert_metered(&self, hook: &Hook, runs: usize) {
        let (_, workspaces) = self.call("GET", "/api/workspaces", &hook.token, "");
        let workspace = workspaces["data"][0]["id"].as_str().unwrap();
        let path = format!("/api/workspaces/{workspace}/usage?by=hour");
        let (status, usage) = self.call("GET", &path, &hook.token, "");
        assert_eq!(status, 200, "{usage}");
        let hours = usage["data"].as_array().unwrap();
        let sum = |name: &str| hours.iter().map(|hour| hour[name].as_u64().unwrap()).sum::<u64>();
        assert_eq!(sum("runs"), runs as u64, "{usage}");
        let recorded = self.runs(&hook.token, &hook.deployment);
        let fuel = |run: &Value| {
            let path = format!(
                "/api/deployments/{}/runs/{}",
                hook.deployment,
                run["id"].as_str().unwrap()
            );
            let (_, run) = self.call("GET", &path, &hook.token, "");
            run["data"]["fuelUsed"].as_u64().unwrap()
        };
        assert_eq!(sum("fuel"), recorded.iter().map(fuel).sum::<u64>(), "{usage}");
    }

    /// Asks it to end, and waits until it has: the exit code.
    pub fn stop(mut self) -> Option<i32> {
        self.signal("TERM");
        self.process.wait().unwrap().code()
    }
}

/// Server-sent events.
pub struct Events(BufReader<TcpStream>);

impl Events {
    /// Data of the next one.
    pub fn next_event(&mut self) -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream has ended");
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Output of a command that ends by itself: exit code, standard output, standard error.
pub fn output(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}
