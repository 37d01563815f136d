//! `PUT /api/deployments/:id/schedule`.

use super::extract::{Caller, Json, Path, text};
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use heddle_execution::deployed_schedules;
use heddle_execution::schedule::{Mistake, Schedule};
use heddle_model::Code;
use heddle_model::ids::DeploymentId;
use heddle_model::status::DeploymentStatus;
use heddle_store::deployments;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const CRON_CHARS_MAX: usize = 200;
const ZONE_CHARS_MAX: usize = 64;

/// The routes.
pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(set))
}

/// The schedule of a deployment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ScheduleRequest {
    /// Cron expression: minute, hour, day of the month, month and day of the week; with six fields, the first is the
    /// seconds.
    #[schema(example = "0 9 * * 1-5", min_length = 9, max_length = 200)]
    cron_expression: String,
    /// Time zone name from the IANA database; default: UTC.
    #[schema(example = "Europe/Berlin", max_length = 64)]
    timezone: Option<String>,
}

/// The schedule of a deployment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Scheduled {
    #[schema(example = "0 9 * * 1-5")]
    cron_expression: String,
    #[schema(example = "Europe/Berlin")]
    timezone: String,
}

/// Sets the schedule of all OnSchedule nodes of a deployment, overriding their own.
#[utoipa::path(
    put, path = "/api/deployments/{id}/schedule", tag = "Deployments", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment")),
    request_body = ScheduleRequest,
    responses(
        (status = 200, description = "Set", body = Enveloped<Scheduled>),
        (status = 400, description = "VALIDATION or NO_SCHEDULE", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn set(
    State(app): State<App>,
    caller: Caller,
    Path(deployment): Path<DeploymentId>,
    Json(request): Json<ScheduleRequest>,
) -> Result<Enveloped<Scheduled>, ApiError> {
    let visible =
        deployments::visible(&mut app.store.reader().await?.db(), &caller.scope, deployment).await?;
    visible.ok_or(Code::NotFound)?;
    let editor = caller.scope.editor()?;
    let cron_expression = text("cronExpression", &request.cron_expression, CRON_CHARS_MAX)?;
    let timezone = text(
        "timezone",
        request.timezone.as_deref().unwrap_or("UTC"),
        ZONE_CHARS_MAX,
    )?;
    let now = app.clock.now();
    let schedule = Schedule::parse(&cron_expression, &timezone).map_err(|mistake| match mistake {
        Mistake::Cron(_) => ApiError::field("cronExpression", mistake.to_string()),
        Mistake::Zone => ApiError::field("timezone", mistake.to_string()),
    })?;
    if schedule.next_after(now).is_none() {
        return Err(ApiError::field("cronExpression", "never comes"));
    }
    let (cron, zone) = (cron_expression.clone(), timezone.clone());
    app.store
        .write(move |db| {
            Box::pin(async move {
                let row = deployments::owned(db, &editor, deployment)
                    .await?
                    .ok_or(Code::NotFound)?;
                let is_active = row.status == DeploymentStatus::Active;
                deployed_schedules::set(db, &editor, (row.id, is_active), (&cron, &zone), now).await
            })
        })
        .await?;
    Ok(Enveloped::new(Scheduled {
        cron_expression,
        timezone,
    }))
}
