//! `GET /api/audit`: who did what, when and from where, as a list or as JSON lines.

use super::cursor;
use super::extract::{self, Caller, Query, given, text};
use super::reply::{CursorMeta, Listed};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use heddle_model::Code;
use heddle_model::audit::Action;
use heddle_model::clock::Timestamp;
use heddle_model::ids::AuditId;
use heddle_service::auth::caller::Credential;
use heddle_store::StoreError;
use heddle_store::audit::{self, EntryRow, Filter, Reading};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Characters of a filter.
const FILTER_CHARS_MAX: usize = 300;
/// Entries of one export.
const EXPORTED_MAX: i64 = 100_000;
/// Entries of an export that are in memory at a time.
const EXPORT_PAGE: i64 = 500;
const LINES: &str = "application/x-ndjson";

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_audit_log))
}

/// Whose log to read.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum LogKind {
    /// The active workspace's; for its owners and admins.
    #[default]
    Workspace,
    /// The caller's own account's: sign-ins, passwords, sessions.
    Account,
    /// All of the service; for its admins.
    Service,
}

/// How to answer.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// A page of the list.
    Json,
    /// All entries, each in a line of its own.
    Jsonl,
}

/// Which entries to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct AuditQuery {
    /// Whose log.
    #[param(inline)]
    of: Option<LogKind>,
    /// Only what was done at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(default, deserialize_with = "given")]
    from: Option<Timestamp>,
    /// Only what was done before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(default, deserialize_with = "given")]
    to: Option<Timestamp>,
    /// Only what this user or API key did: the id of either, or the user's email.
    #[param(max_length = 300, example = "ann@example.com")]
    actor: Option<String>,
    /// Only this action, or all actions of a kind.
    #[param(max_length = 300, example = "secret")]
    action: Option<String>,
    /// Only what was done to this object: its id, or its name at the time.
    #[param(max_length = 300, example = "SMTP_PASSWORD")]
    object: Option<String>,
    /// The `nextCursor` of the page before.
    #[param(max_length = 100)]
    cursor: Option<String>,
    /// Entries per page, at most 100; of an export, at most 100,000.
    #[param(minimum = 1, default = 50)]
    #[serde(default, deserialize_with = "given")]
    limit: Option<i64>,
    /// How to answer; default: by the Accept header.
    #[param(inline)]
    format: Option<Format>,
}

impl AuditQuery {
    fn filter(&self) -> Result<Filter, ApiError> {
        let checked = |name: &'static str, value: &Option<String>| {
            let value = value.as_deref().filter(|value| !value.trim().is_empty());
            value.map(|value| text(name, value, FILTER_CHARS_MAX)).transpose()
        };
        let action = checked("action", &self.action)?;
        if let Some(action) = &action
            && !is_known(action)
        {
            let problem = "must be an action, such as secret.set, or their kind, such as secret";
            return Err(ApiError::field("action", problem));
        }
        Ok(Filter {
            from: self.from,
            to: self.to,
            actor: checked("actor", &self.actor)?,
            action,
            object: checked("object", &self.object)?,
            after: cursor::after(self.cursor.as_deref(), cursor::by_time)?,
        })
    }

    fn is_export(&self, headers: &HeaderMap) -> bool {
        let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        match self.format {
            Some(format) => matches!(format, Format::Jsonl),
            None => accepted.is_some_and(|accepted| {
                let mut kinds = accepted.split(',');
                kinds.any(|kind| kind.split(';').next().unwrap_or_default().trim() == LINES)
            }),
        }
    }
}

