//! Management of webhook endpoints: lists, secrets and snippets.

use super::extract::{Caller, Json, Path, Query, at_most, given, text};
use super::in_environment::InEnvironment;
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use heddle_catalogue::Start;
use heddle_execution::ToTheEnd;
use heddle_model::Code;
use heddle_model::access::Scope;
use heddle_model::audit::{Action, Object};
use heddle_model::ids::{DeploymentId, EndpointId, PatternId};
use heddle_model::slot::Slot;
use heddle_model::status::DeploymentStatus;
use heddle_service::audit::{self, Reading};
use heddle_service::webhooks::snippets::Snippets;
use heddle_store::deployments::{self, DeploymentRow};
use heddle_store::endpoints::{self, EndpointRow};
use heddle_store::{Db, patterns};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Minimum length of a secret chosen by a user, in characters.
const SECRET_CHARS_MIN: usize = 8;
const SECRET_CHARS_MAX: usize = 255;
/// No id is longer.
const ID_CHARS_MAX: usize = 64;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(endpoints_of_pattern))
        .routes(routes!(endpoints_of_deployment))
        .routes(routes!(regenerate))
        .routes(routes!(snippets))
}

/// A webhook endpoint.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookEndpoint {
    id: EndpointId,
    #[schema(example = "6f1ed002ab5595859014ebf0951522d9")]
    webhook_id: String,
    #[schema(example = "https://heddle.example.com/webhooks/6f1ed002ab5595859014ebf0951522d9")]
    webhook_url: String,
    /// The node's `alias`, or else its label or id.
    #[schema(example = "orders")]
    webhook_alias: String,
    /// Node in the graph.
    #[schema(example = "on-order")]
    node_id: String,
    /// The secret that senders sign with; null for viewers, and with `secrets=false`.
    webhook_secret: Option<String>,
    /// How senders prove who they are, as in the newest version.
    #[schema(example = "heddle")]
    scheme: &'static str,
    /// Methods that start runs, as in the newest version.
    #[schema(example = json!(["POST"]))]
    methods: Vec<&'static str>,
    /// Kinds of bodies that are read, as in the newest version.
    #[schema(example = json!(["json"]))]
    accept: Vec<&'static str>,
    /// What must follow the URL, as in the newest version; null if nothing does.
    #[schema(example = "/orders/:order")]
    path: Option<String>,
    status: EndpointStatus,
}

/// Whether events start runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EndpointStatus {
    /// Events start runs.
    Active,
    /// Events are only captured.
    Inactive,
}

/// Whether secrets are shown.
#[derive(Clone, Copy, Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ShownSecrets {
    /// Whether the secrets of webhooks are shown to those who may see them. With `false` each `webhookSecret` is null; with `true` the
    /// audit log tells each time that they were shown. Default: they are shown, and the log tells it once an hour.
    #[serde(default, deserialize_with = "given")]
    secrets: Option<bool>,
}

impl ShownSecrets {
    fn are_seen_by(self, scope: &Scope) -> bool {
        self.secrets != Some(false) && scope.sees_secrets().is_ok()
    }

    fn reading(self) -> Reading {
        match self.secrets {
            Some(true) => Reading::AskedFor,
            _ => Reading::ByTheWay,
        }
    }
}

