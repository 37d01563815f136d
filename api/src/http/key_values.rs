//! `/api/workspaces/{id}/key-values`: what patterns keep by KeyValue nodes, for people and programs outside of runs.

use super::cursor;
use super::extract::{self, Json, Member, Path, Query, given};
use super::reply::{CursorMeta, Deleted, Enveloped, Listed};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::{DefaultBodyLimit, State};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use heddle_execution::PutValue;
use heddle_execution::blocking::computing_if_large;
use heddle_model::Code;
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{EnvironmentId, PatternId, WorkspaceId};
use heddle_model::slot::Slot;
use heddle_runtime::key_values::{KEY_BYTES_MAX, kept_for_people, looks_like_a_reference};
use heddle_store::key_values::{self, ListedValueRow, ValueFilter, ValueOwner, ValueRow};
use heddle_store::{Db, deployments, patterns};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Bytes of a body: those of the largest value, with spaces and escapes.
const BODY_BYTES_MAX: usize = 1 << 20;
/// How long a value may live, as KeyValue nodes have it: some three thousand years.
const TTL_MS_MAX: u64 = 100_000_000_000_000;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_key_values))
        .routes(routes!(get_key_value, put_key_value, delete_key_value))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

/// Whose values are meant.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct OwnerQuery {
    /// The pattern whose own values are meant (scope `pattern`); without it, those that the workspace's patterns share (scope
    /// `workspace`).
    #[serde(default, deserialize_with = "given")]
    pattern_id: Option<PatternId>,
    /// The environment of the pattern's deployment whose values are meant; default: its main deployment.
    #[serde(default, deserialize_with = "given")]
    environment_id: Option<EnvironmentId>,
}

impl OwnerQuery {
    /// The owner, if the caller may see it.
    async fn owner(&self, db: &mut Db<'_>, scope: &Scope) -> Result<ValueOwner, ApiError> {
        let workspace = scope.workspace().ok_or(Code::WorkspaceNotFound)?;
        let Some(pattern) = self.pattern_id else {
            return match self.environment_id {
                None => Ok(ValueOwner::Workspace(workspace)),
                Some(_) => Err(ApiError::field(
                    "environmentId",
                    "needs patternId: the workspace's values are shared by all environments",
                )),
            };
        };
        let found = patterns::visible(db, scope, pattern).await?;
        found
            .filter(|found| found.workspace_id == Some(workspace))
            .ok_or(Code::NotFound)?;
        let Some(environment) = self.environment_id else {
            return Ok(ValueOwner::Pattern(Slot::main(pattern)));
        };
        let deployment = deployments::visible_in_environment(db, scope, pattern, environment).await?;
        let deployment = deployment
            .ok_or_else(|| Code::NotFound.with("The pattern was never deployed to this environment."))?;
        Ok(ValueOwner::Pattern(deployment.slot()))
    }
}

/// Which values to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// What the keys begin with.
    #[param(max_length = 512)]
    prefix: Option<String>,
    /// The `nextCursor` of the page before.
    #[param(max_length = 1000)]
    cursor: Option<String>,
    /// Values per page, at most 100.
    #[param(minimum = 1, default = 50)]
    #[serde(default, deserialize_with = "given")]
    limit: Option<i64>,
}

/// A value in the list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ListedKeyValue {
    #[schema(example = "orders/last-id")]
    key: String,
    /// The size of the value as JSON.
    #[schema(example = 5)]
    bytes: i64,
    /// When it ends; null: never.
    expires_at: Option<Timestamp>,
}

impl From<ListedValueRow> for ListedKeyValue {
    fn from(row: ListedValueRow) -> Self {
        ListedKeyValue {
            key: row.key,
            bytes: row.bytes,
            expires_at: row.expires_at.map(Timestamp::from_millis),
        }
    }
}

