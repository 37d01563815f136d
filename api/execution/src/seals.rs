//! Which modules execute for whom: those that were deployed there, by the vault's seals over them. What somebody has written
//! into the database by other ways has none.
//!
//! A database that an earlier heddle has used has modules without seals, and servers of that version may go on deploying until
//! the last of them is replaced. For a day from the first start of a server that seals, they are taken as they are, and sealed.

use heddle_contract::manifest::{Manifest, Rights};
use heddle_model::clock::Clock;
use heddle_model::error::ServiceError;
use heddle_model::tenant::Tenant;
use heddle_store::vault::{Vault, VaultError};
use heddle_store::{Store, deployments};
use std::sync::Arc;
use std::time::Duration;

/// How long modules without seals are taken as they are.
const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// What the seal over a module says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is what the tenant has deployed.
    Sealed,
    /// It is not: there is no seal, or one over something else.
    Foreign,
}

/// Looks at seals.
pub(crate) struct Seals {
    pub store: Store,
    pub vault: Arc<Vault>,
    pub clock: Clock,
}

/// What is sealed together with a module's hash.
pub(crate) fn rights(manifest: &Manifest) -> Result<String, ServiceError> {
    serde_json::to_string(&manifest.rights).map_err(ServiceError::internal)
}

impl Seals {
    /// Notes when sealing began, if there are deployments from before.
    pub async fn begin(&self) -> Result<(), ServiceError> {
        let (vault, now) = (self.vault.clone(), self.clock.now());
        let write = self.store.write(move |db| {
            Box::pin(async move {
                deployments::begin_sealing(db, &vault, now).await?;
                Ok::<_, ServiceError>(())
            })
        });
        write.await
    }

    /// Whether a tenant has deployed this module with these rights.
    pub async fn verdict(
        &self,
        tenant: Tenant,
        artifact: &str,
        manifest: &Manifest,
    ) -> Result<Verdict, ServiceError> {
        let mut reader = self.store.reader().await?;
        let found = deployments::sealed_rights(&mut reader.db(), &self.vault, (artifact, tenant)).await;
        drop(reader);
        let sealed = match found {
            Ok(sealed) => sealed,
            Err(VaultError::Unopenable) => return Ok(Verdict::Foreign),
            Err(error) => return Err(error.into()),
        };
        if let Some(sealed) = sealed {
            return Ok(match is_of(&sealed, &manifest.rights) {
                true => Verdict::Sealed,
                false => Verdict::Foreign,
            });
        }
        if !self.takes_unsealed().await? {
            return Ok(Verdict::Foreign);
        }
        self.seal(tenant, artifact, rights(manifest)?).await?;
        Ok(Verdict::Sealed)
    }

    /// Whether modules without seals are taken as they are, still.
    pub async fn takes_unsealed(&self) -> Result<bool, ServiceError> {
        let mut reader = self.store.reader().await?;
        match deployments::sealing_begun(&mut reader.db(), &self.vault).await {
            Ok(begun) => Ok(begun.is_some_and(|begun| self.clock.now().minus(GRACE) < begun)),
            Err(VaultError::Unopenable) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn seal(&self, tenant: Tenant, artifact: &str, rights: String) -> Result<(), ServiceError> {
        let (vault, artifact) = (self.vault.clone(), artifact.to_owned());
        let write = self.store.write(move |db| {
            Box::pin(async move {
                deployments::seal_module(db, &vault, (artifact.as_str(), tenant), &rights).await?;
                Ok::<_, ServiceError>(())
            })
        });
        write.await
    }
}

/// Whether these are the rights that were sealed. With the module of an archive, none are: its hash says enough.
fn is_of(sealed: &[u8], rights: &Rights) -> bool {
    sealed.is_empty() || serde_json::from_slice::<Rights>(sealed).is_ok_and(|sealed| sealed == *rights)
}