/// The endpoints of a slot, with `deployment` being the deployment there.
async fn list(
    app: &App,
    db: &mut Db<'_>,
    (scope, shown): (&Scope, ShownSecrets),
    slot: Slot,
    deployment: Option<&DeploymentRow>,
) -> Result<Vec<WebhookEndpoint>, ApiError> {
    let has_secrets = shown.are_seen_by(scope);
    let mut listed = Vec::new();
    for row in endpoints::in_slot(db, scope, slot).await? {
        let is_deployed = deployment.is_some_and(|deployment| {
            let held = |start: &Start| deployment.holds(start.type_name(), &row.node_id);
            Start::REQUESTS.iter().any(held)
        });
        if !row.is_present && !is_deployed {
            continue;
        }
        let is_active = deployment.is_some_and(|deployment| deployment.status == DeploymentStatus::Active);
        let webhook_secret = match has_secrets {
            true => Some(row.secret(db, &app.vault).await?.expose_secret().to_owned()),
            false => None,
        };
        let webhook = row.webhook();
        listed.push(WebhookEndpoint {
            id: row.id,
            webhook_url: url(app, &row),
            scheme: row.scheme().name(),
            methods: webhook.methods.names().collect(),
            accept: webhook.accept.names().collect(),
            path: webhook.path_text(),
            webhook_id: row.webhook_id,
            webhook_alias: row.alias,
            node_id: row.node_id,
            webhook_secret,
            status: match is_active && is_deployed {
                true => EndpointStatus::Active,
                false => EndpointStatus::Inactive,
            },
        });
    }
    Ok(listed)
}

/// The address of an endpoint.
pub fn url(app: &App, row: &EndpointRow) -> String {
    format!("{}/webhooks/{}", app.config.base_url, row.webhook_id)
}

/// The endpoints of a deployment that the caller may see: those of the deployed version.
pub async fn of_deployment_row(
    app: &App,
    db: &mut Db<'_>,
    (scope, shown): (&Scope, ShownSecrets),
    deployment: &DeploymentRow,
) -> Result<Vec<WebhookEndpoint>, ApiError> {
    let mut listed = list(app, db, (scope, shown), deployment.slot(), Some(deployment)).await?;
    listed.retain(|endpoint| {
        let has = |start: &Start| deployment.has_trigger(start.type_name(), &endpoint.node_id);
        Start::REQUESTS.iter().any(has)
    });
    Ok(listed)
}

/// Tells the audit log whose secrets the caller is shown. To be called when no reader is held any more.
pub async fn note_shown(
    app: &App,
    (scope, shown): (&Scope, ShownSecrets),
    endpoints: &[WebhookEndpoint],
) -> Result<(), ApiError> {
    let read = endpoints
        .iter()
        .filter(|endpoint| endpoint.webhook_secret.is_some());
    let read = read.map(|endpoint| endpoint.id).collect();
    Ok(audit::note_read(app, scope, read, shown.reading()).await?)
}

/// The endpoints of a pattern.
#[derive(Serialize, ToSchema)]
struct Endpoints {
    endpoints: Vec<WebhookEndpoint>,
}

/// Lists the webhook endpoints of a pattern's main deployment, deployed or not, or those that the pattern has in another
/// environment.
#[utoipa::path(
    get, path = "/api/patterns/{id}/webhooks", operation_id = "list_pattern_webhooks", tag = "Webhooks", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "Pattern"), InEnvironment, ShownSecrets),
    responses(
        (status = 200, description = "The endpoints", body = Enveloped<Endpoints>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such pattern, or it was never deployed to that environment", body = ErrorBody),
    )
)]
async fn endpoints_of_pattern(
    State(app): State<App>,
    caller: Caller,
    Path(pattern): Path<PatternId>,
    Query(query): Query<InEnvironment>,
    Query(shown): Query<ShownSecrets>,
) -> Result<Enveloped<Endpoints>, ApiError> {
    let mut reader = app.store.reader().await?;
    let db = &mut reader.db();
    patterns::visible(db, &caller.scope, pattern)
        .await?
        .ok_or(Code::NotFound)?;
    let deployment = match query.environment_id {
        Some(environment) => {
            let found = deployments::visible_in_environment(db, &caller.scope, pattern, environment).await?;
            Some(found.ok_or(Code::NotFound)?)
        }
        None => deployments::visible_in_slot(db, &caller.scope, Slot::main(pattern)).await?,
    };
    let slot = deployment
        .as_ref()
        .map_or(Slot::main(pattern), DeploymentRow::slot);
    let endpoints = list(&app, db, (&caller.scope, shown), slot, deployment.as_ref()).await?;
    drop(reader);
    note_shown(&app, (&caller.scope, shown), &endpoints).await?;
    Ok(Enveloped::new(Endpoints { endpoints }))
}

