//! The guest standard library: compiled once, then loaded from its file.

use crate::codecache::DiskCache;
use crate::digest::Digest256;
use crate::engine::{Engines, Form, Tier};
use crate::state::RunState;
use heddle_contract::abi;
use std::collections::HashMap;
use wasmtime::{Engine, ExternType, InstancePre, Linker, Module, ModuleExport, Precompiled};

/// The standard library, ready to be instantiated.
pub struct Stdlib {
    /// Instantiated first in every run.
    pub instance: InstancePre<RunState>,
    /// What it exports.
    pub exports: HashMap<String, (ModuleExport, ExternType)>,
    /// Where its node counter's address is.
    pub current_node: Option<ModuleExport>,
    /// Where its memory is.
    pub memory: Option<ModuleExport>,
}

/// Compiles or loads a module of our own, whose SHA-256 is `digest`.
pub fn module(
    engines: &Engines,
    disk: Option<&DiskCache>,
    wasm: &[u8],
    digest: &Digest256,
) -> wasmtime::Result<(Module, usize)> {
    if let Some(found) = disk.and_then(|disk| disk.load(&engines.main, digest)) {
        return Ok(found);
    }
    let code = engines.compile(wasm, Form::Module(Tier::Optimized))?;
    compiled(engines, disk, &code, digest)
}

/// Takes what the compiler made of a module with this SHA-256.
pub fn compiled(
    engines: &Engines,
    disk: Option<&DiskCache>,
    code: &[u8],
    digest: &Digest256,
) -> wasmtime::Result<(Module, usize)> {
    if Engine::detect_precompiled(code) != Some(Precompiled::Module) {
        return Err(wasmtime::Error::msg("its machine code can't be used"));
    }
    #[expect(unsafe_code, reason = "loading machine code that was just compiled")]
    // SAFETY: `code` is the output of wasmtime's compiler in this process, or in a worker, which is this program as well,
    // was confined before it read the module, and was asked for nothing else (see ARCHITECTURE.md).
    let module = unsafe { Module::deserialize(&engines.main, code)? };
    if let Some(disk) = disk
        && let Err(error) = disk.store(digest, code)
    {
        tracing::warn!(%error, "Could not write machine code to the cache");
    }
    Ok((module, code.len()))
}

impl Stdlib {
    /// Of a module whose SHA-256 is `digest`.
    pub fn new(
        engines: &Engines,
        disk: Option<&DiskCache>,
        linker: &Linker<RunState>,
        wasm: &[u8],
        digest: &Digest256,
    ) -> wasmtime::Result<Self> {
        let (module, _) = module(engines, disk, wasm, digest)?;
        let mut exports = HashMap::new();
        for export in module.exports() {
            if let Some(index) = module.get_export_index(export.name()) {
                exports.insert(export.name().to_owned(), (index, export.ty()));
            }
        }
        Ok(Stdlib {
            instance: linker.instantiate_pre(&module)?,
            exports,
            current_node: module.get_export_index(abi::CURRENT_NODE),
            memory: module.get_export_index(abi::MEMORY),
        })
    }
}
