//! Copies of the embedded database: made from a live database by `VACUUM INTO`, which reads a consistent state while
//! servers continue to write; with or without the keys that are needed to read its credentials.

use super::StoreError;
use super::sqlite_codes::is_damage;
use super::sqlite_file::{BUSY_MAX, Unusable};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use std::path::Path;
use std::sync::Arc;

/// A key's name as it is in the settings, and its text.
pub type NamedKey = (String, String);

/// Copies the database in `source` as it is now to `target`, which must not exist or be empty. Neither migrates nor
/// changes `source`. The copy is not yet synced to disk.
pub async fn copy(source: &Path, target: &Path) -> Result<(), StoreError> {
    let target = target
        .to_str()
        .ok_or_else(|| StoreError::unusable(target, Unusable::Name))?;
    let copied = async {
        let mut connection = open(source).await?;
        sqlx::query("vacuum into ?")
            .bind(target)
            .execute(&mut connection)
            .await?;
        connection.close().await
    };
    copied.await.map_err(|error| match is_damage(&error) {
        true => StoreError::unusable(source, Unusable::Unreadable(Arc::new(error))),
        false => error.into(),
    })
}

/// Adds keys to a copy.
pub async fn put_keys(copy: &Path, keys: &[NamedKey]) -> Result<(), StoreError> {
    let mut connection = open(copy).await?;
    sqlx::raw_sql("create table backup_keys (name text primary key, value text not null)")
        .execute(&mut connection)
        .await?;
    for (name, value) in keys {
        sqlx::query("insert into backup_keys (name, value) values (?, ?)")
            .bind(name)
            .bind(value)
            .execute(&mut connection)
            .await?;
    }
    Ok(connection.close().await?)
}

/// Takes the keys out of a copy, so that nothing of them is left in it. Without any there is nothing to take.
pub async fn take_keys(copy: &Path) -> Result<Vec<NamedKey>, StoreError> {
    let mut connection = open(copy).await?;
    let table: Option<(String,)> =
        sqlx::query_as("select name from sqlite_schema where name = 'backup_keys'")
            .fetch_optional(&mut connection)
            .await?;
    let mut keys = Vec::new();
    if table.is_some() {
        keys = sqlx::query_as("select name, value from backup_keys order by name")
            .fetch_all(&mut connection)
            .await?;
        sqlx::raw_sql("pragma secure_delete = on; drop table backup_keys")
            .execute(&mut connection)
            .await?;
    }
    connection.close().await?;
    Ok(keys)
}

async fn open(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY_MAX)
        .connect()
        .await
}
