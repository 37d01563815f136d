//! Server-sent events: the changes of runs, as they happen.

use super::extract::{Caller, Path};
use super::runs::{self, WholeRun, deployment};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use heddle_execution::blocking::computing_if_large;
use heddle_execution::tail::{RunChange, Watch};
use heddle_model::access::Scope;
use heddle_model::ids::{DeploymentId, RunId};
use heddle_model::status::RunStatus;
use heddle_service::auth::caller;
use heddle_service::onlookers::TailPermit;
use heddle_store::runs::upkeep;
use serde::Serialize;
use std::convert::Infallible;
use std::time::{Duration, Instant};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::Interval;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How often to check whether a run has ended without a notification.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long a viewer whose rights were revoked may still receive events.
const RIGHTS_CHECKED_FOR: Duration = Duration::from_secs(1);

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(stream_runs))
        .routes(routes!(stream_run))
}

/// An authorized viewer of a live tail.
struct Onlooker {
    app: App,
    headers: HeaderMap,
    checked_at: Instant,
    deployment: DeploymentId,
    run: Option<RunId>,
    changes: Watch,
    looks: Interval,
    stopping: watch::Receiver<bool>,
    /// An event to send before any others.
    first: Option<Event>,
    is_over: bool,
    _permit: TailPermit,
}

impl Onlooker {
    fn new(
        app: App,
        permit: TailPermit,
        headers: HeaderMap,
        deployment: DeploymentId,
        run: Option<RunId>,
    ) -> Onlooker {
        Onlooker {
            changes: app.executions.tail().watch(deployment),
            looks: tokio::time::interval(LOOK_EVERY),
            stopping: app.executions.stopping(),
            checked_at: heddle_model::clock::monotonic(),
            app,
            headers,
            deployment,
            run,
            first: None,
            is_over: false,
            _permit: permit,
        }
    }

    fn stream(self) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
        let events = stream::unfold(self, |mut onlooker| async move {
            let event = onlooker.next().await?;
            Some((Ok(event), onlooker))
        });
        Sse::new(events).keep_alive(KeepAlive::default())
    }

    async fn next(&mut self) -> Option<Event> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        while !self.is_over {
            let change = tokio::select! {
                change = self.changes.next() => Some(change),
                _ = self.stopping.wait_for(|stopping| *stopping) => return None,
                _ = self.looks.tick(), if self.run.is_some() => None,
            };
            let change = match change {
                Some(Ok(change)) => change,
                Some(Err(RecvError::Closed)) => return None,
                Some(Err(RecvError::Lagged(missed))) => return Some(event("lagged", &Lagged { missed })),
                None => match self.untold_end().await {
                    Some(event) => return Some(event),
                    None => continue,
                },
            };
            if self.run.is_some_and(|run| run != change.run_id) {
                continue;
            }
            if !self.may_look_on().await {
                return None;
            }
            return Some(match self.run {
                Some(run) if change.status != RunStatus::Running => self.end(run).await?,
                _ => event("change", &*change),
            });
        }
        None
    }

    /// The end of a run of which nobody has told, as when it was deleted, or the notification of another server was lost.
    async fn untold_end(&mut self) -> Option<Event> {
        let run = self.run?;
        let ended = upkeep::running_of(&mut self.app.store.reader().await.ok()?.db(), &[run]).await;
        match ended.is_ok_and(|running| running.is_empty()) {
            true => self.end(run).await,
            false => None,
        }
    }

    /// The complete run, which is the last event.
    async fn end(&mut self, run: RunId) -> Option<Event> {
        self.is_over = true;
        let caller = caller::check(&self.app, &self.headers).await.ok()?;
        let told = whole(&self.app, &caller.scope, (self.deployment, run)).await;
        told.ok().map(|(_, event)| event)
    }

    async fn may_look_on(&mut self) -> bool {
        if heddle_model::clock::since(self.checked_at) < RIGHTS_CHECKED_FOR {
            return true;
        }
        self.checked_at = heddle_model::clock::monotonic();
        match caller::check(&self.app, &self.headers).await {
            Ok(caller) => deployment(&self.app, &caller.scope, self.deployment)
                .await
                .is_ok(),
            Err(_) => false,
        }
    }
}

/// Changes that were not sent, because the viewer was too slow: event `lagged`.
#[derive(Serialize, ToSchema)]
struct Lagged {
    /// How many.
    missed: u64,
}

/// The data of an event about a deployment's runs.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only describes what is streamed")]
enum RunsEvent {
    /// Event `change`.
    Change(RunChange),
    Lagged(Lagged),
}

/// The data of an event about one run.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only describes what is streamed")]
enum RunStreamEvent {
    /// Event `run`: the run as it is now. It is the first event and, of a run that has ended, the last.
    Run(Box<WholeRun>),
    /// Event `change`.
    Change(RunChange),
    Lagged(Lagged),
}

/// An event with this as its data.
pub(super) fn event<T: Serialize>(name: &'static str, data: &T) -> Event {
    // Strings, numbers and JSON: always JSON.
    let data = serde_json::to_string(data).unwrap_or_default();
    // A line end would be taken for the end of the data.
    Event::default().event(name).data(data.replace(['\r', '\n'], " "))
}

/// The event `run`, if the caller may see the run.
async fn whole(app: &App, scope: &Scope, ids: (DeploymentId, RunId)) -> Result<(RunStatus, Event), ApiError> {
    let row = runs::visible(app, scope, ids).await?;
    let (status, bytes, app) = (row.status, runs::shown_bytes(&row), app.clone());
    let write = move || event("run", &WholeRun::new(&app, row));
    let event = computing_if_large(Some(scope.user()), bytes, write).await?;
    Ok((status, event))
}

/// Streams changes of a deployment's runs as they happen: events `change`; `lagged` if some were missed.
#[utoipa::path(
    get, path = "/api/deployments/{id}/runs/stream", tag = "Executions", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment")),
    responses(
        (status = 200, description = "Events; the schema is that of their data", body = RunsEvent, content_type = "text/event-stream"),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED: the user has too many live tails open", body = ErrorBody),
    )
)]
async fn stream_runs(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<DeploymentId>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let permit = app.onlookers.permit(caller.scope.user())?;
    let onlooker = Onlooker::new(app.clone(), permit, headers, id, None);
    deployment(&app, &caller.scope, id).await?;
    Ok(onlooker.stream())
}

/// Streams a run: its current state (event `run`), then its changes as they happen (events `change`; `lagged` if some were
/// missed), and the complete run when it has ended.
#[utoipa::path(
    get, path = "/api/deployments/{id}/runs/{runId}/stream", tag = "Executions", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), ("runId" = RunId, Path, description = "Run")),
    responses(
        (status = 200, description = "Events; the schema is that of their data", body = RunStreamEvent, content_type = "text/event-stream"),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED: the user has too many live tails open", body = ErrorBody),
    )
)]
async fn stream_run(
    State(app): State<App>,
    caller: Caller,
    Path(ids): Path<(DeploymentId, RunId)>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let (id, run) = ids;
    let permit = app.onlookers.permit(caller.scope.user())?;
    // Looks on before it reads, so that no change falls between the two.
    let mut onlooker = Onlooker::new(app.clone(), permit, headers, id, Some(run));
    let (status, first) = whole(&app, &caller.scope, (id, run)).await?;
    onlooker.is_over = status != RunStatus::Running;
    onlooker.first = Some(first);
    Ok(onlooker.stream())
}
