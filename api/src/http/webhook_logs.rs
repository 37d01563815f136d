//! Requests to webhooks: the log and the captured events, of one pattern or of all the caller's patterns.

use super::cursor;
use super::extract::{Caller, Path, Query, given, limit, page};
use super::reply::PageMeta;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use heddle_model::Code;
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{PatternId, RunId, WebhookLogId};
use heddle_model::shown::shown;
use heddle_model::status::WebhookStatus;
use heddle_store::audit;
use heddle_store::patterns;
use heddle_store::webhook_logs::{self, Filter, LogRow, LogScope, TappedRow};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Factor between captured events and the memory that it takes to show them.
const SHOWN_FACTOR: usize = 4;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(logs_of_pattern, clear_of_pattern))
        .routes(routes!(logs_of_all, clear_of_all))
        .routes(routes!(tapped, clear_tapped))
}

/// Filters for the log.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct LogQuery {
    /// Only lines with this status.
    #[param(inline)]
    status: Option<WebhookStatus>,
    /// Only lines at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// Only lines at or before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
    /// Another name for `since`.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(default, deserialize_with = "given")]
    from: Option<Timestamp>,
    /// Only lines before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(default, deserialize_with = "given")]
    to: Option<Timestamp>,
    /// Page, from 1.
    #[param(minimum = 1, default = 1)]
    #[serde(default, deserialize_with = "given")]
    page: Option<i64>,
    /// The `nextCursor` of the page before, in place of `page`; nothing (`cursor=`) for the first one.
    #[param(max_length = 100)]
    cursor: Option<String>,
    /// Lines per page, at most 100.
    #[param(minimum = 1, default = 50)]
    #[serde(default, deserialize_with = "given")]
    limit: Option<i64>,
}

/// A line of a pattern's log.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LogEntry {
    id: WebhookLogId,
    /// The id in the endpoint's URL.
    webhook_id: String,
    pattern_id: Option<PatternId>,
    status: WebhookStatus,
    /// HTTP status of the response.
    #[schema(example = 202)]
    status_code: i64,
    /// Why the request was rejected.
    rejection_reason: Option<String>,
    #[schema(example = "192.0.2.7")]
    ip_address: String,
    user_agent: Option<String>,
    /// Size of the body in bytes.
    content_length: i64,
    request_id: String,
    /// The run that the request started; for a duplicate, the original run.
    run_id: Option<RunId>,
    created_at: Timestamp,
}

impl From<LogRow> for LogEntry {
    fn from(row: LogRow) -> Self {
        LogEntry {
            id: row.id,
            webhook_id: row.webhook_id,
            pattern_id: row.pattern_id,
            status: row.status,
            status_code: row.status_code,
            rejection_reason: row.rejection_reason,
            ip_address: row.ip_address,
            user_agent: row.user_agent,
            content_length: row.content_length,
            request_id: row.request_id,
            run_id: row.run_id,
            created_at: row.created_at,
        }
    }
}

/// A line of the log across all patterns.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LogSummary {
    id: WebhookLogId,
    /// The id in the endpoint's URL.
    webhook_id: String,
    pattern_id: Option<PatternId>,
    status: WebhookStatus,
    /// HTTP status of the response.
    #[schema(example = 202)]
    status_code: i64,
    #[schema(example = "192.0.2.7")]
    ip_address: String,
    user_agent: Option<String>,
    created_at: Timestamp,
}

impl From<LogRow> for LogSummary {
    fn from(row: LogRow) -> Self {
        LogSummary {
            id: row.id,
            webhook_id: row.webhook_id,
            pattern_id: row.pattern_id,
            status: row.status,
            status_code: row.status_code,
            ip_address: row.ip_address,
            user_agent: row.user_agent,
            created_at: row.created_at,
        }
    }
}

/// A page of the log.
#[derive(Debug, Serialize, ToSchema)]
struct Logs<T> {
    /// Newest first.
    logs: Vec<T>,
    meta: PageMeta,
}