/// Lists the keys of what patterns keep, in the order of their bytes. What has expired is not listed.
#[utoipa::path(
    get, path = "/api/workspaces/{id}/key-values", tag = "Kept values", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace"), OwnerQuery, ListQuery),
    responses(
        (status = 200, description = "A page", body = Listed<ListedKeyValue, CursorMeta>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND; NOT_FOUND: no such pattern, or it was never deployed to that environment", body = ErrorBody),
    )
)]
async fn list_key_values(
    State(app): State<App>,
    Member(scope): Member,
    Query(whose): Query<OwnerQuery>,
    Query(query): Query<ListQuery>,
) -> Result<Listed<ListedKeyValue, CursorMeta>, ApiError> {
    let limit = extract::limit(query.limit, 50, 100)?;
    let prefix = query.prefix.unwrap_or_default();
    bounded("prefix", &prefix)?;
    let after = cursor::after(query.cursor.as_deref(), last_of)?;
    let mut reader = app.store.reader().await?;
    let db = &mut reader.db();
    let owner = whose.owner(db, &scope).await?;
    let filter = ValueFilter {
        prefix,
        after,
        // One more tells whether there is a next page.
        limit: limit + 1,
    };
    let mut page = key_values::list(db, owner, &filter, app.clock.now()).await?;
    let next_cursor = cursor::next(&mut page, limit, |row| URL_SAFE_NO_PAD.encode(&row.key));
    let values = page.into_iter().map(ListedKeyValue::from).collect();
    Ok(Listed::new(values, CursorMeta { limit, next_cursor }))
}

/// The last key of a page, from the page's cursor.
fn last_of(cursor: &str) -> Option<String> {
    let key = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    (key.len() <= KEY_BYTES_MAX && !key.contains('\0')).then_some(key)
}

/// A kept value.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct KeyValue {
    #[schema(example = "orders/last-id")]
    key: String,
    /// Any JSON. In place of a reference to a secret is `***`.
    #[schema(example = 20417)]
    value: Value,
    /// Whether references to secrets are in it: what runs read is not what is shown here, and putting it back would lose them.
    has_secret: bool,
    /// When it ends; null: never.
    expires_at: Option<Timestamp>,
}

impl KeyValue {
    fn new(key: String, row: &ValueRow) -> Self {
        let (value, has_secret) = kept_for_people(serde_json::from_str(&row.value).unwrap_or_default());
        KeyValue {
            key,
            value,
            has_secret,
            expires_at: row.expires_at.map(Timestamp::from_millis),
        }
    }
}

/// A value as it is answered: read where no other request waits for it, if it is large.
async fn shown(scope: &Scope, key: String, row: ValueRow) -> Result<Enveloped<KeyValue>, ApiError> {
    let bytes = row.value.len();
    let shown = move || KeyValue::new(key, &row);
    let shown = computing_if_large(Some(scope.user()), bytes, shown).await?;
    Ok(Enveloped::new(shown))
}

/// Gets what patterns keep under a key.
#[utoipa::path(
    get, path = "/api/workspaces/{id}/key-values/{key}", tag = "Kept values", security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("key" = String, Path, description = "Key, percent-encoded: a / in it is %2F", min_length = 1, max_length = 512),
        OwnerQuery,
    ),
    responses(
        (status = 200, description = "The value", body = Enveloped<KeyValue>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
    )
)]
async fn get_key_value(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, String)>,
    Query(whose): Query<OwnerQuery>,
) -> Result<Enveloped<KeyValue>, ApiError> {
    let (_, key) = path;
    bounded("key", &key)?;
    let mut reader = app.store.reader().await?;
    let db = &mut reader.db();
    let owner = whose.owner(db, &scope).await?;
    let row = key_values::find(db, owner, &key, app.clock.now()).await?;
    drop(reader);
    shown(&scope, key, row.ok_or_else(nothing)?).await
}

/// A value to keep.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(example = json!({"value": 20417}))]
struct PutKeyValue {
    /// Any JSON, at most 256 KiB.
    #[schema(value_type = Value)]
    value: Box<RawValue>,
    /// For how long, in milliseconds; without it for ever.
    #[schema(minimum = 1, maximum = 100_000_000_000_000_u64)]
    ttl_ms: Option<u64>,
}

