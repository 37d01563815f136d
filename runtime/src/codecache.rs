//! Machine code on disk and in memory.
//!
//! Deserialising machine code means trusting it completely. A file is therefore only used if its directory can't be
//! written by other users, if it belongs to this user, and if its MAC over content and name is valid under a secret
//! key. Several processes may share a directory: files are written under a temporary name and renamed. A damaged file
//! is ignored and compiled again.

mod key;
mod own_file;

use crate::digest::{Digest256, hex};
use hmac::{Hmac, Mac};
use own_file::open_own;
use rustix::process::geteuid;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use wasmtime::component::Component;
use wasmtime::{Engine, Module};

pub use key::CacheKey;

/// Of a file, that are read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Directory of serialised modules.
pub struct DiskCache {
    dir: PathBuf,
    /// Part of every name: code of another wasmtime, configuration or key is not even looked at.
    engine_id: String,
    key: CacheKey,
}

impl DiskCache {
    /// Opens `dir`, creating it for this user only. Without a key it has one of its own, in a file within it.
    pub fn open(dir: &Path, engine: &Engine, key: Option<&CacheKey>) -> io::Result<Self> {
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
        let mut hasher = Sha256Hasher(Sha256::new());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.write(wasmtime_version().as_bytes());
        hasher.write(&key.id());
        let engine_id = hex(&hasher.0.finalize()[..8]);
        Ok(DiskCache {
            dir: dir.to_owned(),
            engine_id,
            key,
        })
    }

    /// The module kept under `key`, if its file is whole.
    pub fn load(&self, engine: &Engine, key: &Digest256) -> Option<(Module, usize)> {
        let (file, expected) = self.open_kept(key)?;
        // Read piece by piece: it is megabytes, which are mapped and need not be in memory besides.
        let mut mac = self.mac(key);
        let mut bytes = 0;
        let mut reader = BufReader::with_capacity(PIECE_BYTES, &file);
        loop {
            let piece = reader.fill_buf().ok()?;
            if piece.is_empty() {
                break;
            }
            mac.update(piece);
            let length = piece.len();
            bytes += length;
            reader.consume(length);
        }
        mac.verify_slice(&expected).ok()?;
        #[expect(unsafe_code, reason = "loading machine code that this program wrote")]
        // SAFETY: the file was written by `store` from wasmtime's own output, since its content has a MAC of a key that
        // only this program has; and it can't have changed since it was read, unless by this user, whose own it is.
        let module = unsafe { Module::deserialize_open_file(engine, file) }.ok()?;
        Some((module, bytes))
    }

    /// The component kept under `key`, likewise.
    pub fn load_component(&self, engine: &Engine, key: &Digest256) -> Option<(Component, usize)> {
        let (mut file, expected) = self.open_kept(key)?;
        let mut code = Vec::new();
        file.read_to_end(&mut code).ok()?;
        self.mac(key).chain_update(&code).verify_slice(&expected).ok()?;
        #[expect(unsafe_code, reason = "loading machine code that this program wrote")]
        // SAFETY: as in `load`.
        let component = unsafe { Component::deserialize(engine, &code) }.ok()?;
        Some((component, code.len()))
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
        self.write(&path, code)?;
        let mac = self.mac(key).chain_update(code).finalize().into_bytes();
        self.write(&path.with_extension("mac"), &mac)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = self.dir.join(format!(".{}-{number}.tmp", std::process::id()));
        // What an earlier process with our id left behind.
        let _ = fs::remove_file(&temporary);
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(bytes)?;
        drop(file);
        fs::rename(&temporary, path).inspect_err(|_| {
            let _ = fs::remove_file(&temporary);
        })
    }

    fn path(&self, key: &Digest256) -> PathBuf {
        self.dir.join(format!("{}-{}.cwasm", hex(key), self.engine_id))
    }
}

fn wasmtime_version() -> &'static str {
    // The compatibility hash does not hold wasmtime's own version.
    "48"
}

struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

/// The programs used last, up to a number of bytes of machine code.
pub struct Recent<K, V> {
    entries: HashMap<K, (V, usize, u64)>,
    bytes: usize,
    bytes_max: usize,
    clock: u64,
}

impl<K: Clone + Eq + Hash, V: Clone> Recent<K, V> {
    pub fn new(bytes_max: usize) -> Self {
        Recent {
            entries: HashMap::new(),
            bytes: 0,
            bytes_max,
            clock: 0,
        }
    }

    pub fn get(&mut self, key: &K) -> Option<V> {
        self.clock += 1;
        let clock = self.clock;
        self.entries.get_mut(key).map(|(value, _, used)| {
            *used = clock;
            value.clone()
        })
    }

    pub fn insert(&mut self, key: K, value: V, bytes: usize) {
        self.clock += 1;
        if let Some((_, old, _)) = self.entries.insert(key, (value, bytes, self.clock)) {
            self.bytes -= old;
        }
        self.bytes += bytes;
        while self.bytes > self.bytes_max {
            let oldest = self.entries.iter().min_by_key(|(_, (_, _, used))| *used);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            if let Some((_, bytes, _)) = self.entries.remove(&key) {
                self.bytes -= bytes;
            }
        }
    }
}
