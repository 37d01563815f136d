//! The egress guard for every outbound connection: decides which addresses effects may reach.
//!
//! A URL names a host, a resolver turns it into addresses, and only the address decides. A connection is
//! made to the very address that was checked (`resolve`). Sources of the ranges: the IANA special-purpose address
//! registries for IPv4 and IPv6.

mod client;
mod lookups;
mod meter;
mod relay;
mod resolve;
mod tcp;
mod tls;

pub use client::{GuardError, GuardedHttp, body_within};
pub use lookups::{names_as_here, names_for};
pub(crate) use meter::{Meter, Metered};
pub(crate) use relay::relay;
pub(crate) use resolve::ResolveError;
pub(crate) use tcp::{DialError, dial};
pub use tls::is_authority;
pub(crate) use tls::{TlsError, tls_connector};

use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Addresses that effects may reach besides public ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressPolicy {
    networks: Vec<IpNet>,
    sockets: Vec<SocketAddr>,
    /// Lower-case host and port.
    names: Vec<(String, u16)>,
}

/// An entry of an allow list that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither a network such as 10.0.0.0/8 nor a host with its port such as db.internal:8080")]
pub struct EgressError(String);

impl EgressPolicy {
    /// Reads an allow list of networks (`10.0.0.0/8`, `fd00::/8`), addresses (`10.0.0.5`) and hosts with their
    /// port (`10.0.0.5:8080`, `[::1]:8080`, `db.internal:8080`).
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, EgressError> {
        let mut policy = EgressPolicy::default();
        for entry in entries
            .into_iter()
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
        {
            if let Ok(network) = entry.parse::<IpNet>() {
                policy.networks.push(network);
            } else if let Ok(address) = entry.parse::<IpAddr>() {
                policy.networks.push(address.into());
            } else if let Ok(socket) = entry.parse::<SocketAddr>() {
                policy.sockets.push(socket);
            } else {
                policy
                    .names
                    .push(name_and_port(entry).ok_or_else(|| EgressError(entry.to_owned()))?);
            }
        }
        Ok(policy)
    }

    /// Whether a connection to `address`, found under the name `host`, may be made. `port` is `None` where it is
    /// not known; then exceptions for one port do not count.
    pub fn permits(&self, host: &str, port: Option<u16>, address: IpAddr) -> bool {
        is_public(address.to_canonical()) || self.lists(host, port, Some(address))
    }

    /// Whether the allow list itself has an entry for this host, which is at `address` if that is known.
    fn lists(&self, host: &str, port: Option<u16>, address: Option<IpAddr>) -> bool {
        let address = address.map(|address| address.to_canonical());
        address.is_some_and(|address| self.networks.iter().any(|network| network.contains(&address)))
            || port.is_some_and(|port| {
                let socket = address.map(|address| SocketAddr::new(address, port));
                socket.is_some_and(|socket| self.sockets.contains(&socket))
                    || self
                        .names
                        .iter()
                        .any(|(name, at)| *at == port && name.eq_ignore_ascii_case(host))
            })
    }

    /// Ports for which there are exceptions.
    pub(crate) fn special_ports(&self) -> impl Iterator<Item = u16> + '_ {
        self.sockets
            .iter()
            .map(SocketAddr::port)
            .chain(self.names.iter().map(|(_, port)| *port))
    }
}

fn name_and_port(entry: &str) -> Option<(String, u16)> {
    let (name, port) = entry.rsplit_once(':')?;
    let named = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    named.then_some((name.to_ascii_lowercase(), port.parse().ok()?))
}

/// Whether an address is on the public internet. Forms that carry an IPv4 address in an IPv6 one are judged by
/// the address that they carry, or refused where nobody needs them (6to4, Teredo).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, d] = address.octets();
    !matches!(
        (a, b, c, d),
        (0 | 10 | 127, ..)                  // this network, private, loopback
            | (100, 64..=127, ..)           // carrier-grade NAT; a metadata service too
            | (169, 254, ..)                // link-local: metadata services
            | (172, 16..=31, ..)            // private
            | (192, 0, 0 | 2, _)            // protocol assignments, documentation
            | (192, 88, 99, _)              // 6to4 relays
            | (192, 168, ..)                // private
            | (198, 18 | 19, ..)            // benchmarks
            | (198, 51, 100, _)             // documentation
            | (203, 0, 113, _)              // documentation
            | (168, 63, 129, 16)            // a cloud's metadata service on a public address
            | (224..=255, ..) // multicast, reserved, broadcast
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let segments = address.segments();
    if let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = segments {
        // NAT64: where a network has no IPv4, its resolver gives every IPv4 host such an address.
        return is_public_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    }
    match segments {
        [0x2001, 0..=0x1ff, ..] => false, // protocol assignments: Teredo, benchmarks, ORCHID
        [0x2001, 0xdb8, ..] => false,     // documentation
        [0x2002, ..] => false,            // 6to4
        [0x3fff, 0..=0xfff, ..] => false, // documentation
        [first, ..] => first & 0xe000 == 0x2000, // global unicast; everything else is special
    }
}

/// The message of a refusal. It names an address only to whoever wrote one: what a name stands for inside of the
/// operator's network is nobody else's business.
pub(crate) fn denied_address(host: &str, address: IpAddr) -> String {
    let found = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(_) => format!("{address} is not a public address"),
        Err(_) => format!("{host} is not at a public address"),
    };
    format!("{found}. Requests may only go there if the operator lists it in HEDDLE_EGRESS_ALLOW.")
}
