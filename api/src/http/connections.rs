//! `/api/connections`: credentials for other services. They are stored and never shown again; patterns use them as the
//! secrets that a connection seeds.

mod bodies;
mod change;
mod consent;
mod kinds;
mod trial;
mod uses;

use self::bodies::{Connection, CreatedConnection, SeedResult, SentFields, derived_seeds};
use super::environments::environment;
use super::extract::{Caller, Json, Path, Query, text};
use super::secret_fields::{checked_hosts, secret_value};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::http::StatusCode;
use heddle_model::Code;
use heddle_model::access::{Editor, WorkspaceRole};
use heddle_model::audit::{Action, Object};
use heddle_model::ids::{ConnectionId, EnvironmentId, UserId};
use heddle_model::quota::Quota;
use heddle_store::audit;
use heddle_store::connection_tokens;
use heddle_store::connections::{self, ConnectionRow};
use heddle_store::quota::{self, Payer};
use heddle_store::secrets::{self, NewSecret};
use heddle_store::workspaces::{self, EnvironmentRow};
use heddle_store::{Db, StoreError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The field that holds the key of an API key connection.
const API_KEY_FIELD: &str = "apiKey";

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_connections))
        .routes(routes!(get_connection, delete_connection))
        .routes(routes!(create_api_key_connection))
        .routes(routes!(create_credentials_connection))
        .merge(change::routes())
        .merge(consent::routes())
        .merge(kinds::routes())
        .merge(trial::routes())
        .merge(uses::routes())
}

/// Connections.
#[derive(Debug, Serialize, ToSchema)]
struct ConnectionList {
    connections: Vec<ListedConnection>,
}

/// A connection in a list.
#[derive(Debug, Serialize, ToSchema)]
struct ListedConnection {
    #[serde(flatten)]
    connection: Connection,
    /// Only with `owner=workspace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<ConnectionOwner>,
}

/// Who made a connection.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ConnectionOwner {
    id: UserId,
    /// Null if they no longer have an account.
    #[schema(required = true, example = "Ann")]
    first_name: Option<String>,
    #[schema(required = true, example = "Lee")]
    last_name: Option<String>,
}

/// Whose connections to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct ConnectionsQuery {
    /// Whose; default: `me`.
    #[param(inline)]
    owner: Option<ConnectionsOf>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ConnectionsOf {
    /// The caller's own.
    Me,
    /// Those of all members of the active workspace, which its patterns may use.
    Workspace,
}

/// Lists the caller's own connections in the active workspace, the newest first; with `owner=workspace` all that its patterns may
/// use, each with its owner, who alone can read, change and delete it.
#[utoipa::path(
    get, path = "/api/connections", tag = "Connections", security(("bearer" = [])), params(ConnectionsQuery),
    responses(
        (status = 200, description = "The connections", body = ConnectionList),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn list_connections(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ConnectionsQuery>,
) -> Result<axum::Json<ConnectionList>, ApiError> {
    let mut reader = app.store.reader().await?;
    let connections = match query.owner {
        None | Some(ConnectionsOf::Me) => {
            let own = connections::list(&mut reader.db(), &caller.scope).await?;
            let listed = own.into_iter().map(|row| ListedConnection {
                connection: row.into(),
                owner: None,
            });
            listed.collect()
        }
        Some(ConnectionsOf::Workspace) => {
            let shared = connections::of_workspace(&mut reader.db(), &caller.scope).await?;
            let listed = shared.into_iter().map(|shared| ListedConnection {
                connection: shared.row.into(),
                owner: Some(ConnectionOwner {
                    id: shared.owner_id,
                    first_name: shared.first_name,
                    last_name: shared.last_name,
                }),
            });
            listed.collect()
        }
    };
    Ok(axum::Json(ConnectionList { connections }))
}

/// A connection and what it may be used for.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ConnectionDetail {
    #[serde(flatten)]
    connection: Connection,
    /// OAuth scopes that were granted; empty for connections of other kinds.
    scopes: Vec<String>,
    /// Why the connection needs consent again, if its provider has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    consent_problem: Option<String>,
    /// Hosts that it may be sent to; if empty, any host.
    #[schema(example = json!(["api.openai.com"]))]
    hosts: Vec<String>,
}

