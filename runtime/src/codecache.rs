//! Machine code on disk.
//!
//! Deserialising machine code means trusting it completely. A file of the cache is therefore only used if its directory can't be
//! written by other users, if it belongs to this user, and if its MAC over content and name is valid under a secret
//! key. Several processes may share a directory: files are written under a temporary name and renamed. A damaged file
//! is ignored and compiled again.
//!
//! Machine code that was made when heddle was installed is in `precompiled`, which says why that is trusted.

mod code_file;
mod key;
mod own_file;
mod precompiled;

use code_file::{engine_id, stem};
use heddle_sandbox::{Code, Digest256};
use hmac::{Hmac, Mac};
use own_file::{open_own, write_own};
use rustix::process::geteuid;
use sha2::Sha256;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use wasmtime::Engine;

pub use key::CacheKey;
pub use precompiled::Unusable;
pub(crate) use precompiled::{Precompiled, usable};

/// Directory of serialised modules.
pub struct DiskCache {
    dir: PathBuf,
    /// Part of every name: code of another wasmtime, configuration or key is not even looked at.
    engine_id: String,
    key: CacheKey,
    /// Whether code is given in sealed files in memory, and not in the cache's own.
    is_sealed: bool,
}

impl DiskCache {
    /// Opens `dir`, creating it for this user only. Without a key it has one of its own, in a file within it.
    pub fn open(dir: &Path, engine: &Engine, key: Option<&CacheKey>, is_sealed: bool) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let metadata = fs::metadata(dir)?;
        if metadata.uid() != geteuid().as_raw() {
            let message = format!(
                "{} belongs to another user, but machine code is loaded from it: choose a directory of your \
                 own",
                dir.display()
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        if metadata.mode() & 0o022 != 0 {
            let message = format!(
                "other users can write to {}, but machine code is loaded from it: run `chmod 700` on it, or \
                 choose another directory",
                dir.display()
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        let key = match key {
            Some(key) => key.clone(),
            None => CacheKey::of_dir(dir)?,
        };
        Ok(DiskCache {
            dir: dir.to_owned(),
            engine_id: engine_id(engine, &key.id()),
            key,
            is_sealed,
        })
    }

    /// The code kept under `key`, if its file is whole.
    pub fn load(&self, key: &Digest256) -> Option<Code> {
        let (file, expected) = self.open_kept(key)?;
        let mut mac = self.mac(key);
        let code = code_file::read(file, self.is_sealed, |piece| mac.update(piece)).ok()?;
        mac.verify_slice(&expected).ok()?;
        Some(code)
    }

    /// The file under `key`, and the MAC that it was written with.
    fn open_kept(&self, key: &Digest256) -> Option<(fs::File, Vec<u8>)> {
        let path = self.path(key);
        let mut expected = Vec::new();
        let mac = open_own(&path.with_extension("mac"))?;
        mac.take(64).read_to_end(&mut expected).ok()?;
        Some((open_own(&path)?, expected))
    }

    /// A MAC that has the name already, so that no file serves under another one.
    fn mac(&self, key: &Digest256) -> Hmac<Sha256> {
        self.key.mac().chain_update(&self.engine_id).chain_update(key)
    }

    /// Keeps `code` under `key`. A failure costs only the next start's time.
    pub fn store(&self, key: &Digest256, code: &[u8]) -> io::Result<()> {
        let path = self.path(key);
        write_own(&self.dir, code, |temporary| fs::rename(temporary, &path))?;
        let mac = self.mac(key).chain_update(code).finalize().into_bytes();
        write_own(&self.dir, &mac, |temporary| {
            fs::rename(temporary, path.with_extension("mac"))
        })
    }

    fn path(&self, key: &Digest256) -> PathBuf {
        self.dir.join(format!("{}.cwasm", stem(key, &self.engine_id)))
    }
}
