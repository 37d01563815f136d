//! Webhooks: from a request to a run, in the order of checks that the interface gives, each outcome written down.
//! Knows HTTP's messages, and neither routes nor SQL.

mod answer;
mod cache;
pub mod event;
pub mod ingest;
pub mod journal;
pub mod shown;
pub mod snippets;

pub use cache::Endpoint;

use crate::clock::{Clock, Timestamp};
use crate::config::Config;
use crate::error::ApiError;
use crate::http::client_ip::ClientIp;
use crate::ids::PatternId;
use crate::rate_limit::RateLimiter;
use crate::store::webhook_logs::sweep_for_system;
use crate::store::{Store, StoreError};
use crate::vault::Vault;
use cache::Endpoints;
use journal::Journal;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

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
    pub fn new(config: &Config, store: Store, clock: Clock, vault: Arc<Vault>) -> Self {
        Webhooks {
            endpoints: Endpoints::new(store.clone(), vault, clock),
            limiter: RateLimiter::new(config.webhook_rate_limit).shared_if(store.is_shared()),
            journal: Journal::start(store.clone()),
            store,
            log_age_max: config.retention,
        }
    }

    /// Refuses a request of an address that sends too many.
    pub fn limit(&self, ip: &ClientIp, now: Timestamp) -> Result<(), ApiError> {
        self.limiter.check(&ip.limit_key(), now)
    }

    /// Forgets what is known of a pattern's endpoints: to be called when they, or its newest version, have changed.
    pub fn changed(&self, pattern: PatternId) {
        self.endpoints.forget(pattern);
    }

    /// Forgets what is known of all endpoints.
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
