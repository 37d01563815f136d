//! How something is done again and again, by many at a time, and how it is answered.

use super::bodies::large_graph;
use super::raw::{PAUSE, connect};
use crate::fixture::{FILE_BYTES, Fixture};
use crate::load::{Target, exchange};
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Connections that are tried at a time.
pub const CONNECTIONS: usize = 2_000;
/// Requests at a time of those that are dear to answer.
pub const AT_ONCE: usize = 16;
/// Requests at a time of those that are answered once their run has ended, and of floods.
pub const RUNS_AT_ONCE: usize = 64;
/// Bytes of a file that are sent at a time.
const PIECE_BYTES: usize = 64 << 10;

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
pub struct Attackers<'a, 'p> {
    pub fixture: &'a Fixture<'p>,
    pub answers: &'a Arc<Answers>,
    pub tasks: &'a mut JoinSet<()>,
}

impl Attackers<'_, '_> {
    /// Does something again and again, which gives a status; not at once if it was refused.
    pub fn spawn<F>(&mut self, mut once: impl FnMut() -> F + Send + 'static)
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
    pub fn connect<F>(&mut self, once: impl FnMut() -> F + Clone + Send + 'static)
    where
        F: Future<Output = u16> + Send,
    {
        for _ in 0..CONNECTIONS {
            self.spawn(once.clone());
        }
    }

    /// Sends requests to these paths in turn.
    pub fn post(
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

    /// Sends this body to a path.
    pub fn post_same(&mut self, path: &str, body: String) {
        let body: Arc<str> = body.into();
        self.post("POST", vec![path.to_owned()], move || body.to_string());
    }

    /// Saves and deploys large patterns, all at once.
    pub fn deploy(&mut self) {
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
    ) -> impl Fn(&str, String) -> Pin<Box<dyn Future<Output = u16> + Send>> + Send + use<> {
        let (client, token) = (self.fixture.user.client.clone(), self.fixture.user.token.clone());
        let server = self.server();
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

    /// Uploads files that are as large as they may be, and removes them.
    pub fn upload(&mut self) {
        let files = format!("http://{}/api/files", self.server());
        for _ in 0..AT_ONCE {
            let (client, token) = (self.fixture.user.client.clone(), self.fixture.user.token.clone());
            let files = files.clone();
            self.spawn(move || {
                let (client, token, files) = (client.clone(), token.clone(), files.clone());
                async move { uploaded(&client, &token, &files).await.unwrap_or(0) }
            });
        }
    }

    /// Sends webhooks, one after the other on each connection.
    pub fn send(&mut self, target: &Target) {
        self.send_on(RUNS_AT_ONCE, target);
    }

    /// The same on so many connections.
    pub fn send_on(&mut self, connections: usize, target: &Target) {
        for task in 0..connections as u64 {
            let (target, mut number) = (target.clone(), task << 32);
            let answers = self.answers.clone();
            self.tasks.spawn(async move {
                let mut kept = Kept::new(target.address);
                loop {
                    number += 1;
                    kept.exchange(target.request(number).as_bytes(), &answers).await;
                }
            });
        }
    }

    /// Sends these requests in turn, one after the other on each connection.
    pub fn send_raw(&mut self, connections: usize, requests: &Arc<[Vec<u8>]>) {
        let to = self.server();
        for task in 0..connections {
            let (requests, answers) = (requests.clone(), self.answers.clone());
            self.tasks.spawn(async move {
                let (mut kept, mut number) = (Kept::new(to), task);
                loop {
                    number += 1;
                    kept.exchange(&requests[number % requests.len()], &answers).await;
                }
            });
        }
    }

    pub fn server(&self) -> SocketAddr {
        self.fixture.user.process.address
    }
}

/// A connection that is kept, and made anew when it has ended.
struct Kept {
    to: SocketAddr,
    stream: Option<TcpStream>,
    answer: Vec<u8>,
}

impl Kept {
    fn new(to: SocketAddr) -> Kept {
        Kept {
            to,
            stream: None,
            answer: Vec::new(),
        }
    }

    /// Sends a request and reads its answer.
    async fn exchange(&mut self, request: &[u8], answers: &Answers) {
        if self.stream.is_none() {
            self.stream = connect(self.to).await;
        }
        let status = match &mut self.stream {
            Some(stream) => exchange(stream, request, &mut self.answer).await,
            None => None,
        };
        answers.count(status.unwrap_or(0));
        if status.is_none() {
            self.stream = None;
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Uploads a file and removes it; the status of the upload.
async fn uploaded(client: &reqwest::Client, token: &str, files: &str) -> Option<u16> {
    let piece = Bytes::from(vec![b'u'; PIECE_BYTES]);
    let pieces = std::iter::repeat_n(piece, FILE_BYTES / PIECE_BYTES).map(Ok::<_, Infallible>);
    let content = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
    let upload = client.post(format!("{files}?name=large.bin")).bearer_auth(token);
    let upload = upload.header("content-type", "application/octet-stream");
    let reply = upload.body(content).send().await.ok()?;
    let (status, text) = (reply.status().as_u16(), reply.text().await.ok()?);
    let made: Value = serde_json::from_str(&text).ok()?;
    if let Some(id) = made["data"]["$file"].as_str() {
        let remove = client.delete(format!("{files}/{id}")).bearer_auth(token);
        remove.send().await.ok()?;
    }
    Some(status)
}
