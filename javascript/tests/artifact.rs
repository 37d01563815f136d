//! The checked-in engine: built from these sources, with the exports and imports that the protocol promises.

#[path = "../../tests/shared/artifact_inputs.rs"]
mod artifact_inputs;

use heddle_javascript::{ENGINE_WASM, protocol};
use std::collections::BTreeSet;
use std::path::Path;
use wasmparser::{ExternalKind, Operator, Parser, Payload};

const ARTIFACT_BYTES_MAX: usize = 7 << 19;
/// Stack, data and the initialised heap, in pages of 64 KiB.
const MEMORY_PAGES_MAX: u64 = 48;

#[test]
fn artifact_is_built_from_these_sources() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    assert_eq!(
        include_str!("../artifact/SOURCES.sha256").trim(),
        artifact_inputs::hash(&repository, "engine"),
        "the engine is stale: run javascript/build-engine.sh"
    );
}

/// wasmtime calls the host for each of these whose size is no constant, so `node-stdlib/memory` takes their place.
#[test]
fn artifact_copies_and_fills_without_leaving_the_sandbox() {
    for payload in Parser::new(0).parse_all(ENGINE_WASM) {
        let Payload::CodeSectionEntry(body) = payload.unwrap() else {
            continue;
        };
        for operator in body.get_operators_reader().unwrap() {
            let operator = operator.unwrap();
            let leaves = matches!(
                operator,
                Operator::MemoryCopy { .. } | Operator::MemoryFill { .. }
            );
            assert!(!leaves, "{operator:?}");
        }
    }
}

#[test]
fn artifact_exports_the_protocol_and_imports_the_log() {
    let (mut imports, mut exports, mut pages) = (Vec::new(), BTreeSet::new(), 0);
    for payload in Parser::new(0).parse_all(ENGINE_WASM) {
        match payload.unwrap() {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.unwrap();
                    imports.push((import.module.to_owned(), import.name.to_owned()));
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export.unwrap();
                    assert!(matches!(export.kind, ExternalKind::Func | ExternalKind::Memory));
                    exports.insert(export.name.to_owned());
                }
            }
            Payload::MemorySection(section) => {
                pages = section.into_iter().map(|memory| memory.unwrap().initial).sum();
            }
            Payload::StartSection { .. } => panic!("has a start function"),
            _ => {}
        }
    }
    assert_eq!(imports, [(protocol::HOST.to_owned(), protocol::LOG.to_owned())]);
    let promised = [
        protocol::MEMORY,
        protocol::CONFIGURE,
        protocol::RESERVE,
        protocol::LOAD,
        protocol::CALL,
        protocol::RESUME,
        protocol::RESULT,
    ];
    assert_eq!(exports, promised.map(str::to_owned).into());
    assert!(pages <= MEMORY_PAGES_MAX, "{pages} pages");
    assert!(
        ENGINE_WASM.len() < ARTIFACT_BYTES_MAX,
        "{} bytes",
        ENGINE_WASM.len()
    );
}
