//! `/healthz`, `/readyz` and `/metrics`: for those who operate the service, without a token.

use crate::app::App;
use crate::error::{ApiError, Code, ErrorBody};
use crate::store::sql;
use crate::telemetry;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(healthz))
        .routes(routes!(readyz))
        .routes(routes!(metrics))
}

/// That it lives.
#[derive(Debug, Serialize, ToSchema)]
struct Health {
    /// Always `ok`.
    #[schema(example = "ok")]
    status: &'static str,
}

/// Tells that the process answers.
#[utoipa::path(
    get, path = "/healthz", tag = "Operation", security(()),
    responses((status = 200, description = "The process answers", body = Health))
)]
async fn healthz() -> axum::Json<Health> {
    axum::Json(Health { status: "ok" })
}

/// Tells whether the service can work: its database answers.
#[utoipa::path(
    get, path = "/readyz", tag = "Operation", security(()),
    responses(
        (status = 200, description = "The service can work", body = Health),
        (status = 503, description = "UNAVAILABLE: the database does not answer", body = ErrorBody),
    )
)]
async fn readyz(State(app): State<App>) -> Result<axum::Json<Health>, ApiError> {
    let mut reader = app.store.reader().await?;
    let answered: Result<(i64,), _> = reader.db().one(sql("select cast(1 as bigint)")).await;
    answered.map_err(|_| Code::Unavailable)?;
    Ok(axum::Json(Health { status: "ok" }))
}

/// Gives the metrics in Prometheus' text form.
#[utoipa::path(
    get, path = "/metrics", tag = "Operation", security(()),
    responses((status = 200, description = "Metrics", body = String, content_type = "text/plain"))
)]
async fn metrics(State(app): State<App>) -> impl IntoResponse {
    app.executions.gauge();
    let text = telemetry::metrics().map(|metrics| {
        metrics.run_upkeep();
        metrics.render()
    });
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    ([(CONTENT_TYPE, content_type)], text.unwrap_or_default())
}