/// Confirms that a log or events were deleted.
#[derive(Debug, Serialize, ToSchema)]
struct Cleared {
    /// Always true.
    cleared: bool,
}

const CLEARED: Json<Cleared> = Json(Cleared { cleared: true });

async fn list<T: From<LogRow>>(
    app: &App,
    caller: &Caller,
    whose: LogScope,
    query: &LogQuery,
) -> Result<Json<Logs<T>>, ApiError> {
    let (page, limit) = (page(query.page)?, limit(query.limit, 50, 100)?);
    let filter = Filter {
        status: query.status,
        since: query.since.max(query.from),
        until: query.until,
        before: query.to,
    };
    let cursor = query.cursor.as_deref();
    let paged = ("page", query.page.is_some(), limit.saturating_mul(page - 1));
    let bounds = (limit + 1, cursor::start(cursor, paged, cursor::by_time)?);
    app.webhooks.journal.flush().await;
    let mut reader = app.store.reader().await?;
    let (mut rows, total) =
        webhook_logs::list(&mut reader.db(), &caller.scope, whose, &filter, bounds).await?;
    let next = cursor::next(&mut rows, limit, |row| cursor::of_time(row.created_at, row.id));
    Ok(Json(Logs {
        logs: rows.into_iter().map(T::from).collect(),
        meta: PageMeta::new(page, limit, total).with_next(cursor.map(|_| next)),
    }))
}

async fn visible(app: &App, caller: &Caller, pattern: PatternId) -> Result<(), ApiError> {
    let mut reader = app.store.reader().await?;
    let found = patterns::visible(&mut reader.db(), &caller.scope, pattern).await?;
    found.map(drop).ok_or_else(|| Code::NotFound.into())
}

async fn clear(app: &App, caller: &Caller, whose: LogScope) -> Result<Json<Cleared>, ApiError> {
    let editor = caller.scope.editor()?;
    let cleared = match (whose, editor.workspace()) {
        (LogScope::Pattern(pattern), _) => Object::Pattern(pattern),
        (LogScope::All, Some(workspace)) => Object::Workspace(workspace),
        (LogScope::All, None) => Object::User(editor.user()),
    };
    app.webhooks.journal.flush().await;
    app.store
        .write(move |db| {
            Box::pin(async move {
                audit::note(db, &editor, Action::WebhookLogCleared.of(cleared)).await?;
                webhook_logs::clear(db, &editor, whose).await
            })
        })
        .await?;
    Ok(CLEARED)
}

/// Lists the requests to a pattern's webhooks.
#[utoipa::path(
    get, path = "/api/patterns/{id}/webhook-logs", operation_id = "list_pattern_webhook_logs", tag = "Webhooks", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "Pattern"), LogQuery),
    responses(
        (status = 200, description = "A page of the log", body = Logs<LogEntry>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn logs_of_pattern(
    State(app): State<App>,
    caller: Caller,
    Path(pattern): Path<PatternId>,
    Query(query): Query<LogQuery>,
) -> Result<Json<Logs<LogEntry>>, ApiError> {
    visible(&app, &caller, pattern).await?;
    list(&app, &caller, LogScope::Pattern(pattern), &query).await
}

/// Clears the log of a pattern's webhooks.
#[utoipa::path(
    delete, path = "/api/patterns/{id}/webhook-logs", operation_id = "clear_pattern_webhook_logs", tag = "Webhooks", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "Pattern")),
    responses(
        (status = 200, description = "Cleared", body = Cleared),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn clear_of_pattern(
    State(app): State<App>,
    caller: Caller,
    Path(pattern): Path<PatternId>,
) -> Result<Json<Cleared>, ApiError> {
    visible(&app, &caller, pattern).await?;
    clear(&app, &caller, LogScope::Pattern(pattern)).await
}

/// Lists the requests to the webhooks of all the caller's patterns.
#[utoipa::path(
    get, path = "/api/triggers/webhook-logs", operation_id = "list_webhook_logs", tag = "Webhooks", security(("bearer" = [])),
    params(LogQuery),
    responses(
        (status = 200, description = "A page of the log", body = Logs<LogSummary>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn logs_of_all(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<LogQuery>,
) -> Result<Json<Logs<LogSummary>>, ApiError> {
    list(&app, &caller, LogScope::All, &query).await
}

/// Clears the log of all the caller's patterns.
#[utoipa::path(
    delete, path = "/api/triggers/webhook-logs", operation_id = "clear_webhook_logs", tag = "Webhooks", security(("bearer" = [])),
    responses(
        (status = 200, description = "Cleared", body = Cleared),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
    )
)]
async fn clear_of_all(State(app): State<App>, caller: Caller) -> Result<Json<Cleared>, ApiError> {
    clear(&app, &caller, LogScope::All).await
}

/// A request as its pattern receives it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what is kept as text")]
struct WebhookEvent {
    /// By name in lower case; what authenticates is masked.
    #[schema(value_type = HashMap<String, String>)]
    headers: (),
    body: Value,
    #[schema(example = "POST")]
    method: String,
    /// Values by key: a text, or an array of them if the key was repeated.
    #[schema(value_type = HashMap<String, Value>)]
    query: (),
}

/// An event that a webhook received.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TapEvent {
    node_id: String,
    webhook_alias: String,
    received_at: Timestamp,
    #[schema(value_type = WebhookEvent)]
    event_data: Box<RawValue>,
}

