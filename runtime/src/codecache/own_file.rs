//! Files that no other user can have written, and none can read.

use super::code_file;
use rustix::process::geteuid;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Opens a file of this user that nobody else can have written.
pub(super) fn open_own(path: &Path) -> Option<fs::File> {
    let file = fs::File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let is_own = metadata.mode() & 0o077 == 0 && metadata.uid() == geteuid().as_raw();
    (is_own && metadata.is_file()).then_some(file)
}

/// Writes such a file; `put` gives it its name.
pub(super) fn write_own(
    dir: &Path,
    bytes: &[u8],
    put: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    code_file::write(dir, bytes, 0o600, put)
}
