//! Where files are, and how large they may be.

use secrecy::SecretString;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of the store of files.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where bytes are.
    pub place: Where,
    /// Bytes of a file at most.
    pub bytes_max: u64,
    /// How long an uploaded file is kept to which nothing refers.
    pub unused_for: Duration,
}

/// Where bytes are.
#[derive(Clone, Debug)]
pub enum Where {
    Directory(PathBuf),
    /// In a bucket.
    S3(S3Settings),
}

/// A bucket of a service that speaks S3's protocol.
#[derive(Clone, Debug)]
pub struct S3Settings {
    /// Its name.
    pub bucket: String,
    /// What all names in it begin with; may be empty.
    pub prefix: String,
    pub region: String,
    /// Address of the service; `None`: Amazon's.
    pub endpoint: Option<String>,
    /// Id and secret; `None`: those of the machine's or the container's role.
    pub keys: Option<(String, SecretString)>,
}
