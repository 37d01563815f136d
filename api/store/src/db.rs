//! A common SQL interface to both databases: they share the statements' text, with `?` for arguments, and rows are
//! decoded by type.

use super::error::StoreError;
use heddle_model::access::{Role, WorkspaceRole};
use heddle_model::audit::{Action, Outcome};
use heddle_model::clock::Timestamp;
use heddle_model::server_role::ServerRole;
use heddle_model::status::{DeploymentStatus, Phase, RunStatus, TriggeredBy, WebhookStatus};
use heddle_model::{for_each_id, ids};
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, FromRow, PgConnection, Postgres, Sqlite, SqliteConnection};
use std::borrow::Cow;
use std::sync::Arc;

/// Rows of one statement of [`inserts`]: few sizes, so that each text is prepared once, and few enough arguments for
/// every database. But not too few: the arguments of a row that is missing are bound too.
const SIZES: [usize; 10] = [1, 4, 8, 16, 24, 32, 40, 48, 56, 64];

/// An argument of a statement. The kind is known even when it is null, since PostgreSQL asks for it.
#[derive(Clone, Debug)]
pub enum Arg {
    /// Text, and JSON, which is stored as text.
    Text(Option<String>),
    /// Text that is a copy, or that others have too. A string is put behind a pointer of its own for SQLite's thread, which
    /// is one more allocation for each cell of each row.
    Shared(Option<Arc<str>>),
    /// Integers and times.
    Int(Option<i64>),
    /// Floating point.
    Real(Option<f64>),
    /// Truth.
    Bool(Option<bool>),
    Bytes(Option<Vec<u8>>),
}

impl Arg {
    /// None of this kind.
    const fn null(&self) -> Arg {
        match self {
            Arg::Text(_) | Arg::Shared(_) => Arg::Text(None),
            Arg::Int(_) => Arg::Int(None),
            Arg::Real(_) => Arg::Real(None),
            Arg::Bool(_) => Arg::Bool(None),
            Arg::Bytes(_) => Arg::Bytes(None),
        }
    }
}

macro_rules! args {
    ($($kind:ident: $type:ty),*) => {$(
        impl From<$type> for Arg {
            fn from(value: $type) -> Arg {
                Arg::$kind(Some(value.into()))
            }
        }
        impl From<Option<$type>> for Arg {
            fn from(value: Option<$type>) -> Arg {
                Arg::$kind(value.map(Into::into))
            }
        }
    )*};
}
args!(
    Text: String, Shared: &str, Shared: Arc<str>, Int: i64, Int: i32, Int: u32, Real: f64, Bool: bool, Bytes: Vec<u8>,
    Bytes: &[u8]
);

