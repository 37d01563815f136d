//! The runtime: what all runs share, and how a module is run to its outcome.

use crate::codecache::{DiskCache, Recent};
use crate::component::{Components, Threads};
use crate::config::RuntimeConfig;
use crate::digest::{Digest256, sha256};
use crate::effects::{self, Http, Registry};
use crate::ending;
use crate::engine::{Engines, Ticker, Tier};
use crate::executor::{self, Foreground, Phase};
use crate::host;
use crate::javascript::{self, JavaScript};
use crate::outcome::{Outcome, RunError};
use crate::plan::{Plan, Shelves};
use crate::program::Program;
use crate::program_error::{CompileError, ProgramError};
use crate::request::RunRequest;
use crate::sandbox::{self, Sandbox};
use crate::state::HostServices;
use crate::stdlib::Stdlib;
use heddle_contract::abi::code;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::Semaphore;

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

/// Everything that runs share. Cheap to clone; the last clone stops its threads.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    config: RuntimeConfig,
    engines: Engines,
    disk: Option<DiskCache>,
    programs: Mutex<Recent<(Digest256, Tier), Program>>,
    sandbox: Arc<Sandbox>,
    javascript: Arc<JavaScript>,
    components: Components,
    ticker: Ticker,
    slots: Arc<Semaphore>,
    background: Option<tokio::runtime::Runtime>,
    component_threads: Option<tokio::runtime::Runtime>,
    io: Option<tokio::runtime::Runtime>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Waiting for threads is not allowed where this may be dropped, within an async task.
        let runtimes = [
            self.background.take(),
            self.component_threads.take(),
            self.io.take(),
        ];
        for runtime in runtimes.into_iter().flatten() {
            runtime.shutdown_background();
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
        let engines = Engines::new(&config).map_err(RuntimeError::Engine)?;
        let open = |engine| {
            let dir = config.cache_dir.as_deref();
            let opened = dir.map(|dir| {
                DiskCache::open(dir, engine, config.cache_key.as_ref()).map_err(|source| {
                    RuntimeError::Cache {
                        path: dir.display().to_string(),
                        source,
                    }
                })
            });
            opened.transpose()
        };
        let (disk, component_disk) = (open(&engines.main)?, open(&engines.components)?);
        let components =
            Components::new(&engines.components, component_disk).map_err(RuntimeError::Engine)?;
        let mut linker = wasmtime::Linker::new(&engines.main);
        host::link(&mut linker).map_err(RuntimeError::Engine)?;
        let javascript = Arc::<JavaScript>::default();
        javascript::link(&mut linker, &javascript).map_err(RuntimeError::Engine)?;
        let stdlib = Stdlib::new(&engines, disk.as_ref(), &linker, guest, digest);
        let stdlib = stdlib.map_err(RuntimeError::Engine)?;
        let background = executor::background(config.background_threads)?;
        let component_threads = executor::components(config.background_threads)?;
        let io = executor::io(config.io_threads)?;
        let http = Http::new(&config.egress);
        let host_services = HostServices {
            effects: standard_effects(&config, &http),
            http,
            component_threads: Threads {
                first: component_threads.handle().clone(),
                background: background.handle().clone(),
                io: io.handle().clone(),
                first_time: config.foreground_time,
            },
            io: io.handle().clone(),
        };
        let sandbox = Arc::new(Sandbox {
            engine: engines.main.clone(),
            stdlib: Arc::new(stdlib),
            host_services,
        });
        Ok(Runtime(Arc::new(Inner {
            ticker: Ticker::new(&engines)?,
            programs: Mutex::new(Recent::new(config.code_cache_bytes_max)),
            slots: Arc::new(Semaphore::new(config.concurrent_runs_max.max(1) as usize)),
            background: Some(background),
            component_threads: Some(component_threads),
            io: Some(io),
            components,
            config,
            engines,
            disk,
            sandbox,
            javascript,
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
        let codes: Result<Vec<_>, _> = plan
            .jobs()
            .iter()
            .map(|job| job.execute(&self.0.engines))
            .collect();
        self.assemble(plan, codes?)
    }

    /// Verifies a pattern's module, which may come from anyone, and finds what of its machine code is there already. Reads
    /// files: call it where blocking is allowed.
    pub fn plan(&self, wasm: Vec<u8>, tier: Tier) -> Result<Plan, ProgramError> {
        let digest = sha256(&wasm);
        match self.kept(&(digest, tier)) {
            Some(program) => Ok(Plan::of(program)),
            None => Plan::make(&self.shelves(), wasm, digest, tier),
        }
    }

    /// Looks again for what a plan lacks, since others may have compiled it in the meantime.
    pub fn look_again(&self, plan: &mut Plan) {
        if let Some(key) = plan.key()
            && let Some(program) = self.kept(&key)
        {
            *plan = Plan::of(program);
        }
        plan.fill(&self.shelves());
    }

    /// Puts a program together, given machine code for all of [`Plan::jobs`]. The code is executed: it must come from the
    /// compiler itself. Call it where blocking is allowed.
    pub fn assemble(&self, plan: Plan, codes: Vec<Vec<u8>>) -> Result<Program, ProgramError> {
        let inner = &*self.0;
        let key = plan.key();
        let program = plan.assemble(&self.shelves(), codes)?;
        if program.manifest().rights.javascript {
            let prepared = inner.javascript.prepare(&inner.engines, inner.disk.as_ref());
            prepared.map_err(CompileError::Engine)?;
        }
        if let Some(key) = key {
            let mut programs = inner.programs.lock().unwrap_or_else(PoisonError::into_inner);
            programs.insert(key, program.clone(), program.code_bytes());
        }
        Ok(program)
    }

    fn kept(&self, key: &(Digest256, Tier)) -> Option<Program> {
        let mut programs = self.0.programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.get(key)
    }

    fn shelves(&self) -> Shelves<'_> {
        Shelves {
            engines: &self.0.engines,
            disk: self.0.disk.as_ref(),
            stdlib: &self.0.sandbox.stdlib,
            components: &self.0.components,
        }
    }

    /// Executes one run. Waits for a free slot first, in order of the calls. Dropping the future cancels the
    /// run and its effects and frees its slot.
    pub async fn run(&self, program: &Program, request: RunRequest) -> Outcome {
        let inner = &*self.0;
        // Only closed when dropped, which the borrow of `self` rules out.
        let slot = inner.slots.clone().acquire_owned().await;
        let awake = inner.ticker.wake();
        let started = Instant::now();
        let request = self.bounded(request);
        let held = (slot, awake);
        let job = Box::pin(sandbox::execute(
            held,
            inner.sandbox.clone(),
            program.clone(),
            request,
        ));
        let result = match (
            Foreground::new(job, inner.config.foreground_time).await,
            &inner.background,
        ) {
            (Phase::Done(result), _) => result,
            (Phase::Long(job), Some(background)) => executor::continue_on(background.handle(), job).await,
            (Phase::Long(_), None) => Err(executor::Panicked),
        };
        result.unwrap_or_else(|executor::Panicked| {
            let message = "The run was stopped by a bug in heddle. Please report it.".to_owned();
            ending::refused(
                RunError {
                    code: code::INTERNAL.into(),
                    message,
                    node_id: None,
                },
                started,
            )
        })
    }

    fn bounded(&self, mut request: RunRequest) -> RunRequest {
        let (config, limits) = (&self.0.config, &mut request.limits);
        limits.memory_bytes_max = limits.memory_bytes_max.min(config.memory_bytes_max);
        limits.table_elements_max = limits.table_elements_max.min(config.table_elements_max);
        request
    }
}

/// What a program does that was started as the process of a connector, see [`crate::ConnectorProgram`]: with the last argument of
/// its command line, before anything else and on the main thread.
pub fn serve_connector(limits: &str) -> Result<(), heddle_processes::ChannelError> {
    effects::serve_connector(limits)
}

fn standard_effects(config: &RuntimeConfig, http: &Http) -> Registry {
    let mut registry = Registry::default();
    registry.add(effects::Sleep);
    registry.add(effects::Wait);
    registry.add(effects::Callback);
    registry.add(effects::CallPattern);
    registry.add(effects::Hash);
    registry.add(effects::Hmac);
    registry.add(effects::Jwt);
    registry.add(effects::Chat(http.clone()));
    registry.add(http.clone());
    registry.add(effects::KeyValue);
    registry.add(effects::Mail::new(&config.egress));
    registry.add(effects::Sql::new(config));
    registry
}
