//! `/api/workspaces/{id}/environments/{envId}/rules`: what an environment asks of what is deployed to it.

use super::environments::environment;
use super::extract::{Json, Member, Path};
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use heddle_model::audit::{Action, Object};
use heddle_model::deploy_rules::DeployRules;
use heddle_model::ids::{EnvironmentId, WorkspaceId};
use heddle_store::{audit, workspaces};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_rules, set_rules))
}

/// Gets what an environment asks of what is deployed to it.
#[utoipa::path(
    get, path = "/api/workspaces/{id}/environments/{envId}/rules", tag = "Environments", security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("envId" = EnvironmentId, Path, description = "Environment"),
    ),
    responses(
        (status = 200, description = "The rules", body = Enveloped<DeployRules>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
    )
)]
async fn get_rules(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, EnvironmentId)>,
) -> Result<Enveloped<DeployRules>, ApiError> {
    let (_, id) = path;
    let mut reader = app.store.reader().await?;
    environment(&mut reader.db(), &scope, id).await?;
    Ok(Enveloped::new(
        workspaces::rules(&mut reader.db(), &scope, id).await?,
    ))
}

/// Sets what an environment asks of what is deployed to it; rules that are left out don't hold. Requires the role admin in the
/// workspace.
///
/// They hold for deploying and promoting, whoever does it and by whatever means. What is deployed already stays.
#[utoipa::path(
    put, path = "/api/workspaces/{id}/environments/{envId}/rules", tag = "Environments", security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("envId" = EnvironmentId, Path, description = "Environment"),
    ),
    request_body = DeployRules,
    responses(
        (status = 200, description = "The rules", body = Enveloped<DeployRules>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
    )
)]
async fn set_rules(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, EnvironmentId)>,
    Json(rules): Json<DeployRules>,
) -> Result<Enveloped<DeployRules>, ApiError> {
    let (_, id) = path;
    let manager = scope.manager()?;
    let set = app.store.write(move |db| {
        Box::pin(async move {
            environment(db, &scope, id).await?;
            workspaces::set_rules(db, &manager, id, rules).await?;
            let changed = Action::RulesSet
                .of(Object::Environment(id))
                .with("requireTests", rules.require_tests)
                .with("requireReplay", rules.require_replay)
                .with("requireApproval", rules.require_approval);
            audit::note(db, &manager, changed).await?;
            Ok::<(), ApiError>(())
        })
    });
    set.await?;
    Ok(Enveloped::new(rules))
}
