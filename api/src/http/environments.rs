//! `/api/workspaces/{id}/environments`: environments, their secrets and variables.

use super::extract::{Json, Member, Path, Scalars, Unfit, printable, text};
use super::reply::{Deleted, Enveloped};
use super::secret_fields::{checked_hosts, secret_value};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::http::header::{ETAG, IF_MATCH};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use heddle_execution::ToTheEnd;
use heddle_model::access::Scope;
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{EnvironmentId, WorkspaceId};
use heddle_model::quota::Quota;
use heddle_model::secret_name;
use heddle_model::{Code, ServiceError};
use heddle_store::audit;
use heddle_store::quota::{self, Payer};
use heddle_store::secrets::{self, NewSecret, SecretRow};
use heddle_store::workspaces::{self, EnvironmentRow, Hold};
use heddle_store::{Db, StoreError, deployments, endpoints};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Maximum size of an environment's variables as JSON, in bytes.
const VARIABLES_BYTES_MAX: usize = 64 << 10;
/// How many can be no larger: `"a":1,`.
const VARIABLES_MAX: usize = VARIABLES_BYTES_MAX / 6;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_environments, create_environment))
        .routes(routes!(delete_environment))
        .routes(routes!(list_secrets))
        .routes(routes!(set_secret, delete_secret))
        .routes(routes!(get_variables, set_variables))
}

/// An environment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Environment {
    id: EnvironmentId,
    #[schema(example = "production")]
    name: String,
    created_at: Timestamp,
}

impl From<EnvironmentRow> for Environment {
    fn from(row: EnvironmentRow) -> Self {
        Environment {
            id: row.id,
            name: row.name,
            created_at: row.created_at,
        }
    }
}

/// Lists a workspace's environments, oldest first.
#[utoipa::path(
    get, path = "/api/workspaces/{id}/environments", tag = "Environments", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")),
    responses(
        (status = 200, description = "The environments", body = Enveloped<Vec<Environment>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
    )
)]
async fn list_environments(
    State(app): State<App>,
    Member(scope): Member,
) -> Result<Enveloped<Vec<Environment>>, ApiError> {
    let found = workspaces::environments(&mut app.store.reader().await?.db(), &scope).await?;
    Ok(Enveloped::new(found.into_iter().map(Environment::from).collect()))
}

/// A name for an environment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EnvironmentRequest {
    #[schema(example = "staging", min_length = 1, max_length = 100)]
    name: String,
}

/// Creates an environment. Requires the role admin in the workspace.
#[utoipa::path(
    post, path = "/api/workspaces/{id}/environments", tag = "Environments", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")), request_body = EnvironmentRequest,
    responses(
        (status = 201, description = "The environment", body = Enveloped<Environment>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN or QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: the name is taken", body = ErrorBody),
    )
)]
async fn create_environment(
    State(app): State<App>,
    Member(scope): Member,
    Json(request): Json<EnvironmentRequest>,
) -> Result<(StatusCode, Enveloped<Environment>), ApiError> {
    let (manager, now) = (scope.manager()?, app.clock.now());
    let name = text("name", &request.name, 100)?;
    let quotas = app.quotas;
    let created = app.store.write(move |db| {
        Box::pin(async move {
            let created = workspaces::create_environment(db, &manager, &name, now).await?;
            let payer = Payer::Workspace(created.workspace_id);
            quota::check(db, &quotas, &[(payer, &[Quota::Environments])]).await?;
            let made = Object::Environment(created.id);
            audit::note(db, &manager, Action::EnvironmentCreated.of(made)).await?;
            Ok(created)
        })
    });
    match created.await {
        Err(StoreError::Unique) => Err(Code::Conflict
            .with("The workspace already has an environment with this name.")
            .into()),
        created => Ok((StatusCode::CREATED, Enveloped::new(created?.into()))),
    }
}

