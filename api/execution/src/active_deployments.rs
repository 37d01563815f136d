//! Deployments ready to run, kept in memory from the first use until something changes. What is kept is never
//! older than the last change that this server made, or has heard of.

use crate::deployment::ActiveDeployment;
use crate::modules::{LoadError, Modules};
use heddle_model::error::ServiceError;
use heddle_model::ids::{DeploymentId, PatternId};
use heddle_model::status::DeploymentStatus;
use heddle_store::{ReadCache, Store, deployments};
use std::sync::Arc;

/// Deployments kept.
const KEPT_MAX: usize = 4_096;
/// Bytes of their machine code together.
const CODE_BYTES_MAX: usize = 1 << 30;

/// Active deployments by pattern.
pub(crate) struct ActiveDeployments {
    store: Store,
    modules: Arc<Modules>,
    by_pattern: ReadCache<PatternId, Arc<ActiveDeployment>>,
}

impl ActiveDeployments {
    pub fn new(store: Store, modules: Arc<Modules>) -> Self {
        ActiveDeployments {
            store,
            modules,
            by_pattern: ReadCache::with_bytes(KEPT_MAX, CODE_BYTES_MAX),
        }
    }

    /// Forgets everything.
    pub fn forget_all(&self) {
        self.by_pattern.forget_all();
    }

    /// Forgets a deployment, because it is gone.
    pub fn forget_deployment(&self, deployment: DeploymentId) {
        self.by_pattern.forget_those(|active| active.id == deployment);
    }

    /// Forgets a pattern's deployment, because it has changed.
    pub fn forget(&self, pattern: PatternId) {
        self.by_pattern.forget(&pattern);
    }

    /// The pattern's deployment, if it is active and can be loaded.
    pub async fn of_pattern(
        &self,
        pattern: PatternId,
    ) -> Result<Option<Arc<ActiveDeployment>>, ServiceError> {
        let (kept, moment) = self.by_pattern.get(&pattern);
        if kept.is_some() {
            return Ok(kept);
        }
        let row = deployments::for_system(&mut self.store.reader().await?.db(), pattern).await?;
        let Some(row) = row.filter(|row| row.status == DeploymentStatus::Active) else {
            return Ok(None);
        };
        let program = match self.modules.load(&row.artifact, row.user_id).await {
            Ok(program) => program,
            Err(LoadError::Unusable(reason)) => {
                tracing::error!(deployment = %row.id, "A deployment can't be loaded: {reason}");
                return Ok(None);
            }
            Err(LoadError::Failed(error)) => return Err(error),
        };
        let active = Arc::new(ActiveDeployment::new(&row, program));
        let code_bytes = active.program.code_bytes();
        self.by_pattern.keep(moment, pattern, active.clone(), code_bytes);
        Ok(Some(active))
    }
}
