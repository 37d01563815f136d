//! Patterns, their tags and stars. Graphs and their history are in [`super::versions`].

use super::{Db, Sql, Start, StoreError, containing, locks, rights, sql};
use heddle_model::access::{Editor, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::column;
use heddle_model::ids::{PatternId, UserId, WorkspaceId};
use sqlx_macros::FromRow;
use std::collections::BTreeSet;

/// A pattern without its graph.
#[derive(Clone, Debug, FromRow)]
pub struct PatternRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: PatternId,
    /// The user who created it.
    pub owner_id: UserId,
    /// Where it was made.
    pub workspace_id: Option<WorkspaceId>,
    pub name: String,
    /// Description, maybe empty.
    pub description: String,
    /// Whether everybody may read, star and clone it.
    pub is_public: bool,
    /// Whether it is meant to be cloned.
    pub is_template: bool,
    /// Tags in the order that the user gave.
    pub tags: Tags,
    /// Newest version.
    pub version_number: i64,
    /// When made.
    pub created_at: Timestamp,
    /// When last saved.
    pub updated_at: Timestamp,
    /// `{inputs, outputs}` as JSON.
    pub call_interface: Option<String>,
}

/// Tags, a JSON array in the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(pub Vec<String>);

impl TryFrom<String> for Tags {
    type Error = serde_json::Error;

    fn try_from(text: String) -> Result<Self, serde_json::Error> {
        serde_json::from_str(&text).map(Tags)
    }
}
column!(Tags: String, Tags::try_from);

impl From<&Tags> for super::Arg {
    fn from(tags: &Tags) -> Self {
        serde_json::Value::from(tags.0.as_slice()).to_string().into()
    }
}

/// A text as it is compared without regard to case: each character's capital form in lower case, so that `ß` is
/// `ss` and both small sigmas are one.
pub fn folded(text: &str) -> String {
    text.chars()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}

const PATTERN: &str =
    "select p.id, p.owner_id, p.workspace_id, p.name, p.description, p.is_public, p.is_template,
    p.tags, p.version_number, p.created_at, p.updated_at, p.call_interface from patterns p ";

/// The caller's own pattern, or their workspace's.
pub async fn visible(
    db: &mut Db<'_>,
    scope: &Scope,
    pattern: PatternId,
) -> Result<Option<PatternRow>, StoreError> {
    db.optional(rights::patterns(
        sql(PATTERN).push("where p.id = ? and ").bind(pattern),
        scope,
    ))
    .await
}

/// A pattern that the caller may look at: as [`visible`], or anybody's public one. What it is connected to
/// (deployments, runs, webhooks and their secrets) is not public.
pub async fn readable(
    db: &mut Db<'_>,
    scope: &Scope,
    pattern: PatternId,
) -> Result<Option<PatternRow>, StoreError> {
    let query = sql(PATTERN)
        .push("where p.id = ? and (p.is_public or ")
        .bind(pattern);
    db.optional(rights::patterns(query, scope).push(")")).await
}

/// The newest version that the caller may not see although they may look at the pattern: others see what was saved since
/// it was last made public, its own workspace sees everything (0). `None`: they may not look at it.
pub async fn hidden_until(
    db: &mut Db<'_>,
    scope: &Scope,
    pattern: PatternId,
) -> Result<Option<i64>, StoreError> {
    let query = rights::patterns(sql("select case when "), scope)
        .push(" then 0 else p.private_until end from patterns p ");
    let query = query.push("where p.id = ? and (p.is_public or ").bind(pattern);
    let found: Option<(i64,)> = db.optional(rights::patterns(query, scope).push(")")).await?;
    Ok(found.map(|(hidden,)| hidden))
}

/// The pattern, if the caller may change it. In a transaction nobody else changes it before that one's end.
pub async fn owned(
    db: &mut Db<'_>,
    editor: &Editor,
    pattern: PatternId,
) -> Result<Option<PatternRow>, StoreError> {
    locks::keep_workspace(db, editor).await?;
    let query = rights::patterns(sql(PATTERN).push("where p.id = ? and ").bind(pattern), editor);
    let lock = if db.is_postgres() { " for update" } else { "" };
    db.optional(query.push(lock)).await
}

