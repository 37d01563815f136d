//! Workspaces on their way to another service: an archive is written while it is sent, part by part, and imported in the same
//! way, so that neither side has more than one part in memory.
//!
//! An archive is made of a workspace that stands still. Its parts are encrypted; whoever imports one needs the passphrase, and
//! is believed nothing: parts follow each other as they were written, and `heddle_store::archive` checks each value.

mod callbacks;
mod export;
mod files;
mod format;
mod import;

/// How the parts of an archive are read and written, for those who test that anything may be in them.
pub mod foreign {
    pub use super::files::{Piece, piece};
    pub use super::format::{apart, enclosed, read, written};
}

pub use export::{Export, begin as export};
pub use format::{Head, Manifest, PART_BYTES_MAX, assembled};
pub use import::{ArchiveImport, Progress, begin as import, part, progress};
