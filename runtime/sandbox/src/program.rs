//! Programs as they are executed: machine code, linked with the standard library.

use crate::code::Code;
use crate::component::Ready;
use crate::digest::Digest256;
use crate::executor::Habit;
use heddle_contract::manifest::Manifest;
use std::ops::Deref;
use std::sync::Arc;
use wasmtime::{Module, ModuleExport};

/// A program in machine code. Whoever makes one has verified the module that it was compiled from.
#[derive(Debug)]
pub struct ProgramCode {
    /// What the module says of itself.
    pub manifest: Arc<Manifest>,
    /// Names of what it imports from the standard library, in order.
    pub imports: Vec<String>,
    /// Its machine code.
    pub module: Code,
    /// As the manifest lists them.
    pub components: Vec<ComponentCode>,
}

/// A component of a program.
#[derive(Debug)]
pub struct ComponentCode {
    /// Its machine code.
    pub source: ComponentSource,
    /// SHA-256 of the component.
    pub digest: Digest256,
    /// Whether it may send requests.
    pub may_send: bool,
}

/// Where a component comes from.
#[derive(Debug)]
pub enum ComponentSource {
    /// From machine code.
    Code(Code),
    /// It is loaded already.
    Loaded(LoadedComponent),
}

/// A component that is loaded. Cheap to clone.
#[derive(Clone)]
pub struct LoadedComponent(pub(crate) Arc<Ready>);

impl std::fmt::Debug for LoadedComponent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LoadedComponent")
    }
}

/// Why a program can't be linked.
#[derive(Debug, thiserror::Error)]
#[error("{error:#}")]
pub struct LinkError {
    /// Which component is the reason, if one is.
    pub component: Option<usize>,
    /// What is wrong.
    pub error: wasmtime::Error,
}

/// A program that can be executed. Cheap to clone.
#[derive(Clone)]
pub struct Program(pub(crate) Arc<Linked>);

impl Deref for Program {
    type Target = Linked;

    fn deref(&self) -> &Linked {
        &self.0
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Program")
    }
}

/// What a program is made of.
pub struct Linked {
    pub(crate) module: Module,
    pub(crate) manifest: Arc<Manifest>,
    /// For each import in order: the standard library's export.
    pub(crate) imports: Vec<ModuleExport>,
    /// As the manifest lists them.
    pub(crate) components: Vec<Arc<Ready>>,
    pub(crate) habit: Habit,
}
