//! Newest versions of patterns that are called as such, in the place of the deployed ones.

use crate::compile::{Asker, Finding, LoadFailure, Sources};
use crate::deployment::ActiveDeployment;
use crate::modules::Modules;
use crate::seals;
use heddle_compiler::Options;
use heddle_model::clock::Clock;
use heddle_model::error::ServiceError;
use heddle_model::ids::DeploymentId;
use heddle_runtime::{ProgramError, Tier};
use heddle_store::patterns::PatternRow;
use heddle_store::{ReadCache, Store, StoreError, deployments, versions};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Compiled versions that are kept.
const KEPT_MAX: usize = 256;
/// Bytes of their machine code together.
const CODE_BYTES_MAX: usize = 256 << 20;
/// How long each is kept: less than its stored module is without being used.
const AGE_MAX: Duration = Duration::from_secs(60 * 60);

/// Why a newest version can't be called.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NewestError {
    /// It was deleted.
    #[error("it was deleted.")]
    Deleted,
    /// It has errors, of which this is the first.
    #[error("{}", .0.as_ref().map_or("it has errors.", |error| &error.message))]
    Errors(Option<Finding>),
    /// Its module is refused.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The database or the compilers fail.
    #[error(transparent)]
    Failed(#[from] ServiceError),
}

impl From<StoreError> for NewestError {
    fn from(error: StoreError) -> Self {
        NewestError::Failed(error.into())
    }
}

impl From<LoadFailure> for NewestError {
    fn from(failure: LoadFailure) -> Self {
        match failure {
            LoadFailure::Program(error) => NewestError::Program(error),
            LoadFailure::Other(error) => NewestError::Failed(error),
        }
    }
}

/// Compiles newest versions, and keeps them.
pub(crate) struct NewestVersions {
    store: Store,
    clock: Clock,
    modules: Arc<Modules>,
    kept: ReadCache<DeploymentId, (Instant, Arc<ActiveDeployment>)>,
}

impl NewestVersions {
    pub fn new(store: Store, clock: Clock, modules: Arc<Modules>) -> Self {
        NewestVersions {
            store,
            clock,
            modules,
            kept: ReadCache::with_bytes(KEPT_MAX, CODE_BYTES_MAX),
        }
    }

    /// The deployment with the version of `row` instead of its own.
    pub async fn in_place_of(
        &self,
        active: &ActiveDeployment,
        row: &PatternRow,
    ) -> Result<Arc<ActiveDeployment>, NewestError> {
        let (found, moment) = self.kept.get(&active.id);
        let is_same = |(made_at, found): &(Instant, Arc<ActiveDeployment>)| {
            heddle_model::clock::since(*made_at) < AGE_MAX
                && (found.environment, found.version_number) == (active.environment, row.version_number)
        };
        if let Some((_, found)) = found.filter(is_same) {
            return Ok(found);
        }
        let compiled = Arc::new(self.compiled(active, row).await?);
        let (made_at, code_bytes) = (heddle_model::clock::monotonic(), compiled.program.code_bytes());
        self.kept
            .keep(moment, active.id, (made_at, compiled.clone()), code_bytes);
        Ok(compiled)
    }

    /// Compiles and loads it, and keeps its module for runs that go on with it later.
    async fn compiled(
        &self,
        active: &ActiveDeployment,
        row: &PatternRow,
    ) -> Result<ActiveDeployment, NewestError> {
        let mut session = self.modules.session(Asker::Deployment(row.owner_id)).await?;
        // Read within the turn: it may be large.
        let content =
            versions::content(&mut self.store.reader().await?.db(), row.id, row.version_number).await?;
        let content = content.ok_or(NewestError::Deleted)?;
        let sources = Sources::of_version(content).map_err(ServiceError::internal)?;
        let compiled = self
            .modules
            .compile(&mut session, sources, Options::default())
            .await?;
        let Some(artifact) = compiled.artifact else {
            return Err(NewestError::Errors(compiled.errors.into_iter().next()));
        };
        let wasm = artifact.wasm.clone();
        let loaded = match self.modules.plan(wasm, Tier::Optimized, row.owner_id).await {
            Ok(plan) => session.load(self.modules.runtime().await?, plan).await,
            Err(failure) => Err(failure),
        };
        drop(session);
        let program = loaded?;
        let (hash, now) = (hex::encode(program.digest()), self.clock.now());
        let (key, wasm) = (hash.clone(), artifact.wasm);
        let (vault, tenant) = (self.modules.seals().vault.clone(), active.tenant);
        let rights = seals::rights(program.manifest())?;
        let write = self.store.write(move |db| {
            Box::pin(async move {
                deployments::keep_artifact(db, &key, &wasm, now).await?;
                deployments::seal_module(db, &vault, (key.as_str(), tenant), &rights).await?;
                Ok::<_, ServiceError>(())
            })
        });
        write.await?;
        Ok(ActiveDeployment {
            version_number: row.version_number,
            artifact: hash.into(),
            program,
            ..active.clone()
        })
    }
}
