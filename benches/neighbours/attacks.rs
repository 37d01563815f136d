//! The worst that a registered user can do to others, each as much of it as one is let. What they are answered is of no
//! interest here: refusals are what limits are for.

use crate::process::{Deployed, Process, User};
use crate::{fields, unique};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// The attacker's address: not that of this machine's proxies, which may have more.
const FROM: [u8; 4] = [127, 0, 0, 2];
/// Connections that are tried at a time.
const CONNECTIONS: usize = 2_000;
/// Requests at a time of those that are dear to answer.
const AT_ONCE: usize = 8;
/// Pause between two pieces of what is sent slowly, and before a refused connection is tried again.
const TRICKLE: Duration = Duration::from_millis(200);
/// Nodes of a pattern that takes long to compile.
const NODES: usize = 800;
/// Bytes of a JSON body, just below the usual limit.
const JSON_BYTES: usize = 7 << 20;
/// Bytes of an answer in which secrets are looked for.
const ANSWER_BYTES: usize = 1 << 20;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    Idle,
    SlowBodies,
    Compilations,
    LargeJson,
    EndlessRuns,
    Masking,
    LiveTails,
}

impl Attack {
    pub const ALL: [Attack; 7] = [
        Attack::Idle,
        Attack::SlowBodies,
        Attack::Compilations,
        Attack::LargeJson,
        Attack::EndlessRuns,
        Attack::Masking,
        Attack::LiveTails,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Attack::Idle => "idle-connections",
            Attack::SlowBodies => "slow-bodies",
            Attack::Compilations => "compilations",
            Attack::LargeJson => "large-json",
            Attack::EndlessRuns => "endless-runs",
            Attack::Masking => "masking",
            Attack::LiveTails => "live-tails",
        }
    }
}

/// A user who means harm, with what the attacks need.
pub struct Attacker<'p> {
    user: User<'p>,
    address: SocketAddr,
    endless: Deployed,
    masking: Deployed,
    cheap: Deployed,
}