/// The pattern, for work that the service does by itself.
pub async fn for_system(db: &mut Db<'_>, pattern: PatternId) -> Result<Option<PatternRow>, StoreError> {
    db.optional(sql(PATTERN).push("where p.id = ?").bind(pattern))
        .await
}

/// Adds a pattern of the editor's; its first version is added by [`super::versions::add`].
pub async fn insert(db: &mut Db<'_>, editor: &Editor, row: &PatternRow) -> Result<(), StoreError> {
    db.execute(
        sql(
            "insert into patterns (id, owner_id, workspace_id, name, name_key, description, is_public, is_template,
             tags, version_number, created_at, updated_at, call_interface, private_until)
             values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(row.id)
        .bind(editor.user())
        .bind(editor.workspace())
        .bind(&row.name)
        .bind(folded(&row.name))
        .bind(&row.description)
        .bind(row.is_public)
        .bind(row.is_template)
        .bind(&row.tags)
        .bind(row.version_number)
        .bind(row.created_at)
        .bind(row.updated_at)
        .bind(row.call_interface.clone())
        .bind(if row.is_public { 0 } else { row.version_number }),
    )
    .await?;
    insert_tags(db, row).await
}

/// Writes all that can change of a pattern that [`owned`] has given in this transaction. An error if the editor may not.
pub async fn update(db: &mut Db<'_>, editor: &Editor, row: &PatternRow) -> Result<(), StoreError> {
    let update =
        sql(
            "update patterns as p set name = ?, name_key = ?, description = ?, is_public = ?, is_template = ?, tags = ?,
             version_number = ?, updated_at = ?, call_interface = ?,
             private_until = case when ? then private_until else ? end where p.id = ? and ",
        )
        .bind(&row.name)
        .bind(folded(&row.name))
        .bind(&row.description)
        .bind(row.is_public)
        .bind(row.is_template)
        .bind(&row.tags)
        .bind(row.version_number)
        .bind(row.updated_at)
        .bind(row.call_interface.clone())
        .bind(row.is_public)
        .bind(row.version_number)
        .bind(row.id);
    if db.execute(rights::patterns(update, editor)).await? == 0 {
        return Err(StoreError::Missing);
    }
    db.execute(sql("delete from pattern_tags where pattern_id = ?").bind(row.id))
        .await?;
    insert_tags(db, row).await
}

async fn insert_tags(db: &mut Db<'_>, row: &PatternRow) -> Result<(), StoreError> {
    for tag in &row.tags.0 {
        db.execute(
            sql("insert into pattern_tags (pattern_id, tag) values (?, ?) on conflict do nothing")
                .bind(row.id)
                .bind(tag),
        )
        .await?;
    }
    Ok(())
}

/// Deletes a pattern that [`owned`] has given, with its versions, tags and stars.
pub async fn delete(db: &mut Db<'_>, editor: &Editor, pattern: PatternId) -> Result<(), StoreError> {
    let delete = sql("delete from patterns as p where p.id = ? and ").bind(pattern);
    db.execute(rights::patterns(delete, editor)).await.map(drop)
}

/// What a list is asked for.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Those of all members of the active workspace, rather than the caller's own.
    pub is_of_workspace: bool,
    /// Part of the name, in any case.
    pub search: Option<String>,
    /// Public ones, or others, only.
    pub is_public: Option<bool>,
    /// Templates, or others, only.
    pub is_template: Option<bool>,
    /// All of them must be there.
    pub tags: Vec<String>,
    pub order: Order,
    /// Rows at most.
    pub limit: i64,
    /// Where they begin.
    pub start: Start<Place>,
}

/// The place of a pattern in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What the list is sorted by.
    pub at: SortedAt,
    /// Orders patterns that are equal by that.
    pub id: PatternId,
}

/// What a pattern is sorted by in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortedAt {
    /// Its name, as [`folded`] gives it.
    Name(String),
    /// When it was made or last saved.
    Time(Timestamp),
}

