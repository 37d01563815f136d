//! Why a module is rejected.

use crate::complexity::TooComplex;
use wasmparser::BinaryReaderError;

/// Why a module is rejected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// Not a valid core module.
    #[error("this is not a valid WebAssembly module: {0}")]
    NotWasm(#[from] NotWasm),
    /// An import that the standard library does not give, or with another type.
    #[error("the module imports `{name}` from `{module}`, which patterns may not do: {reason}")]
    ForeignImport {
        /// Module name of the import.
        module: String,
        /// Its own name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// It would run code when it is instantiated.
    #[error("the module has a start function; a pattern only runs when its `run` is called")]
    StartFunction,
    /// No exports, or several.
    #[error("the module has {0} exports; a pattern has one, `run`")]
    Exports(usize),
    /// An export that is not a pattern's.
    #[error("the module exports `{name}`; a pattern has one export, `run`, a function of (i32) -> ()")]
    OtherExport { name: String },
    /// Memory or table of its own.
    #[error("the module defines its own {0}; a pattern uses the standard library's")]
    OwnResource(&'static str),
    /// The `heddle` section is missing or wrong.
    #[error("the module's `heddle` section can't be used: {0}. Was it compiled by heddle?")]
    BadManifest(#[from] ManifestError),
    /// Compiled for another version of the standard library.
    #[error(
        "the module was compiled for ABI version {found}, this heddle runs version {expected}: compile it again"
    )]
    AbiVersion {
        /// In the module.
        found: u32,
        /// Here.
        expected: u32,
    },
    /// A count or size over its limit.
    #[error("the module has {found} {what}; at most {limit} are allowed")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: usize,
        /// How much may be.
        limit: usize,
    },
    /// A component that can't be a node, or not with the rights that the manifest gives it.
    #[error("the component of `{name}` can't be used: {source}")]
    Component {
        /// Its definition.
        name: String,
        /// What is wrong with it.
        source: CompileError,
    },
    /// Compiling it would be too much work.
    #[error("the module is too complex: {0}")]
    TooComplex(#[from] TooComplex),
    /// Compiling it took more than it may, by the account of whoever had it compiled.
    #[error("{0}")]
    TooCostly(String),
    /// The compiler gave up, or what it gave can't be used.
    #[error("the module could not be compiled: {0}")]
    Compile(#[from] CompileError),
}

/// Why bytes are not a WebAssembly module.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotWasm {
    /// The first bytes say that it is something else.
    #[error("it has no module header")]
    Beginning,
    /// A type of something that patterns don't have.
    #[error("a type is not a function type")]
    NoFunctionType,
    /// It can't be read, or does not follow the rules.
    #[error("{0}")]
    Malformed(#[from] BinaryReaderError),
}

/// What is wrong with what a module says of itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// There is no such section.
    #[error("it is missing")]
    Missing,
    /// There is more than one.
    #[error("there are two")]
    Twice,
    /// It is not JSON, or has other fields than a manifest.
    #[error("{0}")]
    Unreadable(#[from] serde_json::Error),
    /// A trigger's number is not that of a node.
    #[error("trigger `{node_id}` is node {index}, which does not exist")]
    NoTrigger {
        node_id: String,
        /// Its number.
        index: u32,
    },
    /// As many components are not in the module.
    #[error("it lists {listed} components, but the module has {found}")]
    ComponentCount {
        /// How many the manifest has.
        listed: usize,
        /// In the module.
        found: usize,
    },
    /// A component's digest is another one.
    #[error("the component of `{name}` is a different one")]
    OtherComponent {
        /// Its definition.
        name: String,
    },
}

/// Why there is no machine code for a module or component, or none that can be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// What wasmtime says.
    #[error("{0:#}")]
    Engine(#[from] wasmtime::Error),
    /// What a worker's compiler has said, whose error came as text.
    #[error("{0}")]
    InWorker(String),
    /// It would be too much work.
    #[error("{0}")]
    TooComplex(#[from] TooComplex),
    /// Fewer pieces of code came than were asked for.
    #[error("code is missing")]
    CodeMissing,
    /// A worker's request can't be read.
    #[error("the code to compile has an unknown format")]
    UnknownForm,
}
