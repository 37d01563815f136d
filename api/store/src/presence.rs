//! Editors that are open: who has a pattern on the screen, as far as their tabs tell.

use super::{Db, StoreError, rights, sql};
use heddle_model::access::{Editor, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{PatternId, TabId, UserId};
use sqlx_macros::FromRow;

/// Tabs of one user with one pattern that are kept: the latest.
const TABS_MAX: i64 = 10;
/// Tabs that are told of at most.
const OTHERS_MAX: i64 = 50;

/// A tab in which a pattern is open.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct OpenRow {
    /// Whose it is.
    pub user_id: UserId,
    /// The user's first name.
    pub first_name: String,
    /// The user's last name.
    pub last_name: String,
    /// Whether there is something in it that is not saved.
    pub has_changes: bool,
    pub since: Timestamp,
}

/// A tab has the pattern open, which its user may change. Tabs that were seen before `gone` are forgotten.
pub async fn seen(
    db: &mut Db<'_>,
    editor: &Editor,
    (pattern, tab): (PatternId, TabId),
    has_changes: bool,
    (now, gone): (Timestamp, Timestamp),
) -> Result<(), StoreError> {
    db.execute(
        sql(
            "insert into pattern_presence (pattern_id, user_id, tab, has_changes, since, seen_at)
             values (?, ?, ?, ?, ?, ?)
             on conflict (pattern_id, user_id, tab) do update set has_changes = excluded.has_changes,
                 seen_at = excluded.seen_at",
        )
        .bind(pattern)
        .bind(editor.user())
        .bind(tab)
        .bind(has_changes)
        .bind(now)
        .bind(now),
    )
    .await?;
    let over = sql("delete from pattern_presence where pattern_id = ? and seen_at < ?");
    db.execute(over.bind(pattern).bind(gone)).await?;
    let many = sql(
        "delete from pattern_presence where pattern_id = ? and user_id = ? and tab not in
                    (select tab from pattern_presence where pattern_id = ? and user_id = ?
                     order by seen_at desc, tab limit ?)",
    );
    let many = many
        .bind(pattern)
        .bind(editor.user())
        .bind(pattern)
        .bind(editor.user())
        .bind(TABS_MAX);
    db.execute(many).await.map(drop)
}

/// The tab is closed.
pub async fn left(
    db: &mut Db<'_>,
    scope: &Scope,
    (pattern, tab): (PatternId, TabId),
) -> Result<(), StoreError> {
    let query = sql("delete from pattern_presence where pattern_id = ? and user_id = ? and tab = ?");
    db.execute(query.bind(pattern).bind(scope.user()).bind(tab))
        .await
        .map(drop)
}

/// Other tabs that were seen since then with a pattern of the caller's workspace, the longest open first.
pub async fn others(
    db: &mut Db<'_>,
    scope: &Scope,
    (pattern, tab): (PatternId, TabId),
    since: Timestamp,
) -> Result<Vec<OpenRow>, StoreError> {
    let query = sql(
        "select o.user_id, u.first_name, u.last_name, o.has_changes, o.since from pattern_presence o
         join users u on u.id = o.user_id
         where o.pattern_id = ? and o.seen_at >= ? and not (o.user_id = ? and o.tab = ?) and ",
    );
    let query = query.bind(pattern).bind(since).bind(scope.user()).bind(tab);
    let query = rights::pattern(query, scope, pattern).push(" order by o.since, o.tab limit ?");
    db.all(query.bind(OTHERS_MAX)).await
}

/// Who has saved the newest version of a pattern, if the account is still there: id, first and last name.
pub async fn last_author(
    db: &mut Db<'_>,
    scope: &Scope,
    pattern: PatternId,
    version: i64,
) -> Result<Option<(UserId, String, String)>, StoreError> {
    let query = sql("select u.id, u.first_name, u.last_name from pattern_versions v
                     join users u on u.id = v.created_by
                     where v.pattern_id = ? and v.version_number = ? and ");
    let query = query.bind(pattern).bind(version);
    db.optional(rights::pattern(query, scope, pattern)).await
}
