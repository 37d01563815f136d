//! How large files of tenants may become while statements on them are under way. Each file is kept room to grow in, so that statements
//! on several files of one tenant don't fill the same room at the same time. Knows nothing of SQL.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files of a tenant that are looked at; nobody needs as many.
const FILES_MAX: usize = 1_000;
/// Of the room that is left, a file gets half while no other one is in use.
const PART_ALONE: u64 = 2;
/// Beside others it gets an eighth, so that there is some for as many as can be in use at a time.
const PART_BESIDE: u64 = 8;
/// What a file gets at least, if so much is left.
const GROWTH_BYTES_MIN: u64 = 4 << 20;

/// The files of a tenant that are in use.
type InUse = HashMap<PathBuf, Granted>;

/// What is kept for all files that are in use, by their directories. Clones count together.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Growth(Arc<Mutex<HashMap<PathBuf, InUse>>>);

#[derive(Debug)]
struct Granted {
    bytes_max: u64,
    statements: usize,
}

/// Room for one statement, until it is dropped.
#[derive(Debug)]
pub(in super::super) struct Reservation {
    /// How large the file may become.
    pub bytes_max: u64,
    growth: Growth,
    dir: PathBuf,
    file: PathBuf,
}

impl Growth {
    fn tenants(&self) -> MutexGuard<'_, HashMap<PathBuf, InUse>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps room for a statement on a file in a tenant's directory, whose files may have so many bytes together.
    pub fn reserve(&self, dir: &Path, file: &Path, all_bytes_max: u64) -> io::Result<Reservation> {
        // Locked before sizes are looked at: of a statement that ended in between, neither what it was granted nor what it wrote would count.
        let mut tenants = self.tenants();
        let sizes = sizes(dir)?;
        let in_use = tenants.entry(dir.to_owned()).or_default();
        let bytes_max = granted(&sizes, in_use, file, all_bytes_max);
        let granted = in_use.entry(file.to_owned()).or_insert(Granted {
            bytes_max,
            statements: 0,
        });
        granted.bytes_max = granted.bytes_max.max(bytes_max);
        granted.statements += 1;
        Ok(Reservation {
            bytes_max: granted.bytes_max,
            growth: self.clone(),
            dir: dir.to_owned(),
            file: file.to_owned(),
        })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut tenants = self.growth.tenants();
        let Some(in_use) = tenants.get_mut(&self.dir) else {
            return;
        };
        match in_use.get_mut(&self.file) {
            Some(granted) if granted.statements > 1 => granted.statements -= 1,
            _ => drop(in_use.remove(&self.file)),
        }
        if in_use.is_empty() {
            tenants.remove(&self.dir);
        }
    }
}

/// How large a file may become beside the others, as they are and as they may become.
fn granted(sizes: &HashMap<PathBuf, u64>, in_use: &InUse, file: &Path, all_bytes_max: u64) -> u64 {
    let size_of = |path: &Path| sizes.get(path).copied().unwrap_or_default();
    let unused = in_use
        .iter()
        .filter(|(path, _)| path.as_path() != file)
        .map(|(path, granted)| granted.bytes_max.saturating_sub(size_of(path)));
    let taken = sizes.values().copied().chain(unused).fold(0, u64::saturating_add);
    let left = all_bytes_max.saturating_sub(taken);
    let is_alone = in_use.keys().all(|path| path.as_path() == file);
    let part = match is_alone {
        true => left / PART_ALONE,
        false => left / PART_BESIDE,
    };
    size_of(file).saturating_add(part.max(GROWTH_BYTES_MIN).min(left))
}

/// Bytes of the files below a directory.
fn sizes(dir: &Path) -> io::Result<HashMap<PathBuf, u64>> {
    let (mut sizes, mut files, mut dirs) = (HashMap::new(), 0, vec![dir.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            files += 1;
            if files > FILES_MAX {
                return Err(io::Error::other(format!("it has more than {FILES_MAX} files")));
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                dirs.push(entry.path());
            } else if kind.is_file() {
                // A file that has just been removed takes nothing.
                let bytes = entry.metadata().map_or(0, |file| file.len());
                sizes.insert(entry.path(), bytes);
            }
        }
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A directory with one file of a MiB.
    fn directory() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), vec![0_u8; 1 << 20]).unwrap();
        dir
    }

    #[test]
    fn files_in_use_have_no_more_together_than_is_allowed() {
        let dir = directory();
        let growth = Growth::default();
        let reserve = |file: &str| {
            let path = dir.path().join(file);
            growth.reserve(dir.path(), &path, 101 * MIB).unwrap()
        };
        let first = reserve("a");
        assert_eq!(first.bytes_max, 51 * MIB);
        let second = reserve("b");
        assert_eq!(second.bytes_max, 50 * MIB / 8);
        let others: Vec<Reservation> = (0..100).map(|number| reserve(&number.to_string())).collect();
        let all = first.bytes_max + second.bytes_max;
        let all = others.iter().fold(all, |all, one| all + one.bytes_max);
        assert_eq!(all, 101 * MIB);
        // What is there already may be written again.
        drop((second, others));
        assert_eq!(reserve("a").bytes_max, 51 * MIB);
    }

    #[test]
    fn room_comes_back_with_the_last_statement_on_a_file() {
        let dir = directory();
        let growth = Growth::default();
        let reserve = |file: &str| {
            growth
                .reserve(dir.path(), &dir.path().join(file), 9 * MIB)
                .unwrap()
        };
        let (one, other) = (reserve("a"), reserve("a"));
        assert_eq!((one.bytes_max, other.bytes_max), (5 * MIB, 5 * MIB));
        drop(one);
        assert_eq!(reserve("b").bytes_max, 4 * MIB);
        assert!(!growth.tenants().is_empty());
        drop(other);
        assert!(growth.tenants().is_empty());
        // As much as is left, however little.
        let little = growth.reserve(dir.path(), &dir.path().join("b"), 2 * MIB);
        assert_eq!(little.unwrap().bytes_max, MIB);
    }
}
