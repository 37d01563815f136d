//! The runtime: what all runs share, and how a module is run to its outcome.

use crate::apart::apart;
use crate::codecache::{DiskCache, Precompiled, usable};
use crate::config::{ExecutorConfig, RuntimeConfig};
use crate::effects::{self, Connectors, Http, Registry};
use crate::egress::names_for;
use crate::ending;
use crate::executors::{self, Company, Executors, Interrupted};
use crate::fetch::{self, Fetch, Fetched};
use crate::machine::half_of_memory;
use crate::mailbox::{self, MailboxAccess, OpenMailbox, Ways};
use crate::outcome::Outcome;
use crate::plan::{self, Assembled, CodeSources, Plan};
use crate::probe::{self, Probe, ProbeWay, Probed};
use crate::program::{Form, GrantedNames, Loaded, Program, exports_of};
use crate::program_error::{CompileError, ManifestError, ProgramError};
use crate::programs::Programs;
use crate::request::RunRequest;
use crate::run_host::{self, Begun, HostServices};
use crate::sealed::{SealedProgram, next_number};
use heddle_javascript::ENGINE_WASM;
use heddle_sandbox::clock::monotonic;
use heddle_sandbox::protocol::GivenComponent;
use heddle_sandbox::{
    ComponentSource, Digest256, EffectError, Engines, Hosts, Limits, Panicked, ProgramCode, RunError,
    SandboxConfig, Sandboxes, StartError, Tier, io, least_for, sha256,
};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

/// Memory for all runs on machines that have little.
const RUNS_MEMORY_LEAST: u64 = 1 << 30;

/// Why a runtime can't be made.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The cache directory can't be used.
    #[error("can't use the cache directory {path}: {source}")]
    Cache {
        /// The directory.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// wasmtime refused its settings, or the standard library.
    #[error("can't start the WebAssembly engine: {0:#}")]
    Engine(#[source] wasmtime::Error),
    /// Threads or file descriptors are missing.
    #[error("can't start the runtime's threads: {0}")]
    Threads(#[from] std::io::Error),
}

impl From<StartError> for RuntimeError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Engine(error) => RuntimeError::Engine(error),
            StartError::Threads(error) => RuntimeError::Threads(error),
        }
    }
}

/// Everything that runs share. Cheap to clone; the last clone stops its threads.
#[derive(Clone)]
pub struct Runtime(Arc<Shared>);

struct Shared {
    config: RuntimeConfig,
    code_sources: CodeSources,
    place: Place,
    programs: Programs,
    services: Arc<HostServices>,
    /// `None`: what talks to databases and mail servers executes in this process.
    connectors: Option<Arc<Connectors>>,
    slots: Arc<Semaphore>,
    io: Option<tokio::runtime::Runtime>,
}

/// Where runs execute.
enum Place {
    /// In this process.
    Here(Box<Sandboxes>),
    /// In processes of their own.
    Executors(Box<InExecutors>),
}

struct InExecutors {
    executors: Arc<Executors>,
    /// Machine code of the JavaScript engine, once a program needs it.
    javascript: Mutex<Option<Arc<OwnedFd>>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Waiting for threads is not allowed where this may be dropped, within an async task.
        if let Some(io) = self.io.take() {
            io.shutdown_background();
        }
    }
}

impl Runtime {
    /// Starts the engine and its threads, and compiles or loads the standard library.
    pub fn new(config: RuntimeConfig) -> Result<Self, RuntimeError> {
        use heddle_guest::{GUEST_SHA256, GUEST_WASM};
        Self::start(config, GUEST_WASM, &GUEST_SHA256)
    }

    /// A runtime whose runs use `guest` as their standard library: for tests of the boundary itself.
    pub fn with_guest(config: RuntimeConfig, guest: &[u8]) -> Result<Self, RuntimeError> {
        Self::start(config, guest, &sha256(guest))
    }

    fn start(config: RuntimeConfig, guest: &[u8], digest: &Digest256) -> Result<Self, RuntimeError> {
        let of_sandboxes = sandbox_config(&config);
        let engines = match of_sandboxes.code_is_sealed {
            true => Engines::compilers(),
            false => Engines::new(&of_sandboxes),
        };
        let code_sources = code_sources(&config, engines.map_err(RuntimeError::Engine)?, guest)?;
        let code = code_sources
            .own_module(guest, digest)
            .map_err(RuntimeError::Engine)?;
        let io = io(config.io_threads)?;
        let place = match &config.executors {
            None => Place::Here(Box::new(Sandboxes::new(
                &of_sandboxes,
                &code_sources.engines,
                code,
            )?)),
            Some(executors) => {
                let setting = executors::Setting {
                    executors: executors.clone(),
                    config: of_sandboxes,
                    guest: Arc::new(code.into_descriptor()?),
                    code_bytes_max: config.code_cache_bytes_max,
                };
                Place::Executors(Box::new(InExecutors {
                    executors: Arc::new(Executors::start(setting, io.handle())),
                    javascript: Mutex::default(),
                }))
            }
        };
        let http = Http::new(&config.egress);
        let connectors = Connectors::new(&config).map(Arc::new);
        let services = Arc::new(HostServices {
            effects: standard_effects(&config, &http, connectors.clone()),
            http,
            io: io.handle().clone(),
        });
        Ok(Runtime(Arc::new(Shared {
            programs: Programs::new(config.code_cache_bytes_max),
            slots: Arc::new(Semaphore::new(config.concurrent_runs_max.max(1) as usize)),
            io: Some(io),
            services,
            connectors,
            config,
            code_sources,
            place,
        })))
    }

