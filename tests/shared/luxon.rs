//! Luxon, for tests that compare with it: it is looked for in `luxon/` of the directory that cargo builds in, where `npm` puts
//! it once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LUXON: &str = "luxon@3.7.2";

/// Luxon's folder. The error says why it can't be had.
pub fn folder() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("luxon");
    let package = folder.join("node_modules/luxon");
    if package.join("package.json").exists() {
        return Ok(package);
    }
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let npm = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--prefix"])
        .arg(&folder)
        .arg(LUXON)
        .stdout(Stdio::null())
        .status();
    match npm {
        Ok(status) if status.success() => Ok(package),
        Ok(status) => Err(format!("npm could not fetch it: {status}")),
        Err(error) => Err(format!("npm does not start: {error}")),
    }
}
