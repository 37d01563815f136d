//! `/api/auth/api-keys`: long-lived credentials for machines.

use super::extract::{Json, LoggedIn, Path, text};
use super::reply::{Deleted, Enveloped};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::http::StatusCode;
use heddle_model::Code;
use heddle_model::access::KeyScope;
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Timestamp;
use heddle_model::ids::ApiKeyId;
use heddle_model::quota::Quota;
use heddle_service::auth::api_key;
use heddle_store::StoreError;
use heddle_store::api_keys::{self, ApiKeyRow};
use heddle_store::audit;
use heddle_store::quota::{self, Payer};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_api_keys, create_api_key))
        .routes(routes!(delete_api_key))
}

/// An API key, without the key itself.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ApiKey {
    id: ApiKeyId,
    #[schema(example = "deploy from CI")]
    name: String,
    /// The first characters of the key, to identify it.
    #[schema(example = "hdl_3fQz81")]
    prefix: String,
    /// The workspace in which the key has its user's rights.
    workspace_id: Option<String>,
    /// What the key may do at most, each scope including those before it; null if it may do all that its user may.
    #[schema(example = json!(["run"]))]
    scopes: Option<Vec<KeyScope>>,
    created_at: Timestamp,
    /// Null if the key never expires.
    expires_at: Option<Timestamp>,
    /// Accurate to the minute; null if the key was never used.
    last_used_at: Option<Timestamp>,
}

impl From<ApiKeyRow> for ApiKey {
    fn from(row: ApiKeyRow) -> Self {
        ApiKey {
            id: row.id,
            name: row.name,
            prefix: row.prefix,
            workspace_id: row.workspace_id,
            scopes: row.scope.map(|scope| vec![scope]),
            created_at: row.created_at,
            expires_at: row.expires_at,
            last_used_at: row.last_used_at.map(Timestamp::from_millis),
        }
    }
}

/// A new API key.
#[derive(Serialize, ToSchema)]
struct NewApiKey {
    #[serde(flatten)]
    info: ApiKey,
    /// The key: send it as `Authorization: Bearer <key>`. It is shown only once.
    #[schema(example = "hdl_3fQz81hO…")]
    key: String,
}

/// Lists the caller's API keys in all workspaces, newest first.
#[utoipa::path(
    get, path = "/api/auth/api-keys", tag = "Authentication", security(("bearer" = [])),
    responses(
        (status = 200, description = "The keys", body = Enveloped<Vec<ApiKey>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
    )
)]
async fn list_api_keys(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
) -> Result<Enveloped<Vec<ApiKey>>, ApiError> {
    let keys = api_keys::list(&mut app.store.reader().await?.db(), &caller.scope).await?;
    Ok(Enveloped::new(keys.into_iter().map(ApiKey::from).collect()))
}

/// A name for a key, and its limits.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CreateApiKeyRequest {
    #[schema(example = "deploy from CI", min_length = 1, max_length = 100)]
    name: String,
    /// What the key may do at most: `read` (what viewers see), `run` (execute, retry, replay and cancel), `edit` (patterns,
    /// connections, deployments), `admin` (members, environments, secrets, the workspace). Each includes those before
    /// it, so the last one counts. Without scopes the key may do all that its user may.
    #[schema(example = json!(["run"]), min_items = 1, max_items = 4)]
    scopes: Option<Vec<KeyScope>>,
    /// When the key ends: in the future. Without it, the key works until it is deleted.
    expires_at: Option<Timestamp>,
}

impl CreateApiKeyRequest {
    fn scope(&self) -> Result<Option<KeyScope>, ApiError> {
        let Some(scopes) = &self.scopes else {
            return Ok(None);
        };
        match scopes.iter().max() {
            Some(_) if scopes.len() > 4 => Err(ApiError::field("scopes", "must have at most 4 items")),
            Some(scope) => Ok(Some(*scope)),
            None => Err(ApiError::field(
                "scopes",
                "must name at least one of read, run, edit and admin; leave it out for all",
            )),
        }
    }
}

/// Creates an API key with the caller's rights in the token's workspace, or with some of them.
#[utoipa::path(
    post, path = "/api/auth/api-keys", tag = "Authentication", security(("bearer" = [])),
    request_body = CreateApiKeyRequest,
    responses(
        (status = 201, description = "The key, shown this once", body = Enveloped<NewApiKey>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key; QUOTA_EXCEEDED", body = ErrorBody),
    )
)]
async fn create_api_key(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
    Json(request): Json<CreateApiKeyRequest>,
) -> Result<(StatusCode, Enveloped<NewApiKey>), ApiError> {
    let name = text("name", &request.name, 100)?;
    let now = app.clock.now();
    if request.expires_at.is_some_and(|expires_at| expires_at <= now) {
        return Err(ApiError::field("expiresAt", "must be in the future"));
    }
    let key = api_key::generate();
    let new = api_keys::NewApiKey {
        name,
        prefix: api_key::shown(&key).to_owned(),
        hash: api_key::hash(&key),
        scope: request.scope()?,
        expires_at: request.expires_at,
    };
    let quotas = app.quotas;
    let created = app.store.write(move |db| {
        Box::pin(async move {
            let created = api_keys::create(db, &caller.scope, new, now).await?;
            let payer = Payer::User(caller.scope.user());
            quota::check(db, &quotas, &[(payer, &[Quota::ApiKeys])]).await?;
            let made = Action::ApiKeyCreated.of(Object::ApiKey(created.id));
            audit::note(db, &caller.scope, made.with("prefix", &*created.prefix)).await?;
            Ok::<_, StoreError>(created)
        })
    });
    let created = created.await?;
    let info = created.into();
    Ok((StatusCode::CREATED, Enveloped::new(NewApiKey { info, key })))
}

/// Deletes an API key; requests that use it are rejected from then on.
#[utoipa::path(
    delete, path = "/api/auth/api-keys/{id}", tag = "Authentication", security(("bearer" = [])),
    params(("id" = ApiKeyId, Path, description = "Key")),
    responses(
        (status = 200, description = "Deleted", body = Enveloped<Deleted>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn delete_api_key(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
    Path(id): Path<ApiKeyId>,
) -> Result<Enveloped<Deleted>, ApiError> {
    let deleted = app.store.write(move |db| {
        Box::pin(async move {
            // In the log of the workspace that the key is for.
            let log = api_keys::log_of(db, &caller.scope, id).await?;
            let log = log.ok_or(Code::NotFound)?;
            let gone = Action::ApiKeyDeleted.of(Object::ApiKey(id));
            audit::note_in(db, log, &caller.scope, gone).await?;
            api_keys::delete(db, &caller.scope, id).await?;
            Ok::<(), ApiError>(())
        })
    });
    deleted.await?;
    Ok(Deleted::new(id))
}
