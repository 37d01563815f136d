//! The data directory: its location, its file names, its permissions, and the lock that gives a server exclusive use of
//! the embedded database.

use super::failure::{Exit, Failure};
use heddle_model::clock::{monotonic, since};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The embedded database.
pub fn database(data_dir: &Path) -> PathBuf {
    data_dir.join("heddle.db")
}

/// Beginnings of the names of our files in the directory.
const OURS: [&str; 5] = ["heddle.db", "master-key", "jwt-secret", "serve.lock", "starts"];
/// Our directories in it.
const DIRECTORIES: [&str; 2] = ["cache", "files"];

/// Makes the directory, for its user only, unless it is there. What is there already and can be read by others, as older
/// versions made it, is kept from them.
pub fn make(data_dir: &Path) -> Result<(), Failure> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(data_dir);
    made.map_err(|error| {
        let message = format!("can't create the data directory {}: {error}", data_dir.display());
        Failure::new(Exit::File, "FILE", message)
    })?;
    if let Err(error) = keep_private(data_dir) {
        let dir = data_dir.display();
        tracing::warn!(%error, "Other users of this machine may be able to read {dir}: {error}. Run `chmod \
            -R go= {dir}`");
    }
    Ok(())
}

fn keep_private(data_dir: &Path) -> io::Result<()> {
    let mut has_strangers = false;
    for entry in fs::read_dir(data_dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if OURS.iter().any(|ours| name.starts_with(ours)) {
            // Not what a link leads to.
            if entry.file_type()?.is_file() {
                close_to_others(&entry.path(), 0o600)?;
            }
        } else if !DIRECTORIES.contains(&&*name) {
            has_strangers = true;
        }
    }
    if has_strangers {
        // A directory that others use as well is theirs to close.
        return Ok(());
    }
    close_to_others(data_dir, 0o700)
}

fn close_to_others(path: &Path, mode: u32) -> io::Result<()> {
    let found = path.metadata()?.permissions().mode();
    if found & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    let (path, found) = (path.display(), found & 0o777);
    tracing::info!("{path} was readable by other users (mode {found:o}): it is now private (mode {mode:o})");
    Ok(())
}

/// How long a lock may still be held by a server that was killed: by a process that it was about to start.
const LET_GO_TIME: Duration = Duration::from_secs(1);
/// How long is waited between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// Held for as long as a process has the embedded database to itself; it ends with the process, however that ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock lives as long as the file is open")] File);

impl Lock {
    /// Locks this data directory, which must exist.
    pub fn take(data_dir: &Path) -> Result<Self, Failure> {
        let path = data_dir.join("serve.lock");
        let failed = |error: io::Error| {
            let message = format!("can't take the lock {}: {error}", path.display());
            Failure::new(Exit::File, "FILE", message)
        };
        let mut file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let began = monotonic();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if since(began) < LET_GO_TIME => std::thread::sleep(LOOK),
                Err(TryLockError::WouldBlock) => return Err(held(data_dir, &path)),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        // For people only: whether it is held is not said by the content.
        let written = file
            .set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        match written {
            Ok(()) => Ok(Lock(file)),
            Err(error) => Err(failed(error)),
        }
    }
}

fn held(data_dir: &Path, path: &Path) -> Failure {
    let process = fs::read_to_string(path).unwrap_or_default();
    let process = match process.trim() {
        "" => String::new(),
        id => format!(" (process {id})"),
    };
    let message = format!(
        "another server{process} is using {}: stop it first, or let both use one PostgreSQL database \
         (database_url)",
        data_dir.display()
    );
    Failure::new(Exit::Failed, "IN_USE", message)
}
