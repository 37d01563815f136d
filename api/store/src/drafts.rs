//! Drafts: what users have drawn and not saved yet. A user has one for each pattern, which nobody else sees.

use super::content_text::content_sql;
use super::large_texts::Text;
use super::versions::Content;
use super::{Db, StoreError, rights, sql};
use heddle_model::access::{Editor, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::ids::PatternId;
use sqlx_macros::FromRow;

/// A draft without its content.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct DraftRow {
    /// The version that it began with.
    pub base_version: i64,
    /// Another one with each change.
    pub etag: String,
    /// When changed.
    pub updated_at: Timestamp,
}

/// Bytes of a draft besides its content, roughly.
const ROW_BYTES: usize = 300;

/// The caller's draft of a pattern that they may see, and how many bytes its content has.
pub async fn get(
    db: &mut Db<'_>,
    scope: &Scope,
    pattern: PatternId,
) -> Result<Option<(DraftRow, i64)>, StoreError> {
    #[derive(FromRow)]
    struct Found {
        #[sqlx(flatten)]
        row: DraftRow,
        stored_bytes: i64,
    }
    let query = sql(
        "select d.base_version, d.etag, d.updated_at, d.stored_bytes from pattern_drafts d
                     where d.pattern_id = ? and d.user_id = ? and ",
    );
    let query = query.bind(pattern).bind(scope.user());
    let found: Option<Found> = db.optional(rights::pattern(query, scope, pattern)).await?;
    Ok(found.map(|found| (found.row, found.stored_bytes)))
}

/// The content of the draft that [`get`] has found, unless it has changed since.
pub async fn content(
    db: &mut Db<'_>,
    scope: &Scope,
    pattern: PatternId,
    etag: &str,
) -> Result<Option<Content>, StoreError> {
    let query = sql("select ")
        .push(content_sql!(whole "d.graph", db))
        .push(", ")
        .push(content_sql!(whole "d.definitions", db));
    let query =
        query.push(" from pattern_drafts d where d.pattern_id = ? and d.user_id = ? and d.etag = ? and ");
    let query = query.bind(pattern).bind(scope.user()).bind(etag);
    let found: Option<(String, Option<String>)> = db.optional(rights::pattern(query, scope, pattern)).await?;
    Ok(found.map(|(graph, definitions)| Content { graph, definitions }))
}

/// Stores the editor's draft of a pattern that they may change, in place of the one before.
pub async fn put(
    db: &mut Db<'_>,
    editor: &Editor,
    pattern: PatternId,
    row: &DraftRow,
    (graph, definitions): (&Text, Option<&Text>),
) -> Result<(), StoreError> {
    let bytes = graph
        .bytes()
        .saturating_add(definitions.map_or(0, Text::bytes))
        .saturating_add(ROW_BYTES);
    db.execute(
        sql("insert into pattern_drafts
                 (pattern_id, user_id, base_version, etag, updated_at, stored_bytes, definitions, graph)
             values (?, ?, ?, ?, ?, ?, ?, ?)
             on conflict (pattern_id, user_id) do update set base_version = excluded.base_version,
                 etag = excluded.etag, updated_at = excluded.updated_at, stored_bytes = excluded.stored_bytes,
                 definitions = excluded.definitions, graph = excluded.graph")
        .bind(pattern)
        .bind(editor.user())
        .bind(row.base_version)
        .bind(&row.etag)
        .bind(row.updated_at)
        .bind(i64::try_from(bytes).unwrap_or(i64::MAX))
        .bind(definitions.map(|text| text.in_row().clone()))
        .bind(graph.in_row()),
    )
    .await
    .map(drop)
}

/// Removes the caller's draft of a pattern; whether there was one.
pub async fn remove(db: &mut Db<'_>, scope: &Scope, pattern: PatternId) -> Result<bool, StoreError> {
    let query = sql("delete from pattern_drafts where pattern_id = ? and user_id = ?");
    let removed = db.execute(query.bind(pattern).bind(scope.user())).await?;
    Ok(removed > 0)
}
