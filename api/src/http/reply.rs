//! Response shapes: some responses are wrapped in an envelope, others are bare.

use axum::body::Bytes;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use heddle_execution::blocking::computing;
use heddle_execution::budget::Share;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::ServiceError;
use heddle_model::ids::UserId;
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

/// In the extensions of a response whose body all such responses share: none of them takes memory of its own.
#[derive(Clone, Copy, Debug)]
pub struct SharedBody;

/// A response to this user. If memory is reserved for it until it is built, it is large, and built where nobody's webhooks wait.
pub async fn built(
    user: UserId,
    answer: impl IntoResponse + Send + 'static,
    share: Option<Share>,
) -> Result<Response, ServiceError> {
    let Some(share) = share else {
        return Ok(answer.into_response());
    };
    let build = move || {
        let response = answer.into_response();
        drop(share);
        response
    };
    computing(Some(user), build).await
}

/// JSON that stays the same while the program runs, and that clients may keep. They ask whether it still holds by
/// `If-None-Match`.
pub struct Kept {
    body: Bytes,
    tag: String,
}

impl Kept {
    /// With a tag that follows from the text alone, so that all servers give the same one.
    pub fn new(json: String) -> Self {
        Kept {
            tag: format!("\"{}\"", hex::encode(Sha256::digest(&json))),
            body: json.into(),
        }
    }

    /// The JSON, or 304 if the client has it.
    pub fn answer(&self, headers: &HeaderMap) -> Response {
        let kept = [(ETAG, self.tag.as_str()), (CACHE_CONTROL, "no-cache")];
        if self.is_known(headers) {
            return (StatusCode::NOT_MODIFIED, kept).into_response();
        }
        let body = ([(CONTENT_TYPE, "application/json")], self.body.clone());
        (Extension(SharedBody), kept, body).into_response()
    }

    /// Whether the client names it, as RFC 9110 compares the tags of this header: weak ones count as well.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let named = headers
            .get_all(IF_NONE_MATCH)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        named
            .map(str::trim)
            .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == self.tag)
    }
}

/// `{success: true, data, timestamp}`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Enveloped<T> {
    /// Always true.
    pub success: bool,
    /// The answer.
    pub data: T,
    /// When the response was created.
    pub timestamp: Timestamp,
}

impl<T> Enveloped<T> {
    /// Wraps an answer.
    pub fn new(data: T) -> Self {
        Enveloped {
            success: true,
            data,
            timestamp: Clock::System.now(),
        }
    }
}

impl<T: Serialize> IntoResponse for Enveloped<T> {
    fn into_response(self) -> Response {
        Json(self).into_response()
    }
}

/// `{success: true, data: [...], meta, timestamp}`: a page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Listed<T, M> {
    /// Always true.
    pub success: bool,
    /// The page.
    pub data: Vec<T>,
    /// The page's position in the list.
    pub meta: M,
    /// When the response was created.
    pub timestamp: Timestamp,
}

impl<T, M> Listed<T, M> {
    /// Wraps a page.
    pub fn new(data: Vec<T>, meta: M) -> Self {
        Listed {
            success: true,
            data,
            meta,
            timestamp: Clock::System.now(),
        }
    }
}

impl<T: Serialize, M: Serialize> IntoResponse for Listed<T, M> {
    fn into_response(self) -> Response {
        Json(self).into_response()
    }
}

/// Position of a page in a list that is read by offset.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OffsetMeta {
    /// Total number of elements.
    pub total: i64,
    /// Maximum number of elements per page.
    pub limit: i64,
    /// Elements before this page; 0 with a cursor.
    pub offset: i64,
    /// The `cursor` of the next page; null on the last one. Only if the request has `cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub next_cursor: Option<Option<String>>,
}

/// Position of a page in a list that is read by page number.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageMeta {
    /// This page, from 1; 1 with a cursor.
    pub page: i64,
    /// Maximum number of elements per page.
    pub limit: i64,
    /// Total number of elements.
    pub total: i64,
    /// Total number of pages.
    pub total_pages: i64,
    /// The `cursor` of the next page; null on the last one. Only if the request has `cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub next_cursor: Option<Option<String>>,
}

impl PageMeta {
    /// Of a page of a list of `total` elements.
    pub fn new(page: i64, limit: i64, total: i64) -> Self {
        PageMeta {
            page,
            limit,
            total,
            total_pages: (total + limit - 1) / limit.max(1),
            next_cursor: None,
        }
    }

    /// Adds the cursor of the next page, if the request asks for cursors.
    pub fn with_next(self, next_cursor: Option<Option<String>>) -> Self {
        PageMeta { next_cursor, ..self }
    }
}

/// Where a list goes on that is read by cursor.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CursorMeta {
    /// Maximum number of elements per page.
    pub limit: i64,
    /// The `cursor` of the next page; null on the last one.
    pub next_cursor: Option<String>,
}

/// The response to a deletion.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Deleted {
    /// The object's id, or its name if it is addressed by name.
    pub id: String,
    /// Always `deleted`.
    #[schema(example = "deleted")]
    pub status: &'static str,
}

impl Deleted {
    /// The answer.
    pub fn new(id: impl ToString) -> Enveloped<Deleted> {
        Enveloped::new(Deleted {
            id: id.to_string(),
            status: "deleted",
        })
    }
}
