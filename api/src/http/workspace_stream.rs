//! `GET /api/stream`: one live tail for all that happens in a workspace, since browsers open few connections to a host.
//!
//! Changes of runs are sent as they happen. What is saved, deployed and received is read from the database, so that it is the same
//! whichever server has done it.

use super::console::BUILD;
use super::extract::Caller;
use super::tails::event;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use heddle_execution::tail::{RunChange, WatchMany};
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, PatternId, RunId, WebhookLogId};
use heddle_model::status::{DeploymentStatus, WebhookStatus};
use heddle_service::auth::caller;
use heddle_service::onlookers::TailPermit;
use heddle_store::deployments::{self, StateRow};
use heddle_store::patterns::{self, SavedRow};
use heddle_store::webhook_logs::{self, LogRow};
use heddle_store::{Db, StoreError};
use serde::Serialize;
use std::collections::{HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::time::{Duration, Instant};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::Interval;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How often the database is asked for news.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Times are older than the transactions that have them: what has come so long before is looked for again.
const OVERLAP: Duration = Duration::from_secs(10);
/// News of one kind that are told at once; beyond it, that something was missed.
const NEWS_MAX: i64 = 100;
/// How long ago a tail may have broken off for its news to be told after all.
const AWAY_MAX: Duration = Duration::from_secs(5 * 60);
/// How long a viewer whose rights were revoked may still receive events.
const RIGHTS_CHECKED_FOR: Duration = Duration::from_secs(1);

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(stream_workspace))
}

/// A run has changed: event `run`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RunEvent<'a> {
    pattern_id: PatternId,
    #[serde(flatten)]
    change: &'a RunChange,
}

/// A pattern was saved: event `saved`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SavedEvent {
    pattern_id: PatternId,
    name: String,
    version_number: i64,
    updated_at: Timestamp,
}

/// A deployment was made or has another state: event `deployment`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeploymentEvent {
    deployment_id: DeploymentId,
    pattern_id: PatternId,
    status: DeploymentStatus,
    version_number: i64,
    updated_at: Timestamp,
}

/// A webhook has received a request, which is among the tap events if it was accepted: event `webhook`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WebhookReceived {
    id: WebhookLogId,
    pattern_id: Option<PatternId>,
    status: WebhookStatus,
    status_code: i64,
    rejection_reason: Option<String>,
    run_id: Option<RunId>,
    created_at: Timestamp,
}

/// Some events were not sent, because the client was too slow or disconnected: event `missed`. Fetch again what is shown.
#[derive(Debug, Serialize, ToSchema)]
struct MissedEvent {
    /// What: `runs`, `saved`, `webhook`, or `all`.
    what: &'static str,
}

/// The server that streams, as the first event: event `server`.
#[derive(Debug, Serialize, ToSchema)]
struct ServerEvent {
    /// The build of the console that the server has; a page of another build should be reloaded.
    build: &'static str,
}

/// The data of an event, by the event's name.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only describes what is streamed")]
enum WorkspaceEvent<'a> {
    Run(RunEvent<'a>),
    Saved(SavedEvent),
    Deployment(DeploymentEvent),
    Webhook(WebhookReceived),
    Missed(MissedEvent),
    Server(ServerEvent),
}

/// Somebody who looks on at a workspace.
struct Follower {
    app: App,
    headers: HeaderMap,
    scope: Scope,
    checked_at: Instant,
    changes: WatchMany,
    patterns: HashMap<DeploymentId, PatternId>,
    looks: Interval,
    stopping: watch::Receiver<bool>,
    news: News,
    waiting: VecDeque<Event>,
    _permit: TailPermit,
}

impl Follower {
    fn stream(self) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
        let events = stream::unfold(self, |mut follower| async move {
            let event = follower.next().await?;
            Some((Ok(event), follower))
        });
        Sse::new(events).keep_alive(KeepAlive::default())
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event.id(self.app.clock.now().millis().to_string()));
            }
            let change = tokio::select! {
                change = self.changes.next() => Some(change),
                _ = self.stopping.wait_for(|stopping| *stopping) => return None,
                _ = self.looks.tick() => None,
            };
            match change {
                Some(Ok(change)) => self.run(&change).await?,
                Some(Err(RecvError::Closed)) => return None,
                Some(Err(RecvError::Lagged(_))) => self.missed("runs"),
                None => {
                    self.check().await?;
                    if let Err(error) = self.look().await {
                        tracing::debug!(%error, "can't read the latest events of a workspace");
                    }
                }
            }
        }
    }

    fn missed(&mut self, what: &'static str) {
        self.waiting.push_back(event("missed", &MissedEvent { what }));
    }

    /// Ends the stream (`None`) of somebody who may not look on any more.
    async fn check(&mut self) -> Option<()> {
        self.checked_at = heddle_model::clock::monotonic();
        self.scope = caller::check(&self.app, &self.headers).await.ok()?.scope;
        Some(())
    }

    async fn run(&mut self, change: &RunChange) -> Option<()> {
        if heddle_model::clock::since(self.checked_at) >= RIGHTS_CHECKED_FOR {
            self.check().await?;
        }
        if let Some(pattern) = self.patterns.get(&change.deployment_id) {
            let data = RunEvent {
                pattern_id: *pattern,
                change,
            };
            self.waiting.push_back(event("run", &data));
        }
        Some(())
    }

    /// Asks the database for news.
    async fn look(&mut self) -> Result<(), StoreError> {
        let now = self.app.clock.now();
        let since = self.news.begin(now);
        let mut reader = self.app.store.reader().await?;
        let found = Found::read(&mut reader.db(), &self.scope, since).await?;
        drop(reader);
        self.patterns = found
            .deployments
            .iter()
            .map(|row| (row.id, row.pattern_id))
            .collect();
        self.changes.set(self.patterns.keys().copied());
        for row in found
            .deployments
            .into_iter()
            .filter(|row| row.updated_at >= since)
        {
            if self
                .news
                .is_new(row.updated_at, format!("{}{}", row.id, row.updated_at.millis()))
            {
                self.waiting
                    .push_back(event("deployment", &DeploymentEvent::from(row)));
            }
        }
        for (what, count) in [("saved", found.saved.len()), ("webhook", found.received.len())] {
            if i64::try_from(count).is_ok_and(|count| count >= NEWS_MAX) {
                self.missed(what);
            }
        }
        for row in found.saved {
            if self
                .news
                .is_new(row.updated_at, format!("{}{}", row.id, row.version_number))
            {
                self.waiting.push_back(event("saved", &SavedEvent::from(row)));
            }
        }
        for row in found.received {
            if self.news.is_new(row.created_at, row.id.to_string()) {
                self.waiting
                    .push_back(event("webhook", &WebhookReceived::from(row)));
            }
        }
        self.news.end(now);
        Ok(())
    }
}

