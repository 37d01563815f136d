//! The graphs of patterns with their definitions, version by version. Whoever asks has looked the pattern up with the caller's rights.

use super::content_text::content_sql;
use super::large_texts::Text;
use super::patterns::PatternRow;
use super::{Db, StoreError, containing, rights, sql};
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{PatternId, UserId};
use sha2::{Digest, Sha256};
use sqlx_macros::FromRow;

/// A version without its content.
#[derive(Clone, Debug, FromRow)]
pub struct VersionRow {
    /// Number, from 1.
    pub version_number: i64,
    /// When saved.
    pub created_at: Timestamp,
    /// What changed.
    pub summary: String,
}

/// Bytes of a version besides its graph and summary, roughly.
const ROW_BYTES: usize = 200;

/// What a version consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// graphData, as it came.
    pub graph: String,
    /// nodeDefinitions, as they came; `None`: there are none.
    pub definitions: Option<String>,
}

/// A part of a new version.
#[derive(Clone, Copy, Debug)]
pub enum Part<T> {
    /// Another one.
    New(T),
    /// An earlier version's, as it is.
    Of(i64),
}

/// A version to be added.
#[derive(Clone, Copy, Debug)]
pub struct NewVersion<'a> {
    /// Who saves it.
    pub by: UserId,
    /// What changed.
    pub summary: &'a str,
    pub graph: Part<&'a Text>,
    /// The definitions; `None`: it has none.
    pub definitions: Part<Option<&'a NewDefinitions>>,
}

/// Definitions of a version to be added.
#[derive(Clone, Debug)]
pub struct NewDefinitions {
    /// As [`definitions_hash`] gives it.
    pub hash: String,
    /// `None`: the pattern has them already, see [`has_definitions`].
    pub text: Option<Text>,
}

/// What definitions of a pattern are told apart by.
pub fn definitions_hash(definitions: &str) -> String {
    hex::encode(Sha256::digest(definitions.as_bytes()))
}

/// Whether a pattern has definitions with this hash. They stay for as long as the pattern does.
pub async fn has_definitions(db: &mut Db<'_>, pattern: PatternId, hash: &str) -> Result<bool, StoreError> {
    let query = sql("select hash from pattern_definitions where pattern_id = ? and hash = ?");
    let found: Option<(String,)> = db.optional(query.bind(pattern).bind(hash)).await?;
    Ok(found.is_some())
}