macro_rules! ids {
    ($($(#[$doc:meta])* $type:ident),* $(,)?) => {$(
        impl From<ids::$type> for Arg {
            fn from(id: ids::$type) -> Arg {
                id.shared_text().into()
            }
        }

        impl From<Option<ids::$type>> for Arg {
            fn from(id: Option<ids::$type>) -> Arg {
                id.map(|id| id.shared_text()).into()
            }
        }
    )*};
}
for_each_id!(ids);

macro_rules! named {
    ($($type:ty),* $(,)?) => {$(
        impl From<$type> for Arg {
            fn from(value: $type) -> Arg {
                value.name().into()
            }
        }
    )*};
}
named!(
    Role,
    WorkspaceRole,
    ServerRole,
    DeploymentStatus,
    RunStatus,
    Phase,
    TriggeredBy,
    WebhookStatus,
    Action,
    Outcome,
);

impl From<Timestamp> for Arg {
    fn from(time: Timestamp) -> Arg {
        time.millis().into()
    }
}

impl From<Option<Timestamp>> for Arg {
    fn from(time: Option<Timestamp>) -> Arg {
        time.map(Timestamp::millis).into()
    }
}

impl From<&Arc<str>> for Arg {
    fn from(value: &Arc<str>) -> Arg {
        value.clone().into()
    }
}

impl From<&String> for Arg {
    fn from(value: &String) -> Arg {
        value.as_str().into()
    }
}

/// A statement: its text comes from the source code only, so no value can become part of it.
#[derive(Clone, Debug)]
pub struct Sql {
    /// What it begins with, by which errors name it.
    beginning: &'static str,
    text: Cow<'static, str>,
    args: Vec<Arg>,
}

/// Begins a statement. `?` stands for each argument, in order; the text has no other question mark.
pub fn sql(text: &'static str) -> Sql {
    Sql {
        beginning: text,
        text: Cow::Borrowed(text),
        args: Vec::new(),
    }
}

impl Sql {
    /// The next argument.
    pub fn bind(mut self, arg: impl Into<Arg>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// More text.
    pub fn push(mut self, text: &'static str) -> Self {
        self.text.to_mut().push_str(text);
        self
    }

    /// Another one after it.
    pub fn append(mut self, other: Sql) -> Self {
        self.text.to_mut().push_str(&other.text);
        self.args.extend(other.args);
        self
    }

    /// `(?, ?, …)` with these arguments; `(null)` without any, which matches nothing.
    pub fn list<T: Into<Arg>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        let before = self.args.len();
        self.args.extend(args.into_iter().map(Into::into));
        let count = self.args.len() - before;
        let text = self.text.to_mut();
        text.push_str(if count == 0 { "(null" } else { "(?" });
        (1..count).for_each(|_| text.push_str(", ?"));
        text.push(')');
        self
    }

    /// A list of arguments as [`list`](Self::list) makes it, filled up to one of few lengths with nulls, which match nothing: so each text of
    /// a statement is prepared once.
    pub fn list_of_few_sizes<T: Into<Arg>>(self, args: impl IntoIterator<Item = T>) -> Self {
        let mut args: Vec<Arg> = args.into_iter().map(Into::into).collect();
        if let Some(nothing) = args.first().map(Arg::null) {
            args.resize(args.len().next_multiple_of(size_for(args.len())), nothing);
        }
        self.list(args)
    }

    /// These statements as one text.
    fn joined(statements: Vec<Sql>) -> Self {
        let texts: Vec<&str> = statements.iter().map(|it| &*it.text).collect();
        Sql {
            beginning: beginning_of(&statements),
            text: texts.join("; ").into(),
            args: args_of(statements),
        }
    }

    /// These statements as a transaction for SQLite. An insertion that fails undoes all of it, so that SQLite need not
    /// be able to undo each by itself, which would have it copy every page that it changes. Source: SQLite,
    /// "Temporary Files Used By SQLite", "Statement Journal Files".
    pub(super) fn transaction(statements: Vec<Sql>) -> Self {
        const INSERT: &str = "insert into ";
        let length: usize = statements.iter().map(|it| it.text.len() + INSERT.len() + 2).sum();
        let mut text = String::with_capacity(length + 32);
        text.push_str("begin immediate; ");
        for statement in &statements {
            let (verb, rest) = match statement.text.strip_prefix(INSERT) {
                Some(rest) => ("insert or rollback into ", rest),
                None => ("", &*statement.text),
            };
            text.extend([verb, rest, "; "]);
        }
        text.push_str("commit");
        Sql {
            beginning: beginning_of(&statements),
            text: text.into(),
            args: args_of(statements),
        }
    }

    /// With PostgreSQL's numbered placeholders.
    fn numbered(&self) -> String {
        let mut text = String::with_capacity(self.text.len() + 2 * self.args.len());
        let mut number = 0;
        for piece in self.text.split_inclusive('?') {
            match piece.strip_suffix('?') {
                Some(piece) => {
                    number += 1;
                    text.push_str(piece);
                    text.push('$');
                    text.push_str(&number.to_string());
                }
                None => text.push_str(piece),
            }
        }
        text
    }
}

/// The `like` pattern of texts with this part, `!` being the escape.
pub fn containing(part: &str) -> String {
    let mut pattern = String::from("%");
    for c in part.chars() {
        if matches!(c, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

/// What the first one begins with.
fn beginning_of(statements: &[Sql]) -> &'static str {
    statements.first().map_or("", |it| it.beginning)
}

/// The arguments of all of them, in order. Most have only one with any, whose list stays as it is.
fn args_of(statements: Vec<Sql>) -> Vec<Arg> {
    let lists = statements.into_iter().map(|it| it.args);
    let lists = lists.filter(|args| !args.is_empty());
    let joined = lists.reduce(|mut all, args| {
        all.extend(args);
        all
    });
    joined.unwrap_or_default()
}

/// The least size that holds so many, or the largest.
fn size_for(count: usize) -> usize {
    let size = SIZES.into_iter().find(|size| *size >= count);
    size.unwrap_or(SIZES[SIZES.len() - 1])
}

/// Statements that add rows to a table, given as `table (column, …)`, whose first column is null in no row. With a
/// condition, which begins with `and` and has one argument, only if it holds.
pub fn inserts<const COLUMNS: usize>(
    table: &'static str,
    rows: impl ExactSizeIterator<Item = [Arg; COLUMNS]>,
    only_if: Option<(&'static str, &str)>,
) -> Vec<Sql> {
    inserts_as(
        (table, &format!("insert into {table} select * from ")),
        rows,
        only_if,
    )
}

/// Statements that add rows with a text of their own, from `insert into` to `from`, for which column gets what. What it begins with is what
/// errors tell.
pub fn inserts_as<const COLUMNS: usize>(
    name_and_text: (&'static str, &str),
    rows: impl ExactSizeIterator<Item = [Arg; COLUMNS]>,
    only_if: Option<(&'static str, &str)>,
) -> Vec<Sql> {
    let statements = with_rows(name_and_text, rows, " where column1 is not null").into_iter();
    let statements = statements.map(|statement| match only_if {
        Some((condition, arg)) => statement.push(condition).bind(arg),
        None => statement,
    });
    statements.collect()
}

/// Statements about rows, which stand in them as `v` with the columns `column1`, `column2` and so on. The name is what errors
/// tell. Where there are fewer rows than a statement has places for, the others are null, and must do nothing.
///
/// Arguments rather than one JSON text: SQLite takes less than half of the time for them.
pub fn with_rows<const COLUMNS: usize>(
    (name, before): (&'static str, &str),
    mut rows: impl ExactSizeIterator<Item = [Arg; COLUMNS]>,
    after: &str,
) -> Vec<Sql> {
    let placeholders = format!("(?{})", ", ?".repeat(COLUMNS.saturating_sub(1)));
    let mut statements = Vec::new();
    while rows.len() > 0 {
        let size = size_for(rows.len());
        let mut text = format!("{before}(values ");
        text.reserve(size * (placeholders.len() + 2) + after.len() + 64);
        let mut args = Vec::with_capacity(size * COLUMNS + 1);
        let mut nothing = None;
        for place in 0..size {
            let Some(row) = rows.next().or_else(|| nothing.clone()) else {
                break;
            };
            nothing.get_or_insert_with(|| row.each_ref().map(Arg::null));
            text.extend([if place == 0 { "" } else { ", " }, &placeholders]);
            args.extend(row);
        }
        text.push_str(") v");
        text.push_str(after);
        statements.push(Sql {
            beginning: name,
            text: text.into(),
            args,
        });
    }
    statements
}

/// What a row is decoded into: `#[derive(sqlx_macros::FromRow)]` gives it.
pub trait Row: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}
impl<T> Row for T where T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

/// A connection in use.
#[derive(Debug)]
pub enum Db<'c> {
    Sqlite(&'c mut SqliteConnection),
    /// To PostgreSQL.
    Postgres(&'c mut PgConnection),
}

macro_rules! bound {
    ($query:expr, $args:expr) => {{
        let mut query = $query;
        for arg in $args {
            query = match arg {
                Arg::Text(value) => query.bind(value),
                Arg::Shared(value) => query.bind(value),
                Arg::Int(value) => query.bind(value),
                Arg::Real(value) => query.bind(value),
                Arg::Bool(value) => query.bind(value),
                Arg::Bytes(value) => query.bind(value),
            };
        }
        query
    }};
}

impl Db<'_> {
    /// All rows.
    pub async fn all<R: Row>(&mut self, sql: Sql) -> Result<Vec<R>, StoreError> {
        let rows = match self {
            Db::Sqlite(connection) => {
                let query = sqlx::query_as::<Sqlite, R>(AssertSqlSafe(sql.text));
                bound!(query, sql.args).fetch_all(&mut **connection).await
            }
            Db::Postgres(connection) => {
                let query = sqlx::query_as::<Postgres, R>(AssertSqlSafe(sql.numbered()));
                bound!(query, sql.args).fetch_all(&mut **connection).await
            }
        };
        rows.map_err(|error| StoreError::at(sql.beginning, error))
    }

    /// All rows of a query after a statement without rows: on SQLite in one go, see [`Db::execute_all`].
    pub async fn all_after<R: Row>(&mut self, first: Sql, query: Sql) -> Result<Vec<R>, StoreError> {
        match self {
            Db::Sqlite(_) => self.all(Sql::joined(vec![first, query])).await,
            Db::Postgres(_) => {
                self.execute(first).await?;
                self.all(query).await
            }
        }
    }

    /// All rows of these statements, on SQLite in one go, see [`Db::execute_all`].
    pub async fn all_of<R: Row>(&mut self, statements: Vec<Sql>) -> Result<Vec<R>, StoreError> {
        if matches!(self, Db::Sqlite(_)) {
            return self.all(Sql::joined(statements)).await;
        }
        let mut rows = Vec::new();
        for statement in statements {
            rows.extend(self.all(statement).await?);
        }
        Ok(rows)
    }

    /// The row, if there is one; at most one is read.
    pub async fn optional<R: Row>(&mut self, sql: Sql) -> Result<Option<R>, StoreError> {
        let row = match self {
            Db::Sqlite(connection) => {
                let query = sqlx::query_as::<Sqlite, R>(AssertSqlSafe(sql.text));
                bound!(query, sql.args).fetch_optional(&mut **connection).await
            }
            Db::Postgres(connection) => {
                let query = sqlx::query_as::<Postgres, R>(AssertSqlSafe(sql.numbered()));
                bound!(query, sql.args).fetch_optional(&mut **connection).await
            }
        };
        row.map_err(|error| StoreError::at(sql.beginning, error))
    }

    /// The one row that must be there, as of a count.
    pub async fn one<R: Row>(&mut self, sql: Sql) -> Result<R, StoreError> {
        self.optional(sql).await?.ok_or(StoreError::Missing)
    }

    /// Executes; how many rows changed.
    pub async fn execute(&mut self, sql: Sql) -> Result<u64, StoreError> {
        let changed = match self {
            Db::Sqlite(connection) => {
                let query = sqlx::query::<Sqlite>(AssertSqlSafe(sql.text));
                let done = bound!(query, sql.args).execute(&mut **connection).await;
                done.map(|done| done.rows_affected())
            }
            Db::Postgres(connection) => {
                let query = sqlx::query::<Postgres>(AssertSqlSafe(sql.numbered()));
                let done = bound!(query, sql.args).execute(&mut **connection).await;
                done.map(|done| done.rows_affected())
            }
        };
        changed.map_err(|error| StoreError::at(sql.beginning, error))
    }

    /// Executes statements; how many rows changed. SQLite gets them as one text: handing over to its thread and back takes
    /// longer than most statements.
    pub async fn execute_all(&mut self, statements: Vec<Sql>) -> Result<u64, StoreError> {
        if matches!(self, Db::Sqlite(_)) {
            return self.execute(Sql::joined(statements)).await;
        }
        let mut changed = 0;
        for statement in statements {
            changed += self.execute(statement).await?;
        }
        Ok(changed)
    }

    /// Whether this is PostgreSQL, for the few statements that differ.
    pub fn is_postgres(&self) -> bool {
        matches!(self, Db::Postgres(_))
    }
}
