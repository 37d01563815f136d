//! wasmtime as heddle configures it, and the thread that advances its epochs.
//!
//! There are two compilers and one engine for patterns: code from the fast tier is loaded into the engine that runs
//! them all, so a test run and a deployed one execute in the same pool under the same limits. Components have an
//! engine of their own.

use crate::config::SandboxConfig;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
    RegallocAlgorithm, WasmFeatures,
};

/// How long a run computes before it lets others go on.
pub const TICK: Duration = Duration::from_millis(1);
/// Calls nest until this many bytes of stack are used.
const WASM_STACK_BYTES_MAX: usize = 3 << 19;
const ASYNC_STACK_BYTES: usize = 2 << 20;
/// All that 32 bits can address: what code reaches beyond a memory is still its own reservation.
const MEMORY_RESERVATION_BYTES: u64 = 4 << 30;
/// Beyond that, for the offsets of loads and stores.
const MEMORY_GUARD_BYTES: u64 = 32 << 20;
/// The ticker stops after so many ticks without a live run.
const IDLE_TICKS_MAX: u32 = 100;

/// How a program is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// For deployments: slower to compile, faster to run.
    Optimized,
    /// For test runs: compiled in one pass.
    Fast,
}

/// The engine and its compilers.
pub struct Engines {
    /// Runs all patterns and compiles [`Tier::Optimized`].
    pub main: Engine,
    fast: Engine,
    /// Compiles and runs components: its instances are allocated one by one, since they can be of any form.
    pub components: Engine,
}

impl Engines {
    /// Engines that execute.
    pub fn new(config: &SandboxConfig) -> wasmtime::Result<Self> {
        let mut main = compiler_config(Form::Module(Tier::Optimized));
        main.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(config)));
        // Of a file on disk the kernel maps more pages around each that is touched, and all of them are looked through
        // after each run: 4 of 25 µs. Other systems have no files in memory; and where code is in one by itself, its data
        // needs no other.
        main.force_memory_init_memfd(cfg!(target_os = "linux") && !config.code_is_sealed);
        Engines::of(&main)
    }

    /// Engines that only compile: they reserve nothing for runs.
    pub fn compilers() -> wasmtime::Result<Self> {
        Engines::of(&compiler_config(Form::Module(Tier::Optimized)))
    }

    fn of(main: &Config) -> wasmtime::Result<Self> {
        Ok(Engines {
            main: Engine::new(main)?,
            fast: Engine::new(&compiler_config(Form::Module(Tier::Fast)))?,
            components: Engine::new(&compiler_config(Form::Component))?,
        })
    }

    /// Machine code for what has been verified.
    pub fn compile(&self, wasm: &[u8], form: Form) -> wasmtime::Result<Vec<u8>> {
        match form {
            Form::Module(Tier::Optimized) => self.main.precompile_module(wasm),
            Form::Module(Tier::Fast) => self.fast.precompile_module(wasm),
            Form::Component => self.components.precompile_component(wasm),
        }
    }
}

/// What is compiled, for which engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A pattern's module.
    Module(Tier),
    Component,
}

/// Machine code as [`Engines::compile`] makes it, by an engine that only compiles: without a pool, and on one thread, so that a worker's
/// processor time is its time.
pub fn compile_alone(wasm: &[u8], form: Form) -> wasmtime::Result<Vec<u8>> {
    let mut config = compiler_config(form);
    config.parallel_compilation(false);
    let engine = Engine::new(&config)?;
    match form {
        Form::Module(_) => engine.precompile_module(wasm),
        Form::Component => engine.precompile_component(wasm),
    }
}

fn compiler_config(form: Form) -> Config {
    let mut config = base_config();
    match form {
        Form::Module(Tier::Fast) => {
            config.cranelift_opt_level(OptLevel::None);
            config.cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
        }
        Form::Module(Tier::Optimized) => {
            config.cranelift_opt_level(OptLevel::Speed);
        }
        Form::Component => {
            config.cranelift_opt_level(OptLevel::Speed);
            config.wasm_component_model(true);
        }
    }
    config
}