/// Which endpoints to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
struct EndpointsQuery {
    /// Only the one with this `id`.
    #[param(max_length = 64, example = "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a")]
    endpoint_id: Option<String>,
}

/// Lists a deployment's webhook endpoints.
#[utoipa::path(
    get, path = "/api/deployments/{id}/webhook", operation_id = "list_deployment_webhooks", tag = "Webhooks", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), EndpointsQuery, ShownSecrets),
    responses(
        (status = 200, description = "The endpoints", body = Enveloped<Vec<WebhookEndpoint>>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn endpoints_of_deployment(
    State(app): State<App>,
    caller: Caller,
    Path(deployment): Path<DeploymentId>,
    Query(query): Query<EndpointsQuery>,
    Query(shown): Query<ShownSecrets>,
) -> Result<Enveloped<Vec<WebhookEndpoint>>, ApiError> {
    at_most("endpointId", query.endpoint_id.as_deref(), ID_CHARS_MAX)?;
    let mut reader = app.store.reader().await?;
    let db = &mut reader.db();
    let deployment = deployments::visible(db, &caller.scope, deployment)
        .await?
        .ok_or(Code::NotFound)?;
    let mut endpoints = of_deployment_row(&app, db, (&caller.scope, shown), &deployment).await?;
    drop(reader);
    if let Some(wanted) = query.endpoint_id {
        endpoints.retain(|endpoint| endpoint.id.to_string() == wanted);
    }
    note_shown(&app, (&caller.scope, shown), &endpoints).await?;
    Ok(Enveloped::new(endpoints))
}

/// The endpoint whose secret to replace.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RegenerateRequest {
    /// The endpoint's `id`.
    #[schema(example = "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a")]
    endpoint_id: String,
    /// The new secret, for senders that generate it themselves, such as Stripe and Slack; default: a random one.
    #[schema(min_length = 8, max_length = 255, example = "whsec_0123456789abcdef")]
    secret: Option<String>,
}

/// A secret.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Regenerated {
    /// The secret that senders must sign with from now on.
    webhook_secret: String,
}

/// Replaces an endpoint's secret. The old one stops working at once.
#[utoipa::path(
    post, path = "/api/deployments/{id}/webhook/regenerate", operation_id = "regenerate_webhook_secret", tag = "Webhooks", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment")),
    request_body = RegenerateRequest,
    responses(
        (status = 200, description = "The new secret", body = Enveloped<Regenerated>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the deployment, or its endpoint", body = ErrorBody),
    )
)]
async fn regenerate(
    State(app): State<App>,
    caller: Caller,
    Path(deployment): Path<DeploymentId>,
    Json(request): Json<RegenerateRequest>,
) -> Result<Enveloped<Regenerated>, ApiError> {
    // Who may not see the deployment must not learn from their role that it is there.
    let visible =
        deployments::visible(&mut app.store.reader().await?.db(), &caller.scope, deployment).await?;
    let pattern = visible.ok_or(Code::NotFound)?.pattern_id;
    let editor = caller.scope.editor()?;
    let given = request.secret.as_deref().map(acceptable).transpose()?;
    // What is stored is followed also if the sender has gone by then, or the old secret would go on working.
    let replacing = ToTheEnd::new(async move {
        let state = app.clone();
        let replaced = app.store.write(move |db| {
            Box::pin(async move {
                let deployment = deployments::owned(db, &editor, deployment)
                    .await?
                    .ok_or(Code::NotFound)?;
                let endpoint = endpoint(db, &editor, &deployment, &request.endpoint_id).await?;
                let secret = given.unwrap_or_else(|| endpoint.scheme().new_secret());
                endpoints::set_secret(db, &state.vault, &editor, &endpoint, &secret).await?;
                let entry = Action::WebhookSecretReplaced.of(Object::Endpoint(endpoint.id));
                heddle_store::audit::note(db, &editor, entry).await?;
                Ok::<_, ApiError>(secret)
            })
        });
        let replaced = replaced.await;
        app.webhooks.changed(pattern);
        replaced
    });
    let webhook_secret = replacing.await?;
    Ok(Enveloped::new(Regenerated { webhook_secret }))
}

