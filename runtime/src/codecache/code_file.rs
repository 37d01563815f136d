//! Files of machine code: their names, and how they are read and written. Knows nothing of who vouches for them.

use heddle_sandbox::{Code, Digest256, SealedFile, hex};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use wasmtime::Engine;

/// Of a file, that are read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Tells the code of engines apart: by what it was compiled for and with (the processor's features, all settings that it depends on, and
/// the version of wasmtime, which are its compatibility hash), and by `salt`.
pub(super) fn engine_id(engine: &Engine, salt: &[u8]) -> String {
    let mut hasher = Sha256Hasher(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.write(salt);
    hex(&hasher.0.finalize()[..8])
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

/// What the name of a file with the code of a module has in it: code for another engine is not even looked at.
pub(super) fn stem(module: &Digest256, engine_id: &str) -> String {
    format!("{}-{engine_id}", hex(module))
}

/// The code in a file; if it is for other processes, a copy in a file in memory that nobody can change. `look` sees all of it, piece by
/// piece: it is megabytes, which are mapped and need not be in memory besides.
pub(super) fn read(file: File, is_sealed: bool, mut look: impl FnMut(&[u8])) -> io::Result<Code> {
    let mut copy = match is_sealed {
        true => Some(SealedFile::new()?),
        false => None,
    };
    let mut bytes = 0;
    let mut reader = BufReader::with_capacity(PIECE_BYTES, &file);
    loop {
        let piece = reader.fill_buf()?;
        if piece.is_empty() {
            break;
        }
        look(piece);
        if let Some(copy) = &mut copy {
            copy.write(piece)?;
        }
        let length = piece.len();
        bytes += length;
        reader.consume(length);
    }
    match copy {
        Some(copy) => copy.seal(),
        None => Ok(Code::File { file, bytes }),
    }
}

/// Writes a file with these permissions under a name of its own in this folder; `put` gives it the name that others know, so
/// that nobody finds half of it.
pub(super) fn write(
    dir: &Path,
    bytes: &[u8],
    mode: u32,
    put: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let temporary = dir.join(format!(".{}-{number}.tmp", std::process::id()));
    // What an earlier process with our id left behind.
    let _ = fs::remove_file(&temporary);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&temporary)?;
    let written = file
        .write_all(bytes)
        // Whatever the process's mask is.
        .and_then(|()| file.set_permissions(fs::Permissions::from_mode(mode)))
        .and_then(|()| put(&temporary));
    // It is gone if it has another name now.
    let _ = fs::remove_file(&temporary);
    written
}
