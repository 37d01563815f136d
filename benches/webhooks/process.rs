//! Processes that are measured: a heddle with deployed patterns, the ceiling, and what they use of the machine.

use crate::load::{Target, order};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that is ended with this value, if it was started here.
pub struct Process {
    child: Option<Child>,
    pub address: SocketAddr,
}

impl Process {
    /// Starts a command that tells on its first line where it listens.
    pub fn start(command: &mut Command) -> Process {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.expect("the process did not start").parse().unwrap();
        Process {
            child: Some(child),
            address,
        }
    }

    /// One that somebody else has started.
    pub fn elsewhere(address: SocketAddr) -> Process {
        Process { child: None, address }
    }

    /// A process that tells nothing: waits until it answers.
    pub async fn silent(command: &mut Command, target: &Target, patience: Duration) -> Option<Process> {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let mut process = Process {
            child: Some(child),
            address: target.address,
        };
        let began = Instant::now();
        while began.elapsed() < patience && process.lives() {
            if target.answers().await {
                return Some(process);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        None
    }

    fn lives(&mut self) -> bool {
        self.child
            .as_mut()
            .is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// A heddle with its data in this directory.
    pub fn heddle(dir: &Path) -> Process {
        Process::heddle_with(dir, &[])
    }

    /// The same with these variables besides.
    pub fn heddle_with(dir: &Path, variables: &[(&str, &str)]) -> Process {
        Process::heddle_of(Path::new(env!("CARGO_BIN_EXE_heddle")), dir, variables)
    }

    /// The same of another build.
    pub fn heddle_of(binary: &Path, dir: &Path, variables: &[(&str, &str)]) -> Process {
        Process::start(
            Command::new(binary)
                .arg("serve")
                .env_clear()
                .current_dir(dir)
                .env("HEDDLE_LISTEN", "127.0.0.1:0")
                .env("HEDDLE_LOG", "warn")
                .env("HEDDLE_WEBHOOK_RATE_LIMIT", "0")
                .envs(variables.iter().copied()),
        )
    }

    /// Processor time that it and those of its children that live have used so far, to 10 ms. 0 where there is no /proc.
    pub fn cpu(&self) -> Duration {
        let id = u64::from(self.id());
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ticks = entries.filter_map(|entry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // After the name, which may have spaces; see proc(5).
            let fields = stat.rsplit(')').next()?.split_whitespace();
            let fields: Vec<u64> = fields.map(|field| field.parse().unwrap_or(0)).collect();
            let is_ours = fields[1] == id || entry.file_name().to_str() == Some(&id.to_string());
            is_ours.then(|| fields[11] + fields[12])
        });
        Duration::from_millis(ticks.sum::<u64>() * 10)
    }

    /// Memory in use now and at most, in MiB. 0 where there is no /proc.
    pub fn memory_mib(&self) -> (f64, f64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kib: f64 = line.trim().split(' ').next()?.parse().ok()?;
            Some(kib / 1024.0)
        };
        (of("VmRSS:").unwrap_or(0.0), of("VmHWM:").unwrap_or(0.0))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Variables of a server whose data are in this PostgreSQL database.
pub fn on_postgres(url: &str) -> [(&str, &str); 3] {
    [
        ("HEDDLE_DATABASE_URL", url),
        (
            "HEDDLE_MASTER_KEY",
            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        ),
        ("HEDDLE_JWT_SECRET", "a secret of thirty-two characters or more"),
    ]
}

/// A user of a heddle, who deploys patterns.
pub struct User<'p> {
    pub process: &'p Process,
    pub client: reqwest::Client,
    pub token: String,
}

/// A pattern that is saved.
pub struct Saved {
    /// Of the interface.
    pub path: String,
    pub target: Target,
}

/// A deployed pattern.
pub struct Deployed {
    pub target: Target,
    pub id: String,
}

impl User<'_> {
    pub async fn new(process: &Process) -> User<'_> {
        User::named(process, "ann").await
    }

    /// The same with another name.
    pub async fn named<'p>(process: &'p Process, name: &str) -> User<'p> {
        let mut user = User {
            process,
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            token: String::new(),
        };
        let email = format!("{name}@example.com");
        let account =
            json!({"email": email, "firstName": name, "lastName": "Lee", "password": "correct-horse"});
        let made = user.call("POST", "/api/auth/register", account).await;
        user.token = text(&made["data"]["token"]);
        user
    }

    pub async fn call(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, text) = self.send(method, path, body).await.unwrap();
        assert!((200..300).contains(&status), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The status and the body of the answer, whatever it is.
    pub async fn send(&self, method: &str, path: &str, body: Value) -> reqwest::Result<(u16, String)> {
        let url = format!("http://{}{path}", self.process.address);
        let request = self
            .client
            .request(method.parse().unwrap(), url)
            .bearer_auth(&self.token)
            .header("content-type", "application/json")
            .body(body.to_string());
        let reply = request.send().await?;
        Ok((reply.status().as_u16(), reply.text().await?))
    }

    /// A webhook, then these nodes one after the other. With a status of 200 somebody waits for the answer.
    pub async fn deploy(&self, status: u16, nodes: &[Value]) -> Deployed {
        self.deploy_graph(status, &chain(&hook(status), nodes)).await
    }

    /// The same of any graph that begins with a webhook.
    pub async fn deploy_graph(&self, status: u16, graph: &Value) -> Deployed {
        let saved = self.save_graph(status, graph).await;
        let deploy = format!("{}/deploy", saved.path);
        let deployed = self.call("POST", &deploy, json!({"nodeDefinitions": {}})).await;
        Deployed {
            id: text(&deployed["data"]["deploymentId"]),
            target: saved.target,
        }
    }

    /// The same, saved but not deployed.
    pub async fn save(&self, status: u16, nodes: &[Value]) -> Saved {
        self.save_graph(status, &chain(&hook(status), nodes)).await
    }

    async fn save_graph(&self, status: u16, graph: &Value) -> Saved {
        let made = self
            .call("POST", "/api/patterns", json!({"name": "measured"}))
            .await;
        let path = format!("/api/patterns/{}", text(&made["id"]));
        self.call("PUT", &path, json!({"graphData": graph})).await;
        let hooks = self.call("GET", &format!("{path}/webhooks"), json!(null)).await;
        let hook = &hooks["data"]["endpoints"][0];
        Saved {
            target: Target {
                address: self.process.address,
                path: format!("/webhooks/{}", text(&hook["webhookId"])),
                secret: Some(text(&hook["webhookSecret"])),
                status,
                body: order,
            },
            path,
        }
    }

    /// Waits until all runs of a deployment have ended.
    pub async fn await_ends(&self, deployment: &str) {
        let path = format!("/api/deployments/{deployment}/runs?limit=1&status=running");
        while self.call("GET", &path, json!(null)).await["meta"]["total"] != 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// With a status of 200 its sender waits for the answer.
fn hook(status: u16) -> Value {
    let mode = if status == 200 { "sync" } else { "async" };
    json!({"id": "hook", "type": "OnWebhook", "data": {"parameters": {"responseMode": mode}}})
}

/// A graph of nodes one after the other.
pub fn chain(first: &Value, others: &[Value]) -> Value {
    let nodes = [std::slice::from_ref(first), others].concat();
    let edges: Vec<Value> = nodes
        .windows(2)
        .map(|pair| json!({"source": pair[0]["id"], "target": pair[1]["id"]}))
        .collect();
    json!({"nodes": nodes, "edges": edges})
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
