//! The server of `heddle dev`, as other commands find it that are started in the same directory: `.heddle/dev.json`, which only its
//! user can read, and which is there for as long as that server is.

use crate::Error;
use crate::directory::{is_inside, read_inside};
use crate::profile;
use crate::server::is_this_machine;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// From the directory's root.
const FILE: &str = ".heddle/dev.json";

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
    root.join(FILE)
}

/// Whether it can be where `heddle dev` serves, which is on this machine. Otherwise the file came with the directory, and what is sent
/// there is for somebody else.
fn is_here(url: &str) -> bool {
    url.starts_with("http://") && is_this_machine(url)
}

/// The server that runs for the directory at `root`. `None`: there is none.
///
/// # Errors
///
/// What is said of it can't be read, or it is not on this machine.
pub fn read(root: &Path) -> Result<Option<Running>, Error> {
    let Some(bytes) = read_inside(root, FILE)? else {
        return Ok(None);
    };
    let wrong = |message: String| Error::invalid(place(root), message);
    let running: Running = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    match is_here(&running.url) {
        true => Ok(Some(running)),
        false => Err(wrong(
            "the server that it names is not on this machine, so `heddle dev` has not written it: delete this file".to_owned(),
        )),
    }
}

/// Says where the server is.
///
/// # Errors
///
/// The file can't be written, or would be elsewhere.
pub fn write(root: &Path, running: &Running) -> Result<(), Error> {
    let path = place(root);
    let above = path.parent().unwrap_or(root);
    fs::create_dir_all(above).map_err(Error::file(above))?;
    if !is_inside(root, above) {
        return Err(Error::invalid(
            above,
            "this is a link that leads out of its directory",
        ));
    }
    profile::write(&path, &format!("{:#}\n", json!(running)))
}

/// Says that there is no server any more.
pub fn remove(root: &Path) {
    // Without the file it has been said already.
    let _ = fs::remove_file(place(root));
}
