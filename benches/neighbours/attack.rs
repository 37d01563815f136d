//! The worst that a registered user can do to others, each as much of it as one is let.

#[path = "attack/attackers.rs"]
mod attackers;
#[path = "attack/bodies.rs"]
mod bodies;
#[path = "attack/mail.rs"]
mod mail;
#[path = "attack/raw.rs"]
mod raw;

pub use attackers::Answers;

use crate::fixture::{Fixture, fields, large, watched};
use crate::load::Target;
use crate::messages;
use attackers::{AT_ONCE, Attackers, CONNECTIONS, RUNS_AT_ONCE};
use bodies::REQUEST_BYTES;
use serde_json::json;
use std::sync::Arc;
use tokio::task::JoinSet;

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
    RunPages,
    FormPages,
    Tests,
    Masking,
    Logs,
    Calls,
    Previews,
    LargePreviews,
    N8nImports,
    NodeRedImports,
    OpenApiImports,
    Logins,
    Uploads,
    SlowMailboxes,
    Flood,
    AtQuotas,
    EndlessStreams,
    SlowReaders,
    ChatPages,
    LiveTails,
    LargeWebhooks,
    GzipBombs,
    UploadedForms,
    Mail,
    FloodingMailboxes,
    Polls,
    ListPolls,
    KeyValues,
    WaitingRuns,
}

impl Attack {
    /// What leaves something behind comes last.
    pub const ALL: [Attack; 39] = [
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
        Attack::RunPages,
        Attack::FormPages,
        Attack::Tests,
        Attack::Masking,
        Attack::Logs,
        Attack::Calls,
        Attack::Previews,
        Attack::LargePreviews,
        Attack::N8nImports,
        Attack::NodeRedImports,
        Attack::OpenApiImports,
        Attack::Logins,
        Attack::Uploads,
        Attack::SlowMailboxes,
        Attack::Flood,
        Attack::AtQuotas,
        Attack::EndlessStreams,
        Attack::SlowReaders,
        Attack::ChatPages,
        Attack::LiveTails,
        Attack::LargeWebhooks,
        Attack::GzipBombs,
        Attack::UploadedForms,
        Attack::Mail,
        Attack::FloodingMailboxes,
        Attack::Polls,
        Attack::ListPolls,
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
            Attack::RunPages => "run-pages",
            Attack::FormPages => "form-pages",
            Attack::Tests => "traced-tests",
            Attack::Masking => "masking",
            Attack::Logs => "log-lines",
            Attack::Calls => "fork-bombs",
            Attack::Previews => "previews",
            Attack::LargePreviews => "large-previews",
            Attack::N8nImports => "n8n-imports",
            Attack::NodeRedImports => "node-red-imports",
            Attack::OpenApiImports => "openapi-imports",
            Attack::Logins => "logins",
            Attack::Uploads => "uploads",
            Attack::SlowMailboxes => "slow-mailboxes",
            Attack::Flood => "webhook-flood",
            Attack::AtQuotas => "at-its-quotas",
            Attack::EndlessStreams => "endless-streams",
            Attack::SlowReaders => "slow-readers",
            Attack::ChatPages => "chat-pages",
            Attack::LiveTails => "live-tails",
            Attack::LargeWebhooks => "large-webhooks",
            Attack::GzipBombs => "gzip-bombs",
            Attack::UploadedForms => "uploaded-forms",
            Attack::Mail => "mail",
            Attack::FloodingMailboxes => "flooding-mailboxes",
            Attack::Polls => "polls",
            Attack::ListPolls => "list-polls",
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
        let to = attackers.server();
        match self {
            Attack::Idle => attackers.connect(move || raw::hold(to, b"")),
            Attack::SlowBodies => attackers.connect(move || raw::trickle(to)),
            Attack::Endless => attackers.send(&fixture.endless),
            Attack::Memory => attackers.send(&fixture.memory),
            Attack::Compilations => {
                attackers.post("POST", vec!["/api/execute/transpile".into()], || {
                    let mut body = bodies::large_graph();
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
            Attack::RunPages => attackers.post("GET", fixture.pages.runs.clone(), String::new),
            Attack::FormPages => attackers.send_raw(AT_ONCE, &fixture.pages.forms),
            Attack::Tests => attackers.post_same("/api/execute/run", fixture.test.clone()),
            Attack::Masking => attackers.send(&fixture.masking),
            Attack::Logs => attackers.send(&fixture.logging),
            Attack::Calls => attackers.send(&fixture.forking),
            Attack::Previews => attackers.post_same("/api/execute/preview", fixture.preview.clone()),
            Attack::LargePreviews => {
                for preview in bodies::large_previews() {
                    attackers.post_same("/api/execute/preview", preview);
                }
            }
            Attack::N8nImports => attackers.post_same("/api/patterns/import/n8n", bodies::n8n()),
            Attack::NodeRedImports => {
                attackers.post_same("/api/patterns/import/node-red", bodies::node_red());
            }
            Attack::OpenApiImports => {
                for is_yaml in [false, true] {
                    attackers.post_same("/api/patterns/import/openapi", bodies::open_api(is_yaml));
                }
            }
            Attack::Logins => attackers.post("POST", vec!["/api/auth/login".into()], || {
                json!({"email": "mallory@example.com", "password": "not the one that it is"}).to_string()
            }),
            Attack::Uploads => attackers.upload(),
            Attack::Flood => attackers.send(&fixture.cheap.target),
            // All of it is refused: runs, further patterns and versions, and test runs.
            Attack::AtQuotas => {
                attackers.send(&fixture.cheap.target);
                attackers.send(&fixture.waiting);
                attackers.post_same("/api/patterns", r#"{"name": "one more"}"#.to_owned());
                let paths = fixture.saved.iter().map(|saved| saved.path.clone()).collect();
                attackers.post("PUT", paths, || json!({"graphData": fields(0)}).to_string());
                attackers.post_same("/api/execute/run", fixture.test.clone());
            }
            Attack::EndlessStreams => attackers.send(&fixture.streams.reading.target),
            Attack::SlowReaders => {
                let request: Arc<str> = fixture.streams.telling.target.request(0).into();
                for _ in 0..RUNS_AT_ONCE {
                    let request = request.clone();
                    attackers.spawn(move || {
                        let request = request.clone();
                        async move { raw::read_slowly(to, request.as_bytes()).await }
                    });
                }
            }
            Attack::ChatPages => attackers.send_raw(RUNS_AT_ONCE, &fixture.pages.chat),
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
                        async move { raw::hold(to, request.as_bytes()).await }
                    });
                }
                attackers.send(&fixture.cheap.target);
            }
            Attack::LargeWebhooks => {
                let target = Target {
                    body: bodies::large_body,
                    ..fixture.cheap.target.clone()
                };
                attackers.send_on(AT_ONCE, &target);
            }
            Attack::GzipBombs => attackers.send_raw(RUNS_AT_ONCE, &bodies::bombs(&fixture.cheap.target)),
            Attack::UploadedForms => attackers.send_raw(AT_ONCE, &bodies::form(&fixture.forms.target)),
            Attack::Mail => {
                let (smtp, messages) = (fixture.inbox.smtp, messages::all());
                let address: Arc<str> = fixture.inbox.address.as_str().into();
                for task in 0..RUNS_AT_ONCE {
                    let (address, messages, mut number) = (address.clone(), messages.clone(), task);
                    attackers.spawn(move || {
                        let (address, messages) = (address.clone(), messages.clone());
                        number += 1;
                        let place = number % messages.len();
                        async move { mail::send(smtp, &address, &messages[place]).await }
                    });
                }
            }
            // The server comes by itself.
            Attack::SlowMailboxes | Attack::FloodingMailboxes | Attack::Polls | Attack::ListPolls => {}
            Attack::KeyValues => attackers.send(&fixture.keeping),
            Attack::WaitingRuns => attackers.send(&fixture.waiting),
        }
    }

