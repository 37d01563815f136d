//! The location of a connection's SQLite file: in the tenant's own directory, below the operator's.
//!
//! Knows nothing of SQL.

use super::growth::{Growth, Reservation};
use crate::config::SqliteFiles;
use heddle_sandbox::{EffectCode, EffectError};
use serde::{Deserialize, Serialize};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

/// Which files may be opened.
pub(in super::super) struct Files {
    pub allowed: SqliteFiles,
    /// Bytes that those of one tenant may have together.
    pub tenant_bytes_max: u64,
    /// What is kept for those that are in use.
    pub growth: Growth,
}

/// A file that may be opened.
#[derive(Clone, Serialize, Deserialize)]
pub(in super::super) struct File {
    pub path: PathBuf,
    /// How large it may become; `None`: as large as it likes, with statements that may do anything.
    pub bytes_max: Option<u64>,
    /// Whether this is seen from a process that has its directory only.
    pub is_inside: bool,
    #[serde(skip)]
    allowed: Option<Allowed>,
}

/// What a file is allowed as.
#[derive(Clone)]
pub(in super::super) struct Allowed {
    /// The directory of its tenant.
    pub dir: PathBuf,
    /// Bytes that all files in it may have together.
    pub all_bytes_max: u64,
    file: PathBuf,
    growth: Growth,
}

impl File {
    /// The directory that a process for it has to have; `None`: it may be anywhere.
    pub fn allowed(&self) -> Option<&Allowed> {
        self.allowed.as_ref()
    }

    /// The file as large as it may become now, for as long as what is given with it is there. `None`: it may be as large as it likes.
    pub fn reserved(mut self) -> Result<(Self, Option<Reservation>), EffectError> {
        let reserved = self.allowed.as_ref().map(Allowed::reserve).transpose()?;
        if let Some(reserved) = &reserved {
            self.bytes_max = Some(reserved.bytes_max);
        }
        Ok((self, reserved))
    }
}

impl Allowed {
    /// The file, for a process whose directory this is, and for as long as what is given with it is there.
    pub fn inside(&self) -> Result<(File, Reservation), EffectError> {
        let reserved = self.reserve()?;
        let file = File {
            path: self.file.clone(),
            bytes_max: Some(reserved.bytes_max),
            is_inside: true,
            allowed: None,
        };
        Ok((file, reserved))
    }

    fn reserve(&self) -> Result<Reservation, EffectError> {
        let path = self.dir.join(&self.file);
        let reserved = self.growth.reserve(&self.dir, &path, self.all_bytes_max);
        reserved.map_err(|error| unusable(&error))
    }
}

/// The file that a connection names, if it may be opened.
pub(in super::super) fn permitted(
    files: &Files,
    tenant: Option<&str>,
    file: &str,
) -> Result<File, EffectError> {
    let root = match &files.allowed {
        SqliteFiles::None => {
            return Err(denied(
                "SQLite files are not enabled here: the operator must set a directory for them \
                 (`sqlite_dir`).",
            ));
        }
        SqliteFiles::Anywhere => {
            return Ok(File {
                path: PathBuf::from(file),
                bytes_max: None,
                is_inside: false,
                allowed: None,
            });
        }
        SqliteFiles::Below(root) => root,
    };
    if file.is_empty() || !is_plain(file) {
        return Err(denied(
            "A connection's `file` must be a path inside the operator's directory, without `..`.",
        ));
    }
    let dir = match tenant {
        None => root.clone(),
        Some(tenant) => own(root, tenant)?,
    };
    let path = dir.join(file);
    // A link may lead out of the directory, so what it really is decides.
    let real = |path: &Path| path.canonicalize().ok();
    let inside = match (real(&dir), real(&path).or_else(|| path.parent().and_then(real))) {
        (Some(dir), Some(path)) => path.starts_with(dir),
        _ => false,
    };
    if !inside {
        return Err(denied(
            "The connection's `file` is not inside the operator's directory, or its folder does not exist.",
        ));
    }
    if let Some(tenant) = tenant
        && !path.exists()
        && root.join(file).is_file()
    {
        let message = format!(
            "The file `{file}` is still where it was before each workspace had its own directory. If it \
             belongs to this workspace, ask the operator to move it to `{tenant}/{file}` in that directory; \
             see docs/operations.md."
        );
        return Err(denied(&message));
    }
    Ok(File {
        path,
        bytes_max: Some(files.tenant_bytes_max),
        is_inside: false,
        allowed: Some(Allowed {
            dir,
            all_bytes_max: files.tenant_bytes_max,
            file: PathBuf::from(file),
            growth: files.growth.clone(),
        }),
    })
}

fn is_plain(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_)))
}

fn denied(reason: &str) -> EffectError {
    EffectError::new(EffectCode::NotPermitted, reason.to_owned())
}

fn unusable(error: &io::Error) -> EffectError {
    let message = format!("Can't use the directory of this workspace's SQLite files: {error}.");
    EffectError::new(EffectCode::SqlFailed, message)
}

/// The tenant's directory, which is made when it is first needed.
fn own(root: &Path, tenant: &str) -> Result<PathBuf, EffectError> {
    let is_name = !tenant.is_empty()
        && tenant
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !is_name {
        return Err(EffectError::new(
            EffectCode::Internal,
            "A tenant's id is not a valid directory name.",
        ));
    }
    let dir = root.join(tenant);
    match DirBuilder::new().mode(0o700).create(&dir) {
        Ok(()) => Ok(dir),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(dir),
        Err(error) => Err(unusable(&error)),
    }
}
