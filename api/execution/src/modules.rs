//! Modules made ready to run: the engine, and the compilers that make machine code for it. What is deployed is compared with
//! what was deployed before it is given to anybody.

use crate::blocking::blocking;
use crate::budget::Budget;
use crate::compile::{
    Asker, Compiled, Compilers, LoadFailure, RenameRequest, Renamed, Session, Sources, Validation,
};
use crate::seals::{Seals, Verdict};
use heddle_compiler::Options;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::UserId;
use heddle_model::tenant::Tenant;
use heddle_processes::places::PerOwner;
use heddle_runtime::{Plan, Program, ProgramError, Runtime, RuntimeConfig, RuntimeError, Tier};
use heddle_store::deployments::{self, DeploymentRow};
use heddle_store::{Store, StoreError};
use sha2::{Digest, Sha256};
use std::sync::OnceLock;
use tokio::sync::OwnedSemaphorePermit;

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
    /// What is stored is not what was deployed.
    #[error(
        "the module in the database is not the one that was deployed here, so it is not executed: the database was changed by \
         something other than heddle, or is damaged. Tell the operator, and deploy the pattern again"
    )]
    Changed,
    /// This heddle can't run it.
    #[error("{0}")]
    Program(#[from] ProgramError),
}

impl Unusable {
    /// What a run ends with that needs it.
    pub const fn run_code(&self) -> &'static str {
        match self {
            Unusable::Changed => Code::ModuleChanged.name(),
            Unusable::Gone | Unusable::Program(_) => "ARTIFACT",
        }
    }

    /// What whoever wants to go on with it is told.
    pub fn refused(&self) -> ServiceError {
        let code = match self {
            Unusable::Changed => Code::ModuleChanged,
            Unusable::Gone | Unusable::Program(_) => Code::NotActive,
        };
        code.with(format!("The deployment's module can't be loaded: {self}"))
    }
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

/// Modules of one owner that are read, compared and loaded at a time. They have megabytes, and an owner has many.
const READ_AT_ONCE: usize = 2;

/// Compiles and loads modules.
pub(crate) struct Modules {
    store: Store,
    seals: Seals,
    budget: Budget,
    compilers: Compilers,
    config: RuntimeConfig,
    runtime: OnceLock<Runtime>,
    runtime_starts: tokio::sync::Mutex<()>,
    /// For what takes time by a module's bytes. On threads as urgent as those of runs, since events wait for it.
    readers: PerOwner<UserId>,
}

impl Modules {
    /// Starts nothing.
    pub fn new(seals: Seals, budget: Budget, compilers: Compilers, config: RuntimeConfig) -> Self {
        Modules {
            store: seals.store.clone(),
            seals,
            budget,
            compilers,
            config,
            runtime: OnceLock::new(),
            runtime_starts: tokio::sync::Mutex::new(()),
            readers: PerOwner::new(READ_AT_ONCE),
        }
    }

    /// An owner's turn to read a module.
    async fn turn(&self, owner: UserId) -> Option<OwnedSemaphorePermit> {
        // They are never closed.
        self.readers.of(owner).acquire_owned().await.ok()
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
        wanted: RenameRequest,
    ) -> Result<Renamed, ServiceError> {
        session.rename(&self.budget, sources, wanted).await
    }

    /// By which modules are told from those that somebody else has put in their place.
    pub const fn seals(&self) -> &Seals {
        &self.seals
    }

    /// A deployment's module, compiled in the turn of whose it is. Refuses what is not what was deployed.
    pub async fn load(&self, row: &DeploymentRow) -> Result<Program, LoadError> {
        let wasm = self.stored(&row.artifact, row.user_id).await?;
        let wasm = wasm.ok_or(LoadError::Unusable(Unusable::Gone))?;
        let asker = Asker::Deployment(row.user_id);
        let loaded = self.loaded(wasm, Tier::Optimized, asker).await;
        let program = loaded.map_err(|failure| match failure {
            LoadFailure::Program(error) => LoadError::Unusable(error.into()),
            LoadFailure::Other(error) => LoadError::Failed(error),
        })?;
        let tenant = Tenant::of(row.user_id, row.workspace_id);
        let manifest = program.manifest();
        match self.seals.verdict(tenant, &row.artifact, manifest).await? {
            Verdict::Sealed => Ok(program),
            Verdict::Foreign => Err(LoadError::Unusable(Unusable::Changed)),
        }
    }

    /// What is stored under this SHA-256, if it has it; `None`: nothing is. Read in this owner's turn.
    pub async fn stored(&self, artifact: &str, owner: UserId) -> Result<Option<Vec<u8>>, LoadError> {
        let turn = self.turn(owner).await;
        let wasm = deployments::artifact(&mut self.store.reader().await?.db(), artifact).await?;
        let Some(wasm) = wasm else {
            return Ok(None);
        };
        let (wasm, found) = blocking(move || {
            let _turn = turn;
            let digest = Sha256::digest(&wasm);
            (wasm, hex::encode(digest))
        })
        .await?;
        match found == artifact {
            true => Ok(Some(wasm)),
            false => Err(LoadError::Unusable(Unusable::Changed)),
        }
    }

    /// A module, compiled in a turn of the one who asks, unless its machine code is there.
    pub async fn loaded(&self, wasm: Vec<u8>, tier: Tier, asker: Asker) -> Result<Program, LoadFailure> {
        let runtime = self.runtime().await?;
        let plan = self.plan(wasm, tier, asker.user()).await?;
        if plan.jobs().is_empty() {
            let (runtime, turn) = (runtime.clone(), self.turn(asker.user()).await);
            let assemble = move || {
                let _turn = turn;
                runtime.assemble(plan, Vec::new())
            };
            return Ok(blocking(assemble).await??);
        }
        self.session(asker).await?.load(runtime, plan).await
    }

    /// A module, verified in this owner's turn, and what of its machine code is there.
    pub async fn plan(&self, wasm: Vec<u8>, tier: Tier, owner: UserId) -> Result<Plan, LoadFailure> {
        let (runtime, turn) = (self.runtime().await?.clone(), self.turn(owner).await);
        let plan = move || {
            let _turn = turn;
            runtime.plan(wasm, tier)
        };
        Ok(blocking(plan).await??)
    }
}
