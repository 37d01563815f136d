//! Files of a workspace's SQLite connections, in pieces. Rows are `{path, at, data}`: names below the workspace's directory,
//! where the piece begins in bytes, and its bytes in base64.
//!
//! **Names in an archive are somebody else's**: none leads out of the directory, and links are never followed, since nothing
//! but these files is in a directory that was made for them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_model::error::ServiceError;
use heddle_store::archive::Row;
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Name of the part.
pub(super) const FILES: &str = "files";
const PIECE_BYTES: usize = 512 << 10;
/// Directories below each other.
const DEPTH_MAX: usize = 8;
const NAME_BYTES_MAX: usize = 255;

/// Files that are still to be read, the next one last.
#[derive(Debug, Default)]
pub(super) struct Left {
    dir: PathBuf,
    files: Vec<Vec<String>>,
    at: u64,
}

impl Left {
    /// All in this directory, which need not be there.
    pub fn of(dir: Option<PathBuf>) -> io::Result<Self> {
        let mut left = Left {
            dir: dir.unwrap_or_default(),
            files: Vec::new(),
            at: 0,
        };
        if !left.dir.as_os_str().is_empty() {
            let mut found = Vec::new();
            walk(&left.dir, &mut Vec::new(), &mut found)?;
            found.sort_unstable_by(|one, other| other.cmp(one));
            left.files = found;
        }
        Ok(left)
    }

    /// The next piece; `None`: there are no more.
    pub fn next(&mut self) -> io::Result<Option<String>> {
        let Some(names) = self.files.last() else {
            return Ok(None);
        };
        let mut path = self.dir.clone();
        path.extend(names);
        let mut file = fs::File::open(&path)?;
        file.seek(SeekFrom::Start(self.at))?;
        let mut piece = Vec::new();
        file.take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
        let row = json!({"path": names, "at": self.at, "data": STANDARD.encode(&piece)});
        if piece.len() < PIECE_BYTES {
            self.files.pop();
            self.at = 0;
        } else {
            self.at += piece.len() as u64;
        }
        Ok(Some(row.to_string()))
    }
}

fn walk(dir: &Path, names: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let (kind, name) = (entry.file_type()?, entry.file_name());
        let Some(name) = name.to_str().filter(|name| is_name(name)) else {
            continue;
        };
        names.push(name.to_owned());
        if kind.is_dir() && names.len() < DEPTH_MAX {
            walk(&entry.path(), names, found)?;
        } else if kind.is_file() && !name.ends_with("-shm") {
            // What SQLite keeps in shared memory is made anew.
            found.push(names.clone());
        }
        names.pop();
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && !matches!(name, "." | "..")
        && !name.contains(['/', '\\', '\0'])
}

/// A piece of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Names of directories, and of the file.
    pub names: Vec<&'a str>,
    /// Where it begins, in bytes.
    pub at: u64,
    pub data: Vec<u8>,
}

fn wrong(why: &str) -> ServiceError {
    ServiceError::field("", format!("A file of the archive {why}."))
}

/// The piece that a row is.
///
/// # Errors
///
/// [`heddle_model::error::Code::Validation`] if it is none, or its names lead out of the directory.
pub fn piece(row: &Row) -> Result<Piece<'_>, ServiceError> {
    let names: Option<Vec<&str>> = row
        .get("path")
        .and_then(Value::as_array)
        .and_then(|names| names.iter().map(Value::as_str).collect());
    let names = names
        .filter(|names| (1..=DEPTH_MAX).contains(&names.len()) && names.iter().all(|name| is_name(name)));
    let names = names.ok_or_else(|| wrong("has a name that leads elsewhere"))?;
    let at = row.get("at").and_then(Value::as_u64);
    let data = row.get("data").and_then(Value::as_str);
    let data = data.and_then(|data| STANDARD.decode(data).ok());
    match (at, data) {
        (Some(at), Some(data)) => Ok(Piece { names, at, data }),
        _ => Err(wrong("has a piece that can't be read")),
    }
}

/// Writes pieces below a directory; what is there already is written once more.
pub(super) fn write(dir: &Path, rows: &[Row]) -> Result<(), ServiceError> {
    let failed = |error: io::Error| match error.kind() {
        // No directory has both, so that no server has written such an archive.
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory | ErrorKind::IsADirectory => {
            wrong("has the name of a directory of another file")
        }
        _ => ServiceError::internal(
            anyhow::Error::new(error).context("a file of an imported workspace can't be written"),
        ),
    };
    for row in rows {
        let Piece { names, at, data } = piece(row)?;
        let mut path = dir.to_owned();
        path.extend(names);
        let parent = path.parent().unwrap_or(dir);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)
            .map_err(failed)?;
        let mut options = OpenOptions::new();
        let mut file = options
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        // One piece after the other: nothing is reserved that was not sent.
        if at > file.metadata().map_err(failed)?.len() {
            return Err(wrong("has a piece that does not follow the one before"));
        }
        file.seek(SeekFrom::Start(at)).map_err(failed)?;
        file.write_all(&data).map_err(failed)?;
        file.sync_all().map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_model::Code;

    fn row(value: Value) -> Vec<Row> {
        vec![value.as_object().unwrap().clone()]
    }

    #[test]
    fn files_are_as_they_were() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(from.path().join("deep")).unwrap();
        let large: Vec<u8> = (0..2 * PIECE_BYTES + 5).map(|n| (n % 251) as u8).collect();
        fs::write(from.path().join("deep").join("large.db"), &large).unwrap();
        fs::write(from.path().join("empty"), "").unwrap();
        fs::write(from.path().join("large.db-shm"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.path().join("link")).unwrap();
        let mut left = Left::of(Some(from.path().to_owned())).unwrap();
        while let Some(piece) = left.next().unwrap() {
            let piece = row(serde_json::from_str(&piece).unwrap());
            // Twice is as good as once.
            write(to.path(), &piece).unwrap();
            write(to.path(), &piece).unwrap();
        }
        assert_eq!(fs::read(to.path().join("deep").join("large.db")).unwrap(), large);
        assert_eq!(fs::read(to.path().join("empty")).unwrap(), b"");
        let mut names: Vec<_> = fs::read_dir(to.path())
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["deep", "empty"]);
    }

    #[test]
    fn nothing_is_written_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            json!([]),
            json!([".."]),
            json!(["a", ".."]),
            json!(["a/b"]),
            json!(["/etc"]),
            json!(["."]),
            json!([""]),
            json!(["a", "a", "a", "a", "a", "a", "a", "a", "a"]),
            json!("a"),
            json!(["a\0"]),
            json!(["a".repeat(256)]),
        ] {
            let refused = write(dir.path(), &row(json!({"path": path, "at": 0, "data": ""})));
            assert!(refused.is_err(), "{path}");
        }
        for paths in [
            [json!(["a"]), json!(["a", "b"])],
            [json!(["c"]), json!(["c", "d", "e"])],
            [json!(["f", "g"]), json!(["f"])],
        ] {
            let [first, second] = paths.map(|path| row(json!({"path": path, "at": 0, "data": ""})));
            write(dir.path(), &first).unwrap();
            let refused = write(dir.path(), &second).unwrap_err();
            assert_eq!(refused.code(), Code::Validation, "{second:?}");
        }
        let ahead = row(json!({"path": ["a"], "at": 5, "data": ""}));
        assert!(write(dir.path(), &ahead).is_err());
    }
}
