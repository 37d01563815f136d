//! Test runs, and replays, as server-sent events: what the run does, as it does it.

use super::extract::{Caller, CodeJson};
use super::test_runs::{RunBody, TestResult, bytes_of, refusal};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use heddle_execution::Replayed;
use heddle_execution::blocking::computing_if_large;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::UserId;
use heddle_model::shown::shown_within;
use heddle_runtime::{NodeEvent, NodePhase, Outcome, RunError, RunEvent, Timed, Watched, watch};
use heddle_service::onlookers::TailPermit;
use serde::Serialize;
use serde_json::value::RawValue;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::watch as channel;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Interval, MissedTickBehavior};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Between two batches: at most 30 a second.
const BATCH_EVERY: Duration = Duration::from_millis(34);
/// Bytes of a batch; what is left goes with the next one.
const BATCH_BYTES_MAX: usize = 256 << 10;
/// How often something is sent at least, so that a client that has gone is noticed.
const SIGN_OF_LIFE_EVERY: Duration = Duration::from_secs(15);

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(stream_test))
}

/// An event of a test run or of a replay. Its type is the event's name as well.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum TestEvent {
    /// What an execution of a node does, until it has ended.
    #[serde(rename_all = "camelCase")]
    Node {
        /// Number of the event, from 0.
        seq: u64,
        /// When, in microseconds since the run's start.
        at_us: u64,
        /// Number of the node's execution: its place in the trace.
        execution: usize,
        #[schema(example = "price")]
        node_id: String,
        /// Iteration within loops, as in the trace; empty outside.
        #[schema(example = "orders[3]")]
        path: String,
        phase: TestPhase,
    },
    /// An execution of a node that has ended: an event `node` as well.
    #[serde(rename = "node", rename_all = "camelCase")]
    NodeEnded {
        /// Number of the event, from 0.
        seq: u64,
        /// When, in microseconds since the run's start.
        at_us: u64,
        /// Number of the node's execution: its place in the trace.
        execution: usize,
        #[schema(example = "price")]
        node_id: String,
        /// Iteration within loops, as in the trace; empty outside.
        #[schema(example = "orders[3]")]
        path: String,
        phase: LastPhase,
        /// Wall time in microseconds, waiting included.
        duration_us: u64,
        /// Fuel used by the node itself.
        fuel: u64,
        /// Output port; null when none was live.
        port: Option<String>,
        /// Value that left; an excerpt when it is larger than 16 KiB.
        #[schema(value_type = Value)]
        output: Option<Box<RawValue>>,
        /// Why it failed.
        #[schema(value_type = Option<RunError>)]
        error: Option<Box<RawValue>>,
        /// Whether the value was pinned.
        pinned: bool,
    },
    /// A line of the log.
    #[serde(rename_all = "camelCase")]
    Log {
        /// Number of the event, from 0.
        seq: u64,
        /// When, in microseconds since the run's start.
        at_us: u64,
        /// `debug`, `info`, `warn` or `error`.
        #[schema(example = "info")]
        level: &'static str,
        message: String,
        node_id: Option<String>,
    },
    /// An effect that has ended.
    #[serde(rename_all = "camelCase")]
    Effect {
        /// Number of the event, from 0.
        seq: u64,
        /// When, in microseconds since the run's start.
        at_us: u64,
        node_id: Option<String>,
        /// Kind of effect.
        #[schema(example = "http")]
        kind: String,
        /// Host that it was for, if its request has a URL.
        host: Option<String>,
        /// HTTP status of the answer, if it has one.
        #[schema(example = 200)]
        status: Option<u16>,
        /// Code of the error, if it failed.
        #[schema(example = "TIMEOUT")]
        error: Option<String>,
        duration_us: u64,
    },
    /// Events that were left out, since the client or the network is too slow for them.
    Omitted {
        /// Number of the event, from 0.
        seq: u64,
        /// How many.
        events: u64,
    },
    /// The run's end, the last event.
    End {
        /// Number of the event, from 0.
        seq: u64,
        /// What `/api/execute/run` answers; null if the run did not end by itself.
        result: Option<Box<TestResult>>,
        /// Why there is no result.
        error: Option<StreamError>,
        /// Of a replay that has a result: how it compares with the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        replay: Option<Replayed>,
    },
}

/// What an execution of a node does until it has ended.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum TestPhase {
    Started,
    /// It waits, for an effect or for what is inside it.
    Waiting,
    /// It goes on.
    Resumed,
}

/// The last that an execution of a node does.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum LastPhase {
    Ended,
}

/// Why a run has no result.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct StreamError {
    #[schema(example = "EXECUTION_TIMEOUT")]
    code: &'static str,
    message: String,
}

