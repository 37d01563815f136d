//! The floor: the same two modules in wasmtime with nothing of ours around them.
//!
//! Pooled instances and copy-on-write images, but no fuel, no epochs, no limiter, no async, and host functions
//! that only hand over the event and drop what they are given.

use heddle_contract::abi;
use heddle_guest::GUEST_WASM;
use serde_json::value::RawValue;
use wasmtime::{
    Caller, Config, Enabled, Engine, Extern, Instance, InstanceAllocationStrategy, InstancePre, Linker,
    Module, PoolingAllocationConfig, Store,
};

/// A pattern ready to run without limits.
pub struct Bare {
    engine: Engine,
    library: InstancePre<Box<RawValue>>,
    pattern: Module,
    event: Box<RawValue>,
}

impl Bare {
    /// Compiles both modules.
    pub fn new(wasm: &[u8], event: Box<RawValue>) -> Self {
        let mut pool = PoolingAllocationConfig::default();
        pool.linear_memory_keep_resident(2 << 20)
            .table_keep_resident(16 << 10)
            .pagemap_scan(Enabled::Auto)
            .total_memories(16)
            .total_tables(16)
            .total_core_instances(16)
            .max_memory_size(64 << 20);
        let mut config = Config::new();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config).unwrap();
        let mut linker = Linker::new(&engine);
        host_functions(&mut linker);
        let module = Module::new(&engine, GUEST_WASM).unwrap();
        // What these patterns don't call.
        linker.define_unknown_imports_as_traps(&module).unwrap();
        let library = linker.instantiate_pre(&module).unwrap();
        let pattern = Module::new(&engine, wasm).unwrap();
        Bare {
            engine,
            library,
            pattern,
            event,
        }
    }

    /// Both instances, without calling anything.
    pub fn instantiate(&self) -> (Store<Box<RawValue>>, Instance) {
        let mut store = Store::new(&self.engine, self.event.clone());
        let library = self.library.instantiate(&mut store).unwrap();
        let imports: Vec<Extern> = self
            .pattern
            .imports()
            .map(|import| library.get_export(&mut store, import.name()).unwrap())
            .collect();
        let pattern = Instance::new(&mut store, &self.pattern, &imports).unwrap();
        (store, pattern)
    }

    /// A whole run at the first trigger.
    pub fn run(&self) {
        let (mut store, pattern) = self.instantiate();
        let run = pattern
            .get_typed_func::<i32, ()>(&mut store, abi::RUN_EXPORT)
            .unwrap();
        run.call(&mut store, 0).unwrap();
    }
}

fn host_functions(linker: &mut Linker<Box<RawValue>>) {
    let host = abi::HOST;
    linker
        .func_wrap(
            host,
            "input_length",
            |caller: Caller<'_, Box<RawValue>>, which: i32| {
                if which == 0 {
                    caller.data().get().len() as i32
                } else {
                    2
                }
            },
        )
        .unwrap();
    linker
        .func_wrap(
            host,
            "input_read",
            |mut caller: Caller<'_, Box<RawValue>>, which: i32, address: i32| {
                let Some(Extern::Memory(memory)) = caller.get_export(abi::MEMORY) else {
                    panic!("no memory")
                };
                let text = if which == 0 {
                    caller.data().get().to_owned()
                } else {
                    "{}".to_owned()
                };
                memory
                    .write(&mut caller, address as usize, text.as_bytes())
                    .unwrap();
            },
        )
        .unwrap();
    linker
        .func_wrap(host, "finish", |status: i32, _: i32, _: i32| {
            assert_eq!(status, 0)
        })
        .unwrap();
}
