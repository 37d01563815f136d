//! What is installed beside the program.

use std::path::PathBuf;

/// The directory for machine code of heddle's own modules: `/usr/lib/heddle` for `/usr/bin/heddle`, also where that is started by a link
/// elsewhere.
pub fn code_dir() -> Option<PathBuf> {
    let program = std::env::current_exe().and_then(std::fs::canonicalize).ok()?;
    Some(program.parent()?.parent()?.join("lib/heddle"))
}