/// Gets one of the caller's connections.
#[utoipa::path(
    get, path = "/api/connections/{id}", tag = "Connections", security(("bearer" = [])),
    params(("id" = ConnectionId, Path, description = "Connection")),
    responses(
        (status = 200, description = "The connection", body = ConnectionDetail),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn get_connection(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<ConnectionId>,
) -> Result<axum::Json<ConnectionDetail>, ApiError> {
    let mut reader = app.store.reader().await?;
    let db = &mut reader.db();
    let found = connections::find(db, &caller.scope, id).await?;
    let mut found = found.ok_or(Code::NotFound)?;
    Ok(axum::Json(ConnectionDetail {
        hosts: std::mem::take(&mut found.hosts.0),
        connection: found.into(),
        scopes: connection_tokens::scopes(db, id).await?,
        consent_problem: connection_tokens::refused(db, id).await?,
    }))
}

/// An API key for another service.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ApiKeyConnectionRequest {
    #[schema(example = "open-ai", min_length = 1, max_length = 100)]
    provider: String,
    #[schema(example = "sk-…", min_length = 1, max_length = 65536)]
    api_key: String,
    /// Default: the provider.
    #[schema(example = "OpenAI of the accounting team", max_length = 200)]
    display_name: Option<String>,
    /// Seed only this environment rather than all environments of the active workspace.
    environment_id: Option<EnvironmentId>,
    /// Hosts that nodes may send it to: `api.example.com`, `api.example.com:8443`, `*.example.com`. Default: any.
    #[schema(example = json!(["api.openai.com"]), max_items = 50)]
    hosts: Option<Vec<String>>,
}

/// Stores a key, and seeds it as a secret into the active workspace's environments.
#[utoipa::path(
    post, path = "/api/connections/api-key", tag = "Connections", security(("bearer" = [])),
    request_body = ApiKeyConnectionRequest,
    responses(
        (status = 201, description = "The connection", body = CreatedConnection),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN or QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such environment", body = ErrorBody),
    )
)]
async fn create_api_key_connection(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<ApiKeyConnectionRequest>,
) -> Result<(StatusCode, axum::Json<CreatedConnection>), ApiError> {
    secret_value(API_KEY_FIELD, &request.api_key)?;
    let new = NewConnection {
        kind: "api_key",
        provider: text("provider", &request.provider, 100)?,
        display_name: request.display_name,
        environment: request.environment_id,
        credentials: BTreeMap::from([(API_KEY_FIELD.to_owned(), request.api_key)]),
        hosts: checked_hosts(request.hosts)?,
    };
    create(&app, caller.scope.editor()?, new).await
}

/// Credentials that consist of several fields.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CredentialsConnectionRequest {
    #[schema(example = "postgres", min_length = 1, max_length = 100)]
    provider: String,
    /// Field names and values: strings, numbers or booleans.
    #[schema(value_type = HashMap<String, Value>, example = json!({"user": "ann", "password": "…"}))]
    credentials: SentFields,
    /// Default: the provider.
    #[schema(max_length = 200)]
    display_name: Option<String>,
    /// Seed only this environment rather than all environments of the active workspace.
    environment_id: Option<EnvironmentId>,
    /// Hosts that nodes may send it to: `db.example.com`, `db.example.com:5432`, `*.example.com`. Default: any.
    #[schema(example = json!(["db.example.com"]), max_items = 50)]
    hosts: Option<Vec<String>>,
}

/// Stores credentials, and seeds each field as a secret into the active workspace's environments.
#[utoipa::path(
    post, path = "/api/connections/credentials", tag = "Connections", security(("bearer" = [])),
    request_body = CredentialsConnectionRequest,
    responses(
        (status = 201, description = "The connection", body = CreatedConnection),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN or QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such environment", body = ErrorBody),
    )
)]
async fn create_credentials_connection(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<CredentialsConnectionRequest>,
) -> Result<(StatusCode, axum::Json<CreatedConnection>), ApiError> {
    let credentials = request.credentials.values()?;
    if credentials.is_empty() {
        return Err(ApiError::field("credentials", "must have at least one field"));
    }
    let new = NewConnection {
        kind: "credentials",
        provider: text("provider", &request.provider, 100)?,
        display_name: request.display_name,
        environment: request.environment_id,
        credentials,
        hosts: checked_hosts(request.hosts)?,
    };
    create(&app, caller.scope.editor()?, new).await
}

