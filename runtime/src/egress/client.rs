//! HTTP clients that reach only what the policy permits. They follow no redirects and use no proxy: each hop is a
//! separate, checked request.

use super::EgressPolicy;
use super::resolve::GuardedResolver;
use reqwest::{Client, Response, Url};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Why there is no client for a URL.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// Neither http nor https.
    #[error("`{0}:` is not a scheme that requests may use: use http or https")]
    Scheme(String),
    /// Nowhere to send to.
    #[error("`{0}` has no host")]
    NoHost(String),
    /// The host is an address that is not permitted.
    #[error("{address} is not a public address, and HEDDLE_EGRESS_ALLOW does not list it")]
    Denied {
        /// The host, as the URL writes it.
        host: String,
        address: IpAddr,
    },
    /// The TLS library failed.
    #[error("HTTP can't be used: {0}")]
    Client(#[source] reqwest::Error),
}

/// Gives clients; clones share their connections.
#[derive(Clone)]
pub struct GuardedHttp(Arc<Clients>);

/// One client for each port with exceptions of its own, and one for all others: a resolver does not learn the
/// port that it resolves for.
struct Clients {
    policy: Arc<EgressPolicy>,
    by_port: HashMap<u16, Slots>,
    other: Slots,
}

/// The clients for a port.
#[derive(Default)]
struct Slots {
    shared: OnceLock<Client>,
    apart: OnceLock<Client>,
}

/// Who shares a connection.
#[derive(Clone, Copy)]
enum Sharing {
    /// Requests to a host that speaks HTTP/2 go over one.
    Shared,
    /// Each carries one response at a time.
    Apart,
}

impl GuardedHttp {
    /// Creates clients that apply this policy.
    pub fn new(policy: &EgressPolicy) -> Self {
        // Fails when the program has chosen a provider already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        GuardedHttp(Arc::new(Clients {
            policy: Arc::new(policy.clone()),
            by_port: policy
                .special_ports()
                .map(|port| (port, Slots::default()))
                .collect(),
            other: Slots::default(),
        }))
    }

    /// A client for requests to `url` and to other hosts at the same port.
    pub fn client(&self, url: &Url) -> Result<Client, GuardError> {
        self.client_of(url, Sharing::Shared)
    }

    /// One that speaks HTTP/1.1 only, for responses that are left unread for a while: over HTTP/2 they would take the room of the
    /// connection from whoever else asks the same host. It does not take brotli, whose windows of up to 16 MiB each of them would keep
    /// for as long; those of gzip and deflate have 32 KiB.
    pub fn client_apart(&self, url: &Url) -> Result<Client, GuardError> {
        self.client_of(url, Sharing::Apart)
    }

    fn client_of(&self, url: &Url, sharing: Sharing) -> Result<Client, GuardError> {
        let port = check_url(url, &self.0.policy)?;
        let (slots, port) = match self.0.by_port.get(&port) {
            Some(slots) => (slots, Some(port)),
            None => (&self.0.other, None),
        };
        let slot = match sharing {
            Sharing::Shared => &slots.shared,
            Sharing::Apart => &slots.apart,
        };
        if let Some(client) = slot.get() {
            return Ok(client.clone());
        }
        let resolver = GuardedResolver {
            policy: self.0.policy.clone(),
            port,
        };
        let builder = Client::builder()
            .dns_resolver(Arc::new(resolver))
            .no_proxy()
            .referer(false)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_max_idle_per_host(8)
            .user_agent(concat!("heddle/", env!("CARGO_PKG_VERSION")));
        let builder = match sharing {
            Sharing::Shared => builder,
            Sharing::Apart => builder.http1_only().no_brotli(),
        };
        let client = builder.build().map_err(GuardError::Client)?;
        Ok(slot.get_or_init(|| client).clone())
    }

    /// Whether what is confidential may travel to `url`: it is encrypted, or the operator lists its host. Other schemes may name a
    /// host, too.
    pub fn may_trust(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let policy = &self.0.policy;
        match url.scheme() {
            "https" => true,
            "http" => policy.lists(host, url.port_or_known_default(), literal(host)),
            _ => false,
        }
    }
}

/// The body of a response, or `None` if it is longer than that: no more of it is read then.
pub async fn body_within(
    mut response: Response,
    bytes_max: usize,
) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if body.len() + piece.len() > bytes_max {
            return Ok(None);
        }
        body.extend_from_slice(&piece);
    }
    Ok(Some(body))
}

/// The address that a URL's host is, if it is one. The URL's parser has turned every spelling (0x7f.1, 2130706433) into this one.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_matches(['[', ']']).parse().ok()
}

/// Refuses what is neither HTTP nor, for hosts that are addresses, permitted; gives the port.
fn check_url(url: &Url, policy: &EgressPolicy) -> Result<u16, GuardError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(GuardError::Scheme(url.scheme().to_owned()));
    }
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err(GuardError::NoHost(url.to_string()));
    };
    if let Some(address) = literal(host)
        && !policy.permits(host, Some(port), address)
    {
        return Err(GuardError::Denied {
            host: host.to_owned(),
            address,
        });
    }
    Ok(port)
}
