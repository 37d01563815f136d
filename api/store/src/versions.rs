//! The graphs of patterns, version by version. Whoever asks has looked the pattern up with the caller's rights.

use super::patterns::PatternRow;
use super::{Db, StoreError, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{PatternId, UserId};
use sqlx::FromRow;

/// A version without its graph.
#[derive(Clone, Debug, FromRow)]
pub struct VersionRow {
    /// Number, from 1.
    pub version_number: i64,
    /// When saved.
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    /// What changed.
    pub summary: String,
}

/// Bytes of a version besides its graph and summary, roughly.
const ROW_BYTES: usize = 200;

/// Adds the version that `row` is now at.
pub async fn add(
    db: &mut Db<'_>,
    row: &PatternRow,
    by: UserId,
    summary: &str,
    graph: &str,
) -> Result<(), StoreError> {
    db.execute(
        sql(
            "insert into pattern_versions (pattern_id, version_number, created_at, created_by, summary, graph)
             values (?, ?, ?, ?, ?, ?)",
        )
        .bind(row.id)
        .bind(row.version_number)
        .bind(row.updated_at)
        .bind(by)
        .bind(summary)
        .bind(graph),
    )
    .await?;
    let bytes = graph
        .len()
        .saturating_add(summary.len())
        .saturating_add(ROW_BYTES);
    let count = sql("update patterns set stored_bytes = stored_bytes + ? where id = ?");
    let count = count.bind(i64::try_from(bytes).unwrap_or(i64::MAX)).bind(row.id);
    db.execute(count).await.map(drop)
}

/// Adds the version that `row` is now at, with the graph of an earlier one.
pub async fn add_again(
    db: &mut Db<'_>,
    row: &PatternRow,
    by: UserId,
    summary: &str,
    graph_of: i64,
) -> Result<(), StoreError> {
    let added = db
        .execute(
            sql(
                "insert into pattern_versions (pattern_id, version_number, created_at, created_by, summary, graph)
                 select pattern_id, cast(? as bigint), cast(? as bigint), cast(? as text), cast(? as text), graph
                 from pattern_versions where pattern_id = ? and version_number = ?",
            )
            .bind(row.version_number)
            .bind(row.updated_at)
            .bind(by)
            .bind(summary)
            .bind(row.id)
            .bind(graph_of),
        )
        .await?;
    if added == 0 {
        Err(StoreError::Missing)
    } else {
        Ok(())
    }
}

/// How many bytes the graph of a version has.
pub async fn graph_bytes(
    db: &mut Db<'_>,
    pattern: PatternId,
    version_number: i64,
) -> Result<Option<i64>, StoreError> {
    let found: Option<(i64,)> = db
        .optional(
            sql("select cast(octet_length(graph) as bigint) from pattern_versions
                 where pattern_id = ? and version_number = ?")
            .bind(pattern)
            .bind(version_number),
        )
        .await?;
    Ok(found.map(|(bytes,)| bytes))
}

/// graphData of a version, as it came.
pub async fn graph(
    db: &mut Db<'_>,
    pattern: PatternId,
    version_number: i64,
) -> Result<Option<String>, StoreError> {
    let found: Option<(String,)> = db
        .optional(
            sql("select graph from pattern_versions where pattern_id = ? and version_number = ?")
                .bind(pattern)
                .bind(version_number),
        )
        .await?;
    Ok(found.map(|(graph,)| graph))
}

/// All versions after this one, newest first.
pub async fn list(db: &mut Db<'_>, pattern: PatternId, after: i64) -> Result<Vec<VersionRow>, StoreError> {
    db.all(
        sql("select version_number, created_at, summary from pattern_versions
             where pattern_id = ? and version_number > ? order by version_number desc")
        .bind(pattern)
        .bind(after),
    )
    .await
}