impl TryFrom<TappedRow> for TapEvent {
    type Error = ApiError;

    fn try_from(row: TappedRow) -> Result<Self, ApiError> {
        Ok(TapEvent {
            node_id: row.node_id,
            webhook_alias: row.alias,
            received_at: row.received_at,
            event_data: shown(RawValue::from_string(row.event).map_err(ApiError::internal)?),
        })
    }
}

/// Captured events.
#[derive(Debug, Serialize, ToSchema)]
struct Tapped {
    /// Newest first.
    events: Vec<TapEvent>,
}

/// Lists the newest captured events of each webhook of a pattern, deployed or not: at most 20 each, none older than 30
/// minutes, and of large ones the newest 32 MiB of all.
#[utoipa::path(
    get, path = "/api/patterns/{id}/tap-events", operation_id = "list_tap_events", tag = "Webhooks", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "Pattern")),
    responses(
        (status = 200, description = "The events", body = Tapped),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn tapped(
    State(app): State<App>,
    caller: Caller,
    Path(pattern): Path<PatternId>,
) -> Result<Response, ApiError> {
    visible(&app, &caller, pattern).await?;
    app.webhooks.journal.flush().await;
    let mut reader = app.store.reader().await?;
    let rows = webhook_logs::tapped(&mut reader.db(), &caller.scope, pattern, app.clock.now()).await?;
    drop(reader);
    let bytes = rows.iter().map(|row| row.event.len()).sum();
    let write = move || {
        let events = rows.into_iter().map(TapEvent::try_from);
        let events = events.collect::<Result<_, ApiError>>()?;
        Ok::<_, ApiError>(Json(Tapped { events }).into_response())
    };
    let owner = Some(caller.scope.user());
    app.budget.read(owner, (bytes, SHOWN_FACTOR), write).await?
}

/// Deletes the captured events of all webhooks of a pattern.
#[utoipa::path(
    delete, path = "/api/patterns/{id}/tap-events", operation_id = "clear_tap_events", tag = "Webhooks", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "Pattern")),
    responses(
        (status = 200, description = "Cleared", body = Cleared),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn clear_tapped(
    State(app): State<App>,
    caller: Caller,
    Path(pattern): Path<PatternId>,
) -> Result<Json<Cleared>, ApiError> {
    visible(&app, &caller, pattern).await?;
    let editor = caller.scope.editor()?;
    app.webhooks.journal.flush().await;
    app.store
        .write(move |db| {
            Box::pin(async move {
                let cleared = Action::TapEventsCleared.of(Object::Pattern(pattern));
                audit::note(db, &editor, cleared).await?;
                webhook_logs::clear_tapped(db, &editor, pattern).await
            })
        })
        .await?;
    Ok(CLEARED)
}
