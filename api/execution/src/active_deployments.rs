//! Deployments ready to run, kept in memory from the first use until something changes. What is kept is never
//! older than the last change that this server made, or has heard of.

use crate::deployment::{ActiveDeployment, Origin, tenant_of};
use crate::modules::{LoadError, Modules, Unusable};
use crate::tenants::Tenants;
use heddle_model::error::ServiceError;
use heddle_model::ids::{DeploymentId, PatternId};
use heddle_model::slot::Slot;
use heddle_model::status::DeploymentStatus;
use heddle_store::deployments::{self, DeploymentRow};
use heddle_store::{Moment, ReadCache, Store};
use std::sync::Arc;

/// Deployments kept.
const KEPT_MAX: usize = 4_096;
/// Bytes of their machine code together.
const CODE_BYTES_MAX: usize = 1 << 30;

/// Active and paused deployments by slot.
pub(crate) struct ActiveDeployments {
    store: Store,
    modules: Arc<Modules>,
    tenants: Tenants,
    by_slot: ReadCache<Slot, Arc<ActiveDeployment>>,
}

impl ActiveDeployments {
    pub fn new(store: Store, modules: Arc<Modules>, tenants: Tenants) -> Self {
        ActiveDeployments {
            store,
            modules,
            tenants,
            by_slot: ReadCache::with_bytes(KEPT_MAX, CODE_BYTES_MAX),
        }
    }

    /// Forgets everything.
    pub fn forget_all(&self) {
        self.by_slot.forget_all();
    }

    /// Forgets a deployment, because it is gone.
    pub fn forget_deployment(&self, deployment: DeploymentId) {
        self.by_slot.forget_those(|active| active.id == deployment);
    }

    /// Forgets the deployment in a slot, because it has changed.
    pub fn forget(&self, slot: Slot) {
        self.by_slot.forget(&slot);
    }

    /// Forgets all deployments of a pattern, because they have changed.
    pub fn forget_pattern(&self, pattern: PatternId) {
        self.by_slot.forget_those(|active| active.slot.pattern == pattern);
    }

    /// Which deployment of a pattern a run starts: the one in its own environment. If there is none, a pattern's main
    /// deployment starts the other's main one, wherever that is: patterns that are deployed once each find each other.
    pub async fn slot_for(&self, pattern: PatternId, origin: Origin) -> Result<Slot, ServiceError> {
        let Some(environment) = origin.environment else {
            return Ok(Slot::main(pattern));
        };
        let mut reader = self.store.reader().await?;
        let found = deployments::slot_for_system(&mut reader.db(), pattern, environment).await?;
        Ok(match (found, origin.is_main) {
            (Some(slot), _) => slot,
            (None, true) => Slot::main(pattern),
            (None, false) => Slot::further(pattern, environment),
        })
    }

    /// The deployment in a slot, if it is active and can be loaded.
    pub async fn in_slot(&self, slot: Slot) -> Result<Option<Arc<ActiveDeployment>>, ServiceError> {
        let found = self.loaded_in_slot(slot).await?;
        Ok(found.filter(|deployment| !deployment.is_paused))
    }

    /// The deployment in a slot, if it is active or paused and can be loaded.
    pub async fn loaded_in_slot(&self, slot: Slot) -> Result<Option<Arc<ActiveDeployment>>, ServiceError> {
        let (kept, moment) = self.by_slot.get(&slot);
        // Of a paused one, another server may have told its users already that it goes on.
        if let Some(kept) = &kept
            && !(kept.is_paused && self.store.is_shared())
        {
            return Ok(Some(kept.clone()));
        }
        // Boxed: the future of each webhook's request would have to carry it.
        Box::pin(self.load(slot, (kept, moment))).await
    }

    /// What is in a slot by now, given what was kept of it.
    async fn load(
        &self,
        slot: Slot,
        (kept, moment): (Option<Arc<ActiveDeployment>>, Moment),
    ) -> Result<Option<Arc<ActiveDeployment>>, ServiceError> {
        let row = deployments::in_slot_for_system(&mut self.store.reader().await?.db(), slot).await?;
        let is_in_use = |status| matches!(status, DeploymentStatus::Active | DeploymentStatus::Paused);
        let Some(row) = row.filter(|row| is_in_use(row.status)) else {
            return Ok(None);
        };
        if let Some(kept) = kept.filter(|kept| kept.is_of(&row)) {
            return Ok(Some(kept));
        }
        let program = match self.modules.load(&row).await {
            Ok(program) => program,
            Err(LoadError::Unusable(reason)) => {
                tracing::error!(deployment = %row.id, "A deployment can't be loaded: {reason}");
                // Others may be a matter of this server's version. A paused one fails when somebody resumes it.
                if matches!(reason, Unusable::Changed) && row.status == DeploymentStatus::Active {
                    self.fail(&row, &reason).await?;
                }
                return Ok(None);
            }
            Err(LoadError::Failed(error)) => return Err(error),
        };
        let state = self.tenants.of(tenant_of(&row)).await?;
        let active = Arc::new(ActiveDeployment::new(&row, program, state));
        let code_bytes = active.program.code_bytes();
        self.by_slot.keep(moment, slot, active.clone(), code_bytes);
        Ok(Some(active))
    }

    /// Notes why a deployment does not execute, until it is deployed again.
    async fn fail(&self, row: &DeploymentRow, reason: &Unusable) -> Result<(), ServiceError> {
        let (id, artifact, reason) = (row.id, row.artifact.clone(), reason.to_string());
        let now = self.modules.seals().clock.now();
        let write = self.store.write(move |db| {
            Box::pin(async move { deployments::fail_for_system(db, id, &artifact, &reason, now).await })
        });
        write.await?;
        Ok(())
    }
}