/// Adds the version that `row` is now at.
pub async fn add(db: &mut Db<'_>, row: &PatternRow, new: &NewVersion<'_>) -> Result<(), StoreError> {
    let mut bytes = new.summary.len().saturating_add(ROW_BYTES);
    let mut hash = None;
    if let Part::New(Some(definitions)) = new.definitions {
        bytes = bytes.saturating_add(keep_definitions(db, row, definitions).await?);
        hash = Some(definitions.hash.as_str());
    }
    let insert = sql("insert into pattern_versions
             (pattern_id, version_number, created_at, created_by, summary, graph, definitions_hash)
         select p.id, cast(? as bigint), cast(? as bigint), cast(? as text), cast(? as text), ");
    let insert = insert
        .bind(row.version_number)
        .bind(row.updated_at)
        .bind(new.by)
        .bind(new.summary);
    let insert = match new.graph {
        Part::New(graph) => insert.push("cast(? as text)").bind(graph.in_row()),
        Part::Of(version) => insert
            .push("(select graph from pattern_versions where pattern_id = p.id and version_number = ?)")
            .bind(version),
    };
    let insert = match new.definitions {
        Part::New(_) => insert.push(", cast(? as text)").bind(hash),
        Part::Of(version) => insert
            .push(", (select definitions_hash from pattern_versions where pattern_id = p.id and version_number = ?)")
            .bind(version),
    };
    if db
        .execute(insert.push(" from patterns p where p.id = ?").bind(row.id))
        .await?
        == 0
    {
        return Err(StoreError::Missing);
    }
    let count = sql(concat!(
        "update patterns set stored_bytes = stored_bytes + ? + (select ",
        content_sql!(bytes "v.graph"),
        " from pattern_versions v where v.pattern_id = patterns.id and v.version_number = ?) where id = ?"
    ));
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    let count = count.bind(bytes).bind(row.version_number).bind(row.id);
    db.execute(count).await.map(drop)
}

/// Keeps definitions, unless the pattern has the same already; the bytes that were added.
async fn keep_definitions(
    db: &mut Db<'_>,
    row: &PatternRow,
    definitions: &NewDefinitions,
) -> Result<usize, StoreError> {
    let Some(text) = &definitions.text else {
        return Ok(0);
    };
    let insert = sql(
        "insert into pattern_definitions (pattern_id, hash, definitions) values (?, ?, ?) on conflict do nothing",
    );
    let insert = insert.bind(row.id).bind(&definitions.hash).bind(text.in_row());
    let added = db.execute(insert).await?;
    Ok(if added > 0 { text.bytes() } else { 0 })
}

/// How many bytes the graph of a version has, and its definitions.
pub async fn content_bytes(
    db: &mut Db<'_>,
    pattern: PatternId,
    version_number: i64,
) -> Result<Option<i64>, StoreError> {
    let found: Option<(i64,)> = db
        .optional(
            sql(concat!(
                "select cast(",
                content_sql!(bytes "v.graph"),
                " + coalesce(",
                content_sql!(bytes "d.definitions"),
                ", 0) as bigint)
                 from pattern_versions v left join pattern_definitions d
                     on d.pattern_id = v.pattern_id and d.hash = v.definitions_hash
                 where v.pattern_id = ? and v.version_number = ?"
            ))
            .bind(pattern)
            .bind(version_number),
        )
        .await?;
    Ok(found.map(|(bytes,)| bytes))
}

/// The graph of a version, and its definitions.
pub async fn content(
    db: &mut Db<'_>,
    pattern: PatternId,
    version_number: i64,
) -> Result<Option<Content>, StoreError> {
    let query = sql("select ")
        .push(content_sql!(whole "v.graph", db))
        .push(", ")
        .push(content_sql!(whole "d.definitions", db))
        .push(
            " from pattern_versions v left join pattern_definitions d
                 on d.pattern_id = v.pattern_id and d.hash = v.definitions_hash
             where v.pattern_id = ? and v.version_number = ?",
        );
    let query = query.bind(pattern).bind(version_number);
    let found: Option<(String, Option<String>)> = db.optional(query).await?;
    Ok(found.map(|(graph, definitions)| Content { graph, definitions }))
}

/// A version of a pattern that may hold what is searched for, without its content.
#[derive(Clone, Debug, FromRow)]
pub struct MentioningRow {
    pub pattern_id: PatternId,
    pub pattern_name: String,
    pub version_number: i64,
    /// Whether it is the newest one.
    pub is_newest: bool,
    /// Whether it is deployed.
    pub is_deployed: bool,
    /// How many bytes its graph has, and its definitions.
    pub bytes: i64,
}

/// The newest and the deployed versions of the patterns that the caller may see, as far as one of these texts is in their
/// graphs or definitions: those of the first patterns after this one, by id.
pub async fn mentioning(
    db: &mut Db<'_>,
    scope: &Scope,
    texts: &[String],
    after: Option<PatternId>,
    limit: i64,
) -> Result<Vec<MentioningRow>, StoreError> {
    let (graph, definitions) = (
        content_sql!(whole "v.graph", db),
        content_sql!(whole "f.definitions", db),
    );
    let query = sql(concat!(
        "select p.id as pattern_id, p.name as pattern_name, v.version_number,
             v.version_number = p.version_number as is_newest,
             v.version_number in (select d.version_number from deployments d
                 where d.pattern_id = p.id and d.status in ('active', 'paused')) as is_deployed,
             cast(",
        content_sql!(bytes "v.graph"),
        " + coalesce(",
        content_sql!(bytes "f.definitions"),
        ", 0) as bigint) as bytes
         from patterns p
         join pattern_versions v on v.pattern_id = p.id and v.version_number in (
             select p.version_number union
             select d.version_number from deployments d where d.pattern_id = p.id and d.status in ('active', 'paused'))
         left join pattern_definitions f on f.pattern_id = v.pattern_id and f.hash = v.definitions_hash where "
    ));
    let mut query = rights::patterns(query, scope);
    if let Some(after) = after {
        query = query.push(" and p.id > ?").bind(after);
    }
    query = query.push(" and (");
    for (number, text) in texts.iter().enumerate() {
        let or = if number == 0 { "" } else { " or " };
        let like = containing(text);
        for (before, column) in [(or, graph), (" or ", definitions)] {
            query = query
                .push(before)
                .push(column)
                .push(" like ? escape '!'")
                .bind(&like);
        }
    }
    let query = query.push(if texts.is_empty() { "1 = 0)" } else { ")" });
    db.all(
        query
            .push(" order by p.id, v.version_number desc limit ?")
            .bind(limit),
    )
    .await
}

/// A version without its content; `None` if there is none, or none after `after`.
pub async fn get(
    db: &mut Db<'_>,
    pattern: PatternId,
    version_number: i64,
    after: i64,
) -> Result<Option<VersionRow>, StoreError> {
    db.optional(
        sql("select version_number, created_at, summary from pattern_versions
             where pattern_id = ? and version_number = ? and version_number > ?")
        .bind(pattern)
        .bind(version_number)
        .bind(after),
    )
    .await
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
