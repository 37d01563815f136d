//! Files: uploading, listing, reading, in part as well, and removing them. Served content is a stranger's: it is only ever
//! downloaded, and can't act under the service's own origin.

use super::cursor;
use super::extract::{self, Caller, Path, Query, given};
use super::reply::{CursorMeta, Enveloped, Listed};
use super::server::Flow;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::runs;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, IF_RANGE, RANGE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use heddle_files::{FileError, Reader, Writer};
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::file::{FileValue, Holder, NAME_BYTES_MAX};
use heddle_model::ids::{DeploymentId, FileId, RunId};
use heddle_model::tenant::Tenant;
use heddle_model::{Code, ServiceError};
use heddle_service::webhooks::body::uploads::{self, Place, UploadError};
use heddle_store::files::{self, FileRow, Removed};
use http_body_util::BodyExt;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Files on a page, by default and at most.
const PAGE: i64 = 50;
const PAGE_MAX: i64 = 200;
/// What a form may have around a file.
const ENVELOPE_BYTES_MAX: u64 = 64 << 10;
/// Files of a run that are told.
const OF_RUN_MAX: i64 = 1_000;
/// `attr-char` of RFC 8187.
const IN_NAME: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(upload_file, list_files))
        .routes(routes!(download_file, delete_file))
        .routes(routes!(list_run_files))
}

/// A file; as a value in a run's data it refers to the file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredFile {
    #[serde(rename = "$file")]
    id: FileId,
    #[schema(example = "report.pdf")]
    name: String,
    /// Media type.
    #[serde(rename = "type")]
    #[schema(example = "application/pdf")]
    media_type: String,
    /// Bytes.
    #[schema(example = 48213)]
    size: i64,
    /// SHA-256 of the bytes, in hex.
    #[schema(example = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")]
    sha256: String,
    created_at: Timestamp,
    /// When it is removed, if nothing refers to it until then; null: something does (a run, a kept value or a test).
    expires_at: Option<Timestamp>,
}

impl From<FileRow> for StoredFile {
    fn from(row: FileRow) -> Self {
        StoredFile {
            id: row.id,
            expires_at: (!row.is_held).then_some(row.kept_until),
            name: row.name,
            media_type: row.media_type,
            size: row.size,
            sha256: row.sha256,
            created_at: row.created_at,
        }
    }
}

/// What an upload is called.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct UploadQuery {
    /// The file's name. Of a file in a form, instead of the one that the form says.
    #[param(example = "report.pdf", max_length = 255)]
    name: Option<String>,
}

/// Uploads a file: the body is what it holds, its `Content-Type` the file's type. Of a form (`multipart/form-data`), as `curl -F
/// file=@report.pdf` sends it, it is the one file within, with its name and type; several files, or none, are refused. Without a
/// body, it is an empty file. It is removed after a day unless something refers to it by then, such as the event of a run or a test.
#[utoipa::path(
    post, path = "/api/files", tag = "Files", security(("bearer" = [])), params(UploadQuery),
    request_body(content = Option<Vec<u8>>, content_type = "application/octet-stream", description = "The bytes, or a form of the type `multipart/form-data` with one file"),
    responses(
        (status = 201, description = "The file", body = Enveloped<StoredFile>),
        (status = 400, description = "VALIDATION: the name is too long, or the form does not have one file", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 429, description = "WORKSPACE_QUOTA_EXCEEDED", body = ErrorBody),
    )
)]
async fn upload_file(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<UploadQuery>,
    request: Request,
) -> Result<Response, ApiError> {
    let runner = caller.scope.runner()?;
    let name = query.name.as_deref();
    if name.is_some_and(|name| name.len() > NAME_BYTES_MAX) {
        let message = format!("must have at most {NAME_BYTES_MAX} bytes");
        return Err(ApiError::field("name", message));
    }
    let (parts, body) = request.into_parts();
    if let Some(flow) = parts.extensions.get::<Flow>() {
        flow.flows();
    }
    let media_type = text(&parts.headers, &CONTENT_TYPE);
    let tenant = tenant(&runner);
    let files = app.executions.files();
    let max = files.files().bytes_max();
    let is_form = extract::media_type(&parts.headers).eq_ignore_ascii_case("multipart/form-data");
    let body_max = match is_form {
        true => max.saturating_add(ENVELOPE_BYTES_MAX),
        false => max,
    };
    if axum::body::HttpBody::size_hint(&body).lower() > body_max {
        return Err(ServiceError::from(FileError::TooLarge { max }).into());
    }
    let made = match is_form {
        // Boxed: the future of each upload would have to carry it.
        true => Box::pin(of_form(&app, tenant, (media_type, name), (body, body_max))).await?,
        false => {
            let about = (name.unwrap_or_default(), media_type);
            let mut writer = files.create(tenant, None, about).await?;
            fill(&mut writer, body).await?;
            writer.finish().await.map_err(ServiceError::from)?
        }
    };
    let row = found(&app, tenant, made.id).await?;
    Ok((StatusCode::CREATED, Enveloped::new(StoredFile::from(row))).into_response())
}

