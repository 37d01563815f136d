//! Opens files that no other user can have written.

use rustix::process::geteuid;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Opens a file of this user that nobody else can have written.
pub(super) fn open_own(path: &Path) -> Option<fs::File> {
    let file = fs::File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let is_own = metadata.mode() & 0o077 == 0 && metadata.uid() == geteuid().as_raw();
    (is_own && metadata.is_file()).then_some(file)
}
