//! The checked-in guest: built from these sources, with the exports and imports that the ABI promises.

#![expect(clippy::unwrap_used, reason = "a test: a panic is its failure")]

#[path = "../../tests/shared/artifact_inputs.rs"]
mod artifact_inputs;

use heddle_contract::abi::{
    CURRENT_NODE, Function, GUEST_FUNCTIONS, HOST, HOST_FUNCTIONS, MEMORY, TABLE, Type, node_function,
};
use heddle_guest::{GUEST_SHA256, GUEST_WASM};
use heddle_node_stdlib::for_each_node;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use wasmparser::{ExternalKind, FuncType, Parser, Payload, TypeRef, ValType};

/// Of it, more than 1.5 MB are for the formats of other people, above all for HTML with its selectors and its names of characters, and
/// for pictures.
/// An instance pays only for the pages that it touches, and the module is compiled once for each version.
const ARTIFACT_BYTES_MAX: usize = 9 << 19;

macro_rules! names {
    ($($(#[$cfg:meta])? ($name:ident, $($rest:tt)+)),* $(,)?) => {
        &[$(stringify!($name)),*]
    };
}
const NODES: &[&str] = for_each_node!(names);

#[test]
fn artifact_is_built_from_these_sources() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    assert_eq!(
        include_str!("../artifact/SOURCES.sha256").trim(),
        artifact_inputs::hash(&repository, "guest"),
        "the guest artifact is stale: run node-stdlib/build-guest.sh"
    );
}

#[test]
fn artifact_has_its_digest() {
    let digest: [u8; 32] = Sha256::digest(GUEST_WASM).into();
    assert_eq!(
        digest, GUEST_SHA256,
        "the artifact was changed by hand: run node-stdlib/build-guest.sh"
    );
}

/// What the artifact's sections say.
#[derive(Default)]
struct Module {
    types: Vec<FuncType>,
    /// Types of functions, imported ones first.
    functions: Vec<u32>,
    imports: Vec<(String, String, u32)>,
    exports: BTreeMap<String, (ExternalKind, u32)>,
    memory_pages: u64,
    table_can_grow: bool,
}

fn module() -> Module {
    let mut module = Module::default();
    for payload in Parser::new(0).parse_all(GUEST_WASM) {
        match payload.unwrap() {
            Payload::TypeSection(types) => {
                module
                    .types
                    .extend(types.into_iter_err_on_gc_types().map(Result::unwrap));
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import.unwrap();
                    let TypeRef::Func(index) = import.ty else {
                        panic!("imports {import:?}")
                    };
                    module
                        .imports
                        .push((import.module.into(), import.name.into(), index));
                    module.functions.push(index);
                }
            }
            Payload::FunctionSection(functions) => {
                module.functions.extend(functions.into_iter().map(Result::unwrap))
            }
            Payload::MemorySection(memories) => {
                module.memory_pages += memories
                    .into_iter()
                    .map(|memory| memory.unwrap().initial)
                    .sum::<u64>();
            }
            Payload::TableSection(tables) => {
                module.table_can_grow = tables
                    .into_iter()
                    .all(|table| table.unwrap().ty.maximum.is_none());
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export.unwrap();
                    module
                        .exports
                        .insert(export.name.into(), (export.kind, export.index));
                }
            }
            Payload::StartSection { .. } => panic!("has a start function"),
            _ => {}
        }
    }
    module
}

fn value_types(types: &[Type]) -> Vec<ValType> {
    let value_type = |of: &Type| match of {
        Type::I32 => ValType::I32,
        Type::I64 => ValType::I64,
        Type::F64 => ValType::F64,
    };
    types.iter().map(value_type).collect()
}

fn assert_signature(found: &FuncType, name: &str, params: &[Type], results: &[Type]) {
    assert_eq!(found.params(), value_types(params), "parameters of {name}");
    assert_eq!(found.results(), value_types(results), "results of {name}");
}

#[test]
fn artifact_exports_the_guest_functions_and_every_node() {
    let module = module();
    let exported = |name: &str| {
        let (kind, index) = module
            .exports
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not exported"));
        assert_eq!(*kind, ExternalKind::Func, "{name}");
        &module.types[module.functions[*index as usize] as usize]
    };
    for Function {
        name,
        params,
        results,
    } in GUEST_FUNCTIONS
    {
        assert_signature(exported(name), name, params, results);
    }
    for node in NODES {
        let name = node_function(node);
        assert_signature(exported(&name), &name, &[Type::I32], &[]);
    }
    for (name, kind) in [
        (MEMORY, ExternalKind::Memory),
        (TABLE, ExternalKind::Table),
        (CURRENT_NODE, ExternalKind::Global),
    ] {
        assert_eq!(
            module.exports.get(name).map(|(found, _)| *found),
            Some(kind),
            "{name}"
        );
    }
    assert!(module.table_can_grow);
}

#[test]
fn artifact_imports_nothing_but_host_functions() {
    let module = module();
    let mut seen = BTreeSet::new();
    for (from, name, index) in &module.imports {
        assert_eq!(from, HOST, "{name}");
        let Some(function) = HOST_FUNCTIONS.iter().find(|function| function.name == name) else {
            panic!("{name} is not among the host's functions");
        };
        assert_signature(
            &module.types[*index as usize],
            name,
            function.params,
            function.results,
        );
        assert!(seen.insert(name), "{name} is imported twice");
    }
}

#[test]
fn artifact_is_small() {
    let module = module();
    assert!(
        GUEST_WASM.len() < ARTIFACT_BYTES_MAX,
        "{} bytes",
        GUEST_WASM.len()
    );
    // Stack, data and what an ordinary run allocates.
    assert!(module.memory_pages <= 24, "{} pages", module.memory_pages);
}