    /// Verifies and compiles a pattern's module, which may come from anyone. Takes milliseconds of processor
    /// time unless it was loaded before, and as much as its author likes of time and memory: servers compile in workers,
    /// by [`Runtime::plan`] and [`Runtime::assemble`]. Call it where blocking is allowed.
    pub fn load(&self, wasm: &[u8], tier: Tier) -> Result<Program, ProgramError> {
        self.compile_here(self.plan(wasm.to_vec(), tier)?)
    }

    /// Compiles in this thread what a plan lacks, and puts the program together.
    pub fn compile_here(&self, mut plan: Plan) -> Result<Program, ProgramError> {
        self.look_again(&mut plan);
        let engines = &self.0.code_sources.engines;
        let codes: Result<Vec<_>, _> = plan.jobs().iter().map(|job| job.execute(engines)).collect();
        self.assemble(plan, codes?)
    }

    /// Verifies a pattern's module, which may come from anyone, and finds what of its machine code is there already. Reads
    /// files: call it where blocking is allowed.
    pub fn plan(&self, wasm: Vec<u8>, tier: Tier) -> Result<Plan, ProgramError> {
        let digest = sha256(&wasm);
        match self.0.programs.get(&(digest, tier)) {
            Some(program) => Ok(Plan::of(program)),
            None => Plan::make(&self.0.code_sources, self.sandboxes(), wasm, digest, tier),
        }
    }

    /// Looks again for what a plan lacks, since others may have compiled it in the meantime.
    pub fn look_again(&self, plan: &mut Plan) {
        if let Some(key) = plan.key()
            && let Some(program) = self.0.programs.get(&key)
        {
            *plan = Plan::of(program);
        }
        plan.fill(&self.0.code_sources, self.sandboxes());
    }

    /// Puts a program together, given machine code for all of [`Plan::jobs`]. The code is executed: it must come from the
    /// compiler itself. Call it where blocking is allowed.
    pub fn assemble(&self, plan: Plan, codes: Vec<Vec<u8>>) -> Result<Program, ProgramError> {
        let assembled = match plan.assemble(&self.0.code_sources, codes)? {
            plan::Outcome::Done(program) => return Ok(program),
            plan::Outcome::Assembled(assembled) => assembled,
        };
        let Assembled {
            code,
            code_bytes,
            digest,
            key,
        } = *assembled;
        let manifest = code.manifest.clone();
        let form = match &self.0.place {
            Place::Here(sandboxes) => Form::Here(self.linked(sandboxes, code)?),
            Place::Executors(executors) => Form::Sealed(self.sealed(executors, code, code_bytes)?),
        };
        let program = Program(Arc::new(Loaded {
            granted: GrantedNames::of(&manifest.rights),
            manifest,
            digest,
            code_bytes,
            form,
        }));
        if let Some(key) = key {
            self.0.programs.keep(key, program.clone());
        }
        Ok(program)
    }

    fn linked(
        &self,
        sandboxes: &Sandboxes,
        code: ProgramCode,
    ) -> Result<heddle_sandbox::Program, ProgramError> {
        let manifest = code.manifest.clone();
        if manifest.rights.javascript && !sandboxes.has_javascript() {
            let loaded = self.javascript().and_then(|code| sandboxes.load_javascript(code));
            loaded.map_err(CompileError::Engine)?;
        }
        sandboxes.link(code).map_err(|failure| {
            plan::unusable(&manifest, failure.component, CompileError::Engine(failure.error))
        })
    }

