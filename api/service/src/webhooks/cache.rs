//! An in-memory cache of webhook endpoints with their secrets.

use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::ServiceError;
use heddle_model::ids::{EndpointId, PatternId};
use heddle_model::signature::Scheme;
use heddle_store::vault::Vault;
use heddle_store::{Store, endpoints};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of cached endpoints; beyond it, the cache is cleared.
const ENDPOINTS_MAX: usize = 10_000;
/// For how long an endpoint is believed to be unchanged when other servers can change it, should a notice be late.
const SHARED_TTL: Duration = Duration::from_secs(1);

/// A webhook endpoint with its secret.
pub struct Endpoint {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: EndpointId,
    /// The pattern that the node belongs to.
    pub pattern_id: PatternId,
    /// The node.
    pub node_id: String,
    /// How senders sign, in the newest version.
    pub scheme: Scheme,
    /// What they sign with.
    pub secret: String,
    /// Whether the newest version has the node.
    pub is_present: bool,
}

/// The cache.
pub(super) struct Endpoints {
    store: Store,
    vault: Arc<Vault>,
    clock: Clock,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    by_webhook_id: HashMap<String, (Arc<Endpoint>, Timestamp)>,
    /// Counts what was forgotten, so that what was read before is not remembered after.
    generation: u64,
}

impl Endpoints {
    pub fn new(store: Store, vault: Arc<Vault>, clock: Clock) -> Self {
        Endpoints {
            store,
            vault,
            clock,
            known: Mutex::default(),
        }
    }

    /// The endpoint under this URL.
    pub async fn get(&self, webhook_id: &str) -> Result<Option<Arc<Endpoint>>, ServiceError> {
        if !is_webhook_id(webhook_id) {
            return Ok(None);
        }
        let now = self.clock.now();
        let generation = {
            let known = self.known();
            if let Some((endpoint, read_at)) = known.by_webhook_id.get(webhook_id)
                && (!self.store.is_shared() || read_at.plus(SHARED_TTL) > now)
            {
                return Ok(Some(endpoint.clone()));
            }
            known.generation
        };
        let mut reader = self.store.reader().await?;
        let Some(row) = endpoints::for_ingestion(&mut reader.db(), webhook_id).await? else {
            return Ok(None);
        };
        let endpoint = Arc::new(Endpoint {
            id: row.id,
            pattern_id: row.pattern_id,
            scheme: row.scheme(),
            secret: row.secret(&mut reader.db(), &self.vault).await?,
            node_id: row.node_id,
            is_present: row.is_present,
        });
        let mut known = self.known();
        if known.generation == generation {
            if known.by_webhook_id.len() >= ENDPOINTS_MAX {
                known.by_webhook_id.clear();
            }
            known
                .by_webhook_id
                .insert(webhook_id.to_owned(), (endpoint.clone(), now));
        }
        Ok(Some(endpoint))
    }

    pub fn forget_all(&self) {
        let mut known = self.known();
        known.generation += 1;
        known.by_webhook_id.clear();
    }

    pub fn forget(&self, pattern: PatternId) {
        let mut known = self.known();
        known.generation += 1;
        known
            .by_webhook_id
            .retain(|_, (endpoint, _)| endpoint.pattern_id != pattern);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether it could be one of ours, which spares the database most guesses.
fn is_webhook_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