/// Deletes an environment with its secrets, variables and what was undeployed there, unless it is the last one or a
/// deployment uses it. Requires the role admin in the workspace.
#[utoipa::path(
    delete, path = "/api/workspaces/{id}/environments/{envId}", tag = "Environments", security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("envId" = EnvironmentId, Path, description = "Environment"),
    ),
    responses(
        (status = 200, description = "Deleted", body = Enveloped<Deleted>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: the last environment, or a deployment uses it", body = ErrorBody),
    )
)]
async fn delete_environment(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, EnvironmentId)>,
) -> Result<Enveloped<Deleted>, ApiError> {
    let (_, id) = path;
    let manager = scope.manager()?;
    let deleting = ToTheEnd::new(async move {
        let deleted = app.store.write(move |db| {
            Box::pin(async move {
                // The workspace first, as whoever deploys holds both in this order: in another one, both would wait for ever.
                workspaces::lock(db, &scope).await?;
                // From here on nothing is deployed to it.
                if !workspaces::hold_environment(db, &scope, id, Hold::ToDelete).await? {
                    return Err(no_environment());
                }
                if workspaces::environments(db, &scope).await?.len() < 2 {
                    return Err(Code::Conflict.with("A workspace must have at least one environment."));
                }
                match deployments::count_in_environment(db, &scope, id).await? {
                    0 => {
                        let gone = Object::Environment(id);
                        audit::note(db, &manager, Action::EnvironmentDeleted.of(gone)).await?;
                        endpoints::remove_of_environment(db, &manager, id).await?;
                        deployments::remove_of_environment(db, &manager, id).await?;
                        Ok(workspaces::delete_environment(db, &manager, id).await?)
                    }
                    1 => Err(Code::Conflict.with("A deployment uses this environment: undeploy it first.")),
                    count => Err(Code::Conflict.with(format!(
                        "{count} deployments use this environment: undeploy them first."
                    ))),
                }
            })
        });
        let deleted: Result<(), ServiceError> = deleted.await;
        if deleted.is_ok() {
            app.webhooks.all_changed();
        }
        deleted
    });
    deleting.await?;
    Ok(Deleted::new(id))
}

/// A secret without its value, which is never shown.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Secret {
    #[schema(example = "OPEN_AI_API_KEY")]
    name: String,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// Hosts that the secret is bound to, if any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["api.openai.com"]))]
    hosts: Vec<String>,
}

impl From<SecretRow> for Secret {
    fn from(row: SecretRow) -> Self {
        Secret {
            name: row.name,
            created_at: row.created_at,
            updated_at: row.updated_at,
            hosts: row.hosts.0,
        }
    }
}

/// Lists the names of an environment's secrets.
#[utoipa::path(
    get, path = "/api/workspaces/{id}/environments/{envId}/secrets", tag = "Environments",
    security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("envId" = EnvironmentId, Path, description = "Environment"),
    ),
    responses(
        (status = 200, description = "The secrets, by name", body = Enveloped<Vec<Secret>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
    )
)]
async fn list_secrets(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, EnvironmentId)>,
) -> Result<Enveloped<Vec<Secret>>, ApiError> {
    let (_, id) = path;
    let mut reader = app.store.reader().await?;
    environment(&mut reader.db(), &scope, id).await?;
    let found = secrets::list(&mut reader.db(), &scope, id).await?;
    Ok(Enveloped::new(found.into_iter().map(Secret::from).collect()))
}

/// A secret's value.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SecretRequest {
    #[schema(example = "correct-horse", min_length = 1, max_length = 65536)]
    value: String,
    /// Hosts that runs may send it to: `api.example.com`, `api.example.com:8443` or `*.example.com`. Default: any host
    /// that a pattern names.
    #[serde(default)]
    #[schema(max_items = 50, example = json!(["smtp.example.com"]))]
    hosts: Option<Vec<String>>,
}