/// Stores the one file of a form.
async fn of_form(
    app: &App,
    tenant: Tenant,
    (content_type, name): (&str, Option<&str>),
    (body, bytes_max): (Body, u64),
) -> Result<FileValue, ApiError> {
    let files = app.executions.files();
    let place = Place {
        files,
        tenant,
        holder: None,
        bytes_max,
        text_bytes_max: 0,
        fields: None,
    };
    let stored = uploads::only(content_type, body.into_data_stream(), &place, name).await;
    stored.map_err(|error| match error {
        UploadError::Problem(problem) => ApiError::field("", format!("the body {problem}")),
        UploadError::TooLarge => {
            let max = files.files().bytes_max();
            ServiceError::from(FileError::TooLarge { max }).into()
        }
        UploadError::Broken(error) => extract::unread(&*error),
        UploadError::Refused(error) => error.into(),
    })
}

/// Writes a body as it comes.
pub(super) async fn fill(writer: &mut Writer, mut body: Body) -> Result<(), ApiError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| extract::unread(&error))?;
        if let Ok(bytes) = frame.into_data() {
            writer.write(bytes).await.map_err(ServiceError::from)?;
        }
    }
    Ok(())
}

/// Which files to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// The `nextCursor` of the page before.
    #[param(max_length = 100)]
    cursor: Option<String>,
    /// Files per page, at most 200.
    #[param(minimum = 1, default = 50)]
    #[serde(default, deserialize_with = "given")]
    limit: Option<i64>,
}

