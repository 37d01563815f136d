//! Cursors of lists: where a page goes on, whatever has come or gone since the one before. Lists that have pages or offsets from
//! before have cursors as well, for those who ask with `cursor=`.

use crate::http::error::ApiError;
use crate::http::extract::{self, given};
use heddle_model::clock::Timestamp;
use heddle_store::Start;
use serde::Deserialize;
use std::fmt::Display;
use std::str::FromStr;

/// Where a page begins of a list that programs read, which has long pages.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LongPage {
    /// The `nextCursor` of the page before.
    #[param(max_length = 100)]
    cursor: Option<String>,
    /// How many a page has, at most 1,000.
    #[param(minimum = 1, default = 100)]
    #[serde(default, deserialize_with = "given")]
    limit: Option<i64>,
}

impl LongPage {
    /// The id after which it begins, and how many it has.
    pub fn bounds<K: FromStr>(&self) -> Result<(Option<K>, i64), ApiError> {
        let limit = extract::limit(self.limit, 100, 1_000)?;
        let after = after(self.cursor.as_deref(), |cursor| cursor.parse().ok())?;
        Ok((after, limit))
    }
}

/// After which element a page begins, by the query's cursor: a missing or empty one stands for the beginning.
pub fn after<K>(cursor: Option<&str>, read: impl FnOnce(&str) -> Option<K>) -> Result<Option<K>, ApiError> {
    let cursor = cursor.filter(|cursor| !cursor.is_empty());
    cursor
        .map(|cursor| read(cursor).ok_or_else(malformed))
        .transpose()
}

/// That a text is not a cursor of this list.
fn malformed() -> ApiError {
    ApiError::field("cursor", "must be the nextCursor of a page")
}

/// Where a page begins in a list that has both. `other` is the query's page or offset, by its name, and what it amounts to.
pub fn start<K>(
    cursor: Option<&str>,
    (other, is_given, offset): (&str, bool, i64),
    read: impl FnOnce(&str) -> Option<K>,
) -> Result<Start<K>, ApiError> {
    match cursor {
        None => Ok(Start::Offset(offset)),
        Some(_) if is_given => Err(ApiError::field(other, "can't be given together with cursor")),
        cursor => Ok(after(cursor, read)?.map_or(Start::Offset(0), Start::After)),
    }
}

/// The element of a list by time that a cursor names.
pub fn by_time<I: FromStr>(cursor: &str) -> Option<(Timestamp, I)> {
    let (at, id) = cursor.split_once('.')?;
    Some((Timestamp::from_millis(at.parse().ok()?), id.parse().ok()?))
}

/// The cursor of an element of a list by time.
pub fn of_time(at: Timestamp, id: impl Display) -> String {
    format!("{}.{id}", at.millis())
}

/// Takes from a page the element that was read only to see whether there is more. If there is, the cursor of the page's last
/// element, where the next page goes on.
pub fn next<T>(page: &mut Vec<T>, limit: i64, cursor_of: impl FnOnce(&T) -> String) -> Option<String> {
    let size = usize::try_from(limit).unwrap_or(1);
    let has_more = page.len() > size;
    page.truncate(size);
    page.last().filter(|_| has_more).map(cursor_of)
}
