//! The data directory as commands find it: where it is, what its files are called, and the lock by which a server has its
//! embedded database to itself.

use super::failure::{Exit, Failure};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The embedded database.
pub fn database(data_dir: &Path) -> PathBuf {
    data_dir.join("heddle.db")
}

/// Makes the directory, for its user only, unless it is there.
pub fn make(data_dir: &Path) -> Result<(), Failure> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(data_dir);
    made.map_err(|error| {
        let message = format!("the data directory {} can't be made: {error}", data_dir.display());
        Failure::new(Exit::File, "FILE", message)
    })
}

/// Held for as long as a process has the embedded database to itself; it ends with the process, however that ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock lives as long as the file is open")] File);

impl Lock {
    /// Of this data directory, which must be there.
    pub fn take(data_dir: &Path) -> Result<Self, Failure> {
        let path = data_dir.join("serve.lock");
        let failed = |error: io::Error| {
            let message = format!("the lock {} can't be taken: {error}", path.display());
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
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(data_dir, &path)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // For people only: whether it is held is not said by the content.
        let told = file
            .set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        match told {
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
        "another server{process} uses {}: stop it first, or let both use one PostgreSQL (database_url)",
        data_dir.display()
    );
    Failure::new(Exit::Failed, "IN_USE", message)
}