impl TestEvent {
    fn new(seq: u64, timed: Timed) -> Self {
        let at_us = timed.at_us;
        match timed.event {
            RunEvent::Node(node) => {
                let NodeEvent {
                    execution,
                    node_id,
                    path,
                    phase,
                } = node;
                let phase = match phase {
                    NodePhase::Started => TestPhase::Started,
                    NodePhase::Waiting => TestPhase::Waiting,
                    NodePhase::Resumed => TestPhase::Resumed,
                    NodePhase::Ended(end) => {
                        return TestEvent::NodeEnded {
                            seq,
                            at_us,
                            execution,
                            node_id,
                            path,
                            phase: LastPhase::Ended,
                            duration_us: end.duration_us,
                            fuel: end.fuel,
                            port: end.port,
                            output: end.output,
                            error: end.error,
                            pinned: end.pinned,
                        };
                    }
                };
                TestEvent::Node {
                    seq,
                    at_us,
                    execution,
                    node_id,
                    path,
                    phase,
                }
            }
            RunEvent::Log(line) => TestEvent::Log {
                seq,
                at_us,
                level: line.level,
                message: line.message,
                node_id: line.node_id,
            },
            RunEvent::Effect(effect) => TestEvent::Effect {
                seq,
                at_us,
                node_id: effect.node_id,
                kind: effect.kind,
                host: effect.host,
                status: effect.status,
                error: effect.error,
                duration_us: effect.duration_us,
            },
        }
    }

    fn name(&self) -> &'static str {
        match self {
            TestEvent::Node { .. } | TestEvent::NodeEnded { .. } => "node",
            TestEvent::Log { .. } => "log",
            TestEvent::Effect { .. } => "effect",
            TestEvent::Omitted { .. } => "omitted",
            TestEvent::End { .. } => "end",
        }
    }
}

/// A run's end, whether it has a trace, and of a replay what it is worth.
type Ended = Result<(Outcome, bool, Option<Replayed>), ServiceError>;

/// Whoever looks on at a run.
pub(super) struct Follower {
    /// What it hears.
    pub watched: Watched,
    /// Its place among all who look on.
    pub permit: TailPermit,
    /// In whose turn the result is written.
    pub owner: UserId,
    /// Whether the credentials of events are masked: those that the client has not sent itself.
    pub covers_events: bool,
}

/// A run that ends with whoever looks on.
struct Running(JoinHandle<Ended>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A test run and who looks on.
struct TestStream {
    running: Running,
    ended: Option<Result<Ended, JoinError>>,
    watched: Watched,
    owner: UserId,
    covers_events: bool,
    batches: Interval,
    signs_of_life: Interval,
    stopping: channel::Receiver<bool>,
    seq: u64,
    is_over: bool,
    _permit: TailPermit,
}

impl TestStream {
    /// The next batch of events.
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let first = tokio::select! {
            biased;
            first = self.watched.next() => first,
            _ = self.signs_of_life.tick() => return Some(Bytes::from_static(b": alive\n\n")),
            _ = self.stopping.wait_for(|stopping| *stopping) => return None,
        };
        let mut batch = String::new();
        match first {
            // The run is over; all that it did is read.
            None => {
                self.end(&mut batch).await;
                return Some(batch.into());
            }
            Some(first) => self.push(&mut batch, first),
        }
        if self.ended.is_none() {
            tokio::select! {
                ended = &mut self.running.0 => self.ended = Some(ended),
                _ = self.batches.tick() => {}
            }
        }
        while batch.len() < BATCH_BYTES_MAX
            && let Some(timed) = self.watched.next_now()
        {
            self.push(&mut batch, timed);
        }
        self.push_omitted(&mut batch);
        Some(batch.into())
    }

    fn push(&mut self, batch: &mut String, mut timed: Timed) {
        if self.covers_events
            && let RunEvent::Node(NodeEvent {
                phase: NodePhase::Ended(end),
                ..
            }) = &mut timed.event
        {
            end.output = end.output.take().map(shown_within);
        }
        let event = TestEvent::new(self.seq, timed);
        self.write(batch, &event);
    }

    fn push_omitted(&mut self, batch: &mut String) {
        let events = self.watched.take_omitted();
        if events > 0 {
            let event = TestEvent::Omitted {
                seq: self.seq,
                events,
            };
            self.write(batch, &event);
        }
    }

    /// Writes the last event.
    async fn end(&mut self, batch: &mut String) {
        self.is_over = true;
        self.push_omitted(batch);
        let ended = match self.ended.take() {
            Some(ended) => ended,
            None => (&mut self.running.0).await,
        };
        let bytes = match &ended {
            Ok(Ok((outcome, ..))) => bytes_of(outcome),
            Ok(Err(_)) | Err(_) => 0,
        };
        let (seq, covers_events) = (self.seq, self.covers_events);
        let write = move || text_of(&end_of(seq, ended, covers_events));
        match computing_if_large(Some(self.owner), bytes, write).await {
            Ok(text) => batch.push_str(&text),
            Err(error) => self.write(batch, &end_of(seq, Ok(Err(error)), false)),
        }
    }

    fn write(&mut self, batch: &mut String, event: &TestEvent) {
        self.seq += 1;
        batch.push_str(&text_of(event));
    }
}

