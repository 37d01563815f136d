//! `/api/auth/api-keys`: long-lived credentials for machines.

use super::extract::{Json, LoggedIn, Path, text};
use super::reply::{Deleted, Enveloped};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::http::StatusCode;
use heddle_model::Code;
use heddle_model::clock::Timestamp;
use heddle_model::ids::ApiKeyId;
use heddle_model::quota::Quota;
use heddle_service::auth::api_key;
use heddle_store::StoreError;
use heddle_store::api_keys::{self, ApiKeyRow};
use heddle_store::quota::{self, Payer};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
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
    created_at: Timestamp,
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
            created_at: row.created_at,
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
    LoggedIn(caller): LoggedIn,
) -> Result<Enveloped<Vec<ApiKey>>, ApiError> {
    let keys = api_keys::list(&mut app.store.reader().await?.db(), &caller.scope).await?;
    Ok(Enveloped::new(keys.into_iter().map(ApiKey::from).collect()))
}

/// A name for a key.
#[derive(Debug, Deserialize, ToSchema)]
struct CreateApiKeyRequest {
    #[schema(example = "deploy from CI", min_length = 1, max_length = 100)]
    name: String,
}

/// Creates an API key with the caller's rights in the token's workspace.
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
    LoggedIn(caller): LoggedIn,
    Json(request): Json<CreateApiKeyRequest>,
) -> Result<(StatusCode, Enveloped<NewApiKey>), ApiError> {
    let name = text("name", &request.name, 100)?;
    let key = api_key::generate();
    let (prefix, hash) = (api_key::shown(&key).to_owned(), api_key::hash(&key));
    let now = app.clock.now();
    let quotas = app.quotas;
    let created = app.store.write(move |db| {
        Box::pin(async move {
            let created = api_keys::create(db, &caller.scope, &name, &prefix, &hash, now).await?;
            let payer = Payer::User(caller.scope.user());
            quota::check(db, &quotas, &[(payer, &[Quota::ApiKeys])]).await?;
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
    LoggedIn(caller): LoggedIn,
    Path(id): Path<ApiKeyId>,
) -> Result<Enveloped<Deleted>, ApiError> {
    let deleted = app
        .store
        .write(move |db| Box::pin(async move { api_keys::delete(db, &caller.scope, id).await }));
    if !deleted.await? {
        return Err(Code::NotFound.into());
    }
    Ok(Deleted::new(id))
}