/// Deletes one of the caller's connections, and the secrets that still have the values it seeded. Patterns that need
/// them fail until they are replaced. Tokens that somebody has consented to are revoked as far as the provider can.
#[utoipa::path(
    delete, path = "/api/connections/{id}", tag = "Connections", security(("bearer" = [])),
    params(("id" = ConnectionId, Path, description = "Connection")),
    responses(
        (status = 204, description = "Deleted"),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn delete_connection(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<ConnectionId>,
) -> Result<StatusCode, ApiError> {
    let editor = caller.scope.editor()?;
    let revocation = app.executions.consents().revocation(&editor, id).await?;
    let deleted = app.store.write(move |db| {
        Box::pin(async move {
            audit::note(db, &editor, Action::ConnectionDeleted.of(Object::Connection(id))).await?;
            match connections::delete(db, &editor, id).await? {
                true => Ok::<(), ApiError>(()),
                false => Err(Code::NotFound.into()),
            }
        })
    });
    deleted.await?;
    app.executions.environments().changed();
    // Nobody waits for a provider that may not answer.
    if let Some(revocation) = revocation {
        tokio::spawn(revocation);
    }
    Ok(StatusCode::NO_CONTENT)
}

/// A checked request of either form.
struct NewConnection {
    kind: &'static str,
    provider: String,
    display_name: Option<String>,
    environment: Option<EnvironmentId>,
    credentials: BTreeMap<String, String>,
    hosts: Vec<String>,
}

async fn create(
    app: &App,
    editor: Editor,
    new: NewConnection,
) -> Result<(StatusCode, axum::Json<CreatedConnection>), ApiError> {
    let seeds = derived_seeds(&new.provider, &new.credentials)?;
    let display_name = match &new.display_name {
        Some(name) => text("displayName", name, 200)?,
        None => new.provider.clone(),
    };
    let now = app.clock.now();
    let row = ConnectionRow {
        id: ConnectionId::new(),
        provider: new.provider,
        display_name,
        kind: new.kind.to_owned(),
        status: "active".to_owned(),
        created_at: now,
        updated_at: now,
        hosts: connections::Hosts(new.hosts),
    };
    let (service, environment) = (app.clone(), new.environment);
    let credentials = new
        .credentials
        .into_iter()
        .map(|(field, value)| (field, value.into()))
        .collect();
    let created = app.store.write(move |db| {
        Box::pin(async move {
            let environments = to_seed(db, &editor, environment).await?;
            let bytes: usize = seeds.values().map(String::len).sum();
            // Before others wait for so many to be written.
            for (quota, each) in [(Quota::Secrets, seeds.len()), (Quota::SecretBytes, bytes)] {
                let all = each.saturating_mul(environments.len());
                service.quotas.allows(quota, all).map_err(StoreError::Quota)?;
            }
            connections::create(db, &service.vault, &editor, &row, &credentials).await?;
            let made = Action::ConnectionCreated
                .of(Object::Connection(row.id))
                .with("provider", &*row.provider)
                .with("secrets", if environments.is_empty() { 0 } else { seeds.len() });
            audit::note(db, &editor, made).await?;
            for environment in &environments {
                seed(db, &service, &editor, environment, &row, &seeds).await?;
            }
            let own: &[Quota] = &[Quota::Connections, Quota::ConnectionBytes];
            let seeded: &[Quota] = &[Quota::Secrets, Quota::SecretBytes];
            let mut added = vec![(Payer::User(editor.user()), own)];
            if let Some(environment) = environments.first() {
                added.push((Payer::Workspace(environment.workspace_id), seeded));
            }
            quota::check(db, &service.quotas, &added).await?;
            let secret_names: Vec<String> = match environments.is_empty() {
                true => Vec::new(),
                false => seeds.into_keys().collect(),
            };
            let seed_result = SeedResult {
                secrets_seeded: secret_names.len(),
                secret_names,
            };
            let connection = row.into();
            Ok::<_, ApiError>(CreatedConnection {
                connection,
                seed_result,
            })
        })
    });
    let created = created.await?;
    app.executions.environments().changed();
    Ok((StatusCode::CREATED, axum::Json(created)))
}

/// The environments that a new connection seeds.
async fn to_seed(
    db: &mut Db<'_>,
    editor: &Editor,
    only: Option<EnvironmentId>,
) -> Result<Vec<EnvironmentRow>, ApiError> {
    Ok(match only {
        Some(id) => vec![environment(db, editor, id).await?],
        None => workspaces::environments(db, editor).await?,
    })
}

/// Sets the secrets of a connection in an environment. Editors may add secrets and replace those of their own
/// connections; only admins of the workspace may replace others'.
async fn seed(
    db: &mut Db<'_>,
    app: &App,
    editor: &Editor,
    environment: &EnvironmentRow,
    row: &ConnectionRow,
    seeds: &BTreeMap<String, String>,
) -> Result<(), ApiError> {
    if editor.role() < WorkspaceRole::Admin {
        let names: Vec<String> = seeds.keys().cloned().collect();
        if let Some(name) = secrets::not_seeded_by(db, editor.user(), environment, &names).await? {
            return Err(Code::Forbidden.with(format!(
                "The environment {} already has a secret {name} that belongs to somebody else: ask an admin \
                 of the workspace to replace it.",
                environment.name
            )).into());
        }
    }
    for (name, value) in seeds {
        let secret = NewSecret {
            name,
            value,
            connection: Some(row.id),
            hosts: &row.hosts.0,
        };
        secrets::set(db, &app.vault, environment, secret, row.created_at).await?;
    }
    Ok(())
}
