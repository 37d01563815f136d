//! Files that runs hold by reference: their bytes are written while they arrive, encrypted, kept once for each tenant, read as
//! streams, and removed when nothing refers to them. Where the bytes are is behind one trait, [`objects::Objects`]: a directory,
//! or a service that speaks S3's protocol.
//!
//! **The protocol.** A row says that something is about to be written (`writing`); then the bytes are written; then one
//! transaction makes the row `live`, and a file and a reference of it; and only then whatever refers to the file is stored. So
//! there is no reference without bytes, and whatever a crash leaves behind has a row by which the [sweeper](Files::sweep) finds it.
//!
//! Knows nothing about HTTP, runs or their data.

mod cipher;
mod directory;
mod error;
mod files;
pub mod objects;
mod pace;
mod reader;
mod s3;
mod settings;
mod shared;
mod sweeper;
mod threads;
mod writer;

/// What a service with a bucket answers, for those who test that anything may come.
pub mod foreign {
    pub use crate::s3::scripted::{Answer, Asked, Said, bucket_answered};
}

pub use error::FileError;
pub use files::{Files, Reader};
pub use reader::Content;
pub use settings::{S3Settings, Settings, Where};
pub use shared::NewFile;
pub use sweeper::Swept;
pub use writer::{Room, Unlimited, Writer};
