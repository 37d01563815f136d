//! The state that webhook ingestion keeps between requests, and the events that it creates from them.

mod cache;
pub mod event;
pub mod journal;
pub mod snippets;
pub mod sweeper;

pub use cache::Endpoint;

use crate::rate_limit::{LimitKey, RateLimiter};
use cache::Endpoints;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::ServiceError;
use heddle_model::ids::PatternId;
use heddle_store::vault::Vault;
use heddle_store::webhook_logs::sweep_for_system;
use heddle_store::{Store, StoreError};
use journal::Journal;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// What operators can set of webhooks.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Requests of one address within a minute; 0: any number.
    pub requests_per_minute: u32,
    /// How long the log is kept.
    pub log_age_max: Duration,
}

/// What the ingestion keeps between requests.
pub struct Webhooks {
    endpoints: Endpoints,
    /// Counts requests by address.
    pub limiter: RateLimiter<IpAddr>,
    /// What came in.
    pub journal: Journal,
    store: Store,
    log_age_max: Duration,
}

impl Webhooks {
    /// Starts the writing of the log.
    pub fn new(settings: Settings, store: Store, clock: Clock, vault: Arc<Vault>) -> Self {
        Webhooks {
            endpoints: Endpoints::new(store.clone(), vault, clock),
            limiter: RateLimiter::new(settings.requests_per_minute).shared_if(store.is_shared()),
            journal: Journal::start(store.clone()),
            store,
            log_age_max: settings.log_age_max,
        }
    }

    /// Refuses a request of an address that sends too many.
    pub fn limit(&self, ip: LimitKey, now: Timestamp) -> Result<(), ServiceError> {
        self.limiter.check(&ip.address(), now)
    }

    /// The endpoint under this URL.
    pub async fn endpoint(&self, webhook_id: &str) -> Result<Option<Arc<Endpoint>>, ServiceError> {
        self.endpoints.get(webhook_id).await
    }

    /// Removes a pattern's endpoints from the cache. Call it when they, or the pattern's newest version, have changed.
    pub fn changed(&self, pattern: PatternId) {
        self.endpoints.forget(pattern);
    }

    /// Clears the cache.
    pub fn all_changed(&self) {
        self.endpoints.forget_all();
    }

    /// Deletes tapped events and lines of the log that are too old.
    pub async fn sweep(&self, now: Timestamp) -> Result<(), StoreError> {
        let age_max = self.log_age_max;
        self.store
            .write(move |db| Box::pin(sweep_for_system(db, now, age_max)))
            .await
    }
}
