//! An in-memory cache of webhook endpoints with their secrets.

use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::ServiceError;
use heddle_model::ids::{EndpointId, PatternId};
use heddle_model::slot::Slot;
use heddle_model::webhook::Webhook;
use heddle_store::vault::Vault;
use heddle_store::{Moment, ReadCache, Renewal, Store, endpoints};
use secrecy::SecretString;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of cached endpoints.
const ENDPOINTS_MAX: usize = 10_000;
/// For how long an endpoint is believed to be unchanged when other servers can change it, should a notice be late.
const SHARED_TTL: Duration = Duration::from_secs(1);

/// A webhook endpoint with its secret.
pub struct Endpoint {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: EndpointId,
    /// Whose runs it starts.
    pub slot: Slot,
    pub node_id: String,
    /// What the node says of its requests, in the newest version.
    pub webhook: Webhook,
    /// What senders prove who they are with.
    pub secret: SecretString,
    /// Whether the newest version has the node.
    pub is_present: bool,
    /// Whether its workspace is suspended.
    pub is_suspended: bool,
}

/// The cache.
pub(super) struct Endpoints {
    store: Store,
    vault: Arc<Vault>,
    clock: Clock,
    by_webhook_id: ReadCache<String, (Arc<Endpoint>, Timestamp, Renewal)>,
}

impl Endpoints {
    pub fn new(store: Store, vault: Arc<Vault>, clock: Clock) -> Self {
        Endpoints {
            store,
            vault,
            clock,
            by_webhook_id: ReadCache::new(ENDPOINTS_MAX),
        }
    }

    /// The endpoint under this URL.
    pub async fn get(&self, webhook_id: &str) -> Result<Option<Arc<Endpoint>>, ServiceError> {
        if !is_webhook_id(webhook_id) {
            return Ok(None);
        }
        let (known, moment) = self.by_webhook_id.get(webhook_id);
        // Where nobody else changes endpoints, no clock is looked at.
        let is_believed = |read_at: Timestamp, renewal: &Renewal| {
            !self.store.is_shared() || renewal.is_believed(age_of(read_at, self.clock.now()), SHARED_TTL)
        };
        if let Some((endpoint, read_at, renewal)) = known
            && is_believed(read_at, &renewal)
        {
            return Ok(Some(endpoint));
        }
        // Boxed: the future of each request would have to carry it.
        Box::pin(self.read(webhook_id, moment)).await
    }

    async fn read(&self, webhook_id: &str, moment: Moment) -> Result<Option<Arc<Endpoint>>, ServiceError> {
        let now = self.clock.now();
        let mut reader = self.store.reader().await?;
        let Some(row) = endpoints::for_ingestion(&mut reader.db(), webhook_id).await? else {
            return Ok(None);
        };
        let endpoint = Arc::new(Endpoint {
            id: row.id,
            slot: row.slot(),
            webhook: row.webhook(),
            secret: row.secret(&mut reader.db(), &self.vault).await?,
            node_id: row.node_id,
            is_present: row.is_present,
            is_suspended: row.is_suspended,
        });
        let kept = (endpoint.clone(), now, Renewal::default());
        self.by_webhook_id.keep(moment, webhook_id.to_owned(), kept, 0);
        Ok(Some(endpoint))
    }

    pub fn forget_all(&self) {
        self.by_webhook_id.forget_all();
    }

    pub fn forget(&self, pattern: PatternId) {
        self.by_webhook_id
            .forget_those(|(endpoint, ..)| endpoint.slot.pattern == pattern);
    }
}

/// How long ago something was read; not at all, if the clock was set back.
fn age_of(read_at: Timestamp, now: Timestamp) -> Duration {
    let age_ms = now.millis().saturating_sub(read_at.millis());
    Duration::from_millis(u64::try_from(age_ms).unwrap_or_default())
}

/// Whether it could be one of ours, which spares the database most guesses.
fn is_webhook_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
