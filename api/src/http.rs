//! The HTTP interface: routes, middleware and response shapes. Handlers only translate between HTTP and the service;
//! rights and effects are decided elsewhere.

mod account;
mod account_removal;
pub mod api_keys;
pub mod audit;
mod auth;
mod authenticators;
mod browser_sessions;
pub mod callbacks;
pub mod client_ip;
pub mod connections;
pub mod console;
mod cursor;
mod deploy_gate;
pub mod deploy_plan;
mod deploy_rules;
pub mod deploying;
pub mod deployments;
pub mod document;
mod drawn;
pub mod environments;
pub mod error;
mod expressions;
pub mod extract;
pub mod figures;
mod files;
mod forms;
pub mod health;
pub mod in_environment;
pub mod inbound;
mod invalid_graph;
mod invitation_links;
mod invitations;
mod key_values;
pub mod members;
pub mod middleware;
pub mod nodes;
pub mod operations;
pub mod operator;
mod pages;
mod password_reset;
pub mod patterns;
mod preview;
mod renaming;
mod replays;
pub mod reply;
mod request_metrics;
pub mod routes;
pub mod runs;
pub mod schedules;
mod secret_fields;
mod series;
pub mod server;
pub mod session;
mod sources;
mod subscriptions;
pub mod tails;
mod test_cases;
pub mod test_runs;
pub mod test_streams;
mod usage;
pub mod validation;
mod waiting_callbacks;
pub mod webhook_endpoints;
pub mod webhook_logs;
pub mod webhooks;
mod workspace_runs;
mod workspace_stream;
pub mod workspaces;

use crate::app::App;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::Method;
use axum::http::header::{CONTENT_DISPOSITION, RETRY_AFTER};
use axum::middleware::{Next, from_fn};
use error::ApiError;
use heddle_model::Code;
use heddle_store::asking::of_request;
use std::time::Duration;
use tower::ServiceBuilder;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

/// How long browsers may cache the response to a CORS preflight.
const PREFLIGHT_AGE_MAX: Duration = Duration::from_secs(600);

/// The whole service as one tower service; on a server that only executes runs, only the operators' routes.
pub fn router(app: &App) -> Router {
    let answers = app.config.role.answers();
    let routes = match answers {
        true => routes::behind_cors(),
        false => Router::from(health::routes()),
    };
    let routes = match app.config.console && answers {
        true => routes.merge(console::routes()),
        false => routes,
    };
    let routes = routes
        .fallback(|| async { ApiError::from(Code::NotFound.with("Nothing is served at this path.")) })
        .method_not_allowed_fallback(not_allowed)
        .layer(
            ServiceBuilder::new()
                .layer(DefaultBodyLimit::max(app.config.api_body_bytes_max))
                // What is looked up for a user, whom `extract::Caller` names, takes that user's share of the database.
                .layer(from_fn(|request: Request, next: Next| {
                    of_request(next.run(request))
                })),
        );
    let routes = match cors(&app.config.cors_origins) {
        Some(cors) => routes.layer(cors),
        None => routes,
    };
    // Each of them has pages of its own that may use it.
    let routes = match answers {
        true => routes.merge(Router::from(webhooks::routes()).method_not_allowed_fallback(not_allowed)),
        false => routes,
    };
    routes
        // As one, since each layer of a router is boxed and cloned for each request. The first one is the outermost.
        .layer(
            ServiceBuilder::new()
                .layer(middleware::IdentifyLayer {
                    slow: app.config.slow_request,
                })
                .layer(middleware::CatchPanicsLayer),
        )
        .with_state(app.clone())
}

async fn not_allowed() -> ApiError {
    Code::MethodNotAllowed.into()
}

/// CORS for pages of these origins. Without any, only the service's own pages can use the API.
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
