//! Programs: a pattern's module, verified as untrusted input.
//!
//! Knows nothing about compiling (see `plan`) or running it.

use crate::complexity::BODY_BYTES_MAX;
use crate::program_error::{ManifestError, NotWasm, ProgramError};
use crate::sealed::SealedProgram;
use heddle_contract::abi;
use heddle_contract::manifest::{Manifest, Rights};
use heddle_sandbox::{Digest256, hex};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use wasmparser::{
    CompositeInnerType, ExternalKind, FuncType, Import, Parser, Payload, RefType, TypeRef, ValType,
    Validator, WasmFeatures,
};

const WASM_BYTES_MAX: usize = 16 << 20;
/// Components of a module, together: two made of JavaScript.
const COMPONENT_BYTES_MAX: usize = 32 << 20;
const COMPONENTS_MAX: usize = 100;
const MANIFEST_BYTES_MAX: usize = 4 << 20;
const NODES_MAX: usize = 10_000;
const TYPES_MAX: u32 = 1_000;
const FUNCTIONS_MAX: u32 = 100_000;
const IMPORTS_MAX: u32 = 1_000;
const GLOBALS_MAX: u32 = 1_000;
const SEGMENTS_MAX: u32 = 1_000;
const ELEMENTS_MAX: usize = 100_000;

/// What a module may use: what the compiler emits, and nothing with a history of bugs.
const FEATURES: WasmFeatures = WasmFeatures::MUTABLE_GLOBAL
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::REFERENCE_TYPES)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY)
    .union(WasmFeatures::FLOATS)
    .union(WasmFeatures::GC_TYPES);

/// A verified and compiled pattern. Cheap to clone.
#[derive(Clone)]
pub struct Program(pub(crate) Arc<Loaded>);

pub(crate) struct Loaded {
    pub manifest: Arc<Manifest>,
    pub digest: Digest256,
    pub code_bytes: usize,
    pub form: Form,
    pub granted: GrantedNames,
}

/// Those of a manifest's rights that are lists of names, as every run holds them: none is copied for a run.
pub(crate) struct GrantedNames {
    pub secrets: Arc<[String]>,
    pub connections: Arc<[String]>,
    pub hosts: Arc<[String]>,
    pub patterns: Arc<[String]>,
}

impl GrantedNames {
    pub fn of(rights: &Rights) -> Self {
        GrantedNames {
            secrets: rights.secrets.as_slice().into(),
            connections: rights.connections.as_slice().into(),
            hosts: rights.hosts.as_slice().into(),
            patterns: rights.patterns.as_slice().into(),
        }
    }
}

/// Where a program's machine code is.
pub(crate) enum Form {
    /// In this process, ready to be executed.
    Here(heddle_sandbox::Program),
    /// In files, for executor processes.
    Sealed(Arc<SealedProgram>),
}

impl Program {
    /// What the module says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    /// SHA-256 of the module.
    pub fn digest(&self) -> &[u8; 32] {
        &self.0.digest
    }

    /// Bytes of machine code.
    pub fn code_bytes(&self) -> usize {
        self.0.code_bytes
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("digest", &hex(&self.0.digest))
            .finish()
    }
}

/// What verifying found.
#[derive(Debug)]
pub(crate) struct Verified {
    pub manifest: Manifest,
    /// Names of what it imports, in order.
    pub imports: Vec<String>,
    /// Where its components are in the module.
    pub components: Vec<Range<usize>>,
}

/// Names of what a module of our own exports.
pub(crate) fn exports_of(wasm: &[u8]) -> Result<HashSet<String>, wasmparser::BinaryReaderError> {
    let mut names = HashSet::new();
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::ExportSection(exports) = payload? {
            for export in exports {
                names.insert(export?.name.to_owned());
            }
        }
    }
    Ok(names)
}

/// Verifies a module.
pub(crate) fn verify(wasm: &[u8]) -> Result<Verified, ProgramError> {
    at_most("bytes", wasm.len(), WASM_BYTES_MAX + COMPONENT_BYTES_MAX)?;
    if !Parser::is_core_wasm(wasm) {
        return Err(NotWasm::Beginning.into());
    }
    let structure = Structure::read(wasm)?;
    let component_bytes = structure.components.iter().map(|component| component.len()).sum();
    at_most("bytes of components", component_bytes, COMPONENT_BYTES_MAX)?;
    at_most(
        "bytes",
        wasm.len().saturating_sub(component_bytes),
        WASM_BYTES_MAX,
    )?;
    Validator::new_with_features(FEATURES)
        .validate_all(wasm)
        .map_err(not_wasm)?;
    structure.finish()
}

