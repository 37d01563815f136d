//! The worst that a registered user can do to others, each as much of it as one is let.

use crate::fixture::{FROM, Fixture, fields, large, unique};
use crate::load::{Target, exchange};
use crate::process::chain;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// Connections that are tried at a time.
const CONNECTIONS: usize = 2_000;
/// Requests at a time of those that are dear to answer.
const AT_ONCE: usize = 16;
/// Requests at a time of those that are answered once their run has ended, and of floods.
const RUNS_AT_ONCE: usize = 64;
/// Pause between two pieces of what is sent slowly, and after a refusal.
const PAUSE: Duration = Duration::from_millis(200);
/// Nodes of a pattern that takes long to compile.
const NODES: usize = 800;
/// Bytes of a request, just below the usual limit.
const REQUEST_BYTES: usize = 7 << 20;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    Idle,
    SlowBodies,
    Endless,
    Memory,
    Compilations,
    Deployments,
    LargeJson,
    Saves,
    Comparisons,
    Queries,
    Tests,
    Masking,
    Logs,
    Calls,
    Previews,
    Logins,
    Flood,
    AtQuotas,
    LiveTails,
    LargeWebhooks,
    KeyValues,
    WaitingRuns,
}

impl Attack {
    /// What leaves something behind comes last.
    pub const ALL: [Attack; 22] = [
        Attack::Idle,
        Attack::SlowBodies,
        Attack::Endless,
        Attack::Memory,
        Attack::Compilations,
        Attack::Deployments,
        Attack::LargeJson,
        Attack::Saves,
        Attack::Comparisons,
        Attack::Queries,
        Attack::Tests,
        Attack::Masking,
        Attack::Logs,
        Attack::Calls,
        Attack::Previews,
        Attack::Logins,
        Attack::Flood,
        Attack::AtQuotas,
        Attack::LiveTails,
        Attack::LargeWebhooks,
        Attack::KeyValues,
        Attack::WaitingRuns,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Attack::Idle => "idle-connections",
            Attack::SlowBodies => "slow-bodies",
            Attack::Endless => "endless-loops",
            Attack::Memory => "memory-bombs",
            Attack::Compilations => "compilations",
            Attack::Deployments => "deployments",
            Attack::LargeJson => "large-json",
            Attack::Saves => "large-saves",
            Attack::Comparisons => "comparisons",
            Attack::Queries => "queries",
            Attack::Tests => "traced-tests",
            Attack::Masking => "masking",
            Attack::Logs => "log-lines",
            Attack::Calls => "fork-bombs",
            Attack::Previews => "previews",
            Attack::Logins => "logins",
            Attack::Flood => "webhook-flood",
            Attack::AtQuotas => "at-its-quotas",
            Attack::LiveTails => "live-tails",
            Attack::LargeWebhooks => "large-webhooks",
            Attack::KeyValues => "key-values",
            Attack::WaitingRuns => "waiting-runs",
        }
    }

    pub fn named(name: &str) -> Option<Attack> {
        Attack::ALL.into_iter().find(|attack| attack.name() == name)
    }

    /// Begins it; it goes on until the tasks are dropped.
    pub fn begin(self, fixture: &Fixture<'_>, answers: &Arc<Answers>, tasks: &mut JoinSet<()>) {
        let mut attackers = Attackers {
            fixture,
            answers,
            tasks,
        };
        let to = fixture.user.process.address;
        match self {
            Attack::Idle => attackers.connect(move || hold(to, b"")),
            Attack::SlowBodies => attackers.connect(move || trickle(to)),
            Attack::Endless => attackers.send(&fixture.endless),
            Attack::Memory => attackers.send(&fixture.memory),
            Attack::Compilations => {
                attackers.post("POST", vec!["/api/execute/transpile".into()], || {
                    let mut body = large_graph();
                    body["nodeDefinitions"] = json!({});
                    body.to_string()
                });
            }
            Attack::Deployments => attackers.deploy(),
            Attack::LargeJson => attackers.post("POST", vec!["/api/execute/transpile".into()], || {
                let many = "[],".repeat(REQUEST_BYTES / 3);
                format!(r#"{{"graphData": {{"nodes": [], "edges": [], "x": [{many}[]]}}, "nodeDefinitions": {{}}}}"#)
            }),
            Attack::Saves => {
                let paths = fixture.saved.iter().map(|saved| saved.path.clone()).collect();
                attackers.post("PUT", paths, || large(REQUEST_BYTES).to_string());
            }
            Attack::Comparisons => attackers.post("GET", vec![fixture.comparison.clone()], String::new),
            Attack::Queries => attackers.post("GET", fixture.queries.clone(), String::new),
            Attack::Tests => {
                let test = fixture.test.clone();
                attackers.post("POST", vec!["/api/execute/run".into()], move || test.clone());
            }
            Attack::Masking => attackers.send(&fixture.masking),
            Attack::Logs => attackers.send(&fixture.logging),
            Attack::Calls => attackers.send(&fixture.forking),
            Attack::Previews => {
                let preview = fixture.preview.clone();
                attackers.post("POST", vec!["/api/execute/preview".into()], move || preview.clone());
            }
            Attack::Logins => attackers.post("POST", vec!["/api/auth/login".into()], || {
                json!({"email": "mallory@example.com", "password": "not the one that it is"}).to_string()
            }),
            Attack::Flood => attackers.send(&fixture.cheap.target),
            // All of it is refused: runs, further patterns and versions, and test runs.
            Attack::AtQuotas => {
                attackers.send(&fixture.cheap.target);
                attackers.send(&fixture.waiting);
                attackers.post("POST", vec!["/api/patterns".into()], || r#"{"name": "one more"}"#.into());
                let paths = fixture.saved.iter().map(|saved| saved.path.clone()).collect();
                attackers.post("PUT", paths, || json!({"graphData": fields(0)}).to_string());
                let test = fixture.test.clone();
                attackers.post("POST", vec!["/api/execute/run".into()], move || test.clone());
            }
            Attack::LiveTails => {
                let path = format!("/api/deployments/{}/runs/stream", fixture.cheap.id);
                let request = format!(
                    "GET {path} HTTP/1.1\r\nhost: heddle\r\nauthorization: Bearer {}\r\n\r\n",
                    fixture.user.token
                );
                for _ in 0..CONNECTIONS / 10 {
                    let request = request.clone();
                    attackers.spawn(move || {
                        let request = request.clone();
                        async move { hold(to, request.as_bytes()).await }
                    });
                }
                attackers.send(&fixture.cheap.target);
            }
            Attack::LargeWebhooks => {
                let target = Target {
                    body: large_body,
                    ..fixture.cheap.target.clone()
                };
                attackers.send_on(AT_ONCE, &target);
            }
            Attack::KeyValues => attackers.send(&fixture.keeping),
            Attack::WaitingRuns => attackers.send(&fixture.waiting),
        }
    }
}

/// How often the attacker was given which status; 0 is none.
#[derive(Default)]
pub struct Answers(Mutex<BTreeMap<u16, u64>>);

impl Answers {
    fn count(&self, status: u16) {
        *self.0.lock().unwrap().entry(status).or_default() += 1;
    }
}

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.0.lock().unwrap();
        let all: Vec<String> = counts
            .iter()
            .map(|(status, count)| match status {
                0 => format!("{count} × closed"),
                status => format!("{count} × {status}"),
            })
            .collect();
        f.write_str(&all.join(", "))
    }
}

