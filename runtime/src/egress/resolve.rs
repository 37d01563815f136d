//! Names become addresses that the policy permits, or none.

use super::EgressPolicy;
use super::lookups::{LOOKUPS, Owner, asker};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Why a name was not resolved, as found in the chain of a connection's error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResolveError {
    #[error("{host} is not at a public address")]
    Denied { host: String, address: IpAddr },
    #[error("the name {host} could not be resolved: {source}")]
    Unknown { host: String, source: io::Error },
    #[error("the name {host} could not be resolved: it has no address")]
    NoAddress { host: String },
}

/// Where a host may be reached; never empty, and with the port 0. One address that is not permitted refuses them all: a
/// name that mixes them is an attempt to get past the guard. Without a port, exceptions for one port do not count.
pub(super) async fn addresses(
    policy: &EgressPolicy,
    asker: Owner,
    host: &str,
    port: Option<u16>,
) -> Result<Vec<SocketAddr>, ResolveError> {
    let unknown = |source| ResolveError::Unknown {
        host: host.to_owned(),
        source,
    };
    let found = look_up(asker, host).await.map_err(unknown)?;
    if found.is_empty() {
        return Err(ResolveError::NoAddress {
            host: host.to_owned(),
        });
    }
    match found.iter().find(|found| !policy.permits(host, port, found.ip())) {
        Some(denied) => Err(ResolveError::Denied {
            host: host.to_owned(),
            address: denied.ip(),
        }),
        None => Ok(found),
    }
}

/// The addresses of a host, by the system's resolver.
async fn look_up(asker: Owner, host: &str) -> io::Result<Vec<SocketAddr>> {
    let host = host.to_owned();
    if host.parse::<IpAddr>().is_ok() {
        return Ok(tokio::net::lookup_host((host, 0)).await?.collect());
    }
    let place = LOOKUPS.place(asker, &host).await;
    // To its end, whoever has waited for it: only then its thread is free, and its place.
    let looking = tokio::spawn(async move {
        let found = tokio::net::lookup_host((host, 0)).await;
        drop(place);
        found.map(|found| found.collect::<Vec<SocketAddr>>())
    });
    looking.await.map_err(io::Error::other)?
}

/// Resolves names for HTTP connections to one port, or to any.
pub(super) struct GuardedResolver {
    pub policy: Arc<EgressPolicy>,
    pub port: Option<u16>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, port) = (self.policy.clone(), self.port);
        // Now: the client may finish a connection elsewhere, for whoever wants it next.
        let asker = asker();
        Box::pin(async move {
            let found = addresses(&policy, asker, name.as_str(), port).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
