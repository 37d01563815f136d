//! `/healthz`, `/readyz` and `/metrics`: for operators of the service, without an account.

use crate::app::App;
use crate::disk;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::shows_secret;
use crate::telemetry;
use axum::Router;
use axum::extract::{ConnectInfo, Extension, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use heddle_model::Code;
use secrecy::ExposeSecret;
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(healthz))
        .routes(routes!(readyz))
        .routes(routes!(metrics))
}

/// Liveness of the process.
#[derive(Debug, Serialize, ToSchema)]
struct Health {
    /// Always `ok`.
    #[schema(example = "ok")]
    status: &'static str,
}

/// Checks that the process answers.
#[utoipa::path(
    get, path = "/healthz", operation_id = "get_health", tag = "Operation", security(()),
    responses((status = 200, description = "The process answers", body = Health))
)]
async fn healthz() -> axum::Json<Health> {
    axum::Json(Health { status: "ok" })
}

/// Checks that the service can work: its database answers, the disk of an embedded database has room and can be written,
/// and the server is not being stopped.
#[utoipa::path(
    get, path = "/readyz", operation_id = "get_readiness", tag = "Operation", security(()),
    responses(
        (status = 200, description = "The service can work", body = Health),
        (status = 503, description = "UNAVAILABLE: the database does not answer, the disk is full or can't be written, or \
            the server is being stopped; the message says which", body = ErrorBody),
    )
)]
async fn readyz(State(app): State<App>) -> Result<axum::Json<Health>, ApiError> {
    if app.executions.is_stopping() {
        return Err(Code::Unavailable.with("The server is being stopped.").into());
    }
    app.store
        .ping()
        .await
        .map_err(|_| Code::Unavailable.with("The database does not answer."))?;
    // PostgreSQL has a disk of its own.
    if app.config.database_url.is_none() {
        let data_dir = app.config.data_dir.clone();
        let checked = tokio::task::spawn_blocking(move || disk::check(&data_dir)).await;
        checked
            .map_err(ApiError::internal)?
            .map_err(|problem| Code::Unavailable.with(problem.to_string()))?;
    }
    Ok(axum::Json(Health { status: "ok" }))
}

/// `/metrics` by itself, for a listener of its own.
pub fn metrics_alone(app: &App) -> Router {
    let answer = async |State(app): State<App>, headers: HeaderMap| match shows_token(&app, &headers) {
        Some(false) => ApiError::from(Code::Unauthorized.with(TOKEN_NEEDED)).into_response(),
        Some(true) | None => rendered(&app),
    };
    Router::new()
        .route("/metrics", get(answer))
        .with_state(app.clone())
}

const TOKEN_NEEDED: &str =
    "Metrics need the token that is set as metrics_token: send it as `Authorization: Bearer …`.";

/// Whether a request for metrics shows the token. `None`: none is required.
fn shows_token(app: &App, headers: &HeaderMap) -> Option<bool> {
    let token = app.config.metrics_token.as_ref()?;
    Some(shows_secret(headers, token.expose_secret()))
}

/// Gets the metrics in Prometheus' text format. With `metrics_token`, whoever sends it as a bearer token may read them;
/// without, only this machine and private networks may, and not through a proxy. With `metrics_listen` they are served
/// only at that address.
#[utoipa::path(
    get, path = "/metrics", operation_id = "get_metrics", tag = "Operation", security(()),
    responses(
        (status = 200, description = "Metrics", body = String, content_type = "text/plain"),
        (status = 401, description = "UNAUTHORIZED: the token is missing or incorrect", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the request comes from a public network, or through a proxy", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: metrics are served at another address", body = ErrorBody),
    )
)]
async fn metrics(
    State(app): State<App>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if app.config.http.metrics_listen.is_some() {
        return Err(Code::NotFound
            .with("Metrics are served at a separate address (metrics_listen).")
            .into());
    }
    let is_allowed = shows_token(&app, &headers);
    if is_allowed == Some(false) {
        return Err(Code::Unauthorized.with(TOKEN_NEEDED).into());
    }
    // Only a router that is called without a socket has no peer.
    let is_near = peer.is_none_or(|Extension(ConnectInfo(peer))| is_near(peer.ip()));
    let is_forwarded = FORWARDED_BY.iter().any(|name| headers.contains_key(*name));
    if is_allowed.is_none() && (!is_near || is_forwarded) {
        let message = "Metrics are served only to this machine and private networks, and not through a \
            proxy: set metrics_token to require a token, or metrics_listen to serve them at a separate \
            address.";
        return Err(Code::Forbidden.with(message).into());
    }
    Ok(rendered(&app))
}

/// Headers that show that a request came through a proxy.
const FORWARDED_BY: [&str; 3] = ["x-forwarded-for", "forwarded", "via"];

/// Whether an address is local or private, so that the internet does not route it.
fn is_near(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            let is_shared = first == 100 && (64..128).contains(&second);
            address.is_loopback() || address.is_private() || address.is_link_local() || is_shared
        }
        IpAddr::V6(address) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

fn rendered(app: &App) -> Response {
    app.executions.gauge();
    let text = telemetry::metrics::handle().map(|metrics| {
        metrics.run_upkeep();
        metrics.render()
    });
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    ([(CONTENT_TYPE, content_type)], text.unwrap_or_default()).into_response()
}

#[cfg(test)]
mod tests {
    use super::is_near;

    #[test]
    fn near_is_what_the_internet_does_not_route() {
        for near in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "172.16.0.1",
            "100.64.0.1",
            "169.254.0.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_near(near.parse().unwrap()), "{near}");
        }
        for far in [
            "8.8.8.8",
            "100.128.0.1",
            "172.32.0.1",
            "2001:db8::1",
            "::ffff:8.8.8.8",
        ] {
            assert!(!is_near(far.parse().unwrap()), "{far}");
        }
    }
}
