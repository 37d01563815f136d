//! Builds a program from a module: finds cached machine code, determines what must be compiled, and assembles the
//! result.
//!
//! Knows nothing about where and when code is compiled, and who executes it.

use crate::codecache::{DiskCache, Precompiled, usable};
use crate::compile::CompileJob;
use crate::complexity;
use crate::program::{Program, Verified, verify};
use crate::program_error::{CompileError, ManifestError, ProgramError};
use crate::programs::ProgramKey;
use heddle_contract::abi;
use heddle_contract::manifest::Manifest;
use heddle_sandbox::{
    Code, ComponentCode, ComponentSource, Digest256, Engines, Form, ProgramCode, Sandboxes, Tier, hex, sha256,
};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Where machine code is found, kept and made.
pub(crate) struct CodeSources {
    pub engines: Engines,
    /// Of our own modules, made when heddle was installed.
    pub precompiled: Option<Precompiled>,
    /// Of modules, and of components.
    pub disk: Option<DiskCache>,
    pub component_disk: Option<DiskCache>,
    /// What the standard library exports.
    pub exports: HashSet<String>,
    /// Whether code goes to other processes.
    pub is_sealed: bool,
}

impl CodeSources {
    /// Code of the fast tier is not kept on disk: writing it would take longer than it saves.
    fn disk(&self, tier: Tier) -> Option<&DiskCache> {
        self.disk.as_ref().filter(|_| tier == Tier::Optimized)
    }

    /// Machine code of a module of our own, whose SHA-256 is `digest`. All of them are known to `precompile`.
    pub fn own_module(&self, wasm: &[u8], digest: &Digest256) -> wasmtime::Result<Code> {
        let precompiled = self.precompiled.as_ref();
        if let Some(code) = precompiled.and_then(|place| usable(place.load(digest))) {
            return Ok(code);
        }
        if let Some(code) = self.disk.as_ref().and_then(|disk| disk.load(digest)) {
            return Ok(code);
        }
        tracing::info!(
            "Compiling a part of heddle for this machine, which takes some seconds; the next start finds it in the cache"
        );
        let code = self.engines.compile(wasm, Form::Module(Tier::Optimized))?;
        self.compiled(self.disk.as_ref(), code, digest)
    }

    /// Takes what the compiler made of what has this SHA-256.
    fn compiled(
        &self,
        disk: Option<&DiskCache>,
        code: Vec<u8>,
        digest: &Digest256,
    ) -> wasmtime::Result<Code> {
        if let Some(disk) = disk
            && let Err(error) = disk.store(digest, &code)
        {
            tracing::warn!(%error, "Could not write machine code to the cache");
        }
        match self.is_sealed {
            true => Ok(Code::sealed(&code)?),
            false => Ok(Code::Memory(code)),
        }
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
    /// Its machine code.
    module: Option<Code>,
    /// As the manifest lists them.
    components: Vec<Piece>,
    /// Whether its program is kept for others who run the same.
    is_kept: bool,
}

impl Open {
    fn key(&self) -> Option<ProgramKey> {
        self.is_kept.then_some((self.digest, self.tier))
    }
}

/// One of its components.
struct Piece {
    /// Its definition.
    name: String,
    range: Range<usize>,
    digest: Digest256,
    may_send: bool,
    found: Option<ComponentSource>,
}

impl Piece {
    fn failed(&self, source: impl Into<CompileError>) -> ProgramError {
        ProgramError::Component {
            name: self.name.clone(),
            source: source.into(),
        }
    }
}

/// A module with all of its machine code, which nobody has loaded yet.
pub(crate) struct Assembled {
    pub code: ProgramCode,
    pub code_bytes: usize,
    pub digest: Digest256,
    /// What it is kept by, unless it is for once.
    pub key: Option<ProgramKey>,
}

/// What a plan comes to.
pub(crate) enum Outcome {
    Done(Program),
    Assembled(Box<Assembled>),
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
        code_sources: &CodeSources,
        loaded: Option<&Sandboxes>,
        wasm: Vec<u8>,
        digest: Digest256,
        tier: Tier,
    ) -> Result<Self, ProgramError> {
        let verified = verify(&wasm)?;
        check_imports(&code_sources.exports, &verified)?;
        let components = components(&wasm, &verified)?;
        let mut plan = Plan(State::Open(Box::new(Open {
            wasm,
            digest,
            tier,
            verified,
            module: None,
            components,
            is_kept: true,
        })));
        plan.fill(code_sources, loaded);
        plan.check()?;
        Ok(plan)
    }

