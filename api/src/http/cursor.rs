//! Cursors of lists: where a page goes on, whatever has come or gone since the one before. Lists that have pages or offsets from
//! before have cursors as well, for those who ask with `cursor=`.

use crate::http::error::ApiError;
use heddle_model::clock::Timestamp;
use heddle_store::Start;
use std::fmt::Display;
use std::str::FromStr;

/// The cursor that a query has: nothing in it stands for the beginning.
pub fn given(cursor: Option<&str>) -> Option<&str> {
    cursor.filter(|cursor| !cursor.is_empty())
}

/// That a text is no cursor of this list.
pub fn malformed() -> ApiError {
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
        Some("") => Ok(Start::Offset(0)),
        Some(cursor) => read(cursor).map(Start::After).ok_or_else(malformed),
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

/// Takes from a page the element that was read only to see whether there is more. Whether there is.
pub fn cut<T>(page: &mut Vec<T>, limit: i64) -> bool {
    let size = usize::try_from(limit).unwrap_or(1);
    let has_more = page.len() > size;
    page.truncate(size);
    has_more
}
