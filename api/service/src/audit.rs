//! The audit log beside the transactions that write most of it: what happened outside of the database, secrets that were
//! read, and how long entries stay.

mod policy;
mod sweeper;

pub use policy::Policy;
pub use sweeper::start;

use crate::Service;
use heddle_model::access::Scope;
use heddle_model::audit::{Action, Note, Object, Origin};
use heddle_model::error::chain;
use heddle_model::ids::EndpointId;
use heddle_store::{StoreError, audit};
use std::time::Duration;

/// How somebody comes to read a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It was asked for.
    AskedFor,
    /// It is part of something else.
    ByTheWay,
}

/// Reading the same secret by the way again within this time is told once: lists are read anew all the time.
const READ_NOTED_EVERY: Duration = Duration::from_secs(60 * 60);

/// Tells of what no transaction of ours was part of, such as a run that was cancelled.
pub async fn note(service: &Service, scope: &Scope, note: Note) -> Result<(), StoreError> {
    let scope = *scope;
    service
        .store
        .write(move |db| Box::pin(async move { audit::note(db, &scope, note).await }))
        .await
}

/// Tells that the caller is shown the secrets of these webhooks; by the way, unless they were within the last hour.
pub async fn note_read(
    service: &Service,
    scope: &Scope,
    endpoints: Vec<EndpointId>,
    reading: Reading,
) -> Result<(), StoreError> {
    let since = scope.origin().at.minus(READ_NOTED_EVERY);
    let mut news = Vec::new();
    for endpoint in endpoints {
        let object = Object::Endpoint(endpoint);
        let is_news = reading == Reading::AskedFor
            || !audit::has_read(&mut service.store.reader().await?.db(), scope, &object, since).await?;
        if is_news {
            news.push(Action::WebhookSecretRead.of(object));
        }
    }
    if news.is_empty() {
        return Ok(());
    }
    let scope = *scope;
    service
        .store
        .write(move |db| {
            Box::pin(async move {
                for read in news {
                    audit::note(db, &scope, read).await?;
                }
                Ok(())
            })
        })
        .await
}

/// Tells that somebody was refused who tried to sign in with this email, if it is a user's. In the background, so that how
/// long the answer takes does not tell whether it is.
pub fn note_refused(service: &Service, email: String, origin: Origin) {
    let store = service.store.clone();
    tokio::spawn(async move {
        let noted: Result<(), StoreError> = store
            .write(move |db| {
                Box::pin(async move {
                    match audit::account_of(db, &email).await? {
                        Some(user) => audit::note_about(db, user, origin, audit::refused(user)).await,
                        None => Ok(()),
                    }
                })
            })
            .await;
        if let Err(error) = noted {
            tracing::error!(error = %chain(&error), "A refused sign-in is missing from the audit log");
        }
    });
}