    /// Plans a program that is executed once: it takes no place among those that are kept.
    pub fn for_once(mut self) -> Self {
        if let State::Open(open) = &mut self.0 {
            open.is_kept = false;
        }
        self
    }

    /// What the program is kept by, unless it is there.
    pub(crate) fn key(&self) -> Option<ProgramKey> {
        match &self.0 {
            State::Done(_) => None,
            State::Open(open) => open.key(),
        }
    }

    /// Takes the code that is there already.
    pub(crate) fn fill(&mut self, code_sources: &CodeSources, loaded: Option<&Sandboxes>) {
        let State::Open(open) = &mut self.0 else { return };
        if open.module.is_none() {
            open.module = code_sources
                .disk(open.tier)
                .and_then(|disk| disk.load(&open.digest));
        }
        for piece in open.components.iter_mut().filter(|piece| piece.found.is_none()) {
            let ready = loaded.and_then(|it| it.component(&piece.digest, piece.may_send));
            let kept = || code_sources.component_disk.as_ref()?.load(&piece.digest);
            piece.found = match ready {
                Some(ready) => Some(ComponentSource::Loaded(ready)),
                None => kept().map(ComponentSource::Code),
            };
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
        code_sources: &CodeSources,
        codes: Vec<Vec<u8>>,
    ) -> Result<Outcome, ProgramError> {
        let open = match self.0 {
            State::Done(program) => return Ok(Outcome::Done(program)),
            State::Open(open) => open,
        };
        let key = open.key();
        let mut codes = codes.into_iter();
        let mut next = || {
            codes
                .next()
                .ok_or(ProgramError::Compile(CompileError::CodeMissing))
        };
        let mut components = Vec::with_capacity(open.components.len());
        for mut piece in open.components {
            let source = match piece.found.take() {
                Some(source) => source,
                None => {
                    let made =
                        code_sources.compiled(code_sources.component_disk.as_ref(), next()?, &piece.digest);
                    ComponentSource::Code(made.map_err(|error| piece.failed(error))?)
                }
            };
            components.push(ComponentCode {
                source,
                digest: piece.digest,
                may_send: piece.may_send,
            });
        }
        let module = match open.module {
            Some(code) => code,
            None => code_sources
                .compiled(code_sources.disk(open.tier), next()?, &open.digest)
                .map_err(CompileError::Engine)?,
        };
        let of_components = components.iter().map(|it| match &it.source {
            ComponentSource::Code(code) => code.bytes(),
            ComponentSource::Loaded(_) => 0,
        });
        Ok(Outcome::Assembled(Box::new(Assembled {
            code_bytes: module.bytes() + of_components.sum::<usize>(),
            code: ProgramCode {
                manifest: Arc::new(open.verified.manifest),
                imports: open.verified.imports,
                module,
                components,
            },
            digest: open.digest,
            key,
        })))
    }
}

/// What is said when a program's code can't be used; `component` is the reason, if one is.
pub(crate) fn unusable(manifest: &Manifest, component: Option<usize>, source: CompileError) -> ProgramError {
    match component.and_then(|index| manifest.components.get(index)) {
        Some(listed) => ProgramError::Component {
            name: listed.node_type.clone(),
            source,
        },
        None => ProgramError::Compile(source),
    }
}

fn check_imports(exports: &HashSet<String>, verified: &Verified) -> Result<(), ProgramError> {
    match verified.imports.iter().find(|name| !exports.contains(*name)) {
        None => Ok(()),
        Some(name) => Err(ProgramError::ForeignImport {
            module: abi::GUEST.into(),
            name: name.clone(),
            reason: "the standard library has no such function",
        }),
    }
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