    /// What is to be paused again at its end: deployments that ask others by themselves.
    pub fn watching<'f>(self, fixture: &'f Fixture<'_>) -> &'f [String] {
        let watched = &fixture.watched;
        match self {
            Attack::SlowMailboxes => &watched.slow_mailboxes,
            Attack::FloodingMailboxes => &watched.flooding_mailboxes,
            Attack::Polls => &watched.polls,
            Attack::ListPolls => &watched.list_polls,
            _ => &[],
        }
    }

    /// Waits until nothing is done any more of what it has begun.
    pub async fn end(self, fixture: &Fixture<'_>) {
        let user = &fixture.user;
        match self {
            Attack::SlowMailboxes | Attack::FloodingMailboxes | Attack::Polls | Attack::ListPolls => {
                watched::pause(user, self.watching(fixture)).await;
            }
            Attack::LargePreviews | Attack::N8nImports | Attack::NodeRedImports | Attack::OpenApiImports => {
                fixture.await_import().await
            }
            Attack::EndlessStreams => user.await_ends(&fixture.streams.reading.id).await,
            Attack::SlowReaders => user.await_ends(&fixture.streams.telling.id).await,
            Attack::ChatPages => user.await_ends(&fixture.pages.chat_deployment).await,
            Attack::UploadedForms => user.await_ends(&fixture.forms.id).await,
            Attack::Mail => user.await_ends(&fixture.inbox.deployment).await,
            _ => {}
        }
    }
}
