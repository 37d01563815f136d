//! Exporting a workspace whole, and importing it elsewhere: the bytes of `heddle_service::archives` over HTTP.

use super::caller::Operator;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{self, Json, Path};
use crate::http::reply::Enveloped;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use heddle_execution::ToTheEnd;
use heddle_model::error::ServiceError;
use heddle_model::ids::WorkspaceId;
use heddle_model::objects;
use heddle_service::archives::{self, ArchiveImport, Export, Manifest, Progress};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    let parts = OpenApiRouter::new()
        .routes(routes!(add_import_part))
        .layer(DefaultBodyLimit::max(archives::PART_BYTES_MAX));
    OpenApiRouter::new()
        .routes(routes!(export_tenant))
        .routes(routes!(begin_import))
        .routes(routes!(get_import))
        .merge(parts)
}

/// What an archive is locked with.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ExportRequest {
    /// All that protects what is in the archive, secrets included. Whoever imports it needs it.
    #[schema(example = "correct horse battery staple", min_length = 16, max_length = 1_024)]
    passphrase: String,
}

/// An archive to import.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ImportTenantRequest {
    /// The archive's first line.
    #[serde(deserialize_with = "objects::one")]
    manifest: Manifest,
    /// What it was locked with.
    #[schema(example = "correct horse battery staple", min_length = 16, max_length = 1_024)]
    passphrase: String,
    /// Email of a registered user, who gets what belonged to people without an account here, and owns the workspace if none of its
    /// owners has one. Default: the first of its owners who has one.
    #[schema(example = "ann@example.com", max_length = 300)]
    #[serde(default)]
    owner: Option<String>,
    /// Gives everything another id although the workspace's own is free: what is made is a copy.
    #[serde(default)]
    new_ids: bool,
}

/// An address of a webhook or of mail that somebody had.
#[derive(Debug, Serialize, ToSchema)]
struct ChangedAddress {
    /// `webhook` or `email`.
    #[schema(example = "webhook")]
    kind: &'static str,
    /// Its unguessable part at the other service.
    #[schema(example = "5c1f1b0e6f3a4b7e9d2c8a7f6e5d4c3b")]
    from: String,
    /// Its unguessable part here.
    #[schema(example = "0e6f3a4b7e9d2c8a7f6e5d4c3b5c1f1b")]
    to: String,
}

/// How far an import has come.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Import {
    /// The workspace, which is suspended, and has members once all of it is there.
    workspace_id: WorkspaceId,
    /// Its id where it was exported.
    former_id: WorkspaceId,
    /// Whether ids stay as they were; else it is a copy.
    keeps_ids: bool,
    /// The number of the part that comes next.
    #[schema(example = 2)]
    next_part: i64,
    /// Whether all parts are there.
    is_finished: bool,
    /// Rows and pieces of files that were added.
    #[schema(example = 1_200)]
    rows: u64,
    /// Addresses that are others now.
    changed_addresses: Vec<ChangedAddress>,
    /// Emails of members who have no account here: they were invited.
    invited: Vec<String>,
    /// Drafts and stars of people without an account, which were left out.
    left_out: u64,
    /// Runs that had not ended, which a copy does not go on with.
    ended_runs: u64,
}

impl From<Progress> for Import {
    fn from(progress: Progress) -> Self {
        let report = progress.report;
        let changed = report.readdressed.into_iter().map(|it| ChangedAddress {
            kind: if it.is_mail { "email" } else { "webhook" },
            from: it.from,
            to: it.to,
        });
        Import {
            workspace_id: progress.workspace,
            former_id: progress.former,
            keeps_ids: progress.keeps_ids,
            next_part: progress.next_part,
            is_finished: progress.is_finished,
            rows: report.rows,
            changed_addresses: changed.collect(),
            invited: report.invited,
            left_out: report.left_out,
            ended_runs: report.ended_runs,
        }
    }
}