/// Sets a secret. Requires the role admin in the workspace.
#[utoipa::path(
    put, path = "/api/workspaces/{id}/environments/{envId}/secrets/{name}", tag = "Environments",
    security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("envId" = EnvironmentId, Path, description = "Environment"),
        ("name" = String, Path, description = "Secret", example = "SMTP_PASSWORD", pattern = "^[A-Za-z0-9_]{1,200}$"),
    ),
    request_body = SecretRequest,
    responses(
        (status = 200, description = "Set", body = Enveloped<Secret>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN or QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
    )
)]
async fn set_secret(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, EnvironmentId, String)>,
    Json(request): Json<SecretRequest>,
) -> Result<Enveloped<Secret>, ApiError> {
    let (_, id, name) = path;
    scope.manager()?;
    allowed_name("name", &name)?;
    secret_value("value", &request.value)?;
    let hosts = checked_hosts(request.hosts)?;
    let (service, now) = (app.clone(), app.clock.now());
    let set = app.store.write(move |db| {
        Box::pin(async move {
            let environment = environment(db, &scope, id).await?;
            let secret = NewSecret {
                name: &name,
                value: &request.value,
                connection: None,
                hosts: &hosts,
            };
            secrets::set(db, &service.vault, &environment, secret, now).await?;
            let changed = Object::Secret(id, name.clone());
            audit::note(db, &scope, Action::SecretSet.of(changed)).await?;
            let payer = Payer::Workspace(environment.workspace_id);
            let counted = [Quota::Secrets, Quota::SecretBytes];
            quota::check(db, &service.quotas, &[(payer, &counted)]).await?;
            let set = secrets::find(db, &scope, id, &name).await?;
            set.ok_or_else(|| ApiError::from(StoreError::Missing))
        })
    });
    let set = set.await?;
    app.executions.environments().changed();
    Ok(Enveloped::new(set.into()))
}

/// Deletes a secret. Requires the role admin in the workspace.
#[utoipa::path(
    delete, path = "/api/workspaces/{id}/environments/{envId}/secrets/{name}", tag = "Environments",
    security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("envId" = EnvironmentId, Path, description = "Environment"),
        ("name" = String, Path, description = "Secret", example = "SMTP_PASSWORD"),
    ),
    responses(
        (status = 200, description = "Deleted", body = Enveloped<Deleted>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
    )
)]
async fn delete_secret(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, EnvironmentId, String)>,
) -> Result<Enveloped<Deleted>, ApiError> {
    let (_, id, name) = path;
    let manager = scope.manager()?;
    if !secret_name::is_allowed(&name) {
        return Err(Code::NotFound.into());
    }
    let deleted = app.store.write({
        let name = name.clone();
        move |db| {
            Box::pin(async move {
                if !secrets::delete(db, &manager, id, &name).await? {
                    return Err(Code::NotFound.with("This environment has no such secret."));
                }
                let gone = Object::Secret(id, name);
                Ok(audit::note(db, &manager, Action::SecretDeleted.of(gone)).await?)
            })
        }
    });
    deleted.await?;
    app.executions.environments().changed();
    Ok(Deleted::new(name))
}

/// Variable names and values: strings, numbers, booleans or null.
#[derive(Debug, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = HashMap<String, Value>, example = json!({"REGION": "eu", "RETRIES": 3}))]
struct Variables(Map<String, Value>);

/// Gets an environment's variables, which patterns read as `$vars.NAME`.
#[utoipa::path(
    get, path = "/api/workspaces/{id}/environments/{envId}/variables", tag = "Environments",
    security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("envId" = EnvironmentId, Path, description = "Environment"),
    ),
    responses(
        (status = 200, description = "Name to value", body = Enveloped<Variables>, headers(("ETag" = String, description = "For the If-Match of a later change"))),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
    )
)]
async fn get_variables(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, EnvironmentId)>,
) -> Result<Tagged, ApiError> {
    let (_, id) = path;
    let mut reader = app.store.reader().await?;
    environment(&mut reader.db(), &scope, id).await?;
    let variables = secrets::variables(&mut reader.db(), id).await?;
    Ok(tagged(variables))
}

