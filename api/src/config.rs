//! Settings of the service, read once at start. Knows nothing of what they do.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Settings. Every limit has its unit in its name or type.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address to listen on; port 0 picks one.
    pub listen: SocketAddr,
    /// Where clients reach the service, without a slash at the end.
    pub base_url: String,
    /// Where the embedded database, keys and machine code are kept.
    pub data_dir: PathBuf,
    /// PostgreSQL; `None`: SQLite in the data directory.
    pub database_url: Option<String>,
    /// Wraps the data keys.
    pub master_key: [u8; 32],
    /// Signs tokens.
    pub jwt_secret: String,
    /// Registration and login by password.
    pub local_auth: bool,
    /// Lifetime of tokens.
    pub token_ttl: Duration,
    /// Bytes of a body under /api.
    pub api_body_bytes_max: usize,
}
