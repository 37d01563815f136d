//! All routes, and the parts of the OpenAPI document that don't belong to a handler.

use super::{
    account, account_removal, api_keys, audit, auth, authenticators, browser_sessions, callbacks,
    connections, deploy_rules, deploying, deployments, document, environments, expressions, figures, files,
    health, inbound, invitation_links, invitations, key_values, members, nodes, operations, operator,
    password_reset, patterns, preview, renaming, replays, runs, schedules, series, session, subscriptions,
    tails, test_cases, test_runs, test_streams, usage, validation, waiting_callbacks, webhook_endpoints,
    webhook_logs, webhooks, workspace_runs, workspace_stream, workspaces,
};
use crate::app::App;
use axum::Router;
use serde_json::Value;
use std::sync::LazyLock;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;

/// The parts of the OpenAPI document that don't belong to a handler.
#[derive(OpenApi)]
#[openapi(info(
    title = "heddle",
    description = "Stores, deploys and runs patterns: automations drawn as graphs, compiled to WebAssembly.\n\n\
        Get a token with `POST /api/auth/login` or create an API key, and send it as `Authorization: Bearer \
        …`. A browser that has signed in with `POST /api/session` has a cookie instead, by which only pages of \
        the service itself can change anything. Errors have one shape, `ErrorBody`: match on `error.code`, show `error.message`. Objects that \
        belong to somebody else answer 404, as if they did not exist. Times are ISO 8601 in UTC with \
        milliseconds. Unknown fields in requests are refused where the schema has no further properties, and ignored elsewhere; answers may gain new fields. Every response \
        has an `X-Request-Id`."
), components(schemas(heddle_model::ids::TabId)), tags(
    (name = "Authentication", description = "Accounts, tokens and API keys."),
    (name = "Workspaces", description = "Workspaces and their members."),
    (name = "Environments", description = "Where a workspace's patterns run: secrets and variables."),
    (name = "Connections", description = "Credentials for other services, stored encrypted and never shown again."),
    (name = "Kept values", description = "What patterns keep between runs by KeyValue nodes."),
    (name = "Patterns", description = "Graphs of connected nodes."),
    (name = "Pattern versions", description = "Every change makes a version; old ones can be compared and restored."),
    (name = "Call interface", description = "A pattern's inputs and outputs when another pattern calls it."),
    (name = "Tests", description = "Cases kept with a pattern: what it runs with, and what is expected."),
    (name = "Webhooks", description = "How events arrive, and what happened to them."),
    (name = "Deployments", description = "Deployed patterns, started by their triggers."),
    (name = "Executions", description = "Runs of deployed patterns, and test runs."),
    (name = "Files", description = "Files that runs hold by reference."),
    (name = "Node types", description = "The building blocks of graphs."),
    (name = "Audit log", description = "Who changed what, when and from where."),
    (name = "Operator", description = "All workspaces, for whoever hosts the service for others."),
    (name = "Operation", description = "The service itself: health, metrics, this description."),
))]
struct Document;

/// The OpenAPI document as text, created on first use.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// The OpenAPI document, with the responses that every operation has.
pub fn document() -> Value {
    let (_, document) = all().split_for_parts();
    document::completed(document)
}

/// All routes with their description, without middleware.
fn all() -> OpenApiRouter<App> {
    described().merge(webhooks::routes())
}

/// All routes but those that say themselves which pages may use them. They are put together once for all services of the
/// process: their description, which comes with them, takes longer than all else that a service needs to start.
pub fn behind_cors() -> Router<App> {
    static ROUTES: LazyLock<Router<App>> = LazyLock::new(|| described().into());
    ROUTES.clone()
}

/// The same with their description.
fn described() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(head())
        .merge(auth::routes())
        .merge(health::routes())
        .merge(patterns::routes())
        .merge(nodes::routes())
        .merge(expressions::routes())
        .merge(document::routes(|| DOCUMENT.as_str()))
        .merge(session::routes())
        .merge(account::routes())
        .merge(browser_sessions::routes())
        .merge(account_removal::routes())
        .merge(authenticators::routes())
        .merge(password_reset::routes())
        .merge(invitations::routes())
        .merge(invitation_links::routes())
        .merge(api_keys::routes())
        .merge(audit::routes())
        .merge(workspaces::routes())
        .merge(usage::routes())
        .merge(operator::routes())
        .merge(members::routes())
        .merge(deploy_rules::routes())
        .merge(environments::routes())
        .merge(key_values::routes())
        .merge(connections::routes())
        .merge(deploying::routes())
        .merge(deployments::routes())
        .merge(operations::routes())
        .merge(schedules::routes())
        .merge(callbacks::routes())
        .merge(waiting_callbacks::routes())
        .merge(webhook_endpoints::routes())
        .merge(subscriptions::routes())
        .merge(webhook_logs::routes())
        .merge(inbound::routes())
        .merge(runs::routes())
        .merge(replays::routes())
        .merge(files::routes())
        .merge(workspace_runs::routes())
        .merge(figures::routes())
        .merge(series::routes())
        .merge(tails::routes())
        .merge(workspace_stream::routes())
        .merge(test_cases::routes())
        .merge(test_runs::routes())
        .merge(test_streams::routes())
        .merge(preview::routes())
        .merge(validation::routes())
        .merge(renaming::routes())
}

/// The document without any route.
fn head() -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi();
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A token from login, or an API key `hdl_…`."))
        .build();
    document
        .components
        .get_or_insert_default()
        .add_security_scheme("bearer", SecurityScheme::Http(bearer));
    let operator = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("The token that is set as `operator_token`."))
        .build();
    document
        .components
        .get_or_insert_default()
        .add_security_scheme("operator", SecurityScheme::Http(operator));
    document
}