/// Puts a value in the place of what patterns keep under a key, as a KeyValue node's `set` does.
///
/// It counts towards the same quotas. A text in it that looks like a reference to a secret stays a text.
#[utoipa::path(
    put, path = "/api/workspaces/{id}/key-values/{key}", tag = "Kept values", security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("key" = String, Path, description = "Key, percent-encoded: a / in it is %2F", min_length = 1, max_length = 512),
        OwnerQuery,
    ),
    request_body = PutKeyValue,
    responses(
        (status = 200, description = "The value", body = Enveloped<KeyValue>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN; QUOTA_EXCEEDED: too many keys, or too much is kept", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND; NOT_FOUND: no such pattern, or it was never deployed to that environment", body = ErrorBody),
        (status = 413, description = "PAYLOAD_TOO_LARGE: the value is", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED or WORKSPACE_QUOTA_EXCEEDED", body = ErrorBody),
    )
)]
async fn put_key_value(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, String)>,
    Query(whose): Query<OwnerQuery>,
    Json(put): Json<PutKeyValue>,
) -> Result<Enveloped<KeyValue>, ApiError> {
    let editor = scope.editor()?;
    let (_, key) = path;
    bounded("key", &key)?;
    if key.is_empty() {
        return Err(ApiError::field("key", "must not be empty"));
    }
    if looks_like_a_reference(&key) {
        return Err(ApiError::field(
            "key",
            "must not look like a reference to a secret",
        ));
    }
    if put.ttl_ms.is_some_and(|ms| ms == 0 || ms > TTL_MS_MAX) {
        return Err(ApiError::field(
            "ttlMs",
            format!("must be from 1 to {TTL_MS_MAX}"),
        ));
    }
    let owner = whose.owner(&mut app.store.reader().await?.db(), &scope).await?;
    let new = PutValue {
        owner,
        key: key.clone(),
        value: put.value,
        time_to_live: put.ttl_ms.map(Duration::from_millis),
    };
    app.executions.put_value(editor, app.quotas, new).await?;
    let mut reader = app.store.reader().await?;
    let row = key_values::find(&mut reader.db(), owner, &key, app.clock.now()).await?;
    drop(reader);
    // Somebody may have deleted it since.
    shown(&scope, key, row.ok_or_else(nothing)?).await
}

/// Deletes what patterns keep under a key.
#[utoipa::path(
    delete, path = "/api/workspaces/{id}/key-values/{key}", tag = "Kept values", security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("key" = String, Path, description = "Key, percent-encoded: a / in it is %2F", min_length = 1, max_length = 512),
        OwnerQuery,
    ),
    responses(
        (status = 200, description = "Deleted", body = Enveloped<Deleted>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
    )
)]
async fn delete_key_value(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, String)>,
    Query(whose): Query<OwnerQuery>,
) -> Result<Enveloped<Deleted>, ApiError> {
    let editor = scope.editor()?;
    let (_, key) = path;
    bounded("key", &key)?;
    let owner = whose.owner(&mut app.store.reader().await?.db(), &scope).await?;
    app.executions
        .delete_value(editor, app.quotas, owner, key.clone())
        .await?;
    Ok(Deleted::new(key))
}

fn nothing() -> ApiError {
    Code::NotFound.with("No value is stored under this key.").into()
}

/// Refuses what no key can be.
fn bounded(field: &str, text: &str) -> Result<(), ApiError> {
    if text.len() > KEY_BYTES_MAX {
        return Err(ApiError::field(
            field,
            format!("must have at most {KEY_BYTES_MAX} bytes"),
        ));
    }
    // Databases can't store all of them, but keys may have line ends.
    match text.contains('\0') {
        true => Err(ApiError::field(field, "must not have the character U+0000")),
        false => Ok(()),
    }
}