fn at_most(what: &'static str, found: usize, limit: usize) -> Result<(), ProgramError> {
    if found > limit {
        Err(ProgramError::TooLarge { what, found, limit })
    } else {
        Ok(())
    }
}

fn not_wasm(error: wasmparser::BinaryReaderError) -> ProgramError {
    NotWasm::Malformed(error).into()
}

/// What the sections say, before the bodies are validated: cheap refusals first.
#[derive(Default)]
struct Structure<'a> {
    types: Vec<FuncType>,
    /// Type index of every function, imported ones first.
    functions: Vec<u32>,
    imports: Vec<String>,
    exports: Vec<(&'a str, ExternalKind, u32)>,
    manifest: Option<&'a [u8]>,
    components: Vec<Range<usize>>,
}

impl<'a> Structure<'a> {
    fn read(wasm: &'a [u8]) -> Result<Self, ProgramError> {
        let mut structure = Structure::default();
        for payload in Parser::new(0).parse_all(wasm) {
            structure.section(payload.map_err(not_wasm)?)?;
        }
        Ok(structure)
    }

    fn section(&mut self, payload: Payload<'a>) -> Result<(), ProgramError> {
        match payload {
            Payload::TypeSection(reader) => {
                at_most("types", reader.count() as usize, TYPES_MAX as usize)?;
                for group in reader {
                    for ty in group.map_err(not_wasm)?.into_types() {
                        let CompositeInnerType::Func(ty) = ty.composite_type.inner else {
                            return Err(NotWasm::NoFunctionType.into());
                        };
                        self.types.push(ty);
                    }
                }
            }
            Payload::ImportSection(reader) => {
                at_most("imports", reader.count() as usize, IMPORTS_MAX as usize)?;
                for import in reader.into_imports() {
                    self.import(import.map_err(not_wasm)?)?;
                }
            }
            Payload::FunctionSection(reader) => {
                at_most("functions", reader.count() as usize, FUNCTIONS_MAX as usize)?;
                for ty in reader {
                    self.functions.push(ty.map_err(not_wasm)?);
                }
            }
            Payload::TableSection(reader) if reader.count() > 0 => {
                return Err(ProgramError::OwnResource("table"));
            }
            Payload::MemorySection(reader) if reader.count() > 0 => {
                return Err(ProgramError::OwnResource("memory"));
            }
            Payload::TagSection(_) => return Err(ProgramError::OwnResource("tag")),
            Payload::GlobalSection(reader) => {
                at_most("globals", reader.count() as usize, GLOBALS_MAX as usize)?;
            }
            Payload::ExportSection(reader) => {
                for export in reader {
                    let export = export.map_err(not_wasm)?;
                    self.exports.push((export.name, export.kind, export.index));
                }
            }
            Payload::StartSection { .. } => return Err(ProgramError::StartFunction),
            Payload::ElementSection(reader) => {
                at_most("element segments", reader.count() as usize, SEGMENTS_MAX as usize)?;
                for element in reader {
                    let count = match element.map_err(not_wasm)?.items {
                        wasmparser::ElementItems::Functions(items) => items.count(),
                        wasmparser::ElementItems::Expressions(_, items) => items.count(),
                    };
                    at_most("elements in a segment", count as usize, ELEMENTS_MAX)?;
                }
            }
            Payload::DataSection(reader) => {
                at_most("data segments", reader.count() as usize, SEGMENTS_MAX as usize)?;
            }
            Payload::CodeSectionEntry(body) => {
                at_most("bytes in one function", body.range().len(), BODY_BYTES_MAX)?;
            }
            Payload::CustomSection(section) if section.name() == abi::COMPONENT_SECTION => {
                let begin = section.data_offset();
                self.components.push(begin..begin + section.data().len());
                at_most("components", self.components.len(), COMPONENTS_MAX)?;
            }
            Payload::CustomSection(section)
                if section.name() == abi::MANIFEST_SECTION
                    && self.manifest.replace(section.data()).is_some() =>
            {
                return Err(ManifestError::Twice.into());
            }
            _ => {}
        }
        Ok(())
    }

