//! The HTTP interface: routes, what stands around them, and the shapes of answers. Handlers translate; what is
//! allowed and what follows is decided elsewhere.

pub mod auth;
pub mod extract;
pub mod middleware;
pub mod reply;

use crate::app::App;
use crate::error::Code;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;

/// The parts of the OpenAPI document that no handler gives.
#[derive(OpenApi)]
#[openapi(info(
    title = "heddle",
    description = "Stores, deploys and runs patterns: automations drawn as graphs, compiled to WebAssembly."
))]
struct Document;

/// All routes with their description, before anything is put around them.
pub fn api() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(document()).merge(auth::routes())
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

/// The service as one tower service.
pub fn router(app: &App) -> Router {
    let (routes, _document) = api().split_for_parts();
    routes
        .fallback(|| async { Code::NotFound.with("There is nothing at this path.") })
        .method_not_allowed_fallback(|| async {
            Code::MethodNotAllowed.with(Code::MethodNotAllowed.parts().2)
        })
        .layer(DefaultBodyLimit::max(app.config.api_body_bytes_max))
        .layer(CatchPanicLayer::custom(middleware::panicked))
        .layer(from_fn(middleware::request_id))
        .with_state(app.clone())
}
