//! Builds a program from a module: finds cached machine code, determines what must be compiled, and assembles the
//! result.
//!
//! Knows nothing about where and when code is compiled.

use crate::codecache::DiskCache;
use crate::compile::CompileJob;
use crate::complexity;
use crate::component::{Components, Found};
use crate::digest::{Digest256, hex, sha256};
use crate::engine::{Engines, Form, Tier};
use crate::program::{Loaded, Program, Verified, verify};
use crate::program_error::{CompileError, ManifestError, ProgramError};
use crate::stdlib::{self, Stdlib};
use heddle_contract::abi;
use std::ops::Range;
use std::sync::Arc;
use wasmtime::{Module, ModuleExport};

/// Where machine code is found and kept, and what programs are linked with.
pub(crate) struct Shelves<'a> {
    pub engines: &'a Engines,
    pub disk: Option<&'a DiskCache>,
    pub stdlib: &'a Stdlib,
    pub components: &'a Components,
}

impl<'a> Shelves<'a> {
    /// Code of the fast tier is not kept on disk: writing it would take longer than it saves.
    fn disk(&self, tier: Tier) -> Option<&'a DiskCache> {
        self.disk.filter(|_| tier == Tier::Optimized)
    }
}

/// A module that has been verified, on its way to a program.
pub struct Plan(State);

enum State {
    /// It was loaded before.
    Done(Program),
    Open(Box<Open>),
}

struct Open {
    wasm: Vec<u8>,
    digest: Digest256,
    tier: Tier,
    verified: Verified,
    /// For each import in order: the standard library's export.
    imports: Vec<ModuleExport>,
    /// Its machine code, and the bytes of it.
    module: Option<(Module, usize)>,
    /// As the manifest lists them.
    components: Vec<Piece>,
}

/// One of its components.
struct Piece {
    /// Its definition.
    name: String,
    range: Range<usize>,
    digest: Digest256,
    may_send: bool,
    found: Option<Found>,
}

impl Piece {
    fn failed(&self, source: impl Into<CompileError>) -> ProgramError {
        ProgramError::Component {
            name: self.name.clone(),
            source: source.into(),
        }
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan").field("jobs", &self.jobs().len()).finish()
    }
}

impl Plan {
    pub(crate) fn of(program: Program) -> Self {
        Plan(State::Done(program))
    }

    pub(crate) fn make(
        shelves: &Shelves<'_>,
        wasm: Vec<u8>,
        digest: Digest256,
        tier: Tier,
    ) -> Result<Self, ProgramError> {
        let verified = verify(&wasm)?;
        let imports = imports(shelves.stdlib, &verified)?;
        let components = components(&wasm, &verified)?;
        let mut plan = Plan(State::Open(Box::new(Open {
            wasm,
            digest,
            tier,
            verified,
            imports,
            module: None,
            components,
        })));
        plan.fill(shelves);
        plan.check()?;
        Ok(plan)
    }

    /// What the program is kept by, unless it is there.
    pub(crate) fn key(&self) -> Option<(Digest256, Tier)> {
        match &self.0 {
            State::Done(_) => None,
            State::Open(open) => Some((open.digest, open.tier)),
        }
    }

    /// Takes from the shelves what is there.
    pub(crate) fn fill(&mut self, shelves: &Shelves<'_>) {
        let State::Open(open) = &mut self.0 else { return };
        if open.module.is_none() {
            let disk = shelves.disk(open.tier);
            open.module = disk.and_then(|disk| disk.load(&shelves.engines.main, &open.digest));
        }
        for piece in open.components.iter_mut().filter(|piece| piece.found.is_none()) {
            piece.found = shelves.components.find(&piece.digest, piece.may_send);
        }
    }

