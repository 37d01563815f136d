//! Compiles heddle's own modules before anybody needs them: for those who install heddle.

use crate::codecache::{Precompiled, Unusable};
use heddle_guest::{GUEST_SHA256, GUEST_WASM};
use heddle_javascript::ENGINE_WASM;
use heddle_sandbox::{Digest256, Engines, Form, Tier, sha256};
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What heddle runs besides patterns.
struct Own {
    name: &'static str,
    wasm: &'static [u8],
    digest: Digest256,
}

/// All modules of our own that a runtime needs code of.
fn all() -> [Own; 2] {
    [
        Own {
            name: "the standard nodes",
            wasm: GUEST_WASM,
            digest: GUEST_SHA256,
        },
        Own {
            name: "the JavaScript engine",
            wasm: ENGINE_WASM,
            digest: sha256(ENGINE_WASM),
        },
    ]
}

/// A module of heddle's own as machine code.
#[derive(Debug)]
pub struct PrecompiledModule {
    /// What it is, for people.
    pub name: &'static str,
    /// Its file.
    pub path: PathBuf,
    /// Size of the code.
    pub bytes: usize,
    /// Whether it was there already.
    pub was_there: bool,
}

/// Why heddle's own modules were not compiled.
#[derive(Debug, thiserror::Error)]
pub enum PrecompileError {
    /// The directory or its files can't be written.
    #[error("can't write to {path}: {source}")]
    Write {
        /// The directory.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Nobody would use what is in the directory.
    #[error("machine code in this directory would not be used: {0}")]
    Unusable(#[from] Unusable),
    /// wasmtime refused its settings, or the modules.
    #[error("can't compile heddle's own modules: {0:#}")]
    Engine(#[source] wasmtime::Error),
}

/// Has a directory hold the machine code of all of heddle's own modules for this machine's processor, and removes that of other versions.
/// A [`crate::Runtime`] finds it as [`crate::RuntimeConfig::precompiled_dir`].
pub fn precompile(dir: &Path) -> Result<Vec<PrecompiledModule>, PrecompileError> {
    let unwritten = |source| PrecompileError::Write {
        path: dir.display().to_string(),
        source,
    };
    make(dir).map_err(unwritten)?;
    let engines = Engines::compilers().map_err(PrecompileError::Engine)?;
    let place = Precompiled::open(dir, &engines.main, false)?;
    let place = place.ok_or_else(|| unwritten(io::ErrorKind::NotFound.into()))?;
    let own = all();
    let mut made = Vec::with_capacity(own.len());
    for module in &own {
        // What is there and of no use is written again.
        let there = place.load(&module.digest).ok().flatten();
        let bytes = match &there {
            Some(code) => code.bytes(),
            None => {
                let code = engines.compile(module.wasm, Form::Module(Tier::Optimized));
                let code = code.map_err(PrecompileError::Engine)?;
                place.store(&module.digest, &code).map_err(unwritten)?;
                code.len()
            }
        };
        made.push(PrecompiledModule {
            name: module.name,
            path: place.path_of(&module.digest),
            bytes,
            was_there: there.is_some(),
        });
    }
    place
        .keep_only(&own.map(|module| module.digest))
        .map_err(unwritten)?;
    Ok(made)
}

/// Whether a directory holds what [`precompile`] writes, and it can be used.
pub fn is_precompiled(dir: &Path) -> Result<bool, PrecompileError> {
    let engines = Engines::compilers().map_err(PrecompileError::Engine)?;
    let Some(place) = Precompiled::open(dir, &engines.main, false)? else {
        return Ok(false);
    };
    for module in all() {
        if place.load(&module.digest)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes the directory, for everybody to read whatever the process's mask is.
fn make(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o755).create(dir)?;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755))
}
