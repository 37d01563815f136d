//! API keys by server and workspace, in a file that only its user can read.

use crate::Error;
use crate::server::address;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The variable with a key that counts before all that are stored, for CI.
pub const KEY_VARIABLE: &str = "HEDDLE_API_KEY";

/// The variable with the address of the server that this key is for.
pub const URL_VARIABLE: &str = "HEDDLE_URL";

/// The file with the keys: `heddle/credentials.json` in `XDG_CONFIG_HOME`, or else in `~/.config`.
///
/// # Errors
///
/// Neither is set.
pub fn path() -> Result<PathBuf, Error> {
    let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".config")));
    let config =
        config.ok_or_else(|| Error::Usage("there is neither HOME nor XDG_CONFIG_HOME".to_owned()))?;
    Ok(config.join("heddle").join("credentials.json"))
}

/// The key for the server that a directory names. Anybody may have made the directory, as with one that was cloned: the key of the
/// variable goes only to a server that its user has named. For any other server, a key that is stored for it is used.
///
/// # Errors
///
/// There is none, or none for this server, or the file can't be read.
pub fn key_of_directory(file: &Path, server: &str, workspace: &str) -> Result<SecretString, Error> {
    if env::var_os(KEY_VARIABLE).is_none() || is_for(file, server)? {
        return key(file, server, workspace);
    }
    stored(file, server, workspace)?.ok_or_else(|| {
        Error::Usage(format!(
            "this directory belongs to {server}, and nothing says that the key in {KEY_VARIABLE} is for that server, so it was not \
             sent: if it is, set {URL_VARIABLE}={server} as well, or store it with `heddle login {server}`"
        ))
    })
}

/// Whether the key of the variable may go to a server that was not given on the command line. With the other variable, it is for that
/// server alone. Without, it may go where there is a key for it already, and anywhere in CI, where whoever can change what a directory
/// says can change the job that has the key.
fn is_for(file: &Path, server: &str) -> Result<bool, Error> {
    if let Some(named) = env::var(URL_VARIABLE).ok().filter(|named| !named.is_empty()) {
        let named = address(&named).map_err(|error| Error::Usage(format!("{URL_VARIABLE}: {error}")))?;
        return Ok(named == server);
    }
    let is_ci = env::var("CI").is_ok_and(|is_ci| matches!(is_ci.as_str(), "true" | "1"));
    Ok(is_ci || !workspaces(file, server)?.is_empty())
}

/// The key for a workspace of a server that the user has named.
///
/// # Errors
///
/// There is none, or the file can't be read.
pub fn key(file: &Path, server: &str, workspace: &str) -> Result<SecretString, Error> {
    if let Ok(key) = env::var(KEY_VARIABLE) {
        return Ok(key.into());
    }
    stored(file, server, workspace)?.ok_or_else(|| {
        Error::Usage(format!(
            "there is no key for workspace {workspace} of {server}: `heddle login {server}`, or set {KEY_VARIABLE} and \
             {URL_VARIABLE}={server}"
        ))
    })
}

/// The key that is stored for a workspace.
fn stored(file: &Path, server: &str, workspace: &str) -> Result<Option<SecretString>, Error> {
    let all = read(file)?;
    let key = all
        .get(server)
        .and_then(|workspaces| workspaces[workspace].as_str());
    Ok(key.map(SecretString::from))
}

/// The workspaces of a server that there are keys for.
///
/// # Errors
///
/// The file can't be read.
pub fn workspaces(file: &Path, server: &str) -> Result<Vec<String>, Error> {
    let all = read(file)?;
    let workspaces = all.get(server).and_then(Value::as_object);
    Ok(workspaces.map_or_else(Vec::new, |found| found.keys().cloned().collect()))
}

/// Stores a key, or with `None` forgets it.
///
/// # Errors
///
/// The file can't be read or written.
pub fn set(file: &Path, server: &str, workspace: &str, key: Option<&SecretString>) -> Result<(), Error> {
    let mut all = read(file)?;
    let workspaces = all.entry(server).or_insert_with(|| json!({}));
    if let Value::Object(workspaces) = workspaces {
        match key {
            Some(key) => {
                workspaces.insert(workspace.to_owned(), key.expose_secret().into());
            }
            None => {
                workspaces.shift_remove(workspace);
            }
        }
    }
    all.retain(|_, workspaces| workspaces.as_object().is_some_and(|found| !found.is_empty()));
    let above = file.parent().unwrap_or(file);
    fs::create_dir_all(above).map_err(Error::file(above))?;
    write(file, &format!("{:#}\n", Value::Object(all)))
}

fn read(file: &Path) -> Result<Map<String, Value>, Error> {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(Error::file(file)(error)),
    };
    serde_json::from_slice(&bytes).map_err(|error| Error::invalid(file, error.to_string()))
}

/// Writes a file that only its user can read.
pub(crate) fn write(file: &Path, text: &str) -> Result<(), Error> {
    let beside = file.with_extension("new");
    // Of a former attempt, or a link that came with a directory: it would be followed, and what is there keeps its mode.
    let _ = fs::remove_file(&beside);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options
        .open(&beside)
        .and_then(|mut out| out.write_all(text.as_bytes()));
    written.map_err(Error::file(&beside))?;
    fs::rename(&beside, file).map_err(Error::file(file))
}