/// Whether it is an action's name, or what several begin with.
fn is_known(action: &str) -> bool {
    let mut names = Action::ALL.iter().map(|known| known.name());
    names.any(|name| {
        let rest = name.strip_prefix(action);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Who did something, as they were called then.
#[derive(Debug, Serialize, ToSchema)]
struct AuditActor {
    /// Of the user.
    #[schema(format = "uuid")]
    id: String,
    #[schema(example = "ann@example.com")]
    email: Option<String>,
    #[schema(example = "Ann Lee")]
    name: Option<String>,
}

/// The API key by which something was done.
#[derive(Debug, Serialize, ToSchema)]
struct AuditApiKey {
    #[schema(format = "uuid")]
    id: String,
    #[schema(example = "deploy from CI")]
    name: Option<String>,
}

/// What something was done to.
#[derive(Debug, Serialize, ToSchema)]
struct AuditObject {
    #[schema(example = "secret")]
    kind: String,
    /// Of a secret, its environment's.
    #[schema(format = "uuid")]
    id: String,
    /// Its name then.
    #[schema(example = "SMTP_PASSWORD")]
    name: Option<String>,
    /// The name of what it is in: a secret's environment, a deployment's, or the pattern of a test, webhook or run.
    #[schema(example = "production")]
    within: Option<String>,
}

/// An entry of the audit log.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AuditEntry {
    id: AuditId,
    at: Timestamp,
    /// What was done; later versions may have more of them.
    #[schema(example = "secret.set")]
    action: String,
    /// `done`, `refused` or `failed`.
    #[schema(example = "done")]
    outcome: String,
    /// Null: nobody who was signed in, such as somebody whose password was wrong, or the service's operator.
    actor: Option<AuditActor>,
    /// Null: without an API key.
    api_key: Option<AuditApiKey>,
    /// The client's address; null: no request, but the operator's command line.
    #[schema(example = "192.0.2.7")]
    address: Option<String>,
    object: AuditObject,
    /// More of it, by action: a version, roles, a cron expression. Never a secret's value.
    #[schema(value_type = HashMap<String, Value>)]
    details: Map<String, Value>,
    /// The workspace in whose log it is; null: an account's.
    #[schema(format = "uuid")]
    workspace_id: Option<String>,
}

impl From<EntryRow> for AuditEntry {
    fn from(row: EntryRow) -> Self {
        let (email, name) = (row.actor_email, row.actor_name);
        AuditEntry {
            id: row.id,
            at: row.at,
            action: row.action,
            outcome: row.outcome,
            actor: row.actor_id.map(|id| AuditActor { id, email, name }),
            api_key: row.api_key_id.map(|id| AuditApiKey {
                id,
                name: row.api_key_name,
            }),
            address: row.address,
            object: AuditObject {
                kind: row.object_kind,
                id: row.object_id,
                name: row.object_name,
                within: row.object_within,
            },
            details: serde_json::from_str(&row.details).unwrap_or_default(),
            workspace_id: row.workspace_id,
        }
    }
}

/// Reads an audit log, newest first: everything that changed something or showed a secret, of a workspace, of the
/// caller's account or of the service.
///
/// With `format=jsonl`, or if `application/x-ndjson` is accepted, all entries are sent, each in a line, and `cursor` is
/// where they begin.
#[utoipa::path(
    get, path = "/api/audit", tag = "Audit log", security(("bearer" = [])), params(AuditQuery),
    responses(
        (status = 200, description = "A page, or all entries in lines", content(
            (Listed<AuditEntry, CursorMeta> = "application/json"),
            (AuditEntry = "application/x-ndjson"),
        )),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: not an owner or admin of the workspace; of an account, with an API key; of the service, not its admin", body = ErrorBody),
    )
)]
async fn list_audit_log(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<AuditQuery>,
) -> Result<Response, ApiError> {
    let reading = reading(&caller, query.of.unwrap_or_default())?;
    let filter = query.filter()?;
    if query.is_export(&headers) {
        let limit = extract::limit(query.limit, EXPORTED_MAX, EXPORTED_MAX)?;
        return Ok(exported(app, reading, filter, limit));
    }
    let limit = extract::limit(query.limit, 50, 100)?;
    // One more tells whether there is a next page.
    let mut rows = audit::page(&mut app.store.reader().await?.db(), reading, &filter, limit + 1).await?;
    let next_cursor = cursor::next(&mut rows, limit, |row| cursor::of_time(row.at, row.id));
    let entries: Vec<AuditEntry> = rows.into_iter().map(AuditEntry::from).collect();
    Ok(Listed::new(entries, CursorMeta { limit, next_cursor }).into_response())
}

/// What the caller may read.
fn reading(caller: &Caller, whose: LogKind) -> Result<Reading, ApiError> {
    match whose {
        LogKind::Workspace => Ok(Reading::Workspace(caller.scope.administrator()?)),
        LogKind::Account if caller.credential == Credential::ApiKey => Err(Code::Forbidden
            .with("API keys can't read the log of an account: log in and send that token.")
            .into()),
        LogKind::Account => Ok(Reading::Account(caller.scope.user())),
        LogKind::Service => {
            caller.service_admin()?;
            Ok(Reading::Service)
        }
    }
}

/// Where an export is.
struct Export {
    app: App,
    reading: Reading,
    filter: Filter,
    left: i64,
}

impl Export {
    /// The next lines; `None` after the last ones.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, StoreError> {
        let limit = self.left.min(EXPORT_PAGE);
        if limit == 0 {
            return Ok(None);
        }
        let mut reader = self.app.store.reader().await?;
        let rows = audit::page(&mut reader.db(), self.reading, &self.filter, limit).await?;
        drop(reader);
        let Some(last) = rows.last() else {
            return Ok(None);
        };
        self.filter.after = Some((last.at, last.id));
        let is_last = i64::try_from(rows.len()).unwrap_or(i64::MAX) < limit;
        self.left = if is_last { 0 } else { self.left - limit };
        let mut lines = Vec::new();
        for row in rows {
            // Written into memory: text of our own can't fail.
            if serde_json::to_writer(&mut lines, &AuditEntry::from(row)).is_ok() {
                lines.push(b'\n');
            }
        }
        Ok(Some((lines.into(), self)))
    }
}

/// All entries as lines. They are read while they are sent; what fails then breaks the connection off.
fn exported(app: App, reading: Reading, filter: Filter, left: i64) -> Response {
    let export = Export {
        app,
        reading,
        filter,
        left,
    };
    let headers = [
        (CONTENT_TYPE, LINES),
        (CONTENT_DISPOSITION, "attachment; filename=\"audit.jsonl\""),
    ];
    let body = Body::from_stream(stream::try_unfold(export, Export::next));
    (headers, body).into_response()
}
