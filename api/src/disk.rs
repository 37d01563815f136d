//! Whether a disk has room for an embedded database.

use bytesize::ByteSize;
use rustix::fs::{StatVfsMountFlags, statvfs};
use std::path::Path;

/// With less the disk counts as full: the database's log takes as much between two checkpoints.
const FREE_BYTES_MIN: u64 = 32 << 20;

/// Why a disk does not do.
#[derive(Debug, thiserror::Error)]
pub enum DiskProblem {
    /// Little or nothing is free.
    #[error("The disk of the data directory is full: {} is free, and {} is needed.", ByteSize::b(*.0), ByteSize::b(FREE_BYTES_MIN))]
    Full(u64),
    /// It was mounted so, or its system found it damaged.
    #[error("The disk of the data directory can't be written: it is mounted read-only.")]
    ReadOnly,
    /// It does not even say.
    #[error("The disk of the data directory does not answer: {0}.")]
    Silent(std::io::Error),
}

/// Asks the disk that holds `dir`: the bytes that are free. Blocks.
pub fn check(dir: &Path) -> Result<u64, DiskProblem> {
    let found = statvfs(dir).map_err(|error| DiskProblem::Silent(error.into()))?;
    if found.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(DiskProblem::ReadOnly);
    }
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    match free < FREE_BYTES_MIN {
        true => Err(DiskProblem::Full(free)),
        false => Ok(free),
    }
}
