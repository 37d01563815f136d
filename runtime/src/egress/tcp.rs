//! Connections to servers other than HTTP: the name is resolved once, the address is checked, and exactly that address
//! is connected to.

use super::EgressPolicy;
use super::lookups::asker;
use super::resolve::{ResolveError, addresses};
use std::io;
use std::time::Duration;
use tokio::net::TcpStream;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error("{0}")]
    Connect(#[source] io::Error),
}

/// A connection to the first address that takes one.
pub(crate) async fn dial(policy: &EgressPolicy, host: &str, port: u16) -> Result<TcpStream, DialError> {
    let host = host.trim_matches(['[', ']']);
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for mut address in addresses(policy, asker(), host, Some(port)).await? {
        address.set_port(port);
        match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(DialError::Connect(last))
}
