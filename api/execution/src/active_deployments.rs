//! Deployments ready to run, kept in memory from the first use until something changes. What is kept is never
//! older than the last change that this server made, or has heard of.

use crate::deployment::ActiveDeployment;
use crate::modules::{LoadError, Modules};
use heddle_model::error::ServiceError;
use heddle_model::ids::{DeploymentId, PatternId};
use heddle_model::status::DeploymentStatus;
use heddle_store::{Store, deployments};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Past this many the cache starts anew.
const KEPT_MAX: usize = 4_096;

/// Active deployments by pattern.
pub(crate) struct ActiveDeployments {
    store: Store,
    modules: Arc<Modules>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_pattern: HashMap<PatternId, Arc<ActiveDeployment>>,
    /// Grows with every change, so that what was read before one is not kept after it.
    generation: u64,
}

impl ActiveDeployments {
    pub fn new(store: Store, modules: Arc<Modules>) -> Self {
        ActiveDeployments {
            store,
            modules,
            kept: Mutex::default(),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything.
    pub fn forget_all(&self) {
        let mut kept = self.kept();
        kept.generation += 1;
        kept.by_pattern.clear();
    }

    /// Forgets a deployment, because it is gone.
    pub fn forget_deployment(&self, deployment: DeploymentId) {
        let mut kept = self.kept();
        kept.generation += 1;
        kept.by_pattern.retain(|_, active| active.id != deployment);
    }

    /// Forgets a pattern's deployment, because it has changed.
    pub fn forget(&self, pattern: PatternId) {
        let mut kept = self.kept();
        kept.generation += 1;
        kept.by_pattern.remove(&pattern);
    }

    /// The pattern's deployment, if it is active and can be loaded.
    pub async fn of_pattern(
        &self,
        pattern: PatternId,
    ) -> Result<Option<Arc<ActiveDeployment>>, ServiceError> {
        let generation = {
            let kept = self.kept();
            if let Some(active) = kept.by_pattern.get(&pattern) {
                return Ok(Some(active.clone()));
            }
            kept.generation
        };
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
        let mut kept = self.kept();
        if kept.generation == generation {
            if kept.by_pattern.len() >= KEPT_MAX {
                kept.by_pattern.clear();
            }
            kept.by_pattern.insert(pattern, active.clone());
        }
        Ok(Some(active))
    }
}