    /// A program for executors; one of them says first whether it can be loaded.
    fn sealed(
        &self,
        place: &InExecutors,
        code: ProgramCode,
        code_bytes: usize,
    ) -> Result<Arc<SealedProgram>, ProgramError> {
        let manifest = code.manifest.clone();
        let unusable =
            |error: std::io::Error| ProgramError::Compile(CompileError::InWorker(error.to_string()));
        let javascript = match manifest.rights.javascript {
            true => Some(self.sealed_javascript(place)?),
            false => None,
        };
        let mut components = Vec::with_capacity(code.components.len());
        for component in code.components {
            let given = GivenComponent {
                digest: component.digest,
                may_send: component.may_send,
            };
            if let ComponentSource::Code(code) = component.source {
                components.push((given, Arc::new(code.into_descriptor().map_err(unusable)?)));
            }
        }
        let program = Arc::new(SealedProgram {
            number: next_number(),
            manifest: serde_json::to_vec(&*manifest).map_err(ManifestError::Unreadable)?,
            imports: code.imports,
            module: Arc::new(code.module.into_descriptor().map_err(unusable)?),
            components,
            javascript,
            code_bytes,
        });
        let (sender, loaded) = std::sync::mpsc::channel();
        let (executors, io) = (place.executors.clone(), self.0.services.io.clone());
        let given = program.clone();
        self.0.services.io.spawn(async move {
            // Whoever asked may have gone.
            let _ = sender.send(executors.load(&given, &io).await);
        });
        let gone = |_| (None, "the runtime has been stopped".to_owned());
        match in_place(|| loaded.recv()).map_err(gone).flatten() {
            Ok(()) => Ok(program),
            Err((component, reason)) => Err(plan::unusable(
                &manifest,
                component,
                CompileError::InWorker(reason),
            )),
        }
    }

    fn sealed_javascript(&self, place: &InExecutors) -> Result<Arc<OwnedFd>, CompileError> {
        let mut kept = place.javascript.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = &*kept {
            return Ok(code.clone());
        }
        let code = self.javascript()?.into_descriptor();
        let code = code.map_err(|error| CompileError::InWorker(error.to_string()))?;
        Ok(kept.insert(Arc::new(code)).clone())
    }

    /// Machine code of the JavaScript engine. Takes a second of processor time the first time.
    fn javascript(&self) -> wasmtime::Result<heddle_sandbox::Code> {
        self.0.code_sources.own_module(ENGINE_WASM, &sha256(ENGINE_WASM))
    }

    fn sandboxes(&self) -> Option<&Sandboxes> {
        match &self.0.place {
            Place::Here(sandboxes) => Some(sandboxes),
            Place::Executors(_) => None,
        }
    }

    /// Executes one run. Waits for a free slot first, in order of the calls. Dropping the future cancels the
    /// run and its effects and frees its slot.
    pub async fn run(&self, program: &Program, request: RunRequest) -> Outcome {
        let started = monotonic();
        let ended = self.attempt(program, request, Company::Any).await;
        ended.unwrap_or_else(|Interrupted { .. }| ending::refused(interrupted(), started))
    }

    /// As [`Runtime::run`], for those who can begin a run again whose executor has ended: with its event, and what its
    /// journal holds by now.
    pub async fn attempt(
        &self,
        program: &Program,
        mut request: RunRequest,
        company: Company,
    ) -> Result<Outcome, Interrupted> {
        let inner = &*self.0;
        // Only closed when dropped, which the borrow of `self` rules out.
        let slot = inner.slots.clone().acquire_owned().await.ok();
        let started = monotonic();
        self.bound(&mut request.limits);
        let begun = match run_host::begin(&inner.services, program, request, started) {
            Ok(begun) => begun,
            Err(error) => return Ok(ending::refused(error, started)),
        };
        match (&inner.place, &program.0.form) {
            (Place::Here(sandboxes), Form::Here(linked)) => {
                let Begun {
                    input, host, ending, ..
                } = begun;
                let hosts = Hosts {
                    requests: host.requests(),
                    effects: host,
                };
                Ok(match sandboxes.run(slot, linked, input, hosts).await {
                    Ok(report) => match ending::outcome(report, &ending) {
                        Ok(outcome) => outcome,
                        Err(masking) => masking.await,
                    },
                    Err(Panicked) => ending::refused(ending::bug(), started),
                })
            }
            (Place::Executors(place), Form::Sealed(program)) => {
                let io = &inner.services.io;
                apart(|| place.executors.run(program, begun, slot, io, company)).await
            }
            // Of another runtime.
            _ => Ok(ending::refused(ending::bug(), started)),
        }
    }

    /// Tries a connection, outside of any run.
    pub async fn probe(&self, probe: Probe) -> Result<Probed, EffectError> {
        if probe.way == ProbeWay::Mailbox {
            let tried = (probe.connection, probe.owner);
            let logging_in = mailbox::log_in(self.ways(), tried, probe.time_max);
            names_for(probe.owner, logging_in).await?;
            return Ok(Probed { http_status: None });
        }
        probe::probe(&self.0.services, probe).await
    }

