//! When deployments run by the clock: their schedules, other times for them, and the times of an expression that is being
//! written.

use super::cursor::{self, LongPage};
use super::extract::{Caller, Json, Path, Query, given, text};
use super::reply::{CursorMeta, Deleted, Enveloped, Listed};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use heddle_execution::blocking::computing;
use heddle_execution::compile::validation::TextSpan;
use heddle_execution::deployed_schedules;
use heddle_execution::schedule::Schedule;
use heddle_execution::upcoming::{Misplaced, ScheduleField, after, upcoming};
use heddle_model::Code;
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId};
use heddle_model::status::DeploymentStatus;
use heddle_store::audit;
use heddle_store::deployments;
use heddle_store::polls::{self, LastPoll};
use heddle_store::schedules::{self, NextRow, ScheduleRow, SetRow};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const CRON_CHARS_MAX: usize = 200;
const ZONE_CHARS_MAX: usize = 64;
/// Times that are told of a schedule.
const TIMES: usize = 10;
/// Schedules of a deployment whose times are told; patterns have a few.
const SCHEDULES_MAX: usize = 100;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(set, unset))
        .routes(routes!(list_schedules))
        .routes(routes!(list_next_schedules))
        .routes(routes!(list_set_schedules))
        .routes(routes!(preview_schedule))
}

/// The schedule of a deployment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ScheduleRequest {
    /// Cron expression: minute, hour, day of the month, month and day of the week; with six fields, the first is the
    /// seconds.
    #[schema(example = "0 9 * * 1-5", min_length = 9, max_length = 200)]
    cron_expression: String,
    /// Time zone name from the IANA database; default: UTC.
    #[schema(example = "Europe/Berlin", max_length = 64)]
    timezone: Option<String>,
}

/// The schedule of a deployment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Scheduled {
    #[schema(example = "0 9 * * 1-5")]
    cron_expression: String,
    #[schema(example = "Europe/Berlin")]
    timezone: String,
}

