//! Connections to servers other than HTTP: the name is resolved once, the address is checked, and exactly that address
//! is connected to.

use super::{EgressPolicy, ResolveError};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error("{0}")]
    Connect(io::Error),
}

/// Where a server may be reached; never empty. One address that is not permitted refuses them all.
async fn addresses(policy: &EgressPolicy, host: &str, port: u16) -> Result<Vec<SocketAddr>, ResolveError> {
    let host = host.trim_matches(['[', ']']);
    let unknown = |reason: String| ResolveError::Unknown {
        host: host.to_owned(),
        reason,
    };
    let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port))
        .await
        .map_err(|error| unknown(error.to_string()))?
        .collect();
    if let Some(denied) = found
        .iter()
        .find(|found| !policy.permits(host, Some(port), found.ip()))
    {
        return Err(ResolveError::Denied {
            host: host.to_owned(),
            address: denied.ip(),
        });
    }
    match found.is_empty() {
        true => Err(unknown("it has no address".to_owned())),
        false => Ok(found),
    }
}

/// A connection to the first address that takes one.
pub(crate) async fn dial(policy: &EgressPolicy, host: &str, port: u16) -> Result<TcpStream, DialError> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses(policy, host, port).await? {
        match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(DialError::Connect(last))
}
