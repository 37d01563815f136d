//! Secrets and variables of environments, as runs get them. Kept for a moment, so that a busy deployment doesn't
//! read and decrypt them for each run; a change by this server is seen by the next run.

use heddle_model::error::ServiceError;
use heddle_model::ids::EnvironmentId;
use heddle_runtime::{Secret, Secrets};
use heddle_store::secrets::OpenedSecret;
use heddle_store::vault::Vault;
use heddle_store::{Store, secrets};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long what another server has changed may go unnoticed, should its notice be late.
const FRESH_FOR: Duration = Duration::from_secs(1);
/// Past this many the cache starts anew.
const KEPT_MAX: usize = 1_024;

/// What an environment gives to a run.
#[derive(Clone, Default)]
pub(crate) struct EnvironmentValues {
    /// `$vars`.
    pub variables: Map<String, Value>,
    /// Secrets by name.
    pub secrets: Secrets,
}

/// Reads environments.
pub struct Environments {
    store: Store,
    vault: Arc<Vault>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    by_id: HashMap<EnvironmentId, (Instant, Arc<EnvironmentValues>)>,
    /// Grows with every change, so that what was read before one is not kept after it.
    generation: u64,
}

impl Environments {
    pub(crate) fn new(store: Store, vault: Arc<Vault>) -> Self {
        Environments {
            store,
            vault,
            kept: Mutex::default(),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be called after each change of an environment's secrets or variables.
    pub fn changed(&self) {
        let mut kept = self.kept();
        kept.generation += 1;
        kept.by_id.clear();
    }

    /// What the environment has now; nothing without one.
    pub(crate) async fn values(
        &self,
        environment: Option<EnvironmentId>,
    ) -> Result<Arc<EnvironmentValues>, ServiceError> {
        let Some(environment) = environment else {
            return Ok(Arc::default());
        };
        let generation = {
            let kept = self.kept();
            if let Some((read_at, values)) = kept.by_id.get(&environment)
                && read_at.elapsed() < FRESH_FOR
            {
                return Ok(values.clone());
            }
            kept.generation
        };
        let read_at = heddle_model::clock::monotonic();
        let mut reader = self.store.reader().await?;
        let variables = secrets::variables(&mut reader.db(), environment).await?;
        let opened = secrets::open_all(&mut reader.db(), &self.vault, environment).await?;
        let secret = |(name, secret): (String, OpenedSecret)| {
            (name, Secret::new(secret.expose().to_owned(), secret.hosts))
        };
        let values = Arc::new(EnvironmentValues {
            variables,
            secrets: opened.into_iter().map(secret).collect(),
        });
        let mut kept = self.kept();
        if kept.generation == generation {
            if kept.by_id.len() >= KEPT_MAX {
                kept.by_id.clear();
            }
            kept.by_id.insert(environment, (read_at, values.clone()));
        }
        Ok(values)
    }
}
