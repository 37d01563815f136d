//! How much the files of a workspace's SQLite connections take.

use std::path::Path;

/// Files of a workspace that are counted at most.
const FILES_MAX: usize = 100_000;

/// Bytes of the files below a directory, up to a number of files.
pub fn bytes_below(dir: &Path) -> i64 {
    let (mut bytes, mut files, mut dirs) = (0_u64, 0, vec![dir.to_owned()]);
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = std::fs::read_dir(dir) else {
            continue;
        };
        for entry in entries.flatten() {
            files += 1;
            if files > FILES_MAX {
                return i64::try_from(bytes).unwrap_or(i64::MAX);
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => dirs.push(entry.path()),
                Ok(kind) if kind.is_file() => {
                    bytes = bytes.saturating_add(entry.metadata().map_or(0, |file| file.len()));
                }
                _ => {}
            }
        }
    }
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
