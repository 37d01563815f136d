//! Tests of patterns: each a row of its pattern, with its case as JSON and how it ended last.

use super::files::{self, Right};
use super::{Db, StoreError, rights, sql};
use heddle_model::access::{Editor, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::file::{Holder, mentioned};
use heddle_model::ids::{FileId, PatternId, TestId, UserId};
use heddle_model::tenant::Tenant;
use sqlx_macros::FromRow;

/// Bytes of a test besides its case, roughly.
const ROW_BYTES: usize = 300;

/// A test without its case.
#[derive(Clone, Debug, FromRow)]
pub struct TestRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: TestId,
    pub name: String,
    /// When made.
    pub created_at: Timestamp,
    /// When changed.
    pub updated_at: Timestamp,
    /// How it ended when it last ran on a stored version; none of these three if it has not.
    pub last_status: Option<String>,
    /// When that was, in milliseconds.
    pub last_at: Option<i64>,
    pub last_version: Option<i64>,
}

/// A test in the list of a workspace.
#[derive(Clone, Debug, FromRow)]
pub struct WorkspaceTestRow {
    /// The rest.
    #[sqlx(flatten)]
    pub row: TestRow,
    /// Whose test it is.
    pub pattern_id: PatternId,
}

/// A test with its case.
#[derive(Clone, Debug, FromRow)]
pub struct WholeTestRow {
    /// The rest.
    #[sqlx(flatten)]
    pub row: TestRow,
    /// The case as JSON.
    pub content: String,
}

/// A test to be stored.
#[derive(Clone, Debug)]
pub struct NewTest {
    pub id: TestId,
    pub name: String,
    /// The case as JSON.
    pub content: String,
}

impl NewTest {
    /// What counts of it.
    pub fn stored_bytes(&self) -> i64 {
        let bytes = self.content.len().saturating_add(ROW_BYTES);
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }
}

/// How many tests a pattern has, and how many bytes they take.
#[derive(Clone, Copy, Debug, FromRow)]
pub struct Taken {
    /// Tests.
    pub count: i64,
    pub bytes: i64,
}

/// The tests of a pattern that the caller may see, the oldest first.
pub async fn list(db: &mut Db<'_>, scope: &Scope, pattern: PatternId) -> Result<Vec<TestRow>, StoreError> {
    let query = sql(
        "select t.id, t.name, t.created_at, t.updated_at, t.last_status, t.last_at, t.last_version
         from pattern_tests t where t.pattern_id = ? and ",
    );
    let query = rights::pattern(query.bind(pattern), scope, pattern);
    db.all(query.push(" order by t.id")).await
}

/// The tests of all of the workspace's patterns that come after this one, the oldest first.
pub async fn of_workspace(
    db: &mut Db<'_>,
    scope: &Scope,
    after: Option<TestId>,
    limit: i64,
) -> Result<Vec<WorkspaceTestRow>, StoreError> {
    let query = sql(
        "select t.id, t.name, t.created_at, t.updated_at, t.last_status, t.last_at, t.last_version, t.pattern_id
         from pattern_tests t join patterns p on p.id = t.pattern_id where ",
    );
    let mut query = rights::patterns(query, scope);
    if let Some(after) = after {
        query = query.push(" and t.id > ?").bind(after);
    }
    db.all(query.push(" order by t.id limit ?").bind(limit)).await
}

/// A test of a pattern that the caller may see.
pub async fn find(
    db: &mut Db<'_>,
    scope: &Scope,
    pattern: PatternId,
    test: TestId,
) -> Result<Option<WholeTestRow>, StoreError> {
    let query = sql(
        "select t.id, t.name, t.created_at, t.updated_at, t.last_status, t.last_at, t.last_version, t.content
         from pattern_tests t where t.pattern_id = ? and t.id = ? and ",
    );
    let query = query.bind(pattern).bind(test);
    db.optional(rights::pattern(query, scope, pattern)).await
}

/// What the tests of a pattern take.
pub async fn taken(db: &mut Db<'_>, pattern: PatternId) -> Result<Taken, StoreError> {
    let query = sql(
        "select count(*) as count, cast(coalesce(sum(stored_bytes), 0) as bigint) as bytes
                     from pattern_tests where pattern_id = ?",
    );
    db.one(query.bind(pattern)).await
}