/// Lists the workspace's files, the newest first.
#[utoipa::path(
    get, path = "/api/files", tag = "Files", security(("bearer" = [])), params(ListQuery),
    responses(
        (status = 200, description = "The files", body = Listed<StoredFile, CursorMeta>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn list_files(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Listed<StoredFile, CursorMeta>, ApiError> {
    let limit = extract::limit(query.limit, PAGE, PAGE_MAX)?;
    let after = cursor::after(query.cursor.as_deref(), |cursor| cursor.parse().ok())?;
    let mut reader = app.store.reader().await?;
    let mut rows = files::list(&mut reader.db(), tenant(&caller.scope), after, limit + 1).await?;
    let next_cursor = cursor::next(&mut rows, limit, |row| row.id.to_string());
    let files = rows.into_iter().map(Into::into).collect();
    Ok(Listed::new(files, CursorMeta { limit, next_cursor }))
}

/// Reads a file, or with `Range` a part of it. It is only ever downloaded: browsers neither show nor execute it.
#[utoipa::path(
    get, path = "/api/files/{id}", tag = "Files", security(("bearer" = [])),
    params(
        ("id" = FileId, Path, description = "File"),
        ("Range" = Option<String>, Header, description = "A part, such as `bytes=0-1023`"),
        ("If-None-Match" = Option<String>, Header, description = "`ETag` of what the client has"),
    ),
    responses(
        (status = 200, description = "What it holds", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 206, description = "The part", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 304, description = "The client has it"),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 416, description = "VALIDATION: the file has no such part", body = ErrorBody),
    )
)]
async fn download_file(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<FileId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let tenant = tenant(&caller.scope);
    let row = found(&app, tenant, id).await?;
    let tag = format!("\"{}\"", row.sha256);
    let same = |name: &HeaderName| {
        let given = headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let mut tags = given.flat_map(|value| value.split(','));
        tags.any(|given| matches!(given.trim(), "*") || given.trim().trim_start_matches("W/") == tag)
    };
    if same(&IF_NONE_MATCH) {
        let kept = [(ETAG, tag.as_str()), (CACHE_CONTROL, "private, no-cache")];
        return Ok((StatusCode::NOT_MODIFIED, kept).into_response());
    }
    let size = u64::try_from(row.size).unwrap_or(0);
    let wanted = headers.get(RANGE).and_then(|value| value.to_str().ok());
    let wanted = wanted.filter(|_| !headers.contains_key(IF_RANGE) || same(&IF_RANGE));
    let part = match wanted.map(|range| part_of(range, size)) {
        None | Some(Part::All) => None,
        Some(Part::Some(part)) => Some(part),
        Some(Part::None) => {
            let error = ApiError::field("Range", format!("is not a part of a file of {size} bytes"));
            let mut response = error.into_response();
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            put(response.headers_mut(), CONTENT_RANGE, &format!("bytes */{size}"));
            return Ok(response);
        }
    };
    let mut response = content(&app, tenant, &row, part.clone()).await?;
    if let Some(part) = part {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        let last = part.end.saturating_sub(1);
        let range = format!("bytes {}-{last}/{size}", part.start);
        put(response.headers_mut(), CONTENT_RANGE, &range);
    }
    put(response.headers_mut(), ETAG, &tag);
    put(response.headers_mut(), ACCEPT_RANGES, "bytes");
    put(response.headers_mut(), CACHE_CONTROL, "private, no-cache");
    let disposition = disposition(&row.name);
    put(response.headers_mut(), CONTENT_DISPOSITION, &disposition);
    // Whoever is led to it all the same meets a page without rights, origin or scripts.
    put(
        response.headers_mut(),
        CONTENT_SECURITY_POLICY,
        "sandbox; default-src 'none'",
    );
    Ok(response)
}

/// A response that streams a file, or a part of it.
pub(super) async fn content(
    app: &App,
    tenant: Tenant,
    row: &FileRow,
    part: Option<Range<u64>>,
) -> Result<Response, ApiError> {
    let size = u64::try_from(row.size).unwrap_or(0);
    let part = part.unwrap_or(0..size);
    let len = part.end.saturating_sub(part.start);
    let files = app.executions.files().files();
    let content = files.read(tenant, row, part).await;
    let content = content.map_err(ServiceError::from)?;
    let id = row.id;
    let watched = content.inspect(move |piece| {
        if let Err(error) = piece {
            let why = heddle_model::error::chain(error);
            tracing::error!(file = %id, "A file can't be read to its end: {why}");
        }
    });
    let mut response = Response::new(Body::from_stream(watched));
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, len.into());
    put(headers, CONTENT_TYPE, &row.media_type);
    put(headers, X_CONTENT_TYPE_OPTIONS, "nosniff");
    Ok(response)
}

/// Removes a file that nothing refers to.
#[utoipa::path(
    delete, path = "/api/files/{id}", tag = "Files", security(("bearer" = [])),
    params(("id" = FileId, Path, description = "File")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: a run, a kept value or a test refers to it", body = ErrorBody),
    )
)]
async fn delete_file(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<FileId>,
) -> Result<StatusCode, ApiError> {
    found(&app, tenant(&caller.scope), id).await?;
    let editor = caller.scope.editor()?;
    let tenant = tenant(&editor);
    let removed = app
        .store
        .write(move |db| Box::pin(async move { files::remove(db, tenant, id).await }));
    let removed: Result<Removed, heddle_store::StoreError> = removed.await;
    match removed? {
        Removed::Yes => Ok(StatusCode::NO_CONTENT),
        Removed::Unknown => Err(Code::NotFound.into()),
        Removed::Held => Err(Code::Conflict
            .with("A run, a kept value or a test refers to this file: it is removed together with them.")
            .into()),
    }
}