/// Order of a list.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub by: Sort,
    /// Largest or newest first.
    pub is_descending: bool,
}

/// What lists are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Name, without regard to case.
    Name,
    /// When made.
    CreatedAt,
    /// When last saved.
    UpdatedAt,
}

/// A page of the caller's own patterns in the active workspace, or of all patterns there, and how many there are in all.
pub async fn list(
    db: &mut Db<'_>,
    scope: &Scope,
    filter: &Filter,
) -> Result<(Vec<PatternRow>, i64), StoreError> {
    let (total,): (i64,) = db
        .one(filtered(sql("select count(*) from patterns p "), scope, filter))
        .await?;
    let order = match (filter.order.by, filter.order.is_descending) {
        (Sort::Name, false) => " order by p.name_key, p.id",
        (Sort::Name, true) => " order by p.name_key desc, p.id desc",
        (Sort::CreatedAt, false) => " order by p.created_at, p.id",
        (Sort::CreatedAt, true) => " order by p.created_at desc, p.id desc",
        (Sort::UpdatedAt, false) => " order by p.updated_at, p.id",
        (Sort::UpdatedAt, true) => " order by p.updated_at desc, p.id desc",
    };
    let page = after(filtered(sql(PATTERN), scope, filter), filter)
        .push(order)
        .push(" limit ? offset ?")
        .bind(filter.limit)
        .bind(filter.start.offset());
    Ok((db.all(page).await?, total))
}

/// Those that come after where the page begins.
fn after(query: Sql, filter: &Filter) -> Sql {
    let Some(place) = filter.start.after() else {
        return query;
    };
    let beyond = match (filter.order.by, filter.order.is_descending) {
        (Sort::Name, false) => " and (p.name_key, p.id) > (?, ?)",
        (Sort::Name, true) => " and (p.name_key, p.id) < (?, ?)",
        (Sort::CreatedAt, false) => " and (p.created_at, p.id) > (?, ?)",
        (Sort::CreatedAt, true) => " and (p.created_at, p.id) < (?, ?)",
        (Sort::UpdatedAt, false) => " and (p.updated_at, p.id) > (?, ?)",
        (Sort::UpdatedAt, true) => " and (p.updated_at, p.id) < (?, ?)",
    };
    let query = query.push(beyond);
    let query = match &place.at {
        SortedAt::Name(name) => query.bind(name),
        SortedAt::Time(time) => query.bind(*time),
    };
    query.bind(place.id)
}

fn filtered(query: Sql, scope: &Scope, filter: &Filter) -> Sql {
    let mut query = match scope.workspace() {
        Some(workspace) => query.push("where p.workspace_id = ?").bind(workspace),
        None => query.push("where p.workspace_id is null"),
    };
    if !filter.is_of_workspace || scope.workspace().is_none() {
        query = query.push(" and p.owner_id = ?").bind(scope.user());
    }
    if let Some(part) = &filter.search {
        query = query
            .push(" and p.name_key like ? escape '!'")
            .bind(containing(&folded(part)));
    }
    if let Some(is_public) = filter.is_public {
        query = query.push(" and p.is_public = ?").bind(is_public);
    }
    if let Some(is_template) = filter.is_template {
        query = query.push(" and p.is_template = ?").bind(is_template);
    }
    // One condition for all of them: PostgreSQL takes seconds to plan one for each of fifty.
    let tags: BTreeSet<&String> = filter.tags.iter().collect();
    for (index, tag) in tags.iter().enumerate() {
        let opening = match index {
            0 => " and (select count(*) from pattern_tags t where t.pattern_id = p.id and t.tag in (?",
            _ => ", ?",
        };
        query = query.push(opening).bind(*tag);
    }
    if !tags.is_empty() {
        query = query.push(")) = ?").bind(tags.len() as i64);
    }
    query
}

/// Figures of the whole service.
#[derive(Clone, Copy, Debug, FromRow)]
pub struct Totals {
    pub patterns: i64,
    /// Public ones.
    pub public: i64,
    pub templates: i64,
    /// Versions of all of them.
    pub versions: i64,
}