/// Sets the schedule of all OnSchedule, OnPoll and OnMailbox nodes of a deployment, overriding their own.
#[utoipa::path(
    put, path = "/api/deployments/{id}/schedule", operation_id = "set_schedule", tag = "Deployments", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment")),
    request_body = ScheduleRequest,
    responses(
        (status = 200, description = "Set", body = Enveloped<Scheduled>),
        (status = 400, description = "VALIDATION or NO_SCHEDULE", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn set(
    State(app): State<App>,
    caller: Caller,
    Path(deployment): Path<DeploymentId>,
    Json(request): Json<ScheduleRequest>,
) -> Result<Enveloped<Scheduled>, ApiError> {
    let visible =
        deployments::visible(&mut app.store.reader().await?.db(), &caller.scope, deployment).await?;
    visible.ok_or(Code::NotFound)?;
    let editor = caller.scope.editor()?;
    let cron_expression = text("cronExpression", &request.cron_expression, CRON_CHARS_MAX)?;
    let timezone = text(
        "timezone",
        request.timezone.as_deref().unwrap_or("UTC"),
        ZONE_CHARS_MAX,
    )?;
    let now = app.clock.now();
    let (cron, zone) = (cron_expression.clone(), timezone.clone());
    // What comes once in decades is searched for, which takes milliseconds.
    let found = computing(Some(editor.user()), move || upcoming(&cron, &zone, now, 1)).await?;
    let next = found.map_err(|mistake| match mistake.field {
        ScheduleField::Cron => ApiError::field("cronExpression", mistake.message),
        ScheduleField::Timezone => ApiError::field("timezone", mistake.message),
    })?;
    let next = next
        .first()
        .copied()
        .ok_or_else(|| ApiError::field("cronExpression", "never fires"))?;
    let (cron, zone) = (cron_expression.clone(), timezone.clone());
    app.store
        .write(move |db| {
            Box::pin(async move {
                let row = deployments::owned(db, &editor, deployment)
                    .await?
                    .ok_or(Code::NotFound)?;
                let is_active = row.status == DeploymentStatus::Active;
                let entry = Action::ScheduleChanged
                    .of(Object::Deployment(row.id))
                    .with("cron", &*cron)
                    .with("timezone", &*zone);
                audit::note(db, &editor, entry).await?;
                deployed_schedules::set(db, &editor, (row.id, is_active), Some((&cron, &zone, next)), now)
                    .await
            })
        })
        .await?;
    Ok(Enveloped::new(Scheduled {
        cron_expression,
        timezone,
    }))
}

/// Takes the schedule back that was set for a deployment: its OnSchedule, OnPoll and OnMailbox nodes have their own again.
#[utoipa::path(
    delete, path = "/api/deployments/{id}/schedule", operation_id = "unset_schedule", tag = "Deployments", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment")),
    responses(
        (status = 200, description = "Taken back, or there was none", body = Enveloped<Deleted>),
        (status = 400, description = "NO_SCHEDULE", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn unset(
    State(app): State<App>,
    caller: Caller,
    Path(deployment): Path<DeploymentId>,
) -> Result<Enveloped<Deleted>, ApiError> {
    let visible =
        deployments::visible(&mut app.store.reader().await?.db(), &caller.scope, deployment).await?;
    visible.ok_or(Code::NotFound)?;
    let editor = caller.scope.editor()?;
    let now = app.clock.now();
    let taken_back = app.store.write(move |db| {
        Box::pin(async move {
            let row = deployments::owned(db, &editor, deployment)
                .await?
                .ok_or(Code::NotFound)?;
            let is_active = row.status == DeploymentStatus::Active;
            let entry = Action::ScheduleChanged.of(Object::Deployment(row.id));
            audit::note(db, &editor, entry).await?;
            deployed_schedules::set(db, &editor, (row.id, is_active), None, now).await
        })
    });
    taken_back.await?;
    Ok(Deleted::new(deployment))
}

/// Why a list or mailbox could not be read, or not all runs could be started for it.
#[derive(Debug, Serialize, ToSchema)]
struct PollError {
    #[schema(example = "HTTP_503")]
    code: String,
    #[schema(example = "The service answered 503.")]
    message: String,
}

impl PollError {
    fn of((code, message): (Option<String>, Option<String>)) -> Option<Self> {
        let (code, message) = code.zip(message)?;
        Some(PollError { code, message })
    }
}

/// How an OnPoll or OnMailbox node fares.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PollState {
    /// When it was asked, or looked into, last.
    last_polled_at: Option<Timestamp>,
    /// Elements of the last answer that could be read; of a mailbox, messages that were new, by POP3 all that are in it.
    #[schema(minimum = 0, example = 100)]
    last_count: i64,
    /// Failures since it succeeded.
    #[schema(minimum = 0)]
    failures: i64,
    /// Null: the last time it did not fail. Without failures it is about a message that was passed over.
    last_error: Option<PollError>,
    /// Since when a server is connected to the mailbox and notified of new messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    connected_since: Option<Timestamp>,
    /// When the last message came that has started a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_new_at: Option<Timestamp>,
}

impl From<LastPoll> for PollState {
    fn from(last: LastPoll) -> Self {
        PollState {
            last_polled_at: last.polled_at.map(Timestamp::from_millis),
            last_count: last.things,
            failures: last.failures,
            last_error: PollError::of((last.error_code, last.error)),
            connected_since: last.connected_since.map(Timestamp::from_millis),
            last_new_at: last.last_new_at.map(Timestamp::from_millis),
        }
    }
}

/// A schedule of a deployment, and when it comes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeployedSchedule {
    /// The OnSchedule, OnPoll or OnMailbox node.
    #[schema(example = "clock")]
    node_id: String,
    /// The expression that holds.
    #[schema(example = "0 9 * * 1-5")]
    cron_expression: String,
    /// The time zone that holds.
    #[schema(example = "Europe/Berlin")]
    timezone: String,
    /// Whether the two were set for the deployment, in place of the node's own.
    is_overridden: bool,
    /// What happens with missed times: `one`, `none` or `all`.
    #[schema(example = "one")]
    catch_up: String,
    /// The next times, at most 10, the first of which is the one that is due; empty while the deployment is not active.
    next_times: Vec<Timestamp>,
    /// How an OnPoll or OnMailbox node fares that has asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    poll: Option<PollState>,
}

impl DeployedSchedule {
    fn new(row: ScheduleRow, poll: Option<LastPoll>) -> Self {
        let (cron, timezone) = row.effective();
        let next_times = match (row.next_due_at, Schedule::parse(cron, timezone)) {
            (Some(due), Ok(schedule)) => {
                let due = Timestamp::from_millis(due);
                let mut times = vec![due];
                times.extend(after(&schedule, due, TIMES - 1));
                times
            }
            _ => Vec::new(),
        };
        DeployedSchedule {
            cron_expression: cron.to_owned(),
            timezone: timezone.to_owned(),
            is_overridden: row.set_cron.is_some(),
            node_id: row.node_id,
            catch_up: row.catch_up,
            next_times,
            poll: poll.map(PollState::from),
        }
    }
}

/// Lists the schedules of a deployment by node, each with its next times.
#[utoipa::path(
    get, path = "/api/deployments/{id}/schedules", tag = "Deployments", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment")),
    responses(
        (status = 200, description = "The schedules", body = Enveloped<Vec<DeployedSchedule>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn list_schedules(
    State(app): State<App>,
    caller: Caller,
    Path(deployment): Path<DeploymentId>,
) -> Result<Enveloped<Vec<DeployedSchedule>>, ApiError> {
    let mut reader = app.store.reader().await?;
    let visible = deployments::visible(&mut reader.db(), &caller.scope, deployment).await?;
    visible.ok_or(Code::NotFound)?;
    // First, so that the next times are never those from before what is told of the last poll.
    let mut asked = polls::of_deployment(&mut reader.db(), &caller.scope, deployment).await?;
    let rows = schedules::of_deployment(&mut reader.db(), &caller.scope, deployment).await?;
    drop(reader);
    let rows = rows.into_iter().take(SCHEDULES_MAX);
    let listed = rows.map(move |row| {
        let place = asked.iter().position(|poll| poll.node_id == row.node_id);
        let last = place.map(|place| asked.swap_remove(place).last);
        DeployedSchedule::new(row, last)
    });
    let listed = computing(Some(caller.scope.user()), move || listed.collect()).await?;
    Ok(Enveloped::new(listed))
}

/// How many schedules to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct NextQuery {
    /// At most 100.
    #[param(minimum = 1, maximum = 100, default = 10)]
    #[serde(default, deserialize_with = "given")]
    limit: Option<i64>,
}

/// A schedule that is due some time.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NextSchedule {
    deployment_id: DeploymentId,
    pattern_id: PatternId,
    #[schema(example = "Nightly report")]
    pattern_name: String,
    /// The OnSchedule, OnPoll or OnMailbox node.
    #[schema(example = "clock")]
    node_id: String,
    /// When it is due next; in the past if it is being started.
    next_due_at: Timestamp,
    /// Why the last poll of an OnPoll node has failed, or a mailbox could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<PollError>,
}

impl From<NextRow> for NextSchedule {
    fn from(row: NextRow) -> Self {
        NextSchedule {
            deployment_id: row.deployment_id,
            pattern_id: row.pattern_id,
            pattern_name: row.pattern_name,
            node_id: row.node_id,
            next_due_at: row.next_due_at,
            last_error: PollError::of((row.error_code, row.error)),
        }
    }
}

/// Lists the schedules of all deployments in the active workspace that are due some time, the next one first.
#[utoipa::path(
    get, path = "/api/schedules", tag = "Deployments", security(("bearer" = [])), params(NextQuery),
    responses(
        (status = 200, description = "The schedules", body = Enveloped<Vec<NextSchedule>>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn list_next_schedules(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<NextQuery>,
) -> Result<Enveloped<Vec<NextSchedule>>, ApiError> {
    let limit = query.limit.unwrap_or(10);
    if !(1..=100).contains(&limit) {
        return Err(ApiError::field("limit", "must be from 1 to 100"));
    }
    let rows = schedules::next_of(&mut app.store.reader().await?.db(), &caller.scope, limit).await?;
    Ok(Enveloped::new(rows.into_iter().map(NextSchedule::from).collect()))
}

/// A deployment that runs by the clock.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SetSchedule {
    deployment_id: DeploymentId,
    pattern_id: PatternId,
    /// Where it is deployed.
    environment_id: Option<EnvironmentId>,
    /// What was set for it in place of its nodes' own schedules; null: nothing.
    schedule: Option<Scheduled>,
}

impl From<SetRow> for SetSchedule {
    fn from(row: SetRow) -> Self {
        let schedule = row.set_cron.zip(row.set_timezone);
        SetSchedule {
            deployment_id: row.deployment_id,
            pattern_id: row.pattern_id,
            environment_id: row.environment_id,
            schedule: schedule.map(|(cron_expression, timezone)| Scheduled {
                cron_expression,
                timezone,
            }),
        }
    }
}

/// Lists the deployments in the active workspace that run by the clock, the oldest first, with what was set for each.
#[utoipa::path(
    get, path = "/api/schedules/set", tag = "Deployments", security(("bearer" = [])), params(LongPage),
    responses(
        (status = 200, description = "A page", body = Listed<SetSchedule, CursorMeta>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn list_set_schedules(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<LongPage>,
) -> Result<Listed<SetSchedule, CursorMeta>, ApiError> {
    let (after, limit) = query.bounds::<DeploymentId>()?;
    let mut reader = app.store.reader().await?;
    // One more tells whether there is a next page.
    let mut page = schedules::set_of(&mut reader.db(), &caller.scope, after, limit + 1).await?;
    let next_cursor = cursor::next(&mut page, limit, |row| row.deployment_id.to_string());
    let listed = page.into_iter().map(SetSchedule::from);
    Ok(Listed::new(listed.collect(), CursorMeta { limit, next_cursor }))
}

/// A schedule that is being written.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SchedulePreviewBody {
    /// Cron expression of five fields, or of six with the seconds first.
    #[schema(example = "0 9 * * 1-5", max_length = 200)]
    cron: String,
    /// Time zone name from the IANA database; default: UTC.
    #[schema(example = "Europe/Berlin", max_length = 64)]
    timezone: Option<String>,
}

/// When a schedule comes, or what is wrong with it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SchedulePreview {
    /// The next times, at most 10; empty if there is an error.
    next_times: Vec<Timestamp>,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ScheduleMistake>,
}

/// What is wrong with a schedule, and where.
#[derive(Debug, Serialize, ToSchema)]
struct ScheduleMistake {
    /// `cron` or `timezone`.
    #[schema(example = "cron")]
    field: &'static str,
    /// To stand after the field's name.
    #[schema(
        example = "`61` is not a valid minute: use numbers from 0 to 59, `*`, ranges `a-b`, steps `/n` and lists `a,b`"
    )]
    message: String,
    /// The piece of the expression that is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<TextSpan>,
}

impl From<Misplaced> for ScheduleMistake {
    fn from(mistake: Misplaced) -> Self {
        ScheduleMistake {
            field: match mistake.field {
                ScheduleField::Cron => "cron",
                ScheduleField::Timezone => "timezone",
            },
            message: mistake.message,
            span: mistake.span,
        }
    }
}

/// Tells when a schedule comes next, without setting it. One with a mistake is answered with 200 as well.
#[utoipa::path(
    post, path = "/api/schedules/preview", tag = "Deployments", security(("bearer" = [])),
    request_body = SchedulePreviewBody,
    responses(
        (status = 200, description = "The next times, or what is wrong", body = SchedulePreview),
        (status = 400, description = "VALIDATION: the request itself is wrong", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn preview_schedule(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<SchedulePreviewBody>,
) -> Result<axum::Json<SchedulePreview>, ApiError> {
    let timezone = body.timezone.unwrap_or_else(|| "UTC".to_owned());
    for (field, text, chars_max) in [
        ("cron", &body.cron, CRON_CHARS_MAX),
        ("timezone", &timezone, ZONE_CHARS_MAX),
    ] {
        if text.chars().count() > chars_max {
            return Err(ApiError::field(
                field,
                format!("must have at most {chars_max} characters"),
            ));
        }
    }
    let now = app.clock.now();
    let found = move || upcoming(&body.cron, &timezone, now, TIMES);
    let found = computing(Some(caller.scope.user()), found).await?;
    Ok(axum::Json(match found {
        Ok(next_times) => SchedulePreview {
            next_times,
            error: None,
        },
        Err(mistake) => SchedulePreview {
            next_times: Vec::new(),
            error: Some(mistake.into()),
        },
    }))
}