/// What does an attack.
struct Attackers<'a, 'p> {
    fixture: &'a Fixture<'p>,
    answers: &'a Arc<Answers>,
    tasks: &'a mut JoinSet<()>,
}

impl Attackers<'_, '_> {
    /// Does something again and again, which gives a status; not at once if it was refused.
    fn spawn<F>(&mut self, mut once: impl FnMut() -> F + Send + 'static)
    where
        F: Future<Output = u16> + Send,
    {
        let answers = self.answers.clone();
        self.tasks.spawn(async move {
            loop {
                let status = once().await;
                answers.count(status);
                if !(200..300).contains(&status) {
                    tokio::time::sleep(PAUSE).await;
                }
            }
        });
    }

    /// As many connections as one is let.
    fn connect<F>(&mut self, once: impl FnMut() -> F + Clone + Send + 'static)
    where
        F: Future<Output = u16> + Send,
    {
        for _ in 0..CONNECTIONS {
            self.spawn(once.clone());
        }
    }

    /// Sends requests to these paths in turn.
    fn post(
        &mut self,
        method: &'static str,
        paths: Vec<String>,
        body: impl Fn() -> String + Clone + Send + Sync + 'static,
    ) {
        for task in 0..AT_ONCE {
            let (paths, body, send) = (paths.clone(), body.clone(), self.requests(method));
            let mut number = task;
            self.spawn(move || {
                number += 1;
                send(&paths[number % paths.len()], body())
            });
        }
    }

    /// Saves and deploys large patterns, all at once.
    fn deploy(&mut self) {
        for task in 0..AT_ONCE {
            let path = self.fixture.saved[task % self.fixture.saved.len()].path.clone();
            let (save, deploy) = (self.requests("PUT"), self.requests("POST"));
            self.spawn(move || {
                let saving = save(&path, large_graph().to_string());
                let deploying = deploy(
                    &format!("{path}/deploy"),
                    json!({"nodeDefinitions": {}}).to_string(),
                );
                async move {
                    match saving.await {
                        200 => deploying.await,
                        refused => refused,
                    }
                }
            });
        }
    }

    /// What sends a request with the attacker's token; its status.
    fn requests(
        &self,
        method: &'static str,
    ) -> impl Fn(&str, String) -> std::pin::Pin<Box<dyn Future<Output = u16> + Send>> + Send + use<> {
        let (client, token) = (self.fixture.user.client.clone(), self.fixture.user.token.clone());
        let server = self.fixture.user.process.address;
        move |path, body| {
            let request = client
                .request(method.parse().unwrap(), format!("http://{server}{path}"))
                .bearer_auth(&token)
                .header("content-type", "application/json")
                .body(body);
            Box::pin(async move {
                let Ok(reply) = request.send().await else { return 0 };
                let status = reply.status().as_u16();
                reply.bytes().await.map_or(0, |_| status)
            })
        }
    }

    /// Sends webhooks, one after the other on each connection.
    fn send(&mut self, target: &Target) {
        self.send_on(RUNS_AT_ONCE, target);
    }

    /// The same on so many connections.
    fn send_on(&mut self, connections: usize, target: &Target) {
        for task in 0..connections as u64 {
            let (target, mut number) = (target.clone(), task << 32);
            let mut kept: Option<TcpStream> = None;
            let answers = self.answers.clone();
            self.tasks.spawn(async move {
                let mut buffer = Vec::new();
                loop {
                    if kept.is_none() {
                        kept = connect(target.address).await;
                    }
                    number += 1;
                    let status = match &mut kept {
                        Some(stream) => exchange(stream, &target.request(number), &mut buffer).await,
                        None => None,
                    };
                    answers.count(status.unwrap_or(0));
                    if status.is_none() {
                        kept = None;
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            });
        }
    }
}

/// An event just below the usual limit.
fn large_body(number: u64) -> String {
    let lines = r#""a line of text","#.repeat(REQUEST_BYTES / 17);
    format!(r#"{{"number":{number},"lines":[{lines}""]}}"#)
}

fn large_graph() -> Value {
    let nodes: Vec<Value> = (1..NODES).map(fields).collect();
    let first = json!({"id": unique(), "type": "OnWebhook", "data": {"parameters": {}}});
    json!({"graphData": chain(&first, &nodes)})
}

/// Sends this and reads for as long as there is anything.
async fn hold(to: SocketAddr, request: &[u8]) -> u16 {
    let Some(mut stream) = connect(to).await else {
        return 0;
    };
    let mut bytes = vec![0; 16 << 10];
    let mut status = 0;
    if stream.write_all(request).await.is_err() {
        return status;
    }
    while let Ok(count @ 1..) = stream.read(&mut bytes).await {
        if status == 0 {
            let line = String::from_utf8_lossy(&bytes[..count]);
            status = line.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
        }
    }
    // It has ended, which is no answer that one could go on from.
    if status == 200 { 0 } else { status }
}

/// A login whose body never comes to its end.
async fn trickle(to: SocketAddr) -> u16 {
    let head = "POST /api/auth/login HTTP/1.1\r\nhost: heddle\r\ncontent-type: application/json\r\ncontent-length: 16000\r\n\r\n";
    let Some(mut stream) = connect(to).await else {
        return 0;
    };
    if stream.write_all(head.as_bytes()).await.is_err() {
        return 0;
    }
    while stream.write_all(b" ").await.is_ok() {
        tokio::time::sleep(PAUSE).await;
    }
    0
}

async fn connect(to: SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind((FROM, 0).into()).ok()?;
    let stream = socket.connect(to).await.ok()?;
    stream.set_nodelay(true).ok()?;
    Some(stream)
}