    fn import(&mut self, import: Import<'a>) -> Result<(), ProgramError> {
        let refuse = |reason| ProgramError::ForeignImport {
            module: import.module.to_owned(),
            name: import.name.to_owned(),
            reason,
        };
        if import.module != abi::GUEST {
            return Err(refuse("patterns import from `heddle` only"));
        }
        match import.ty {
            // Of any size, as the compiler asks for them: the standard library's have their own.
            TypeRef::Memory(memory) if import.name == abi::MEMORY => {
                if (memory.initial, memory.maximum) != (0, None) {
                    return Err(refuse("it has limits"));
                }
            }
            TypeRef::Table(table) if import.name == abi::TABLE => {
                let is_any = (table.initial, table.maximum) == (0, None);
                if !is_any || table.element_type != RefType::FUNCREF {
                    return Err(refuse("it has limits, or other elements than functions"));
                }
            }
            TypeRef::Func(ty) => {
                let expected =
                    guest_function(import.name).ok_or_else(|| refuse("there is no such function"))?;
                let found = self
                    .types
                    .get(ty as usize)
                    .ok_or_else(|| refuse("its type is missing"))?;
                if !same_types(found.params(), expected.0) || !same_types(found.results(), expected.1) {
                    return Err(refuse("it has a different type"));
                }
                self.functions.push(ty);
            }
            _ => return Err(refuse("it is neither the memory, the table nor a function")),
        }
        self.imports.push(import.name.to_owned());
        Ok(())
    }

    fn finish(self) -> Result<Verified, ProgramError> {
        self.check_exports()?;
        let manifest = self.read_manifest()?;
        Ok(Verified {
            manifest,
            imports: self.imports,
            components: self.components,
        })
    }

    fn check_exports(&self) -> Result<(), ProgramError> {
        let &[(name, kind, index)] = self.exports.as_slice() else {
            return Err(ProgramError::Exports(self.exports.len()));
        };
        let ty = self
            .functions
            .get(index as usize)
            .and_then(|ty| self.types.get(*ty as usize));
        let right = kind == ExternalKind::Func
            && name == abi::RUN_EXPORT
            && ty.is_some_and(|ty| ty.params() == [ValType::I32] && ty.results().is_empty());
        if right {
            return Ok(());
        }
        Err(ProgramError::OtherExport {
            name: name.to_owned(),
        })
    }

    fn read_manifest(&self) -> Result<Manifest, ProgramError> {
        let bytes = self.manifest.ok_or(ManifestError::Missing)?;
        at_most("bytes of manifest", bytes.len(), MANIFEST_BYTES_MAX)?;
        let manifest: Manifest = serde_json::from_slice(bytes).map_err(ManifestError::Unreadable)?;
        if !(abi::ABI_VERSION_MIN..=abi::ABI_VERSION).contains(&manifest.abi_version) {
            let (found, expected) = (manifest.abi_version, abi::ABI_VERSION);
            return Err(ProgramError::AbiVersion { found, expected });
        }
        at_most("nodes", manifest.nodes.len(), NODES_MAX)?;
        if let Some(trigger) = manifest
            .triggers
            .iter()
            .find(|trigger| trigger.index as usize >= manifest.nodes.len())
        {
            let (node_id, index) = (trigger.node_id.clone(), trigger.index);
            return Err(ManifestError::NoTrigger { node_id, index }.into());
        }
        Ok(manifest)
    }
}

/// Type of a function that patterns may import.
fn guest_function(name: &str) -> Option<(&'static [abi::Type], &'static [abi::Type])> {
    if name.starts_with("node_") && name != "node_output" && name != "node_item" {
        return Some((&[abi::Type::I32], &[]));
    }
    abi::GUEST_FUNCTIONS
        .iter()
        .find(|function| function.name == name)
        .map(|function| (function.params, function.results))
}

fn same_types(found: &[ValType], expected: &[abi::Type]) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| {
            *found
                == match expected {
                    abi::Type::I32 => ValType::I32,
                    abi::Type::I64 => ValType::I64,
                    abi::Type::F64 => ValType::F64,
                }
        })
}
