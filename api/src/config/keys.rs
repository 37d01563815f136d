//! The two keys that every service needs. With the embedded database they are generated at the first start and stored
//! beside it, readable only by its user; with PostgreSQL every server must be given the same keys.

use super::sources::{SettingError, Values};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_store::vault::MasterKey;
use secrecy::SecretString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Minimum size of the JWT secret in bytes, as HS256 requires (RFC 7518, section 3.2).
const JWT_SECRET_BYTES_MIN: usize = 32;

/// Their names in the settings.
pub const NAMES: [&str; 2] = ["master_key", "jwt_secret"];

/// The keys in use.
pub struct Keys {
    /// Wraps the data keys.
    pub master_key: MasterKey,
    /// The previous master key, under which data keys may still be wrapped.
    pub master_key_previous: Option<MasterKey>,
    /// Signs tokens.
    pub jwt_secret: SecretString,
    /// Key files that were created at this start.
    pub made: Vec<PathBuf>,
}

impl Keys {
    /// Loads the keys from the settings, or from files in the data directory, which are created if the directory has no
    /// data yet.
    pub fn load(values: &Values, data_dir: &Path, is_shared: bool) -> Result<Self, SettingError> {
        let has_data = data_dir.join("heddle.db").exists();
        let mut made = Vec::new();
        let mut text = |name: &str| -> Result<String, SettingError> {
            match values.text(name) {
                Some(text) => Ok(text.to_owned()),
                None if is_shared => Err(values.error(
                    name,
                    "is required with PostgreSQL, with the same value on every server: make one with \
                     `openssl rand -base64 32`",
                )),
                None => kept(data_dir, name, has_data, &mut made),
            }
        };
        let key = |name: &str, text: &str| {
            decode(text).map(MasterKey::from).ok_or_else(|| {
                values.error(
                    name,
                    "must be 32 bytes in base64: make one with `openssl rand -base64 32`",
                )
            })
        };
        let master_key = key("master_key", &text("master_key")?)?;
        let previous = values.text("master_key_previous");
        let master_key_previous = previous
            .map(|text| key("master_key_previous", text))
            .transpose()?;
        let jwt_secret = text("jwt_secret")?;
        if jwt_secret.len() < JWT_SECRET_BYTES_MIN {
            return Err(values.error("jwt_secret", "must be at least 32 bytes long"));
        }
        Ok(Keys {
            master_key,
            master_key_previous,
            jwt_secret: jwt_secret.into(),
            made,
        })
    }
}

/// A master key from its text.
pub fn decode(text: &str) -> Option<[u8; 32]> {
    STANDARD.decode(text.trim()).ok()?.try_into().ok()
}

/// A master key as text.
pub fn encode(master_key: &[u8; 32]) -> String {
    STANDARD.encode(master_key)
}

/// File of a key in the data directory.
pub fn path(data_dir: &Path, name: &str) -> PathBuf {
    data_dir.join(name.replace('_', "-"))
}

fn kept(
    data_dir: &Path,
    name: &str,
    has_data: bool,
    made: &mut Vec<PathBuf>,
) -> Result<String, SettingError> {
    let path = path(data_dir, name);
    let place = path.display().to_string();
    match fs::read_to_string(&path) {
        Ok(text) => return Ok(text.trim().to_owned()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(SettingError::new(place, format!("can't be read: {error}")));
        }
        Err(_) if has_data && name == "master_key" => {
            let advice = "is missing, but the database beside it is encrypted with that key: restore the \
                file, or set HEDDLE_MASTER_KEY to its contents";
            return Err(SettingError::new(place, advice));
        }
        Err(_) => {}
    }
    let text = encode(&heddle_model::entropy::random());
    write(&path, &text).map_err(|error| SettingError::new(place, format!("can't be written: {error}")))?;
    made.push(path);
    Ok(text)
}

/// Writes a key file atomically, readable only by its user.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    if let Some(dir) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let unfinished = path.with_extension("new");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&unfinished)?;
    writeln!(file, "{text}")?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}