impl<'p> Attacker<'p> {
    pub async fn new(process: &'p Process, echo: &str) -> Attacker<'p> {
        let user = User::named(process, "mallory").await;
        let workspaces = user.call("GET", "/api/workspaces", json!(null)).await;
        let workspace = workspaces["data"][0]["id"].as_str().unwrap();
        let environments = format!("/api/workspaces/{workspace}/environments");
        let environment = user.call("GET", &environments, json!(null)).await;
        let environment = environment["data"][0]["id"].as_str().unwrap();
        let secret = format!("{environments}/{environment}/secrets/TOKEN");
        user.call("PUT", &secret, json!({"value": "a secret that is looked for"}))
            .await;

        let endless = json!({"id": "endless", "type": "JavaScript", "data": {"parameters": {
            "code": "export default () => { for (;;) {} }",
        }}});
        let masking = json!({"id": "call", "type": "HttpRequest", "data": {"parameters": {
            "url": format!("http://{echo}/"), "headers": {"X-Token": "{{ $secrets.TOKEN }}"},
        }}});
        Attacker {
            address: process.address,
            endless: user.deploy(202, &[endless]).await,
            masking: user.deploy(202, &[masking]).await,
            cheap: user.deploy(202, &[fields(0)]).await,
            user,
        }
    }

    /// Begins an attack, which goes on until the tasks are dropped.
    pub fn begin(&self, attack: Attack, tasks: &mut JoinSet<()>) {
        let to = self.address;
        match attack {
            Attack::Idle => {
                for _ in 0..CONNECTIONS {
                    tasks.spawn(again(move || async move {
                        let mut stream = connect(to).await?;
                        stream.read(&mut [0; 512]).await.ok()
                    }));
                }
            }
            Attack::SlowBodies => {
                for _ in 0..CONNECTIONS {
                    tasks.spawn(again(move || async move {
                        let mut stream = connect(to).await?;
                        stream.write_all(&login_of(16_000)).await.ok()?;
                        while stream.write_all(b" ").await.is_ok() {
                            tokio::time::sleep(TRICKLE).await;
                        }
                        Some(0)
                    }));
                }
            }
            Attack::Compilations => self.post(tasks, "/api/execute/transpile", || {
                let nodes: Vec<Value> = (1..NODES).map(fields).collect();
                let first = json!({"id": unique(), "type": "OnManual"});
                json!({"graphData": crate::process::chain(&first, &nodes), "nodeDefinitions": {}}).to_string()
            }),
            Attack::LargeJson => self.post(tasks, "/api/execute/transpile", || {
                let many = "[],".repeat(JSON_BYTES / 3);
                format!(r#"{{"graphData": {{"nodes": [], "edges": [], "x": [{many}[]]}}, "nodeDefinitions": {{}}}}"#)
            }),
            Attack::EndlessRuns => self.send(tasks, &self.endless),
            Attack::Masking => self.send(tasks, &self.masking),
            Attack::LiveTails => {
                let path = format!("/api/deployments/{}/runs/stream", self.cheap.id);
                let request = format!(
                    "GET {path} HTTP/1.1\r\nhost: heddle\r\nauthorization: Bearer {}\r\n\r\n",
                    self.user.token
                );
                for _ in 0..CONNECTIONS / 10 {
                    let request = request.clone();
                    tasks.spawn(again(move || {
                        let request = request.clone();
                        async move {
                            let mut stream = connect(to).await?;
                            stream.write_all(request.as_bytes()).await.ok()?;
                            let mut events = vec![0; 64 << 10];
                            while stream.read(&mut events).await.ok()? > 0 {}
                            Some(0)
                        }
                    }));
                }
                self.send(tasks, &self.cheap);
            }
        }
    }

    /// Sends such requests again and again.
    fn post(&self, tasks: &mut JoinSet<()>, path: &'static str, body: fn() -> String) {
        for _ in 0..AT_ONCE {
            let (client, token) = (self.user.client.clone(), self.user.token.clone());
            let url = format!("http://{}{path}", self.address);
            tasks.spawn(again(move || {
                let request = client
                    .post(&url)
                    .bearer_auth(&token)
                    .header("content-type", "application/json");
                async move {
                    let reply = request.body(body()).send().await.ok()?;
                    reply.bytes().await.ok().map(|body| body.len())
                }
            }));
        }
    }

    /// Sends webhooks again and again.
    fn send(&self, tasks: &mut JoinSet<()>, deployed: &Deployed) {
        for _ in 0..AT_ONCE {
            let target = deployed.target.clone();
            tasks.spawn(again(move || {
                let target = target.clone();
                async move { target.answers().await.then_some(1) }
            }));
        }
    }

    /// Waits until nothing of what was begun is left.
    pub async fn await_rest(&self) {
        for deployed in [&self.endless, &self.masking, &self.cheap] {
            self.user.await_ends(&deployed.id).await;
        }
    }
}

/// Does something for ever; not at once when it was refused.
async fn again<F: Future<Output = Option<usize>>>(mut once: impl FnMut() -> F) {
    loop {
        if once().await.is_none() {
            tokio::time::sleep(TRICKLE).await;
        }
    }
}

async fn connect(to: SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind((FROM, 0).into()).ok()?;
    socket.connect(to).await.ok()
}

/// A login of which so many bytes are to come.
fn login_of(bytes: usize) -> Vec<u8> {
    format!(
        "POST /api/auth/login HTTP/1.1\r\nhost: heddle\r\ncontent-type: application/json\r\ncontent-length: {bytes}\r\n\r\n"
    )
    .into_bytes()
}

/// A server whose answers are long and nearly secrets; its address.
pub async fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let text = "a secret that is looked fo ".repeat(ANSWER_BYTES / 27);
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{text}",
        text.len()
    );
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut request = [0; 4096];
                while stream.read(&mut request).await.is_ok_and(|count| count > 0) {
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}
