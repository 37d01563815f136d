//! Machine code of heddle's own modules that was made when heddle was installed, so that no start has to.
//!
//! No key can vouch for these files as it does for those of the cache, since they are made before there is one, and for every
//! user. Their places do: the directory and the files in it have to belong to root, to the owner of the program's file or to the
//! user who executes it, and nobody else may be able to write to them. Whoever could put other code there could replace the
//! program as well, or act as the one who executes it. A SHA-256 beside each file finds what is damaged, not what is forged.

use super::code_file::{self, engine_id, stem};
use heddle_sandbox::{Code, Digest256, hex, sha256};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::geteuid;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use wasmtime::Engine;

/// How the names of files begin. Those of the cache don't, should both be in one directory.
const PREFIX: &str = "heddle-";
const CODE: &str = "cwasm";
/// As `sha256sum --check` reads it.
const SUM: &str = "sha256";
/// Longer than the contents of any such file.
const SUM_BYTES_MAX: u64 = 512;
const ROOT: u32 = 0;

/// Why machine code is not used that is there.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The user that something belongs to could have it changed.
    #[error(
        "{path} belongs to user {owner}, who is neither root, nor the owner of the program, nor the one who executes \
         it: run `chown root {path}`"
    )]
    Foreign {
        /// What belongs to them.
        path: String,
        /// The user.
        owner: u32,
    },
    /// Others can change it.
    #[error("others than its owner can write to {path}: run `chmod go-w {path}`")]
    Writable {
        /// What they can write to.
        path: String,
    },
    /// It can't be opened, or is a link.
    #[error("{path} can't be opened (symbolic links are not followed): {source}")]
    Unreadable {
        /// What can't be opened.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// It is not what was written.
    #[error("{path} is damaged: run `heddle precompile` again")]
    Damaged {
        /// The file.
        path: String,
    },
    /// The engine refuses it, or the system does not let it be executed.
    #[error("{path} can't be loaded: {source:#}")]
    Refused {
        /// The file.
        path: String,
        /// Why.
        source: wasmtime::Error,
    },
}

/// What is found, if it can be used. What can't costs nothing but the time to compile it, and is told.
pub fn usable<T>(found: Result<Option<T>, Unusable>) -> Option<T> {
    found.unwrap_or_else(|unusable| {
        tracing::warn!("Machine code that was made when heddle was installed is not used: {unusable}");
        None
    })
}

/// A directory of such code.
pub struct Precompiled {
    dir: File,
    path: PathBuf,
    engine: Engine,
    engine_id: String,
    /// Whether code is given in sealed files in memory, and not in those of the directory.
    is_sealed: bool,
}

impl Precompiled {
    /// Opens a directory; `None`: there is none.
    pub fn open(path: &Path, engine: &Engine, is_sealed: bool) -> Result<Option<Self>, Unusable> {
        let dir = open_trusted(CWD, path, path, OFlags::DIRECTORY)?;
        Ok(dir.map(|dir| Precompiled {
            dir,
            path: path.to_owned(),
            engine: engine.clone(),
            engine_id: engine_id(engine, &[]),
            is_sealed,
        }))
    }

    /// Code of the module with this SHA-256; `None`: there is none for this engine and processor.
    pub fn load(&self, module: &Digest256) -> Result<Option<Code>, Unusable> {
        let name = self.name(module, CODE);
        let (Some(file), Some(sum)) = (self.open_file(&name)?, self.open_file(&self.name(module, SUM))?)
        else {
            return Ok(None);
        };
        let path = || self.path.join(&name).display().to_string();
        let damaged = |_| Unusable::Damaged { path: path() };
        let mut expected = String::new();
        sum.take(SUM_BYTES_MAX)
            .read_to_string(&mut expected)
            .map_err(damaged)?;
        let mut digest = Sha256::new();
        let code = code_file::read(file, self.is_sealed, |piece| digest.update(piece)).map_err(damaged)?;
        if checked(&digest.finalize(), &name) != expected {
            return Err(Unusable::Damaged { path: path() });
        }
        let refused = |source| Unusable::Refused { path: path(), source };
        code.check_module(&self.engine).map_err(refused)?;
        Ok(Some(code))
    }

    fn open_file(&self, name: &str) -> Result<Option<File>, Unusable> {
        open_trusted(&self.dir, Path::new(name), &self.path.join(name), OFlags::empty())
    }

    /// Where the code of a module is.
    pub fn path_of(&self, module: &Digest256) -> PathBuf {
        self.path.join(self.name(module, CODE))
    }

    /// Writes the code of a module, for everybody to read.
    pub fn store(&self, module: &Digest256, code: &[u8]) -> io::Result<()> {
        let name = self.name(module, CODE);
        let put = |bytes: &[u8], name: &str| {
            code_file::write(&self.path, bytes, 0o644, |temporary| {
                fs::rename(temporary, self.path.join(name))
            })
        };
        put(code, &name)?;
        put(checked(&sha256(code), &name).as_bytes(), &self.name(module, SUM))
    }

    /// Removes the code of all modules but these, and for all other engines.
    pub fn keep_only(&self, modules: &[Digest256]) -> io::Result<()> {
        let kept: Vec<String> = modules
            .iter()
            .map(|module| stem(module, &self.engine_id))
            .collect();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name();
            let stem = name.to_str().and_then(stem_of);
            if stem.is_some_and(|stem| !kept.iter().any(|kept| kept == stem)) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    fn name(&self, module: &Digest256, ending: &str) -> String {
        format!("{PREFIX}{}.{ending}", stem(module, &self.engine_id))
    }
}

/// What says of a file that it is whole. Its name is in it, so that no file serves under another one.
fn checked(digest: &[u8], name: &str) -> String {
    format!("{}  {name}\n", hex(digest))
}

/// The stem of a name that a file of such a directory has, of whichever version.
fn stem_of(name: &str) -> Option<&str> {
    let (stem, ending) = name.strip_prefix(PREFIX)?.split_once('.')?;
    let (module, engine) = stem.split_once('-')?;
    let is_hex =
        |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_ours = [CODE, SUM].contains(&ending) && is_hex(module, 64) && is_hex(engine, 16);
    is_ours.then_some(stem)
}

/// Opens what nobody can have changed but those who can do anything here anyway; `None`: it is not there. It is looked at once it is open,
/// so that it is what is read. `path` is its whole name, for people.
fn open_trusted(dir: impl AsFd, name: &Path, path: &Path, kind: OFlags) -> Result<Option<File>, Unusable> {
    let shown = || path.display().to_string();
    let unreadable = |source| Unusable::Unreadable {
        path: shown(),
        source,
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | kind;
    let file = match openat(dir, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(unreadable(error.into())),
    };
    let metadata = file.metadata().map_err(unreadable)?;
    let owner = metadata.uid();
    if owner != ROOT && owner != geteuid().as_raw() && Some(owner) != owner_of_program() {
        return Err(Unusable::Foreign { path: shown(), owner });
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(Unusable::Writable { path: shown() });
    }
    Ok(Some(file))
}

/// Whose program this process executes.
fn owner_of_program() -> Option<u32> {
    let program = std::env::current_exe().ok()?;
    Some(fs::metadata(program).ok()?.uid())
}
