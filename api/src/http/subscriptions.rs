//! The state of deployed triggers' subscriptions: whether services know their webhooks, and what went wrong.

use super::cursor::{self, LongPage};
use super::extract::{Caller, Path, Query};
use super::reply::{CursorMeta, Enveloped, Listed};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use heddle_model::Code;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EndpointId};
use heddle_store::deployments;
use heddle_store::subscriptions::{self, ShownSubscription};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(subscriptions_of_deployment))
        .routes(routes!(list_subscriptions))
}

/// How a subscription stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum SubscriptionStatus {
    /// The service is about to be told.
    Pending,
    /// The service sends.
    Active,
    /// The service could not be told so far; it is tried again.
    Failed,
}

/// Why a request to a service failed.
#[derive(Debug, Serialize, ToSchema)]
struct SubscriptionError {
    #[schema(example = "HTTP_403")]
    code: String,
    /// With what the service has answered, and what to do.
    #[schema(example = "GitHub answered 403: Resource not accessible by personal access token.")]
    message: String,
}

/// A webhook that is registered with a service.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Subscription {
    deployment_id: DeploymentId,
    /// The trigger in the graph.
    #[schema(example = "on-push")]
    node_id: String,
    #[schema(example = "GitHub")]
    service: String,
    status: SubscriptionStatus,
    /// Since when the service sends.
    subscribed_at: Option<Timestamp>,
    /// When it has to be renewed, which is done before; null: never.
    expires_at: Option<Timestamp>,
    /// When the service was asked last.
    checked_at: Option<Timestamp>,
    /// Failures since it succeeded.
    #[schema(minimum = 0)]
    failures: i64,
    /// Null: the last time it did not fail.
    last_error: Option<SubscriptionError>,
    /// When the service is asked next.
    next_at: Option<Timestamp>,
}

impl From<ShownSubscription> for Subscription {
    fn from(row: ShownSubscription) -> Self {
        let (state, time) = (row.state, |millis: Option<i64>| {
            millis.map(Timestamp::from_millis)
        });
        let is_active = row.is_current && state.subscribed_at.is_some();
        let last_error = state.error_code.zip(state.error);
        Subscription {
            deployment_id: row.deployment_id,
            node_id: row.node_id,
            service: row.service,
            status: match (is_active, &last_error) {
                (true, _) => SubscriptionStatus::Active,
                (false, Some(_)) => SubscriptionStatus::Failed,
                (false, None) => SubscriptionStatus::Pending,
            },
            subscribed_at: time(state.subscribed_at),
            expires_at: time(state.expires_at),
            checked_at: time(state.checked_at),
            failures: state.failures,
            last_error: last_error.map(|(code, message)| SubscriptionError { code, message }),
            next_at: time(state.due_at),
        }
    }
}

/// Lists the webhooks that a deployment has registered with services, by node.
#[utoipa::path(
    get, path = "/api/deployments/{id}/subscriptions", operation_id = "list_deployment_subscriptions", tag = "Webhooks",
    security(("bearer" = [])), params(("id" = DeploymentId, Path, description = "Deployment")),
    responses(
        (status = 200, description = "The subscriptions", body = Enveloped<Vec<Subscription>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn subscriptions_of_deployment(
    State(app): State<App>,
    caller: Caller,
    Path(deployment): Path<DeploymentId>,
) -> Result<Enveloped<Vec<Subscription>>, ApiError> {
    let mut reader = app.store.reader().await?;
    let visible = deployments::visible(&mut reader.db(), &caller.scope, deployment).await?;
    visible.ok_or(Code::NotFound)?;
    let rows = subscriptions::of_deployment(&mut reader.db(), &caller.scope, deployment).await?;
    Ok(Enveloped::new(rows.into_iter().map(Subscription::from).collect()))
}

/// Lists the webhooks that all deployments in the active workspace have registered with services.
#[utoipa::path(
    get, path = "/api/subscriptions", tag = "Webhooks", security(("bearer" = [])), params(LongPage),
    responses(
        (status = 200, description = "A page", body = Listed<Subscription, CursorMeta>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn list_subscriptions(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<LongPage>,
) -> Result<Listed<Subscription, CursorMeta>, ApiError> {
    let (after, limit) = query.bounds::<EndpointId>()?;
    let mut reader = app.store.reader().await?;
    // One more tells whether there is a next page.
    let mut page = subscriptions::list(&mut reader.db(), &caller.scope, after, limit + 1).await?;
    let next_cursor = cursor::next(&mut page, limit, |row| row.endpoint_id.to_string());
    let listed = page.into_iter().map(Subscription::from);
    Ok(Listed::new(listed.collect(), CursorMeta { limit, next_cursor }))
}