/// Replaces an environment's variables. Values are strings, numbers, booleans or null. With `If-Match`, only if they are still
/// those with that `ETag`. Requires the role admin in the workspace.
#[utoipa::path(
    put, path = "/api/workspaces/{id}/environments/{envId}/variables", tag = "Environments",
    security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("envId" = EnvironmentId, Path, description = "Environment"),
        ("If-Match" = Option<String>, Header, description = "The ETag of the variables that the change is based on"),
    ),
    request_body = Variables,
    responses(
        (status = 200, description = "Name to value", body = Enveloped<Variables>, headers(("ETag" = String, description = "For the If-Match of a later change"))),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: the variables have been changed", body = ErrorBody),
    )
)]
async fn set_variables(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, EnvironmentId)>,
    headers: HeaderMap,
    Json(sent): Json<Scalars<VARIABLES_MAX>>,
) -> Result<Tagged, ApiError> {
    let (_, id) = path;
    let manager = scope.manager()?;
    let too_large = || ApiError::field("", "the variables are larger than 64 KiB");
    let variables = sent.fit().map_err(|unfit| match unfit {
        Unfit::TooMany => too_large(),
        Unfit::Composite(name) => ApiError::field(name, "must be a string, a number, a boolean or null"),
    })?;
    let texts = variables.iter().map(|(name, value)| {
        let text = value.as_str().map_or(0, str::len);
        name.len().saturating_add(text)
    });
    // What is this large already need not be written to see how large it is.
    if texts.sum::<usize>() > VARIABLES_BYTES_MAX
        || Value::Object(variables.clone()).to_string().len() > VARIABLES_BYTES_MAX
    {
        return Err(too_large());
    }
    for (name, value) in &variables {
        allowed_name(name, name)?;
        if let Value::String(text) = value {
            printable(name, text)?;
        }
    }
    let (stored, now) = (variables.clone(), app.clock.now());
    let expected = headers.get(IF_MATCH).filter(|tag| *tag != "*").cloned();
    let set = app.store.write(move |db| {
        Box::pin(async move {
            // Until it is looked at, nobody else changes what was expected.
            if !workspaces::hold_environment(db, &scope, id, Hold::ToDelete).await? {
                return Err(no_environment().into());
            }
            if let Some(expected) = expected
                && expected != tag(&secrets::variables(db, id).await?)
            {
                return Err(Code::Conflict
                    .with("The variables have been changed since: get them again.")
                    .into());
            }
            secrets::set_variables(db, &manager, id, (&stored, now)).await?;
            let changed = Action::VariablesSet.of(Object::Environment(id));
            audit::note(db, &manager, changed.with("count", stored.len())).await?;
            Ok::<(), ApiError>(())
        })
    });
    set.await?;
    app.executions.environments().changed();
    Ok(tagged(variables))
}

/// Variables, and the tag by which a later change names them.
type Tagged = ([(HeaderName, String); 1], Enveloped<Variables>);

fn tagged(variables: Map<String, Value>) -> Tagged {
    let tag = (ETAG, tag(&variables));
    ([tag], Enveloped::new(Variables(variables)))
}

/// A tag that depends on names, values and their order only, so that all servers give the same.
fn tag(variables: &Map<String, Value>) -> String {
    let text = Value::Object(variables.clone()).to_string();
    format!("\"{}\"", hex::encode(Sha256::digest(text)))
}

/// An environment of the scope's workspace.
pub async fn environment(
    db: &mut Db<'_>,
    scope: &Scope,
    id: EnvironmentId,
) -> Result<EnvironmentRow, ServiceError> {
    let found = workspaces::environment(db, scope, id).await?;
    found.ok_or_else(no_environment)
}

fn no_environment() -> ServiceError {
    Code::NotFound.with("This workspace has no such environment.")
}

fn allowed_name(path: &str, name: &str) -> Result<(), ApiError> {
    if secret_name::is_allowed(name) {
        return Ok(());
    }
    Err(ApiError::field(
        path,
        "must have 1 to 200 letters, digits and underscores",
    ))
}