    /// Refuses what would be too much work for the compiler.
    fn check(&self) -> Result<(), ProgramError> {
        let State::Open(open) = &self.0 else { return Ok(()) };
        for piece in open.components.iter().filter(|piece| piece.found.is_none()) {
            let wasm = open.wasm.get(piece.range.clone()).unwrap_or_default();
            complexity::check(wasm).map_err(|error| piece.failed(error))?;
        }
        if open.module.is_none() {
            complexity::check(&open.wasm)?;
        }
        Ok(())
    }

    /// What has to be compiled, in order; nothing when all is there.
    pub fn jobs(&self) -> Vec<CompileJob<'_>> {
        let State::Open(open) = &self.0 else {
            return Vec::new();
        };
        let missing = open.components.iter().filter(|piece| piece.found.is_none());
        let components = missing.map(|piece| CompileJob {
            form: Form::Component,
            wasm: open.wasm.get(piece.range.clone()).unwrap_or_default(),
            name: Some(&piece.name),
        });
        let module = open.module.is_none().then_some(CompileJob {
            form: Form::Module(open.tier),
            wasm: &open.wasm,
            name: None,
        });
        components.chain(module).collect()
    }

    pub(crate) fn assemble(
        self,
        shelves: &Shelves<'_>,
        codes: Vec<Vec<u8>>,
    ) -> Result<Program, ProgramError> {
        let open = match self.0 {
            State::Done(program) => return Ok(program),
            State::Open(open) => open,
        };
        let mut codes = codes.into_iter();
        let mut next = || {
            codes
                .next()
                .ok_or(ProgramError::Compile(CompileError::CodeMissing))
        };
        let mut components = Vec::with_capacity(open.components.len());
        for mut piece in open.components {
            let found = match piece.found.take() {
                Some(found) => found,
                None => {
                    let compiled = shelves.components.compiled(&next()?, &piece.digest);
                    compiled.map_err(|error| piece.failed(error))?
                }
            };
            let ready = shelves.components.ready(found, piece.digest, piece.may_send);
            components.push(ready.map_err(|error| piece.failed(error))?);
        }
        let (module, mut code_bytes) = match open.module {
            Some(found) => found,
            None => {
                let disk = shelves.disk(open.tier);
                stdlib::compiled(shelves.engines, disk, &next()?, &open.digest)
                    .map_err(CompileError::Engine)?
            }
        };
        code_bytes += components.iter().map(|ready| ready.code_bytes).sum::<usize>();
        Ok(Program(Arc::new(Loaded {
            module,
            manifest: open.verified.manifest,
            imports: open.imports,
            components,
            digest: open.digest,
            code_bytes,
        })))
    }
}

fn imports(stdlib: &Stdlib, verified: &Verified) -> Result<Vec<ModuleExport>, ProgramError> {
    let exports = verified.imports.iter().map(|name| {
        let export = stdlib
            .exports
            .get(name)
            .ok_or_else(|| ProgramError::ForeignImport {
                module: abi::GUEST.into(),
                name: name.clone(),
                reason: "the standard library has no such function",
            });
        Ok(export?.0)
    });
    exports.collect()
}

/// The module's components, each with the rights that the manifest gives it.
fn components(wasm: &[u8], verified: &Verified) -> Result<Vec<Piece>, ProgramError> {
    let listed = &verified.manifest.components;
    if listed.len() != verified.components.len() {
        let (listed, found) = (listed.len(), verified.components.len());
        return Err(ManifestError::ComponentCount { listed, found }.into());
    }
    let pieces = listed.iter().zip(&verified.components).map(|(listed, range)| {
        let digest = sha256(wasm.get(range.clone()).unwrap_or_default());
        if hex(&digest) != listed.sha256 {
            let name = listed.node_type.clone();
            return Err(ManifestError::OtherComponent { name }.into());
        }
        Ok(Piece {
            name: listed.node_type.clone(),
            range: range.clone(),
            digest,
            may_send: !listed.hosts.is_empty(),
            found: None,
        })
    });
    pieces.collect()
}