fn base_config() -> Config {
    let mut config = Config::new();
    // Bulk operations are charged by their size: one unit a byte or table element is wasmtime's default.
    config.consume_fuel(true);
    config.epoch_interruption(true);
    config.concurrency_support(false);
    config.memory_init_cow(true);
    config.max_wasm_stack(WASM_STACK_BYTES_MAX);
    config.async_stack_size(ASYNC_STACK_BYTES);
    // Nobody unwinds through a pattern's frames, and registering them slows loading.
    config.native_unwind_info(cfg!(windows));
    config.wasm_backtrace_max_frames(None);
    config.generate_address_map(false);
    config.wasm_features(
        WasmFeatures::TAIL_CALL
            | WasmFeatures::EXTENDED_CONST
            | WasmFeatures::MULTI_MEMORY
            | WasmFeatures::RELAXED_SIMD
            | WasmFeatures::MEMORY64
            | WasmFeatures::THREADS
            | WasmFeatures::EXCEPTIONS
            | WasmFeatures::GC,
        false,
    );
    defences(&mut config);
    config
}

/// wasmtime's own, as its defaults have them: here, so that other defaults change nothing. Protection keys are not among them: with
/// them wasmtime leaves the guard regions out.
fn defences(config: &mut Config) {
    config.signals_based_traps(true);
    config.memory_reservation(MEMORY_RESERVATION_BYTES);
    config.memory_guard_size(MEMORY_GUARD_BYTES);
    config.guard_before_linear_memory(true);
    for mitigation in [
        "enable_heap_access_spectre_mitigation",
        "enable_table_access_spectre_mitigation",
    ] {
        #[expect(
            unsafe_code,
            reason = "there is no other way to these settings of the compiler"
        )]
        // SAFETY: of all settings these are no danger: they make code check more.
        unsafe {
            config.cranelift_flag_set(mitigation, "true");
        }
    }
}

fn pool(config: &SandboxConfig) -> PoolingAllocationConfig {
    let runs = config.runs_max.max(1);
    let mut pool = PoolingAllocationConfig::new();
    // Of a run: the standard library, the pattern, the JavaScript engine; all but the pattern with a memory and a
    // table.
    pool.total_core_instances(runs.saturating_mul(3));
    pool.total_memories(runs.saturating_mul(2));
    pool.total_tables(runs.saturating_mul(2));
    pool.total_stacks(runs);
    pool.max_memory_size(config.memory_bytes_max);
    pool.table_elements(config.table_elements_max);
    pool.max_memories_per_module(1);
    pool.max_tables_per_module(1);
    pool.max_unused_warm_slots(100);
    pool.table_keep_resident(16 << 10);
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.pagemap_scan(Enabled::Yes);
        // The JavaScript engine begins with 2.2 MiB, and what code makes comes behind that.
        pool.linear_memory_keep_resident(3 << 20);
    }
    pool
}

/// Advances the engines' epochs every [`TICK`] while runs are live. Stops when dropped.
pub struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    live: AtomicUsize,
    asleep: AtomicBool,
    stopped: AtomicBool,
}

/// Keeps the ticker awake.
pub struct Awake(Arc<Shared>);

impl Ticker {
    pub fn new(engines: &Engines) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let thread = std::thread::Builder::new().name("heddle-epoch".into()).spawn({
            let shared = shared.clone();
            let engines = [engines.main.clone(), engines.components.clone()];
            move || tick(&shared, &engines)
        })?;
        Ok(Ticker {
            shared,
            thread: Some(thread),
        })
    }

    /// To be held while a run is live.
    pub fn wake(&self) -> Awake {
        self.shared.live.fetch_add(1, Ordering::SeqCst);
        if self.shared.asleep.swap(false, Ordering::SeqCst)
            && let Some(thread) = &self.thread
        {
            thread.thread().unpark();
        }
        Awake(self.shared.clone())
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.0.live.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn tick(shared: &Shared, engines: &[Engine]) {
    let mut idle_ticks = 0;
    while !shared.stopped.load(Ordering::SeqCst) {
        if idle_ticks < IDLE_TICKS_MAX {
            std::thread::sleep(TICK);
            engines.iter().for_each(Engine::increment_epoch);
            idle_ticks = if shared.live.load(Ordering::SeqCst) == 0 {
                idle_ticks + 1
            } else {
                0
            };
            continue;
        }
        shared.asleep.store(true, Ordering::SeqCst);
        // A run that began just before the store above did not see `asleep`.
        if shared.live.load(Ordering::SeqCst) == 0 && !shared.stopped.load(Ordering::SeqCst) {
            std::thread::park();
        }
        shared.asleep.store(false, Ordering::SeqCst);
        idle_ticks = 0;
    }
}