    /// Opens a mailbox for a pattern, outside of its runs.
    pub async fn open_mailbox(&self, access: MailboxAccess) -> Result<OpenMailbox, EffectError> {
        let owner = access.connections.owner();
        names_for(owner, mailbox::open(self.ways(), access)).await
    }

    fn ways(&self) -> Ways<'_> {
        Ways {
            policy: &self.0.config.egress,
            connectors: self.0.connectors.as_deref(),
        }
    }

    /// Sends a request for a pattern, outside of its runs.
    pub async fn fetch(&self, fetch: Fetch) -> Fetched {
        fetch::fetch(&self.0.services, fetch).await
    }

    /// Ids of the executors that stand ready for a tenant; `None`: for those that are in no group.
    pub fn executor_process_ids(&self, tenant: Option<u128>) -> Vec<u32> {
        match &self.0.place {
            Place::Here(_) => Vec::new(),
            Place::Executors(place) => place.executors.process_ids(tenant),
        }
    }

    fn bound(&self, limits: &mut Limits) {
        let config = &self.0.config;
        limits.memory_bytes_max = limits.memory_bytes_max.min(config.memory_bytes_max);
        limits.ceilings.memory_bytes = limits.ceilings.memory_bytes.min(config.memory_bytes_max);
        limits.table_elements_max = limits.table_elements_max.min(config.table_elements_max);
    }
}

/// The error code of runs that brought down the process that executed them.
pub const INTERRUPTED: &str = "INTERRUPTED";

fn interrupted() -> RunError {
    RunError {
        code: INTERRUPTED.into(),
        message: "The process that executed the run ended before the run did. The server's log says why."
            .to_owned(),
        node_id: None,
    }
}

/// Blocks, on a thread of the caller's async runtime as well: what that thread had to do, the executors' keepers among it, goes on
/// elsewhere.
fn in_place<T>(block: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(block),
        _ => block(),
    }
}

fn sandbox_config(config: &RuntimeConfig) -> SandboxConfig {
    SandboxConfig {
        runs_max: config.concurrent_runs_max,
        background_threads: config.background_threads,
        foreground_time: config.foreground_time,
        memory_bytes_max: config.memory_bytes_max,
        all_memory_bytes_max: memory_of_a_process(config),
        table_elements_max: config.table_elements_max,
        code_is_sealed: config.executors.is_some(),
    }
}

/// Memory of all runs in one of so many processes: at least as much as one run may have.
fn memory_of_a_process(config: &RuntimeConfig) -> usize {
    let all = config
        .runs_memory_bytes_max
        .unwrap_or_else(|| half_of_memory(RUNS_MEMORY_LEAST));
    let processes = config.executors.as_ref().map_or(1, ExecutorConfig::all_processes);
    let share = usize::try_from(all).unwrap_or(usize::MAX) / processes;
    match config.executors {
        None => share,
        Some(_) => share.max(least_for(config.memory_bytes_max)),
    }
}

fn code_sources(config: &RuntimeConfig, engines: Engines, guest: &[u8]) -> Result<CodeSources, RuntimeError> {
    let is_sealed = config.executors.is_some();
    let open = |engine| {
        let dir = config.cache_dir.as_deref();
        let opened = dir.map(|dir| {
            DiskCache::open(dir, engine, config.cache_key.as_ref(), is_sealed).map_err(|source| {
                RuntimeError::Cache {
                    path: dir.display().to_string(),
                    source,
                }
            })
        });
        opened.transpose()
    };
    let precompiled = config
        .precompiled_dir
        .as_deref()
        .and_then(|dir| usable(Precompiled::open(dir, &engines.main, is_sealed)));
    Ok(CodeSources {
        precompiled,
        disk: open(&engines.main)?,
        component_disk: open(&engines.components)?,
        exports: exports_of(guest).map_err(|error| RuntimeError::Engine(wasmtime::Error::new(error)))?,
        engines,
        is_sealed,
    })
}

fn standard_effects(config: &RuntimeConfig, http: &Http, connectors: Option<Arc<Connectors>>) -> Registry {
    let mut registry = Registry::default();
    registry.add(effects::Sleep);
    registry.add(effects::Wait);
    registry.add(effects::Callback);
    registry.add(effects::CallPattern);
    registry.add(effects::Hash {});
    registry.add(effects::Hmac {});
    registry.add(effects::Jwt);
    registry.add(effects::Chat(http.clone()));
    registry.add(http.clone());
    registry.add(effects::KeyValue);
    registry.add(effects::File);
    registry.add(effects::Stream);
    registry.add(effects::StreamRead);
    registry.add(effects::FilePiece);
    registry.add(effects::Mail::new(&config.egress, connectors.clone()));
    registry.add(effects::Sql::new(config, connectors));
    registry
}
