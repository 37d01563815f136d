//! The server of `heddle dev`, as other commands find it that are started in the same directory: `.heddle/dev.json`, which only its
//! user can read, and which is there for as long as that server is.

use crate::Error;
use crate::profile;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A server with the directory's patterns.
#[derive(Serialize, Deserialize)]
pub struct Running {
    /// Its address.
    pub url: String,
    /// A key to its only workspace.
    pub key: String,
    /// The ids that patterns have there, by the names of their directories.
    pub patterns: BTreeMap<String, String>,
}

fn place(root: &Path) -> PathBuf {
    root.join(".heddle").join("dev.json")
}

/// The server that runs for the directory at `root`. `None`: there is none.
///
/// # Errors
///
/// What is said of it can't be read.
pub fn read(root: &Path) -> Result<Option<Running>, Error> {
    let path = place(root);
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| Error::invalid(&path, error.to_string())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file(&path)(error)),
    }
}

/// Says where the server is.
///
/// # Errors
///
/// The file can't be written.
pub fn write(root: &Path, running: &Running) -> Result<(), Error> {
    let path = place(root);
    let above = path.parent().unwrap_or(root);
    fs::create_dir_all(above).map_err(Error::file(above))?;
    profile::write(&path, &format!("{:#}\n", json!(running)))
}

/// Says that there is no server any more.
pub fn remove(root: &Path) {
    // Without the file it has been said already.
    let _ = fs::remove_file(place(root));
}
