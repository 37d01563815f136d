//! All that executes runs in a process: the engine with its pool, its threads, and how a program is linked and run.

use crate::code::Code;
use crate::component::{Components, Threads};
use crate::config::SandboxConfig;
use crate::digest::Digest256;
use crate::engine::{Engines, Ticker};
use crate::executor::{self, Habit, Job, Panicked, Turns};
use crate::host;
use crate::javascript::{self, JavaScript};
use crate::memory_budget::MemoryBudget;
use crate::program::{ComponentSource, LinkError, Linked, LoadedComponent, Program, ProgramCode};
use crate::report::Report;
use crate::sandbox::{self, Sandbox};
use crate::state::{Hosts, RunInput};
use crate::stdlib::Stdlib;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Why a process can't execute runs.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// wasmtime refused its settings, or the standard library.
    #[error("can't start the WebAssembly engine: {0:#}")]
    Engine(#[from] wasmtime::Error),
    /// Threads or file descriptors are missing.
    #[error("can't start the runtime's threads: {0}")]
    Threads(#[from] std::io::Error),
}

/// Executes runs in this process.
pub struct Sandboxes {
    sandbox: Arc<Sandbox>,
    javascript: Arc<JavaScript>,
    components: Components,
    ticker: Ticker,
    foreground_time: Duration,
    turns: Turns,
    background: Option<Runtime>,
    component_threads: Option<Runtime>,
}

impl Drop for Sandboxes {
    fn drop(&mut self) {
        // Waiting for threads is not allowed where this may be dropped, within an async task.
        let runtimes = [self.background.take(), self.component_threads.take()];
        for runtime in runtimes.into_iter().flatten() {
            runtime.shutdown_background();
        }
    }
}

impl Sandboxes {
    /// Starts the threads, and links the standard library.
    pub fn new(config: &SandboxConfig, engines: &Engines, guest: Code) -> Result<Self, StartError> {
        let mut linker = wasmtime::Linker::new(&engines.main);
        host::link(&mut linker)?;
        let javascript = Arc::<JavaScript>::default();
        javascript::link(&mut linker, &javascript)?;
        let stdlib = Stdlib::new(&engines.main, &linker, guest)?;
        let background = executor::background(config.background_threads)?;
        let component_threads = executor::components(config.background_threads)?;
        let threads = Threads {
            first: component_threads.handle().clone(),
            background: background.handle().clone(),
            first_time: config.foreground_time,
        };
        Ok(Sandboxes {
            components: Components::new(&engines.components)?,
            ticker: Ticker::new(engines)?,
            foreground_time: config.foreground_time,
            turns: Turns::default(),
            sandbox: Arc::new(Sandbox {
                engine: engines.main.clone(),
                stdlib: Arc::new(stdlib),
                threads,
                memory: MemoryBudget::new(config.all_memory_bytes_max),
            }),
            javascript,
            background: Some(background),
            component_threads: Some(component_threads),
        })
    }

    /// Whether the JavaScript engine is loaded.
    pub fn has_javascript(&self) -> bool {
        self.javascript.is_ready()
    }

    /// Loads the JavaScript engine.
    pub fn load_javascript(&self, code: Code) -> wasmtime::Result<()> {
        self.javascript.load(&self.sandbox.engine, code)
    }

    /// The component with this SHA-256, if it is loaded.
    pub fn component(&self, digest: &Digest256, may_send: bool) -> Option<LoadedComponent> {
        self.components.find(digest, may_send).map(LoadedComponent)
    }

    /// Loads a program.
    pub fn link(&self, program: ProgramCode) -> Result<Program, LinkError> {
        let failed = |component| move |error| LinkError { component, error };
        let mut components = Vec::with_capacity(program.components.len());
        for (index, component) in program.components.into_iter().enumerate() {
            let ready = match component.source {
                ComponentSource::Code(code) => {
                    self.components.ready(&code, component.digest, component.may_send)
                }
                ComponentSource::Loaded(LoadedComponent(ready)) => Ok(ready),
            };
            components.push(ready.map_err(failed(Some(index)))?);
        }
        let module = program
            .module
            .module(&self.sandbox.engine)
            .map_err(failed(None))?;
        let missing = || wasmtime::Error::msg("an export of the standard library is missing");
        let exports = &self.sandbox.stdlib.exports;
        let imports = program.imports.iter().map(|name| exports.get(name).copied());
        let imports: Option<Vec<_>> = imports.collect();
        Ok(Program(Arc::new(Linked {
            module,
            manifest: program.manifest,
            imports: imports.ok_or_else(missing).map_err(failed(None))?,
            components,
            habit: Habit::default(),
        })))
    }

    /// Executes a run, and keeps `held` until nothing of it is left. Dropping the future cancels the run.
    pub async fn run(
        &self,
        held: impl Send + 'static,
        program: &Program,
        input: RunInput,
        hosts: Hosts,
    ) -> Result<Report, Panicked> {
        let Some(background) = &self.background else {
            return Err(Panicked);
        };
        let held = (held, self.ticker.wake());
        let owner = input.owner;
        // The place before what is put there: one that is made first is copied whole, however little is in it yet.
        let place = Box::new_uninit();
        let executing = Box::write(
            place,
            sandbox::execute(held, self.sandbox.clone(), program.clone(), input, hosts),
        );
        let job: Job<Report> = Box::into_pin(executing);
        let threads = (self.foreground_time, background.handle());
        executor::perform(job, threads, (&self.turns, owner), &program.habit).await
    }
}
