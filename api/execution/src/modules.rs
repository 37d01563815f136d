//! Modules made ready to run: the engine, and the compilers that make machine code for it.

use crate::blocking::blocking;
use crate::budget::Budget;
use crate::compile::{
    Asker, Compiled, Compilers, LoadFailure, Renamed, Session, Sources, Validation, Wanted,
};
use heddle_compiler::Options;
use heddle_model::error::ServiceError;
use heddle_model::ids::UserId;
use heddle_runtime::{Plan, Program, ProgramError, Runtime, RuntimeConfig, RuntimeError, Tier};
use heddle_store::{Store, StoreError, deployments};
use std::sync::OnceLock;

/// Why a module can't be loaded.
#[derive(Debug)]
pub(crate) enum LoadError {
    /// Not until the pattern is deployed again.
    Unusable(Unusable),
    /// The database or the engine fails.
    Failed(ServiceError),
}

/// Why a deployment's module will never run here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    /// It is not stored any more.
    #[error("its module is gone: deploy the pattern again")]
    Gone,
    /// This heddle can't run it.
    #[error("{0}")]
    Program(#[from] ProgramError),
}

impl From<LoadError> for ServiceError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Unusable(reason) => ServiceError::internal(reason),
            LoadError::Failed(error) => error,
        }
    }
}

impl From<ServiceError> for LoadError {
    fn from(error: ServiceError) -> Self {
        LoadError::Failed(error)
    }
}

impl From<StoreError> for LoadError {
    fn from(error: StoreError) -> Self {
        LoadError::Failed(error.into())
    }
}

/// Compiles and loads modules.
pub(crate) struct Modules {
    store: Store,
    budget: Budget,
    compilers: Compilers,
    config: RuntimeConfig,
    runtime: OnceLock<Runtime>,
    runtime_starts: tokio::sync::Mutex<()>,
}

impl Modules {
    /// Starts nothing.
    pub fn new(store: Store, budget: Budget, compilers: Compilers, config: RuntimeConfig) -> Self {
        Modules {
            store,
            budget,
            compilers,
            config,
            runtime: OnceLock::new(),
            runtime_starts: tokio::sync::Mutex::new(()),
        }
    }

    /// The engine, started at the first call.
    pub async fn runtime(&self) -> Result<&Runtime, ServiceError> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        // Boxed: it happens once, and the future of every run would have to carry it.
        Box::pin(self.start_runtime()).await
    }

    async fn start_runtime(&self) -> Result<&Runtime, ServiceError> {
        let _starting = self.runtime_starts.lock().await;
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let config = self.config.clone();
        let runtime = blocking(move || Runtime::new(config)).await?;
        let runtime = runtime.map_err(|error: RuntimeError| ServiceError::internal(error))?;
        Ok(self.runtime.get_or_init(|| runtime))
    }

    /// A turn at the compilers, which may have to be waited for.
    pub async fn session(&self, asker: Asker) -> Result<Session<'_>, ServiceError> {
        self.compilers.session(asker).await
    }

    /// Compiles a graph in a turn.
    pub async fn compile(
        &self,
        session: &mut Session<'_>,
        sources: Sources,
        options: Options,
    ) -> Result<Compiled, ServiceError> {
        session.graph(&self.budget, sources, options).await
    }

    /// Finds out what is known of a graph, in a turn.
    pub async fn validate(
        &self,
        session: &mut Session<'_>,
        sources: Sources,
        with_rights: bool,
    ) -> Result<Validation, ServiceError> {
        session.validation(&self.budget, sources, with_rights).await
    }

    /// Finds the places that name a node, in a turn.
    pub async fn rename(
        &self,
        session: &mut Session<'_>,
        sources: Sources,
        wanted: Wanted,
    ) -> Result<Renamed, ServiceError> {
        session.rename(&self.budget, sources, wanted).await
    }

    /// The module with this SHA-256, compiled in the turn of whose it is.
    pub async fn load(&self, artifact: &str, owner: UserId) -> Result<Program, LoadError> {
        let wasm = deployments::artifact(&mut self.store.reader().await?.db(), artifact).await?;
        let wasm = wasm.ok_or(LoadError::Unusable(Unusable::Gone))?;
        let loaded = self.loaded(wasm, Tier::Optimized, Asker::Deployment(owner)).await;
        loaded.map_err(|failure| match failure {
            LoadFailure::Program(error) => LoadError::Unusable(error.into()),
            LoadFailure::Other(error) => LoadError::Failed(error),
        })
    }

    /// A module, compiled in a turn of the one who asks, unless its machine code is there.
    pub async fn loaded(&self, wasm: Vec<u8>, tier: Tier, asker: Asker) -> Result<Program, LoadFailure> {
        let runtime = self.runtime().await?;
        let plan = self.plan(wasm, tier).await?;
        if plan.jobs().is_empty() {
            let runtime = runtime.clone();
            return Ok(blocking(move || runtime.assemble(plan, Vec::new())).await??);
        }
        self.session(asker).await?.load(runtime, plan).await
    }

    /// A module, verified, and what of its machine code is there.
    pub async fn plan(&self, wasm: Vec<u8>, tier: Tier) -> Result<Plan, LoadFailure> {
        let runtime = self.runtime().await?.clone();
        Ok(blocking(move || runtime.plan(wasm, tier)).await??)
    }
}
