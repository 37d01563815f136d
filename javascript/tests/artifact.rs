//! The checked-in engine: built from these sources, with the exports and imports that the protocol promises.

#![expect(clippy::unwrap_used, reason = "a test: a panic is its failure")]

use heddle_javascript::{ENGINE_WASM, protocol};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use wasmparser::{ExternalKind, Parser, Payload};

const ARTIFACT_BYTES_MAX: usize = 3 << 20;
/// Stack, data and the initialised heap, in pages of 64 KiB.
const MEMORY_PAGES_MAX: u64 = 48;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn collect(path: PathBuf, files: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        files.push(path);
        return;
    }
    for entry in std::fs::read_dir(path).unwrap() {
        collect(entry.unwrap().path(), files);
    }
}

/// As build-engine.sh computes it.
fn sources_hash() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for name in ["engine", "src", "tools", "build-engine.sh"] {
        collect(root.join(name), &mut files);
    }
    let mut lines = BTreeMap::new();
    for file in files {
        let path = file
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/");
        lines.insert(path, hex(&Sha256::digest(std::fs::read(&file).unwrap())));
    }
    let list: String = lines
        .into_iter()
        .map(|(path, hash)| format!("{hash}  {path}\n"))
        .collect();
    hex(&Sha256::digest(list))
}

#[test]
fn artifact_is_built_from_these_sources() {
    let recorded = include_str!("../artifact/SOURCES.sha256").trim();
    assert_eq!(
        recorded,
        sources_hash(),
        "the engine is stale: run javascript/build-engine.sh"
    );
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
