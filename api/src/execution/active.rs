//! Deployments ready to run, kept in memory from the first use until something changes. What is kept is never
//! older than the last change that this server made, or has heard of.

use super::compile::{Asker, LoadFailure};
use super::queue::Share;
use super::status::DeploymentStatus;
use super::{Executions, Inner, Tenant, blocking};
use crate::error::ApiError;
use crate::ids::{DeploymentId, EnvironmentId, PatternId, UserId};
use crate::store::StoreError;
use crate::store::deployments::{self, DeploymentRow};
use heddle_contract::manifest::{Manifest, Trigger};
use heddle_runtime::{Plan, Program, Tier};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Past this many the cache starts anew.
const KEPT_MAX: usize = 4_096;

/// A deployment with its module, as a run needs it.
#[derive(Clone, Debug)]
pub struct ActiveDeployment {
    /// Id.
    pub id: DeploymentId,
    /// What is deployed.
    pub pattern_id: PatternId,
    /// Whose limits its runs count against.
    pub tenant: Tenant,
    /// Who owns the tenant.
    pub owner: UserId,
    /// Whether its runs have brought a server down, so that each is announced.
    pub is_struck: bool,
    /// Where its secrets and variables come from.
    pub environment: Option<EnvironmentId>,
    /// The pattern's version.
    pub version_number: i64,
    /// SHA-256 of its module, in hex.
    pub artifact: String,
    /// The module, compiled.
    pub program: Program,
}

impl ActiveDeployment {
    pub(super) fn new(row: &DeploymentRow, program: Program) -> Self {
        ActiveDeployment {
            id: row.id,
            pattern_id: row.pattern_id,
            tenant: Tenant::of(row.user_id, row.workspace_id),
            owner: row.owner_id,
            is_struck: row.strikes > 0,
            environment: row.environment_id,
            version_number: row.version_number,
            artifact: row.artifact.clone(),
            program,
        }
    }

    /// Whose part of the queue its runs take.
    pub fn share(&self) -> Share {
        Share {
            owner: self.owner,
            tenant: self.tenant,
        }
    }

    /// What the module says of itself.
    pub fn manifest(&self) -> &Manifest {
        self.program.manifest()
    }

    /// The first trigger of this type.
    pub fn trigger(&self, node_type: &str) -> Option<&Trigger> {
        self.manifest()
            .triggers
            .iter()
            .find(|trigger| trigger.node_type == node_type)
    }
}

/// Why a module can't be loaded.
#[derive(Debug)]
pub(super) enum LoadError {
    /// It is gone, or this heddle can't run it: the reason for a person.
    Unusable(String),
    /// The database or the engine fails.
    Failed(ApiError),
}

impl From<LoadError> for ApiError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Unusable(reason) => ApiError::internal(anyhow::anyhow!(reason)),
            LoadError::Failed(error) => error,
        }
    }
}

impl From<ApiError> for LoadError {
    fn from(error: ApiError) -> Self {
        LoadError::Failed(error)
    }
}

impl From<StoreError> for LoadError {
    fn from(error: StoreError) -> Self {
        LoadError::Failed(error.into())
    }
}

/// Active deployments by pattern.
#[derive(Debug, Default)]
pub(super) struct Actives(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    by_pattern: HashMap<PatternId, Arc<ActiveDeployment>>,
    /// Grows with every change, so that what was read before one is not kept after it.
    generation: u64,
}

impl Actives {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
}

impl Executions {
    /// The pattern's deployment, if it is active and can be loaded.
    pub async fn active_for(&self, pattern: PatternId) -> Result<Option<Arc<ActiveDeployment>>, ApiError> {
        self.0.active_for(pattern).await
    }
}

impl Inner {
    pub(super) async fn active_for(
        &self,
        pattern: PatternId,
    ) -> Result<Option<Arc<ActiveDeployment>>, ApiError> {
        let generation = {
            let kept = self.actives.kept();
            if let Some(active) = kept.by_pattern.get(&pattern) {
                return Ok(Some(active.clone()));
            }
            kept.generation
        };
        let row = deployments::for_system(&mut self.store.reader().await?.db(), pattern).await?;
        let Some(row) = row.filter(|row| row.status == DeploymentStatus::Active) else {
            return Ok(None);
        };
        let program = match self.load(&row.artifact, row.user_id).await {
            Ok(program) => program,
            Err(LoadError::Unusable(reason)) => {
                tracing::error!(deployment = %row.id, "A deployment can't be loaded: {reason}");
                return Ok(None);
            }
            Err(LoadError::Failed(error)) => return Err(error),
        };
        let active = Arc::new(ActiveDeployment::new(&row, program));
        let mut kept = self.actives.kept();
        if kept.generation == generation {
            if kept.by_pattern.len() >= KEPT_MAX {
                kept.by_pattern.clear();
            }
            kept.by_pattern.insert(pattern, active.clone());
        }
        Ok(Some(active))
    }

    /// The module with this SHA-256, compiled in the turn of whose it is.
    pub(super) async fn load(&self, artifact: &str, owner: UserId) -> Result<Program, LoadError> {
        let wasm = deployments::artifact(&mut self.store.reader().await?.db(), artifact).await?;
        let wasm =
            wasm.ok_or_else(|| LoadError::Unusable("its module is gone: deploy the pattern again".into()))?;
        let loaded = self.loaded(wasm, Tier::Optimized, Asker::Deployment(owner)).await;
        loaded.map_err(|failure| match failure {
            LoadFailure::Program(error) => LoadError::Unusable(error.to_string()),
            LoadFailure::Other(error) => LoadError::Failed(error),
        })
    }

    /// A module, compiled in a turn of the one who asks, unless its machine code is there.
    pub(super) async fn loaded(
        &self,
        wasm: Vec<u8>,
        tier: Tier,
        asker: Asker,
    ) -> Result<Program, LoadFailure> {
        let runtime = self.runtime().await?;
        let plan = self.plan(wasm, tier).await?;
        if plan.jobs().is_empty() {
            let runtime = runtime.clone();
            return Ok(blocking(move || runtime.assemble(plan, Vec::new())).await??);
        }
        self.compilers.session(asker).await?.load(runtime, plan).await
    }

    /// A module, verified, and what of its machine code is there.
    pub(super) async fn plan(&self, wasm: Vec<u8>, tier: Tier) -> Result<Plan, LoadFailure> {
        let runtime = self.runtime().await?.clone();
        Ok(blocking(move || runtime.plan(wasm, tier)).await??)
    }
}