fn acceptable(secret: &str) -> Result<String, ApiError> {
    let secret = text("secret", secret, SECRET_CHARS_MAX)?;
    if secret.chars().count() < SECRET_CHARS_MIN {
        let message = format!("must have at least {SECRET_CHARS_MIN} characters");
        return Err(ApiError::field("secret", message));
    }
    if secret.chars().any(char::is_control) {
        return Err(ApiError::field("secret", "must be one line"));
    }
    Ok(secret)
}

async fn endpoint(
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: &DeploymentRow,
    endpoint: &str,
) -> Result<EndpointRow, ApiError> {
    let rows = endpoints::in_slot(db, scope, deployment.slot()).await?;
    let found = rows.into_iter().find(|row| row.id.to_string() == endpoint);
    Ok(found.ok_or_else(|| Code::NotFound.with("The deployment has no such webhook endpoint."))?)
}

/// The endpoint to create snippets for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
struct SnippetsQuery {
    /// The endpoint's `id`.
    #[param(example = "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a")]
    endpoint_id: String,
    /// What to send in the place of a greeting, as JSON. A webhook that takes no JSON gets the object's fields as a form, or the text. A
    /// chat gets its `message` and `sessionId`, and a form those of its fields that it takes.
    #[param(max_length = 4096, example = r#"{"order":{"id":"A-1001"}}"#)]
    body: Option<String>,
}

/// Greatest length of a body for snippets, in bytes.
const BODY_BYTES_MAX: usize = 4096;

fn body(text: &str) -> Result<Value, ApiError> {
    if text.len() > BODY_BYTES_MAX {
        let message = format!("must have at most {BODY_BYTES_MAX} bytes");
        return Err(ApiError::field("body", message));
    }
    serde_json::from_str(text).map_err(|error| ApiError::field("body", format!("must be JSON: {error}")))
}

/// Gets code snippets that send a request to a webhook, a form or a chat. They contain the secret, so viewers can't get them.
#[utoipa::path(
    get, path = "/api/deployments/{id}/webhook/snippets", operation_id = "get_webhook_snippets", tag = "Webhooks", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), SnippetsQuery),
    responses(
        (status = 200, description = "The snippets", body = Enveloped<Snippets>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the deployment, or its endpoint", body = ErrorBody),
    )
)]
async fn snippets(
    State(app): State<App>,
    caller: Caller,
    Path(deployment): Path<DeploymentId>,
    Query(query): Query<SnippetsQuery>,
) -> Result<Enveloped<Snippets>, ApiError> {
    let mut reader = app.store.reader().await?;
    let db = &mut reader.db();
    let deployment = deployments::visible(db, &caller.scope, deployment)
        .await?
        .ok_or(Code::NotFound)?;
    caller.scope.sees_secrets()?;
    let given = query.body.as_deref().map(body).transpose()?;
    let endpoint = endpoint(db, &caller.scope, &deployment, &query.endpoint_id).await?;
    let secret = endpoint.secret(db, &app.vault).await?;
    drop(reader);
    audit::note_read(&app, &caller.scope, vec![endpoint.id], Reading::ByTheWay).await?;
    // A form's fields are in what is deployed only.
    let active = app.executions.loaded_for(deployment.slot()).await?;
    let deployed = active
        .as_ref()
        .and_then(|active| active.webhook(&endpoint.node_id));
    let webhook = deployed.cloned().unwrap_or_else(|| endpoint.webhook());
    Ok(Enveloped::new(Snippets::new(
        &url(&app, &endpoint),
        &webhook,
        secret.expose_secret(),
        given.as_ref(),
        app.clock.now(),
    )))
}
