//! Packages from npm that tests need, installed below target/ by their lock file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Installs what a folder below tests/ locks, with its script beside that: where they are, or why they are not.
pub fn install(folder: &str, script: &str) -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests")
        .join(folder);
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder.replace('/', "-"));
    fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
    // Tests may be processes of their own: one of them installs.
    let lock = File::create(dir.join("lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    let file = |name: &str| fs::read(source.join(name)).map_err(|error| format!("{name}: {error}"));
    let wanted = file("package-lock.json")?;
    for name in ["package.json", script] {
        let (path, text) = (dir.join(name), file(name)?);
        // Another test may be reading it, and would find half of it.
        if fs::read(&path).unwrap_or_default() != text {
            fs::write(path, text).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    let mark = dir.join("node_modules/installed.json");
    if fs::read(&mark).unwrap_or_default() == wanted {
        return Ok(dir);
    }
    fs::write(dir.join("package-lock.json"), &wanted).map_err(|error| error.to_string())?;
    let output = Command::new("npm")
        .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
        .current_dir(&dir)
        .output()
        .map_err(|error| format!("npm does not start: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    fs::write(mark, wanted).map_err(|error| error.to_string())?;
    Ok(dir)
}
