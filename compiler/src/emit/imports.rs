//! Function types and imported guest functions of a module, in the order of their first use.

use heddle_contract::abi::{self, Type};
use std::collections::HashMap;
use wasm_encoder::{TypeSection, ValType};

/// Parameters and results.
type Signature = (&'static [Type], &'static [Type]);

/// What a module imports, and the types that it names.
#[derive(Default)]
pub(super) struct Imports {
    signatures: Vec<Signature>,
    functions: Vec<(String, u32)>,
    by_name: HashMap<&'static str, u32>,
    by_node_type: HashMap<&'static str, u32>,
}

impl Imports {
    /// Function index of a guest function. Only names of [`abi::GUEST_FUNCTIONS`] may be asked for.
    pub(super) fn guest_function(&mut self, name: &'static str) -> u32 {
        if let Some(index) = self.by_name.get(name) {
            return *index;
        }
        let function = abi::GUEST_FUNCTIONS.iter().find(|function| function.name == name);
        let function = function.unwrap_or_else(|| panic!("`{name}` is not a guest function"));
        let index = self.import(name.to_owned(), (function.params, function.results));
        self.by_name.insert(name, index);
        index
    }

    /// The least version of the guest that has all of them; 0 where any has.
    pub(super) fn abi_version(&self) -> u32 {
        let mut names = self.by_name.keys();
        match names.any(|name| abi::NUMBERS_FUNCTIONS.contains(name)) {
            true => abi::ABI_VERSION_NUMBERS,
            false => 0,
        }
    }

    /// Function index of a standard node's guest function.
    pub(super) fn node_function(&mut self, node_type: &'static str) -> u32 {
        if let Some(index) = self.by_node_type.get(node_type) {
            return *index;
        }
        let index = self.import(abi::node_function(node_type), (&[Type::I32], &[]));
        self.by_node_type.insert(node_type, index);
        index
    }

    fn import(&mut self, name: String, signature: Signature) -> u32 {
        let type_index = self.type_index(signature);
        self.functions.push((name, type_index));
        self.functions.len() as u32 - 1
    }

    /// Index of a function type.
    pub(super) fn type_index(&mut self, signature: Signature) -> u32 {
        let known = self.signatures.iter().position(|other| *other == signature);
        known.unwrap_or_else(|| {
            self.signatures.push(signature);
            self.signatures.len() - 1
        }) as u32
    }

    /// Names and type indices of the imported functions.
    pub(super) fn functions(&self) -> &[(String, u32)] {
        &self.functions
    }

    /// The type section.
    pub(super) fn types(&self) -> TypeSection {
        let mut section = TypeSection::new();
        for (params, results) in &self.signatures {
            section.ty().function(value_types(params), value_types(results));
        }
        section
    }
}

fn value_types(types: &[Type]) -> Vec<ValType> {
    let value_type = |ty: &Type| match ty {
        Type::I32 => ValType::I32,
        Type::I64 => ValType::I64,
        Type::F64 => ValType::F64,
    };
    types.iter().map(value_type).collect()
}
