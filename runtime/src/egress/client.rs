//! HTTP clients that reach only what the policy permits. They follow no redirects and use no proxy: each hop is a
//! separate, checked request.

use super::EgressPolicy;
use super::resolve::GuardedResolver;
use reqwest::{Client, Url};
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
    by_port: HashMap<u16, OnceLock<Client>>,
    other: OnceLock<Client>,
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
                .map(|port| (port, OnceLock::new()))
                .collect(),
            other: OnceLock::new(),
        }))
    }

    /// A client for requests to `url` and to other hosts at the same port.
    pub fn client(&self, url: &Url) -> Result<Client, GuardError> {
        let port = check_url(url, &self.0.policy)?;
        let (slot, port) = match self.0.by_port.get(&port) {
            Some(slot) => (slot, Some(port)),
            None => (&self.0.other, None),
        };
        if let Some(client) = slot.get() {
            return Ok(client.clone());
        }
        let resolver = GuardedResolver {
            policy: self.0.policy.clone(),
            port,
        };
        let client = Client::builder()
            .dns_resolver(Arc::new(resolver))
            .no_proxy()
            .referer(false)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_max_idle_per_host(8)
            .user_agent(concat!("heddle/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(GuardError::Client)?;
        Ok(slot.get_or_init(|| client).clone())
    }
}

/// Refuses what is neither HTTP nor, for hosts that are addresses, permitted; gives the port.
fn check_url(url: &Url, policy: &EgressPolicy) -> Result<u16, GuardError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(GuardError::Scheme(url.scheme().to_owned()));
    }
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err(GuardError::NoHost(url.to_string()));
    };
    // The URL's parser has turned every spelling of an address (0x7f.1, 2130706433) into this one.
    let literal = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    if let Ok(address) = literal
        && !policy.permits(host, Some(port), address)
    {
        return Err(GuardError::Denied {
            host: host.to_owned(),
            address,
        });
    }
    Ok(port)
}