fn text_of(event: &TestEvent) -> String {
    // Strings, numbers and JSON: always JSON. A line end would be taken for the end of the data.
    let data = serde_json::to_string(event).unwrap_or_default();
    let data = data.replace(['\r', '\n'], " ");
    format!("event: {}\ndata: {data}\n\n", event.name())
}

/// The last event. `covers_events`: see [`Follower`].
fn end_of(seq: u64, ended: Result<Ended, JoinError>, covers_events: bool) -> TestEvent {
    let failed = |error: &ServiceError| StreamError {
        code: error.code().name(),
        message: error.message().to_owned(),
    };
    let (result, error, replay) = match ended {
        Ok(Ok((mut outcome, has_trace, replayed))) => {
            if covers_events {
                cover(&mut outcome);
            }
            let result = TestResult::new(outcome, has_trace);
            (Some(Box::new(result)), None, replayed)
        }
        Ok(Err(error)) => (None, Some(failed(&error)), None),
        Err(_) => (None, Some(failed(&Code::Internal.into())), None),
    };
    TestEvent::End {
        seq,
        result,
        error,
        replay,
    }
}

/// Runs a compiled graph once and streams what it does.
///
/// The same as `/api/execute/run`, as server-sent events: of code compiled with `trace`, events `node` say when each
/// execution of a node starts, waits, goes on and ends; `log` has each line of the log, `effect` each effect that has ended, and
/// `end`, the last one, the result. At most 30 batches of events a second are sent. Closing the connection cancels the run.
#[utoipa::path(
    post, path = "/api/execute/stream", operation_id = "stream_code", tag = "Executions", security(("bearer" = [])), request_body = RunBody,
    responses(
        (status = 200, description = "Events; the schema is that of their data", body = TestEvent, content_type = "text/event-stream"),
        (status = 400, description = "VALIDATION: not a module that can run here", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN, or ENVIRONMENT_PROTECTED: the environment asks for an approval of what its runs may reach, with `details` for each", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED: the user has too many live tails open", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: too many runs are executing", body = ErrorBody),
    )
)]
async fn stream_test(
    State(app): State<App>,
    caller: Caller,
    CodeJson(body): CodeJson<RunBody>,
) -> Result<Response, ApiError> {
    let editor = caller.scope.editor()?;
    let permit = app.onlookers.permit(caller.scope.user())?;
    let (watcher, watched) = watch();
    let run = body.test_run(editor.user(), Some(watcher)).await?;
    let prepared = app.executions.prepare_test(&editor, run).await.map_err(refusal)?;
    let follower = Follower {
        watched,
        permit,
        owner: editor.user(),
        covers_events: false,
    };
    let running = async {
        let (outcome, has_trace) = prepared.run().await?;
        Ok((outcome, has_trace, None))
    };
    Ok(stream(&app, follower, running))
}

/// Masks the credentials of events that nodes have passed on as they came.
fn cover(outcome: &mut Outcome) {
    for entry in &mut outcome.trace {
        entry.output = entry.output.take().map(shown_within);
    }
}

/// The answer that tells what a run does, which ends with the connection.
pub(super) fn stream(
    app: &App,
    follower: Follower,
    running: impl Future<Output = Ended> + Send + 'static,
) -> Response {
    let mut batches = tokio::time::interval(BATCH_EVERY);
    batches.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut signs_of_life = tokio::time::interval(SIGN_OF_LIFE_EVERY);
    signs_of_life.reset();
    let stream = TestStream {
        running: Running(tokio::spawn(running)),
        ended: None,
        watched: follower.watched,
        owner: follower.owner,
        covers_events: follower.covers_events,
        batches,
        signs_of_life,
        stopping: app.executions.stopping(),
        seq: 0,
        is_over: false,
        _permit: follower.permit,
    };
    let batches = futures_util::stream::unfold(stream, |mut stream| async move {
        let batch = stream.next().await?;
        Some((Ok::<_, Infallible>(batch), stream))
    });
    let header = [(CONTENT_TYPE, "text/event-stream")];
    (header, Body::from_stream(batches)).into_response()
}