/// Adds a test to a pattern that the editor was found to be able to change.
pub async fn insert(
    db: &mut Db<'_>,
    pattern: PatternId,
    test: &NewTest,
    now: Timestamp,
) -> Result<(), StoreError> {
    let query = sql(
        "insert into pattern_tests (id, pattern_id, name, created_at, updated_at, stored_bytes, content)
                     values (?, ?, ?, ?, ?, ?, ?)",
    );
    let query = query.bind(test.id).bind(pattern).bind(&test.name).bind(now);
    let query = query.bind(now).bind(test.stored_bytes()).bind(&test.content);
    db.execute(query).await?;
    hold_files(db, pattern, test, now).await
}

/// Lets the test keep the files that its case refers to: whoever changes tests may see all of the tenant's.
async fn hold_files(
    db: &mut Db<'_>,
    pattern: PatternId,
    test: &NewTest,
    now: Timestamp,
) -> Result<(), StoreError> {
    let ids: Vec<FileId> = mentioned(&test.content).into_iter().collect();
    let holder = Holder::Test(test.id);
    if !ids.is_empty() {
        let query = sql("select owner_id, workspace_id from patterns where id = ?").bind(pattern);
        let owners: Option<(UserId, Option<String>)> = db.optional(query).await?;
        let Some((owner, workspace)) = owners else {
            return Ok(());
        };
        let workspace = workspace.and_then(|workspace| workspace.parse().ok());
        let tenant = Tenant::of(owner, workspace);
        files::hold(db, tenant, &ids, (&holder, Right::Tenant), now).await?;
    }
    files::release_others(db, &holder, &ids).await
}

/// Puts another case in place of a test's, if that is still this one; its last result says nothing any more. Whether it was.
pub async fn update(
    db: &mut Db<'_>,
    editor: &Editor,
    pattern: PatternId,
    (before, test): (&str, &NewTest),
    now: Timestamp,
) -> Result<bool, StoreError> {
    let query = sql(
        "update pattern_tests as t set name = ?, updated_at = ?, stored_bytes = ?, content = ?,
                     last_status = null, last_at = null, last_version = null
         where t.id = ? and t.pattern_id = ? and t.content = ? and ",
    );
    let query = query.bind(&test.name).bind(now).bind(test.stored_bytes());
    let query = query.bind(&test.content).bind(test.id).bind(pattern).bind(before);
    let is_changed = db.execute(rights::pattern(query, editor, pattern)).await? > 0;
    if is_changed {
        hold_files(db, pattern, test, now).await?;
    }
    Ok(is_changed)
}

/// How a test has ended.
#[derive(Clone, Copy, Debug)]
pub struct TestEnd {
    pub test: TestId,
    /// When the test that was run had last been changed.
    pub read_at: Timestamp,
    pub status: &'static str,
    /// The pattern's version that it was run with.
    pub version: i64,
    pub ended_at: Timestamp,
}

/// Stores how a test has ended, unless it has changed since it was read.
pub async fn note_end(
    db: &mut Db<'_>,
    editor: &Editor,
    pattern: PatternId,
    end: TestEnd,
) -> Result<(), StoreError> {
    let query = sql(
        "update pattern_tests as t set last_status = ?, last_at = ?, last_version = ?
                     where t.id = ? and t.pattern_id = ? and t.updated_at = ? and ",
    );
    let query = query.bind(end.status).bind(end.ended_at).bind(end.version);
    let query = query.bind(end.test).bind(pattern).bind(end.read_at);
    db.execute(rights::pattern(query, editor, pattern))
        .await
        .map(drop)
}

/// Removes a test; whether there was one.
pub async fn remove(
    db: &mut Db<'_>,
    editor: &Editor,
    pattern: PatternId,
    test: TestId,
) -> Result<bool, StoreError> {
    let query = sql("delete from pattern_tests as t where t.id = ? and t.pattern_id = ? and ");
    let query = query.bind(test).bind(pattern);
    let removed = db.execute(rights::pattern(query, editor, pattern)).await?;
    Ok(removed > 0)
}
