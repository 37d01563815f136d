//! Who else has a pattern open in an editor.

use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{Caller, Json, Path};
use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{PatternId, TabId, UserId};
use heddle_model::names::full_name;
use heddle_service::patterns::presence::{self, Around, TELL_EVERY};
use heddle_store::presence::OpenRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(tell, leave))
}

/// What a tab says of itself.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PresenceRequest {
    /// Whether there is something in it that is not saved.
    #[schema(example = true)]
    has_changes: bool,
}

/// Another tab that has the pattern open.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OpenEditor {
    user_id: UserId,
    #[schema(example = "Ann Lee")]
    name: String,
    /// Whether it is a tab of the caller's own.
    is_own: bool,
    /// Whether there is something in it that is not saved.
    has_changes: bool,
    /// Since when it is open.
    since: Timestamp,
}

/// What is around a tab.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Presence {
    /// The pattern's newest version.
    #[schema(example = 3, minimum = 1)]
    version_number: i64,
    /// Who saved it, unless that was the caller or the account is gone.
    #[schema(example = "Bob Ray")]
    saved_by: Option<String>,
    /// Other tabs that have the pattern open, the longest open first.
    others: Vec<OpenEditor>,
    /// How often to tell it again, in milliseconds. A tab that tells nothing for three times as long counts as closed.
    #[schema(example = 15000, minimum = 1000)]
    tell_every_ms: u64,
}

impl Presence {
    fn new(around: Around, caller: UserId) -> Presence {
        let open = |row: OpenRow| OpenEditor {
            user_id: row.user_id,
            name: full_name(&row.first_name, &row.last_name),
            is_own: row.user_id == caller,
            has_changes: row.has_changes,
            since: row.since,
        };
        let saved_by = around.saved_by.filter(|(user, _, _)| *user != caller);
        Presence {
            version_number: around.version_number,
            saved_by: saved_by.map(|(_, first, last)| full_name(&first, &last)),
            others: around.others.into_iter().map(open).collect(),
            tell_every_ms: u64::try_from(TELL_EVERY.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Tells that the caller has a pattern open in an editor, and gets who else has.
///
/// Editors tell it every `tellEveryMs`. Nothing is locked by it: it lets people know of each other before their changes
/// meet. `tab` is any UUID that the tab has made for itself.
#[utoipa::path(
    put, path = "/api/patterns/{id}/presence/{tab}", operation_id = "tell_presence", tag = "Patterns", request_body = PresenceRequest,
    security(("bearer" = [])),
    params(
        ("id" = PatternId, Path, description = "The pattern"),
        ("tab" = TabId, Path, description = "The tab"),
    ),
    responses(
        (status = 200, description = "What is around it", body = Presence),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer, or the pattern is somebody else's public one", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn tell(
    State(app): State<App>,
    caller: Caller,
    Path(at): Path<(PatternId, TabId)>,
    Json(request): Json<PresenceRequest>,
) -> Result<Answer<Presence>, ApiError> {
    let editor = caller.scope.editor()?;
    let around = presence::tell(&app, editor, at, request.has_changes).await?;
    Ok(Answer(Presence::new(around, caller.scope.user())))
}

/// Says that a tab is closed. A tab that is no longer known is not an error.
#[utoipa::path(
    delete, path = "/api/patterns/{id}/presence/{tab}", operation_id = "end_presence", tag = "Patterns", security(("bearer" = [])),
    params(
        ("id" = PatternId, Path, description = "The pattern"),
        ("tab" = TabId, Path, description = "The tab"),
    ),
    responses(
        (status = 204, description = "Closed"),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer, or the pattern is somebody else's public one", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn leave(
    State(app): State<App>,
    caller: Caller,
    Path(at): Path<(PatternId, TabId)>,
) -> Result<StatusCode, ApiError> {
    presence::leave(&app, caller.scope.editor()?, at).await?;
    Ok(StatusCode::NO_CONTENT)
}