/// Counts all tenants' patterns.
pub async fn totals_for_system(db: &mut Db<'_>) -> Result<Totals, StoreError> {
    // Version numbers have no gaps, so the newest is the count.
    db.one(sql(
        "select count(*) as patterns, count(case when is_public then 1 end) as public,
            count(case when is_template then 1 end) as templates,
            cast(coalesce(sum(version_number), 0) as bigint) as versions from patterns",
    ))
    .await
}

/// Whether the caller starred this pattern.
pub async fn is_starred(db: &mut Db<'_>, scope: &Scope, pattern: PatternId) -> Result<bool, StoreError> {
    let found: Option<(String,)> = db
        .optional(
            sql("select user_id from pattern_stars where pattern_id = ? and user_id = ?")
                .bind(pattern)
                .bind(scope.user()),
        )
        .await?;
    Ok(found.is_some())
}

/// Gives the caller's star, or takes it back; whether it is there now. `None`: no such pattern to be seen.
pub async fn toggle_star(
    db: &mut Db<'_>,
    scope: &Scope,
    pattern: PatternId,
    now: Timestamp,
) -> Result<Option<bool>, StoreError> {
    if readable(db, scope, pattern).await?.is_none() {
        return Ok(None);
    }
    if db.is_postgres() {
        // Two toggles at once must undo each other.
        db.execute(
            sql("select pg_advisory_xact_lock(hashtextextended(?, 0))")
                .bind(format!("star {pattern} {}", scope.user())),
        )
        .await?;
    }
    let removed = db
        .execute(
            sql("delete from pattern_stars where pattern_id = ? and user_id = ?")
                .bind(pattern)
                .bind(scope.user()),
        )
        .await?;
    if removed > 0 {
        return Ok(Some(false));
    }
    // Selected, since the pattern may have been deleted in between.
    let added = db
        .execute(
            sql("insert into pattern_stars (pattern_id, user_id, created_at)
                 select id, cast(? as text), cast(? as bigint) from patterns where id = ?")
            .bind(scope.user())
            .bind(now)
            .bind(pattern),
        )
        .await?;
    Ok((added > 0).then_some(true))
}

/// A pattern that was saved.
#[derive(Clone, Debug, FromRow)]
pub struct SavedRow {
    pub id: PatternId,
    pub name: String,
    /// Newest version.
    pub version_number: i64,
    pub updated_at: Timestamp,
}

/// The patterns that the caller may see and that were saved then or later, the oldest first.
pub async fn saved_since(
    db: &mut Db<'_>,
    scope: &Scope,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<SavedRow>, StoreError> {
    let query = sql("select p.id, p.name, p.version_number, p.updated_at from patterns p where ");
    let query = rights::patterns(query, scope)
        .push(" and p.updated_at >= ?")
        .bind(since);
    db.all(query.push(" order by p.updated_at, p.id limit ?").bind(limit))
        .await
}

/// Who made a pattern that is listed, and whether the caller starred it.
#[derive(Clone, Debug, FromRow)]
pub struct ListedRow {
    pub id: PatternId,
    /// Its maker's names; `None`: they have no account any more.
    pub first_name: Option<String>,
    /// See `first_name`.
    pub last_name: Option<String>,
    /// Whether the caller starred it.
    pub is_starred: bool,
}

/// What lists of a workspace tell besides of these patterns, in no order.
pub async fn listed(
    db: &mut Db<'_>,
    scope: &Scope,
    patterns: &[PatternId],
) -> Result<Vec<ListedRow>, StoreError> {
    let query = sql(
        "select p.id, u.first_name, u.last_name, s.user_id is not null as is_starred from patterns p
         left join users u on u.id = p.owner_id
         left join pattern_stars s on s.pattern_id = p.id and s.user_id = ? where ",
    )
    .bind(scope.user());
    let query = rights::patterns(query, scope).push(" and p.id in ");
    db.all(query.list_of_few_sizes(patterns.iter().copied())).await
}
