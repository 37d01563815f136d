//! The state that webhook ingestion keeps between requests, and the events that it creates from them.

pub mod body;
mod cache;
pub mod decompression;
pub mod event;
pub mod journal;
pub mod jwt;
pub mod key_sets;
mod limits;
pub mod snippets;
pub mod sweeper;
pub mod turns;

pub use cache::Endpoint;
pub(crate) use limits::Counts;
pub use limits::{CountedBy, Limits, Settings as LimitSettings};

use crate::rooms::Rooms;
use cache::Endpoints;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::ServiceError;
use heddle_model::ids::{PatternId, UserId};
use heddle_model::quota::common_share;
use heddle_runtime::EgressPolicy;
use heddle_store::vault::Vault;
use heddle_store::webhook_logs::{
    delete_surplus_for_system, delete_tapped_beyond_for_system, surplus_for_system,
    surplus_of_users_for_system, sweep_for_system, tapped_beyond_for_system,
};
use heddle_store::{Store, StoreError};
use journal::Journal;
use key_sets::KeySets;
use std::sync::Arc;
use std::time::Duration;
use turns::Turns;

/// Lines of the log that one statement deletes, since other writes wait for it.
const SWEPT_TOGETHER: i64 = 1_000;
/// Tapped events that one statement deletes; they may have megabytes.
const TAPS_SWEPT_TOGETHER: i64 = 50;
/// Bytes of large answers that are being sent. Their receivers may take minutes.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Answers that have no more bytes take no room.
pub const SMALL_ANSWER_BYTES_MAX: usize = 256 << 10;

/// What operators can set of webhooks.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many requests are let through.
    pub limits: limits::Settings,
    /// How long the log is kept.
    pub log_age_max: Duration,
    /// Lines of it that are kept of each pattern; 0: all.
    pub log_lines_max: u64,
    /// Lines of the log that are kept of all patterns that a user has made; 0: all.
    pub log_user_lines_max: u64,
    /// Bytes of the tapped events that are kept of all patterns that a user has made; 0: all.
    pub tap_user_bytes_max: u64,
}

/// What the ingestion keeps between requests.
pub struct Webhooks {
    endpoints: Endpoints,
    /// Counts requests.
    pub limits: Limits,
    /// What came in.
    pub journal: Journal,
    /// The keys of those who issue senders' tokens.
    pub key_sets: KeySets,
    /// Whose webhooks wait for others'.
    pub turns: Turns,
    /// For large answers to senders, by whose webhooks they are.
    pub answers: Rooms<UserId>,
    store: Store,
    log_age_max: Duration,
    log_lines_max: u64,
    log_user_lines_max: u64,
    tap_user_bytes_max: u64,
}

impl Webhooks {
    /// Starts the writing of the log.
    pub fn new(
        settings: Settings,
        store: Store,
        clock: Clock,
        vault: Arc<Vault>,
        egress: &EgressPolicy,
    ) -> Self {
        Webhooks {
            endpoints: Endpoints::new(store.clone(), vault, clock.clone()),
            key_sets: KeySets::new(egress, clock),
            limits: Limits::new(settings.limits, store.is_shared()),
            journal: Journal::start(store.clone()),
            turns: Turns::default(),
            answers: Rooms::new(ANSWER_BYTES_MAX, SMALL_ANSWER_BYTES_MAX),
            store,
            log_age_max: settings.log_age_max,
            log_lines_max: settings.log_lines_max,
            log_user_lines_max: settings.log_user_lines_max,
            tap_user_bytes_max: settings.tap_user_bytes_max,
        }
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

    /// Deletes tapped events and lines of the log that are too old, and tapped events of users who have too much of them.
    pub async fn sweep(&self, now: Timestamp) -> Result<(), StoreError> {
        let age_max = self.log_age_max;
        let swept: Result<(), StoreError> = self
            .store
            .write(move |db| Box::pin(sweep_for_system(db, now, age_max)))
            .await;
        swept?;
        let bytes_max = i64::try_from(self.tap_user_bytes_max).unwrap_or(i64::MAX);
        if bytes_max == 0 {
            return Ok(());
        }
        let mut reader = self.store.reader().await?;
        let users = tapped_beyond_for_system(&mut reader.db(), bytes_max).await?;
        drop(reader);
        for user in users {
            loop {
                let delete = self.store.write(move |db| {
                    Box::pin(delete_tapped_beyond_for_system(
                        db,
                        user,
                        bytes_max,
                        TAPS_SWEPT_TOGETHER,
                    ))
                });
                if delete.await? < TAPS_SWEPT_TOGETHER.unsigned_abs() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Deletes the oldest lines of patterns that have too many, by themselves and together with others of the same user.
    pub async fn sweep_surplus(&self) -> Result<(), StoreError> {
        let lines_max = i64::try_from(self.log_lines_max).unwrap_or(i64::MAX);
        if lines_max > 0 {
            let mut reader = self.store.reader().await?;
            let surplus = surplus_for_system(&mut reader.db(), lines_max).await?;
            drop(reader);
            for pattern in surplus {
                self.cut_log(pattern, lines_max).await?;
            }
        }
        let lines_max = i64::try_from(self.log_user_lines_max).unwrap_or(i64::MAX);
        if lines_max > 0 {
            let mut reader = self.store.reader().await?;
            let users = surplus_of_users_for_system(&mut reader.db(), lines_max).await?;
            drop(reader);
            for patterns in users.into_values() {
                let lines: Vec<i64> = patterns.iter().map(|(_, lines)| *lines).collect();
                let Some(share) = common_share(&lines, lines_max) else {
                    continue;
                };
                for (pattern, _) in patterns.into_iter().filter(|(_, lines)| *lines > share) {
                    self.cut_log(Some(pattern), share).await?;
                }
            }
        }
        Ok(())
    }

    /// Keeps so many lines of a pattern's log, or of those of requests to no webhook.
    async fn cut_log(&self, pattern: Option<PatternId>, lines_max: i64) -> Result<(), StoreError> {
        loop {
            let delete = self
                .store
                .write(move |db| Box::pin(delete_surplus_for_system(db, pattern, lines_max, SWEPT_TOGETHER)));
            if delete.await? < SWEPT_TOGETHER.unsigned_abs() {
                return Ok(());
            }
        }
    }
}