/// What the database says.
struct Found {
    deployments: Vec<StateRow>,
    saved: Vec<SavedRow>,
    received: Vec<LogRow>,
}

impl Found {
    async fn read(db: &mut Db<'_>, scope: &Scope, since: Timestamp) -> Result<Found, StoreError> {
        Ok(Found {
            deployments: deployments::states(db, scope).await?,
            saved: patterns::saved_since(db, scope, since, NEWS_MAX).await?,
            received: webhook_logs::received_since(db, scope, since, NEWS_MAX).await?,
        })
    }
}

impl From<StateRow> for DeploymentEvent {
    fn from(row: StateRow) -> Self {
        DeploymentEvent {
            deployment_id: row.id,
            pattern_id: row.pattern_id,
            status: row.status,
            version_number: row.version_number,
            updated_at: row.updated_at,
        }
    }
}

impl From<SavedRow> for SavedEvent {
    fn from(row: SavedRow) -> Self {
        SavedEvent {
            pattern_id: row.id,
            name: row.name,
            version_number: row.version_number,
            updated_at: row.updated_at,
        }
    }
}

impl From<LogRow> for WebhookReceived {
    fn from(row: LogRow) -> Self {
        WebhookReceived {
            id: row.id,
            pattern_id: row.pattern_id,
            status: row.status,
            status_code: row.status_code,
            rejection_reason: row.rejection_reason,
            run_id: row.run_id,
            created_at: row.created_at,
        }
    }
}

/// Tells what is news from what was told before.
struct News {
    /// What is older was there before the tail began.
    began_at: Timestamp,
    looked_at: Timestamp,
    /// What was told, with its time, for as long as it may be found again.
    sent: HashSet<(Timestamp, String)>,
}

impl News {
    fn since(began_at: Timestamp) -> Self {
        News {
            began_at,
            looked_at: began_at,
            sent: HashSet::new(),
        }
    }

    /// Since when to look.
    fn begin(&mut self, now: Timestamp) -> Timestamp {
        let since = self.looked_at.min(now).minus(OVERLAP).max(self.began_at);
        self.sent.retain(|(time, _)| *time >= since);
        since
    }

    fn is_new(&mut self, time: Timestamp, key: String) -> bool {
        self.sent.insert((time, key))
    }

    fn end(&mut self, now: Timestamp) {
        self.looked_at = now;
    }
}

/// Streams what happens in the active workspace: events `server`, `run`, `saved`, `deployment`, `webhook` and
/// `missed`.
///
/// Each has an id. A client that comes back with it in `Last-Event-ID` within five minutes is told what was saved, deployed and
/// received meanwhile, maybe twice, and that it has `missed` runs; later, that it has missed all.
#[utoipa::path(
    get, path = "/api/stream", tag = "Operation", security(("bearer" = [])),
    params(("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was received")),
    responses(
        (status = 200, description = "Events; the schema is that of their data", body = WorkspaceEvent, content_type = "text/event-stream"),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED: the user has too many live tails open", body = ErrorBody),
    )
)]
async fn stream_workspace(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let permit = app.onlookers.permit(caller.scope.user())?;
    let now = app.clock.now();
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let last = last.map(|id| {
        id.parse()
            .map_or(Timestamp::from_millis(0), Timestamp::from_millis)
    });
    let is_resumed = last.is_some_and(|last| last <= now && last.plus(AWAY_MAX) > now);
    let began_at = last.filter(|_| is_resumed).unwrap_or(now);
    let mut follower = Follower {
        changes: app.executions.tail().watch_many(),
        patterns: HashMap::new(),
        looks: tokio::time::interval(LOOK_EVERY),
        stopping: app.executions.stopping(),
        checked_at: heddle_model::clock::monotonic(),
        scope: caller.scope,
        news: News::since(began_at),
        waiting: VecDeque::new(),
        app: app.clone(),
        headers,
        _permit: permit,
    };
    let server = ServerEvent {
        build: BUILD.as_str(),
    };
    follower.waiting.push_back(event("server", &server));
    // Looks on before it reads, so that no change falls between the two.
    follower.look().await?;
    if last.is_some() {
        follower.missed(if is_resumed { "runs" } else { "all" });
    }
    Ok(follower.stream())
}
