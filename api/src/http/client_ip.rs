//! The address that a request came from. Proxies are believed only if they are trusted, and only about the addresses
//! that they saw themselves: the right-most entries of `X-Forwarded-For`.

use crate::app::App;
use crate::http::error::ApiError;
use axum::extract::{ConnectInfo, FromRef, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use heddle_service::rate_limit::LimitKey;
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The client's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientIp(pub IpAddr);

impl ClientIp {
    /// The key that rate limits are counted by.
    pub fn limit_key(self) -> LimitKey {
        LimitKey::of(self.0)
    }
}

/// The peer, if it says for whom it sends but is not trusted: all its clients count as one.
pub fn untrusted_proxy(parts: &Parts, trusted: &[IpNet]) -> Option<IpAddr> {
    let peer = parts
        .extensions
        .get::<ConnectInfo<SocketAddr>>()?
        .0
        .ip()
        .to_canonical();
    let is_trusted = trusted.iter().any(|network| network.contains(&peer));
    (!is_trusted && parts.headers.contains_key("x-forwarded-for")).then_some(peer)
}

impl<S> FromRequestParts<S> for ClientIp
where
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        // Only a router that is called without a socket has none.
        let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |info| info.0.ip());
        Ok(behind(
            peer,
            &parts.headers,
            &App::from_ref(state).config.trusted_proxies,
        ))
    }
}

/// The client behind `peer` and the trusted proxies in front of it.
pub fn behind(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> ClientIp {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(&address));
    let mut client = peer.to_canonical();
    if !is_trusted(client) {
        return ClientIp(client);
    }
    let lines: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .map(|value| value.to_str().unwrap_or_default())
        .collect();
    let mut entries = lines.iter().flat_map(|line| line.split(',')).rev();
    while is_trusted(client) {
        // An entry that is not an address was not written by one of our proxies: whoever sent it is the client.
        match entries.next().and_then(address) {
            Some(address) => client = address,
            None => break,
        }
    }
    ClientIp(client)
}

/// An address with or without a port.
fn address(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let address = entry
        .parse::<IpAddr>()
        .or_else(|_| entry.parse::<SocketAddr>().map(|socket| socket.ip()))
        .or_else(|_| entry.trim_start_matches('[').trim_end_matches(']').parse());
    address.ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append("x-forwarded-for", line.parse().unwrap());
        }
        let trusted: Vec<IpNet> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        behind(peer.parse().unwrap(), &headers, &trusted).0.to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed_and_only_what_they_saw() {
        let proxies = ["10.0.0.0/8", "fd00::/8"];
        for (peer, forwarded, expected) in [
            ("198.51.100.7", &["1.2.3.4"][..], "198.51.100.7"),
            ("10.0.0.1", &[][..], "10.0.0.1"),
            ("10.0.0.1", &["1.2.3.4"][..], "1.2.3.4"),
            ("10.0.0.1", &["9.9.9.9, 1.2.3.4"][..], "1.2.3.4"),
            ("10.0.0.1", &["9.9.9.9, 1.2.3.4, 10.0.0.2"][..], "1.2.3.4"),
            ("10.0.0.1", &["9.9.9.9", "1.2.3.4, 10.0.0.2"][..], "1.2.3.4"),
            ("10.0.0.1", &["9.9.9.9, nonsense"][..], "10.0.0.1"),
            ("10.0.0.1", &["9.9.9.9, nonsense, 10.0.0.2"][..], "10.0.0.2"),
            ("10.0.0.1", &["1.2.3.4:5678"][..], "1.2.3.4"),
            ("fd00::1", &["[2001:db8::7]:443"][..], "2001:db8::7"),
            ("::ffff:10.0.0.1", &["::ffff:1.2.3.4"][..], "1.2.3.4"),
        ] {
            assert_eq!(
                client(peer, forwarded, &proxies),
                expected,
                "{peer} {forwarded:?}"
            );
        }
        assert_eq!(client("10.0.0.1", &["1.2.3.4"], &[]), "10.0.0.1");
    }

    #[test]
    fn clients_of_one_network_share_an_ipv6_limit() {
        let key = |text: &str| ClientIp(text.parse().unwrap()).limit_key().to_string();
        assert_eq!(key("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(key("192.0.2.1"), "192.0.2.1");
    }
}
