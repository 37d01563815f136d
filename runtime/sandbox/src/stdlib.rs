//! The guest standard library, linked with the host's functions.

use crate::code::Code;
use crate::state::RunState;
use heddle_contract::abi;
use std::collections::HashMap;
use wasmtime::{Engine, InstancePre, Linker, ModuleExport};

/// The standard library, ready to be instantiated.
pub struct Stdlib {
    /// Instantiated first in every run.
    pub instance: InstancePre<RunState>,
    pub exports: HashMap<String, ModuleExport>,
    /// Where its node counter's address is.
    pub current_node: Option<ModuleExport>,
    /// Where its memory is.
    pub memory: Option<ModuleExport>,
}

impl Stdlib {
    /// Of its machine code.
    pub fn new(engine: &Engine, linker: &Linker<RunState>, code: Code) -> wasmtime::Result<Self> {
        let module = code.module(engine)?;
        let mut exports = HashMap::new();
        for export in module.exports() {
            if let Some(index) = module.get_export_index(export.name()) {
                exports.insert(export.name().to_owned(), index);
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
