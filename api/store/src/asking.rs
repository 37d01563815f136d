//! Who reads: requests of a user share the database's connections with everybody else's. Each request has one share at most,
//! however many connections it uses, and each user some of them at a time; the others of the same user wait.
//!
//! Whoever answers requests does that within [`of_request`] and says, as soon as it is known, [for whom](asked_by). What is
//! read outside of requests, or before that, is the service's own.

use super::error::{Failed, StoreError};
use super::per_user::PerUser;
use heddle_model::ids::UserId;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

tokio::task_local! {
    static ASKING: Arc<Asking>;
}

/// A request that is being answered.
#[derive(Debug, Default)]
struct Asking {
    user: OnceLock<UserId>,
    /// Connections that it holds now.
    held: AtomicUsize,
}

/// Does this as one request.
pub async fn of_request<F: Future>(answer: F) -> F::Output {
    ASKING.scope(Arc::default(), answer).await
}

/// Does this as the service, whoever has asked for it: while others wait for it, it must not wait for what its user is asking for besides.
pub async fn of_service<F: Future>(work: F) -> F::Output {
    // Of which nobody says for whom it is.
    of_request(work).await
}

/// Says for whom the request is that is being answered, if one is. Only the first who is said counts.
pub fn asked_by(user: UserId) {
    // Outside of a request nobody waits for a share.
    let _ = ASKING.try_with(|asking| asking.user.set(user));
}

/// The shares of all users.
#[derive(Debug)]
pub(super) struct Shares {
    /// How many requests of one user read at a time.
    per_user: PerUser,
    /// How long one of them waits for its share.
    patience: Duration,
}

/// What a request holds as long as it reads.
#[derive(Debug)]
pub(super) struct Share {
    asking: Arc<Asking>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.asking.held.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Shares {
    pub fn new(per_user: usize, patience: Duration) -> Self {
        Shares {
            per_user: PerUser::new(per_user),
            patience,
        }
    }

    /// Waits for a share of the user whose request is being answered; `None` if it is the service that reads.
    pub async fn take(&self) -> Result<Option<Share>, StoreError> {
        let Some((asking, user)) = ASKING
            .try_with(|asking| Some((asking.clone(), *asking.user.get()?)))
            .ok()
            .flatten()
        else {
            return Ok(None);
        };
        // One that holds a connection already and waited for another share could wait for requests that wait for it.
        let permits = match asking.held.fetch_add(1, Ordering::AcqRel) {
            0 => Some(self.per_user.of(user)),
            _ => None,
        };
        // From here on it is given back, whatever happens.
        let mut share = Share { asking, permit: None };
        if let Some(permits) = permits {
            let waited = tokio::time::timeout(self.patience, permits.acquire_owned()).await;
            let overdue = || StoreError::Unavailable(Failed::NoShare);
            share.permit = Some(waited.map_err(|_| overdue())?.map_err(|_| overdue())?);
        }
        Ok(Some(share))
    }
}

#[cfg(test)]
mod tests;