/// Lists the files that a run holds: those of its event, and those that came to it or that it has made.
#[utoipa::path(
    get, path = "/api/deployments/{id}/runs/{runId}/files", tag = "Files", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), ("runId" = RunId, Path, description = "Run")),
    responses(
        (status = 200, description = "Up to 1,000 files, in the order in which they were made", body = Enveloped<Vec<StoredFile>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn list_run_files(
    State(app): State<App>,
    caller: Caller,
    Path(ids): Path<(DeploymentId, RunId)>,
) -> Result<Enveloped<Vec<StoredFile>>, ApiError> {
    let run = runs::visible(&app, &caller.scope, ids).await?;
    let mut reader = app.store.reader().await?;
    let holder = Holder::Run(run.id);
    let rows = files::all_of_holder(&mut reader.db(), tenant(&caller.scope), &holder, OF_RUN_MAX).await?;
    Ok(Enveloped::new(rows.into_iter().map(Into::into).collect()))
}

fn tenant(scope: &Scope) -> Tenant {
    Tenant::of(scope.user(), scope.workspace())
}

async fn found(app: &App, tenant: Tenant, id: FileId) -> Result<FileRow, ApiError> {
    let found = app
        .executions
        .files()
        .files()
        .find(tenant, &Reader::Tenant, id)
        .await;
    Ok(found.map_err(ServiceError::from)?)
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // Names and types of files are cleaned before they are stored.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// That a browser is to save it, under this name (RFC 6266).
pub(super) fn disposition(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '%') || c == ' ' {
                c
            } else {
                '_'
            }
        })
        .collect();
    let encoded = utf8_percent_encode(name, IN_NAME);
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

/// What a Range header asks for.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// Nothing that is understood, or several parts: the whole is as good (RFC 9110, section 14.2).
    All,
    Some(Range<u64>),
    /// What is not there.
    None,
}

fn part_of(range: &str, size: u64) -> Part {
    let Some(spec) = range.trim().strip_prefix("bytes=") else {
        return Part::All;
    };
    let Some((first, last)) = spec.split_once('-') else {
        return Part::All;
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let (start, end) = match (first.trim(), last.trim()) {
        ("", last) => match number(last) {
            Some(count) => (size.saturating_sub(count), size),
            None => return Part::All,
        },
        (first, "") => match number(first) {
            Some(first) => (first, size),
            None => return Part::All,
        },
        (first, last) => match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => (first, last.saturating_add(1).min(size)),
            _ => return Part::All,
        },
    };
    match start < end {
        true => Part::Some(start..end),
        false => Part::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_has_them() {
        for (range, part) in [
            ("bytes=0-0", Part::Some(0..1)),
            ("bytes=2-", Part::Some(2..10)),
            ("bytes=-3", Part::Some(7..10)),
            ("bytes=-30", Part::Some(0..10)),
            ("bytes=5-99", Part::Some(5..10)),
            ("bytes=10-", Part::None),
            ("bytes=-0", Part::None),
            ("bytes=3-2", Part::All),
            ("bytes=0-1,4-5", Part::All),
            ("lines=0-1", Part::All),
            ("bytes=x-", Part::All),
        ] {
            assert_eq!(part_of(range, 10), part, "{range}");
        }
        assert_eq!(part_of("bytes=0-", 0), Part::None);
    }

    #[test]
    fn names_stay_names_in_a_header() {
        assert_eq!(
            disposition("a \"b\"\u{fc}.txt"),
            "attachment; filename=\"a _b__.txt\"; filename*=UTF-8''a%20%22b%22%C3%BC.txt"
        );
    }
}
