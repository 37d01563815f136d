//! Finding the user that a command is about, and what is said if that fails.

use crate::cli::failure::{Exit, Failure};
use heddle_model::error::chain;
use heddle_store::Store;
use heddle_store::accounts::{self, UserRow};
use std::error::Error;

/// Nobody has this email.
pub(super) fn nobody(email: &str) -> Failure {
    let message = format!("no user has the email {email}");
    Failure::new(Exit::Failed, "NOT_FOUND", message)
}

/// The user with this email.
pub(super) async fn find(store: &Store, email: &str) -> Result<UserRow, Failure> {
    let mut reader = store.reader().await.map_err(|error| broken(&error))?;
    let found = accounts::by_email(&mut reader.db(), email).await;
    found
        .map_err(|error| broken(&error))?
        .ok_or_else(|| nobody(email))
}

/// The database failed.
pub(super) fn broken(error: &dyn Error) -> Failure {
    Failure::new(Exit::File, "DATABASE", chain(error))
}
