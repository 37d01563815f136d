//! The HTTP interface: routes, what stands around them, and the shapes of answers. Handlers translate; what is
//! allowed and what follows is decided elsewhere.

mod account;
pub mod api_keys;
pub mod auth;
pub mod callbacks;
pub mod client_ip;
pub mod connections;
pub mod deployments;
pub mod document;
pub mod environments;
pub mod error;
pub mod extract;
pub mod figures;
pub mod health;
pub mod inbound;
mod invitations;
pub mod members;
pub mod middleware;
pub mod nodes;
pub mod operations;
pub mod patterns;
pub mod reply;
mod request_metrics;
pub mod runs;
pub mod schedules;
pub mod server;
pub mod session;
pub mod tails;
pub mod test_runs;
mod to_the_end;
pub mod webhook_endpoints;
pub mod webhook_logs;
pub mod webhooks;
pub mod workspaces;

use crate::app::App;
use crate::telemetry;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Method;
use axum::http::header::{CONTENT_DISPOSITION, RETRY_AFTER};
use error::ApiError;
use heddle_model::Code;
use std::time::Duration;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;

/// How long browsers may remember what pages of other origins are allowed.
const PREFLIGHT_AGE_MAX: Duration = Duration::from_secs(600);

/// The parts of the OpenAPI document that no handler gives.
#[derive(OpenApi)]
#[openapi(info(
    title = "heddle",
    description = "Stores, deploys and runs patterns: automations drawn as graphs, compiled to WebAssembly.\n\n\
        Get a token by `POST /api/auth/login` or make an API key, and send it as `Authorization: Bearer …`. Errors \
        have one shape, `ErrorBody`: match on `error.code`, show `error.message`. What belongs to somebody else \
        answers 404, as if it did not exist. Times are ISO 8601 in UTC with milliseconds. Fields that are not \
        described here are ignored in requests, and may be added to answers. Every answer has an `X-Request-Id`."
), tags(
    (name = "Authentication", description = "Accounts, tokens and API keys."),
    (name = "Workspaces", description = "Workspaces and their members."),
    (name = "Environments", description = "Where a workspace's patterns run: secrets and variables."),
    (name = "Connections", description = "Credentials of other services, encrypted where they are stored and never shown again."),
    (name = "Patterns", description = "Graphs of connected nodes."),
    (name = "Pattern versions", description = "Every change makes a version; old ones can be compared and restored."),
    (name = "Call interface", description = "What a pattern takes and gives when another pattern calls it."),
    (name = "Webhooks", description = "How events come in, and what became of them."),
    (name = "Deployments", description = "Deployed patterns, which triggers start."),
    (name = "Executions", description = "Runs of deployed patterns, and test runs."),
    (name = "Node types", description = "What graphs are made of."),
    (name = "Operation", description = "The service itself: health, figures, this description."),
))]
struct Document;

/// All routes with their description, before anything is put around them.
pub fn api() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(document())
        .merge(auth::routes())
        .merge(health::routes())
        .merge(patterns::routes())
        .merge(nodes::routes())
        .merge(document::routes())
        .merge(session::routes())
        .merge(account::routes())
        .merge(invitations::routes())
        .merge(api_keys::routes())
        .merge(workspaces::routes())
        .merge(members::routes())
        .merge(environments::routes())
        .merge(connections::routes())
        .merge(deployments::routes())
        .merge(operations::routes())
        .merge(schedules::routes())
        .merge(webhooks::routes())
        .merge(callbacks::routes())
        .merge(webhook_endpoints::routes())
        .merge(webhook_logs::routes())
        .merge(inbound::routes())
        .merge(runs::routes())
        .merge(figures::routes())
        .merge(tails::routes())
        .merge(test_runs::routes())
}

fn document() -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi();
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A token from login, or an API key `hdl_…`."))
        .build();
    document
        .components
        .get_or_insert_default()
        .add_security_scheme("bearer", SecurityScheme::Http(bearer));
    document
}

/// The service as one tower service: all of it, or of a server that only executes what its operators need.
pub fn router(app: &App) -> Router {
    // What is counted before the first question counts too.
    telemetry::metrics();
    let served = match app.config.role.answers() {
        true => api(),
        false => OpenApiRouter::new().merge(health::routes()),
    };
    let (routes, _document) = served.split_for_parts();
    routes
        .fallback(|| async { ApiError::from(Code::NotFound.with("There is nothing at this path.")) })
        .method_not_allowed_fallback(|| async { ApiError::from(Code::MethodNotAllowed) })
        // As one, since each layer of a router is boxed and cloned for each request. The first one is the outermost.
        .layer(
            ServiceBuilder::new()
                .layer(middleware::IdentifyLayer)
                .option_layer(cors(&app.config.cors_origins))
                .layer(CatchPanicLayer::custom(middleware::panicked))
                .layer(DefaultBodyLimit::max(app.config.api_body_bytes_max)),
        )
        .with_state(app.clone())
}

/// Lets pages of these origins use the API; without any, only pages of the service itself, which need no leave.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let layer = CorsLayer::new()
        .allow_methods([
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([middleware::REQUEST_ID.clone(), RETRY_AFTER, CONTENT_DISPOSITION])
        .max_age(PREFLIGHT_AGE_MAX);
    if origins.iter().any(|origin| origin == "*") {
        return Some(layer.allow_origin(AllowOrigin::any()));
    }
    Some(layer.allow_origin(AllowOrigin::list(
        origins.iter().filter_map(|origin| origin.parse().ok()),
    )))
}