/// Exports a suspended workspace with everything that it has, as an archive that is locked with a passphrase: a line of JSON, the
/// manifest, and parts, each after a line of JSON that tells its number, name, length and SHA-256. An answer that breaks off
/// before the part `end` is none.
#[utoipa::path(
    post, path = "/operator/workspaces/{id}/export", tag = "Operator", security(("operator" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")), request_body = ExportRequest,
    responses(
        (status = 200, description = "The archive", content((String = "application/octet-stream"))),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND; NOT_FOUND: the operator's API is off, or served elsewhere", body = ErrorBody),
        (status = 409, description = "CONFLICT: it is not suspended, or some of its runs still execute", body = ErrorBody),
    )
)]
async fn export_tenant(
    State(app): State<App>,
    Operator(origin): Operator,
    Path(id): Path<WorkspaceId>,
    Json(request): Json<ExportRequest>,
) -> Result<Response, ApiError> {
    let export = archives::export(&app, origin, id, request.passphrase).await?;
    let name = format!("attachment; filename=\"{id}.heddle\"");
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_DISPOSITION, name),
    ];
    let body = Body::from_stream(stream::try_unfold(export, next));
    Ok((headers, body).into_response())
}

/// What fails while it is sent breaks the connection off.
async fn next(mut export: Export) -> Result<Option<(Bytes, Export)>, ServiceError> {
    let part = export.next().await.inspect_err(|error| {
        let why = heddle_model::error::chain(error);
        tracing::error!("An export broke off: {why}");
    })?;
    Ok(part.map(|part| (Bytes::from(part), export)))
}

/// Begins to import an archive: makes its workspace, which is suspended and has no members until all parts are there. `DELETE
/// /operator/workspaces/{id}` gives it up, and so does not going on with it for an hour; then nothing of it is left.
#[utoipa::path(
    post, path = "/operator/imports", tag = "Operator", security(("operator" = [])), request_body = ImportTenantRequest,
    responses(
        (status = 201, description = "What comes next", body = Enveloped<Import>),
        (status = 400, description = "VALIDATION: also if the passphrase is wrong, or nobody can own the workspace", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the operator's API is off, or served elsewhere", body = ErrorBody),
    )
)]
async fn begin_import(
    State(app): State<App>,
    _: Operator,
    Json(request): Json<ImportTenantRequest>,
) -> Result<(StatusCode, Enveloped<Import>), ApiError> {
    let owner = request.owner.map(|owner| extract::text("owner", &owner, 300));
    let wanted = ArchiveImport {
        manifest: request.manifest,
        passphrase: request.passphrase,
        owner: owner.transpose()?,
        wants_new_ids: request.new_ids,
    };
    let begun = archives::import(&app, wanted).await?;
    Ok((StatusCode::CREATED, Enveloped::new(begun.into())))
}

/// Reports how far the import of a workspace has come, until a day after its end.
#[utoipa::path(
    get, path = "/operator/imports/{id}", tag = "Operator", security(("operator" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")),
    responses(
        (status = 200, description = "What comes next", body = Enveloped<Import>),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such import; the operator's API is off, or served elsewhere", body = ErrorBody),
    )
)]
async fn get_import(
    State(app): State<App>,
    _: Operator,
    Path(id): Path<WorkspaceId>,
) -> Result<Enveloped<Import>, ApiError> {
    Ok(Enveloped::new(archives::progress(&app, id).await?.into()))
}

/// Adds the next part of an archive, from the line before it to its last byte. Sending one that is there already changes nothing.
/// If something is wrong with a part, the import ends, and nothing of the workspace is left.
#[utoipa::path(
    put, path = "/operator/imports/{id}/parts/{number}", tag = "Operator", security(("operator" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("number" = i64, Path, description = "Number of the part", minimum = 1),
    ),
    request_body(content = String, content_type = "application/octet-stream", description = "The part"),
    responses(
        (status = 200, description = "What comes next", body = Enveloped<Import>),
        (status = 400, description = "VALIDATION: something is wrong with the archive", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such import; the operator's API is off, or served elsewhere", body = ErrorBody),
        (status = 409, description = "CONFLICT: another part comes next, or this one was damaged in transit", body = ErrorBody),
    )
)]
async fn add_import_part(
    State(app): State<App>,
    Operator(origin): Operator,
    Path((id, number)): Path<(WorkspaceId, i64)>,
    request: Request,
) -> Result<Enveloped<Import>, ApiError> {
    let part = extract::read(request).await?.to_vec();
    let added = ToTheEnd::new(async move { archives::part(&app, origin, id, (number, part)).await }).await?;
    Ok(Enveloped::new(added.into()))
}
