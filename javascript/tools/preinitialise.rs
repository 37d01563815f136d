//! Executes a module's `initialize` and writes the module that has already done so (the idea is Wizer's): memory
//! becomes data, globals their values, and the export goes.
//!
//! Usage: `preinitialise FROM.wasm TO.wasm`. Deterministic: the module may import functions, but none may be
//! called. Knows nothing of what the module is.

use std::error::Error;
use std::ops::Range;
use wasm_encoder::{
    ConstExpr, DataSection, ExportKind, ExportSection, GlobalSection, MemorySection, MemoryType, Module,
    RawSection,
};
use wasmparser::{ExternalKind, Global, GlobalType, Operator, Parser, Payload, ValType};
use wasmtime::{Engine, Extern, Linker, Store, Val};

type Failure = Box<dyn Error>;

const INITIALIZE: &str = "initialize";
const MEMORY: &str = "memory";
/// What compiled code calls without naming it: exported only since the linker would leave out what nobody exports.
const MEMORY_FUNCTIONS: &[&str] = &["bcmp", "memcmp", "memcpy", "memmove", "memset"];
const PAGE_BYTES: usize = 65_536;
/// Zeros up to this many are written as data rather than begin a new segment.
const GAP_BYTES: usize = 64;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("usage: preinitialise FROM.wasm TO.wasm".into());
    };
    let wasm = std::fs::read(from)?;
    let image = Image::of(&wasm)?;
    std::fs::write(to, rewrite(&wasm, &image)?)?;
    Ok(())
}

/// State of an instance after its initialisation.
struct Image {
    memory: Vec<u8>,
    /// Of exported globals, by name.
    globals: Vec<(String, Val)>,
}

impl Image {
    fn of(wasm: &[u8]) -> Result<Self, Failure> {
        let engine = Engine::default();
        let module = wasmtime::Module::new(&engine, wasm)?;
        let mut linker = Linker::new(&engine);
        linker.define_unknown_imports_as_traps(&module)?;
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &module)?;
        instance
            .get_typed_func::<(), ()>(&mut store, INITIALIZE)?
            .call(&mut store, ())?;
        let exports: Vec<(String, Extern)> = instance
            .exports(&mut store)
            .map(|export| (export.name().to_owned(), export.into_extern()))
            .collect();
        let mut globals = Vec::new();
        for (name, export) in exports {
            if let Extern::Global(global) = export {
                globals.push((name, global.get(&mut store)));
            }
        }
        let memory = instance
            .get_memory(&mut store, MEMORY)
            .ok_or("the module exports no memory")?;
        Ok(Image {
            memory: memory.data(&store).to_vec(),
            globals,
        })
    }

    /// Stretches of memory that are not zero.
    fn segments(&self) -> Vec<Range<usize>> {
        let mut segments: Vec<Range<usize>> = Vec::new();
        for (at, byte) in self.memory.iter().enumerate() {
            if *byte == 0 {
                continue;
            }
            match segments.last_mut() {
                Some(last) if at - last.end <= GAP_BYTES => last.end = at + 1,
                _ => segments.push(at..at + 1),
            }
        }
        segments
    }
}

/// The module's sections in order, with memory, globals and data replaced.
fn rewrite(wasm: &[u8], image: &Image) -> Result<Vec<u8>, Failure> {
    let exported_globals = exported_globals(wasm)?;
    let mut module = Module::new();
    let mut has_data = false;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        match payload {
            Payload::MemorySection(_) => {
                let mut memories = MemorySection::new();
                memories.memory(MemoryType {
                    minimum: image.memory.len().div_ceil(PAGE_BYTES) as u64,
                    maximum: None,
                    memory64: false,
                    shared: false,
                    page_size_log2: None,
                });
                module.section(&memories);
            }
            Payload::GlobalSection(section) => {
                let mut globals = GlobalSection::new();
                for (index, global) in section.into_iter().enumerate() {
                    let global = global?;
                    let value = exported_globals
                        .iter()
                        .find(|(_, global)| *global as usize == index)
                        .and_then(|(name, _)| image.globals.iter().find(|(known, _)| known == name));
                    let init = match value {
                        Some((_, Val::I32(value))) => ConstExpr::i32_const(*value),
                        None if !global.ty.mutable => constant(&global)?,
                        _ => return Err(format!("global {index} can't be kept").into()),
                    };
                    globals.global(global_type(global.ty)?, &init);
                }
                module.section(&globals);
            }
            Payload::ExportSection(section) => {
                let mut exports = ExportSection::new();
                for export in section {
                    let export = export?;
                    // Globals are exported for the snapshot only, and names that begin so are the linker's.
                    let internal = export.name == INITIALIZE
                        || export.name.starts_with("__")
                        || MEMORY_FUNCTIONS.contains(&export.name);
                    match export.kind {
                        ExternalKind::Func if !internal => {
                            exports.export(export.name, ExportKind::Func, export.index);
                        }
                        ExternalKind::Memory => {
                            exports.export(export.name, ExportKind::Memory, export.index);
                        }
                        _ => {}
                    }
                }
                module.section(&exports);
            }
            Payload::DataSection(_) => {
                has_data = true;
                module.section(&data(image)?);
            }
            Payload::StartSection { .. } => return Err("the module has a start function".into()),
            // Not needed: no instruction refers to a segment that was replaced.
            Payload::DataCountSection { .. } | Payload::CustomSection(_) => {}
            other => {
                if let Some((id, range)) = other.as_section() {
                    let data = wasm.get(range).ok_or("a section lies outside of the module")?;
                    module.section(&RawSection { id, data });
                }
            }
        }
    }
    match has_data {
        true => Ok(module.finish()),
        false => Err("the module has no data to replace".into()),
    }
}

fn exported_globals(wasm: &[u8]) -> Result<Vec<(String, u32)>, Failure> {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::ExportSection(section) = payload? {
            for export in section {
                let export = export?;
                if matches!(export.kind, ExternalKind::Global) {
                    found.push((export.name.to_owned(), export.index));
                }
            }
        }
    }
    Ok(found)
}

/// The value of a global that can't change.
fn constant(global: &Global<'_>) -> Result<ConstExpr, Failure> {
    match global.init_expr.get_operators_reader().read()? {
        Operator::I32Const { value } => Ok(ConstExpr::i32_const(value)),
        other => Err(format!("a global begins as {other:?}, which can't be kept").into()),
    }
}

fn global_type(found: GlobalType) -> Result<wasm_encoder::GlobalType, Failure> {
    match found.content_type {
        ValType::I32 => Ok(wasm_encoder::GlobalType {
            val_type: wasm_encoder::ValType::I32,
            mutable: found.mutable,
            shared: found.shared,
        }),
        other => Err(format!("a global of type {other} can't be kept").into()),
    }
}

fn data(image: &Image) -> Result<DataSection, Failure> {
    let mut data = DataSection::new();
    for segment in image.segments() {
        let bytes = image.memory.get(segment.clone()).unwrap_or_default();
        let offset = ConstExpr::i32_const(i32::try_from(segment.start)?);
        data.active(0, &offset, bytes.iter().copied());
    }
    Ok(data)
}
