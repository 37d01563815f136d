//! The embedded database as a file: checks that it can be served before anything is written to it. Knows the file's
//! format (<https://www.sqlite.org/fileformat2.html>) only up to its header, and only the tables that identify it.

mod unusable;

pub use unusable::Unusable;

use super::error::{Failed, StoreError};
use super::{migrations, sqlite_codes};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long SQLite waits for another process, such as a backup.
pub(super) const BUSY_MAX: Duration = Duration::from_secs(10);

/// Marks a file as heddle's, in its header: `hedl`. Files of early versions have none.
pub(super) const MARK: &str = "pragma application_id = 1751475308";
const APPLICATION_ID: i64 = 0x6865_646c;
/// Larger files are not read as a whole at each start: that takes some 0.2 s for 100 MiB.
const QUICK_CHECK_BYTES_MAX: u64 = 64 << 20;
const HEADER_BYTES: usize = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";

/// How much of a file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What a start can afford: header, length, whose it is, and the structure of all pages unless the file is large.
    Quick,
    /// Every page, and every index against its table.
    Full,
}

/// A database file that can be used.
#[derive(Clone, Debug)]
pub struct Found {
    /// Number of the last migration that it has; 0: none.
    pub schema: i64,
    /// Its length.
    pub bytes: u64,
    /// Id of the master key without which its credentials can't be read; `None`: it has none yet.
    pub master_key_id: Option<String>,
    /// Whether its header says that it is heddle's.
    pub(super) is_marked: bool,
}

/// Why there is nothing to tell of a file.
#[derive(Debug)]
enum Unread {
    Unusable(Unusable),
    Io(io::Error),
    Sql(sqlx::Error),
}

impl From<Unusable> for Unread {
    fn from(unusable: Unusable) -> Self {
        Unread::Unusable(unusable)
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Unread::Io(error)
    }
}

impl From<sqlx::Error> for Unread {
    fn from(error: sqlx::Error) -> Self {
        match sqlite_codes::is_damage(&error) {
            true => Unread::Unusable(Unusable::Unreadable(Arc::new(error))),
            false => Unread::Sql(error),
        }
    }
}

impl Unread {
    fn at(self, path: &Path) -> StoreError {
        match self {
            Unread::Unusable(reason) => StoreError::unusable(path, reason),
            Unread::Io(error) => StoreError::Unavailable(Failed::File {
                path: path.to_owned(),
                source: Arc::new(error),
            }),
            Unread::Sql(error) => error.into(),
        }
    }
}

/// Number of the last migration that this program knows.
pub fn schema_known() -> i64 {
    migrations::SQLITE.iter().map(|it| it.version).max().unwrap_or(0)
}

