//! The migrations of both databases' tables.

use super::error::{Failed, StoreError};
use sqlx::migrate::{MigrateError, Migrator};
use std::sync::Arc;

pub(super) static SQLITE: Migrator = sqlx_macros::migrate!("../../migrations/sqlite");
pub(super) static POSTGRES: Migrator = sqlx_macros::migrate!("../../migrations/postgres");

/// Says what was wrong in our own words.
pub(super) fn settled(result: Result<(), MigrateError>) -> Result<(), StoreError> {
    result.map_err(|error| match error {
        MigrateError::VersionMissing(version) => StoreError::Newer(version),
        error => StoreError::Database(Failed::Migration(Arc::new(error))),
    })
}
