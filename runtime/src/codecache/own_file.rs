//! Files that no other user can have written, and none can read.

use rustix::process::geteuid;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Opens a file of this user that nobody else can have written.
pub(super) fn open_own(path: &Path) -> Option<fs::File> {
    let file = fs::File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let is_own = metadata.mode() & 0o077 == 0 && metadata.uid() == geteuid().as_raw();
    (is_own && metadata.is_file()).then_some(file)
}

/// Writes a file under a name of its own in this folder; `put` gives it the name that others know, so that nobody finds
/// half of it.
pub(super) fn write_own(
    dir: &Path,
    bytes: &[u8],
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
        .mode(0o600)
        .open(&temporary)?;
    let written = file.write_all(bytes).and_then(|()| put(&temporary));
    // It is gone if it has another name now.
    let _ = fs::remove_file(&temporary);
    written
}