/// The log of a database file, which holds what was committed last.
pub fn log_of(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// What SQLite keeps beside a database file while it is in use.
pub fn companions_of(path: &Path) -> [PathBuf; 3] {
    ["-wal", "-shm", "-journal"].map(|suffix| beside(path, suffix))
}

/// Looks at a file before it is used. `None`: it is not there.
pub async fn check(path: &Path, depth: Depth) -> Result<Option<Found>, StoreError> {
    read(path, depth).await.map_err(|unread| unread.at(path))
}

async fn read(path: &Path, depth: Depth) -> Result<Option<Found>, Unread> {
    if !path.try_exists()? {
        return Ok(None);
    }
    let had_log = has_bytes(&log_of(path));
    inspect(path)?;
    let options = SqliteConnectOptions::new().filename(path).busy_timeout(BUSY_MAX);
    let mut connection = options.connect().await?;
    let checked = check_contents(&mut connection, depth, path.metadata()?.len()).await;
    connection.close().await?;
    let mut found = checked?;
    // What was in the log is in the file by now, unless somebody else has it open.
    if had_log {
        inspect(path)?;
    }
    found.bytes = path.metadata()?.len();
    Ok(Some(found))
}

/// What the bytes themselves say.
fn inspect(path: &Path) -> Result<(), Unread> {
    // Before the header: as long as it is absent nobody is writing to the file.
    let has_log = companions_of(path).iter().any(|it| has_bytes(it));
    let mut header = Vec::with_capacity(HEADER_BYTES);
    let file = File::open(path)?;
    (&file).take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    Ok(judge(&header, file.metadata()?.len(), has_log)?)
}

fn judge(header: &[u8], bytes: u64, has_log: bool) -> Result<(), Unusable> {
    if bytes == 0 {
        return Err(Unusable::Empty);
    }
    let magic_bytes = header.len().min(MAGIC.len());
    if header[..magic_bytes] != MAGIC[..magic_bytes] {
        return Err(Unusable::NotSqlite);
    }
    let header: &[u8; HEADER_BYTES] = header.try_into().map_err(|_| Unusable::HeaderCut { bytes })?;
    let u32_at = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
        // As the format has it.
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    if page_bytes < 512 || !page_bytes.is_power_of_two() {
        return Err(Unusable::PageSize(page_bytes));
    }
    // The count of pages is up to date only when these are equal. What is missing may be in the log.
    let is_counted = u32_at(24) == u32_at(92);
    let expected = u64::from(u32_at(28)) * page_bytes;
    if !has_log && is_counted && bytes < expected {
        return Err(Unusable::Truncated { bytes, expected });
    }
    Ok(())
}

async fn check_contents(
    connection: &mut SqliteConnection,
    depth: Depth,
    bytes: u64,
) -> Result<Found, Unread> {
    let (mark,): (i64,) = sqlx::query_as("select application_id from pragma_application_id")
        .fetch_one(&mut *connection)
        .await?;
    let is_marked = mark == APPLICATION_ID;
    if !is_marked && (mark != 0 || !is_unmarked_ours(connection).await?) {
        return Err(Unusable::NotOurs.into());
    }
    let schema = schema(connection).await?;
    let known = schema_known();
    if schema > known {
        return Err(Unusable::Newer { schema, known }.into());
    }
    let pragma = match depth {
        Depth::Full => Some("pragma integrity_check(1)"),
        Depth::Quick if bytes <= QUICK_CHECK_BYTES_MAX => Some("pragma quick_check(1)"),
        Depth::Quick => None,
    };
    if let Some(pragma) = pragma {
        let (problem,): (String,) = sqlx::query_as(pragma).fetch_one(&mut *connection).await?;
        if problem != "ok" {
            // The first line only names the check.
            let problem = problem.trim_start_matches("*** in database main ***").trim();
            return Err(Unusable::Pages(problem.to_owned()).into());
        }
    }
    Ok(Found {
        schema,
        bytes,
        master_key_id: master_key_id(connection).await?,
        is_marked,
    })
}

async fn has_table(connection: &mut SqliteConnection, name: &str) -> Result<bool, sqlx::Error> {
    let query = "select name from sqlite_schema where type = 'table' and name = ?";
    let found: Option<(String,)> = sqlx::query_as(query)
        .bind(name)
        .fetch_optional(connection)
        .await?;
    Ok(found.is_some())
}

/// A file without any mark is ours by its first migration, or because nothing is in it yet.
async fn is_unmarked_ours(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    if !has_table(connection, "_sqlx_migrations").await? {
        let (tables,): (i64,) = sqlx::query_as("select count(*) from sqlite_schema")
            .fetch_one(connection)
            .await?;
        return Ok(tables == 0);
    }
    let first: Option<(Vec<u8>,)> =
        sqlx::query_as("select checksum from _sqlx_migrations order by version limit 1")
            .fetch_optional(connection)
            .await?;
    let ours = migrations::SQLITE.iter().next().map(|it| &*it.checksum);
    Ok(first.is_none_or(|(checksum,)| Some(&*checksum) == ours))
}

async fn schema(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    if !has_table(connection, "_sqlx_migrations").await? {
        return Ok(0);
    }
    let query = "select coalesce(max(version), 0) from _sqlx_migrations";
    let (version,): (i64,) = sqlx::query_as(query).fetch_one(connection).await?;
    Ok(version)
}

async fn master_key_id(connection: &mut SqliteConnection) -> Result<Option<String>, sqlx::Error> {
    if !has_table(connection, "vault").await? {
        return Ok(None);
    }
    let query = "select master_key_id from vault where exists (select 1 from data_keys)";
    let found: Option<(String,)> = sqlx::query_as(query).fetch_optional(connection).await?;
    Ok(found.map(|(id,)| id))
}

fn has_bytes(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.len() > 0)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
