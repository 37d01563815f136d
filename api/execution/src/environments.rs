//! Secrets and variables of environments, as runs get them. Kept for a moment, so that a busy deployment doesn't
//! read and decrypt them for each run; a change by this server is seen by the next run.

use heddle_model::error::ServiceError;
use heddle_model::ids::EnvironmentId;
use heddle_runtime::{Secret, Secrets};
use heddle_store::secrets::OpenedSecret;
use heddle_store::vault::Vault;
use heddle_store::{Moment, ReadCache, Renewal, Store, secrets};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long what another server has changed may go unnoticed, should its notice be late.
const FRESH_FOR: Duration = Duration::from_secs(1);
/// Environments kept.
const KEPT_MAX: usize = 1_024;
/// Bytes of their secrets and variables together.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// What an environment gives to a run.
#[derive(Clone, Default)]
pub(crate) struct EnvironmentValues {
    /// `$vars`.
    pub variables: Map<String, Value>,
    /// Secrets by name.
    pub secrets: Secrets,
}

impl EnvironmentValues {
    /// About how much memory they take.
    fn bytes(&self) -> usize {
        let secrets = self.secrets.iter();
        let secrets = secrets.map(|(name, secret)| name.len() + secret.expose().len());
        let texts = self.variables.iter();
        let texts = texts.map(|(name, value)| name.len() + value.as_str().map_or(0, str::len));
        secrets.sum::<usize>() + texts.sum::<usize>()
    }
}

/// Reads environments.
pub struct Environments {
    store: Store,
    vault: Arc<Vault>,
    kept: ReadCache<EnvironmentId, (Instant, Arc<EnvironmentValues>, Renewal)>,
}

impl Environments {
    pub(crate) fn new(store: Store, vault: Arc<Vault>) -> Self {
        Environments {
            store,
            vault,
            kept: ReadCache::with_bytes(KEPT_MAX, KEPT_BYTES_MAX),
        }
    }

    /// To be called after each change of an environment's secrets or variables.
    pub fn changed(&self) {
        self.kept.forget_all();
    }

    /// What the environment has now; nothing without one.
    pub(crate) async fn values(
        &self,
        environment: Option<EnvironmentId>,
    ) -> Result<Arc<EnvironmentValues>, ServiceError> {
        let Some(environment) = environment else {
            return Ok(Arc::default());
        };
        let (kept, moment) = self.kept.get(&environment);
        if let Some((read_at, values, renewal)) = kept
            && renewal.is_believed(heddle_model::clock::since(read_at), FRESH_FOR)
        {
            return Ok(values);
        }
        // Boxed, as is all that runs seldom come to: the future of each would have to carry it.
        Box::pin(self.read(environment, moment)).await
    }

    async fn read(
        &self,
        environment: EnvironmentId,
        moment: Moment,
    ) -> Result<Arc<EnvironmentValues>, ServiceError> {
        let read_at = heddle_model::clock::monotonic();
        let mut reader = self.store.reader().await?;
        let variables = secrets::variables(&mut reader.db(), environment).await?;
        let opened = secrets::open_all(&mut reader.db(), &self.vault, environment).await?;
        let secret = |(name, secret): (String, OpenedSecret)| (name, Secret::new(secret.value, secret.hosts));
        let values = Arc::new(EnvironmentValues {
            variables,
            secrets: opened.into_iter().map(secret).collect(),
        });
        let bytes = values.bytes();
        let kept = (read_at, values.clone(), Renewal::default());
        self.kept.keep(moment, environment, kept, bytes);
        Ok(values)
    }
}
