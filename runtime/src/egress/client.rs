//! HTTP clients that reach only what the policy permits. They follow no redirects and use no proxy: each hop is a
//! separate, checked request. No owner's requests go over another one's connections.

use super::EgressPolicy;
use super::lookups::{Owner, asker};
use super::resolve::GuardedResolver;
use quick_cache::unsync::Cache;
use reqwest::{Client, ClientBuilder, Response, Url};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Bytes of a response that a host may send by HTTP/2 before they are read. Responses may be left for a while, until their owner has room
/// for them.
const STREAM_BYTES: u32 = 1 << 20;
/// Bytes of all of them over one connection: so many that responses that are left take nothing from those that are read, for which they wait.
const CONNECTION_BYTES: u32 = 1 << 30;
/// Owners whose clients are kept, with the connections that they have open; of others a client is made anew.
const OWNERS_MAX: usize = 512;
/// Places that a client sends to, before another one is made instead: it keeps connections to each of them open for a while, and has no
/// bound for those to all of them. Whoever has a name for every request would otherwise take all files that the process may open.
const PLACES_MAX: usize = 64;

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
    /// So it did when it read which authorities the system trusts.
    #[error("HTTP can't be used: {0}")]
    Tls(#[source] rustls::Error),
}

/// Gives clients; clones share their connections.
#[derive(Clone)]
pub struct GuardedHttp(Arc<Clients>);

/// Clients for each port with exceptions of its own, and some for all others: a resolver does not learn the
/// port that it resolves for.
struct Clients {
    policy: Arc<EgressPolicy>,
    by_port: HashMap<u16, Slots>,
    other: Slots,
    /// How TLS is spoken: the authorities that the system trusts are hundreds of files, which are read once.
    tls: OnceLock<ClientConfig>,
}

/// The clients for a port.
#[derive(Default)]
struct Slots {
    shared: ByOwner,
    apart: ByOwner,
}

/// A client for each owner. Over HTTP/2 a host takes only so many requests at a time (often 100), and whoever has as many that take
/// long would have all others wait.
struct ByOwner(Mutex<Cache<Owner, Kept>>);

/// A client, and where it has sent to: schemes, hosts and ports.
struct Kept {
    client: Client,
    places: HashSet<String>,
}

impl Kept {
    /// Whether it sends there, too.
    fn takes(&mut self, place: &str) -> bool {
        self.places.contains(place)
            || (self.places.len() < PLACES_MAX && self.places.insert(place.to_owned()))
    }
}

impl Default for ByOwner {
    fn default() -> Self {
        ByOwner(Mutex::new(Cache::new(OWNERS_MAX)))
    }
}

/// Who shares a connection.
#[derive(Clone, Copy)]
enum Sharing {
    /// An owner's requests to a host that speaks HTTP/2 go over one.
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
            tls: OnceLock::new(),
        }))
    }

    /// A client for requests to `url` and to other hosts at the same port, of whoever [`names_for`](super::names_for) names.
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
        let kept = match sharing {
            Sharing::Shared => &slots.shared,
            Sharing::Apart => &slots.apart,
        };
        let (owner, place) = (asker(), url.origin().ascii_serialization());
        let mut clients = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut kept) = clients.get_mut(&owner)
            && kept.takes(&place)
        {
            return Ok(kept.client.clone());
        }
        let builder = self.builder(port);
        let (builder, protocols) = match sharing {
            Sharing::Shared => (builder, &["h2", "http/1.1"][..]),
            Sharing::Apart => (builder.http1_only().no_brotli(), &["http/1.1"][..]),
        };
        let mut tls = self.tls()?;
        tls.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let client = builder.tls_backend_preconfigured(tls).build();
        let client = client.map_err(GuardError::Client)?;
        let kept = Kept {
            client: client.clone(),
            places: HashSet::from([place]),
        };
        // What the one before had open is closed once nothing is under way there.
        clients.insert(owner, kept);
        Ok(client)
    }

    fn builder(&self, port: Option<u16>) -> ClientBuilder {
        let resolver = GuardedResolver {
            policy: self.0.policy.clone(),
            port,
        };
        Client::builder()
            .dns_resolver(Arc::new(resolver))
            .no_proxy()
            .referer(false)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_max_idle_per_host(8)
            .http2_initial_stream_window_size(STREAM_BYTES)
            .http2_initial_connection_window_size(CONNECTION_BYTES)
            .user_agent(concat!("heddle/", env!("CARGO_PKG_VERSION")))
    }

    /// As reqwest speaks it by itself, for no protocol yet.
    fn tls(&self) -> Result<ClientConfig, GuardError> {
        if let Some(tls) = self.0.tls.get() {
            return Ok(tls.clone());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(BuilderVerifierExt::with_platform_verifier);
        let tls = tls.map_err(GuardError::Tls)?.with_no_client_auth();
        Ok(self.0.tls.get_or_init(|| tls).clone())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::names_for;
    use std::collections::BTreeSet;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Answers each request with the number of its connection.
    async fn serve(listener: TcpListener) {
        for number in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut request = [0; 4096];
                while stream.read(&mut request).await.is_ok_and(|count| count > 0) {
                    let body = format!("connection {number:03}");
                    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    }

    #[tokio::test]
    async fn no_owner_s_requests_go_over_another_one_s_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Url = format!("http://{}", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        tokio::spawn(serve(listener));
        let http = GuardedHttp::new(&EgressPolicy::parse(["127.0.0.0/8"]).unwrap());
        let ask = |owner| {
            let (http, url) = (http.clone(), url.clone());
            names_for(owner, async move {
                let client = http.client(&url).unwrap();
                client.get(url).send().await.unwrap().text().await.unwrap()
            })
        };
        // An owner's own connections are used again, once they are back.
        let mut own = BTreeSet::new();
        while own.insert(ask(Some(1)).await) {}
        for owner in [Some(2), None, Some(3)] {
            let other = ask(owner).await;
            assert!(!own.contains(&other), "{owner:?}: {other}");
        }
    }

    #[tokio::test]
    async fn connections_to_ever_more_places_are_not_all_kept_open() {
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(serve(listener));
        let http = GuardedHttp::new(&EgressPolicy::parse(["127.0.0.0/8"]).unwrap());
        let ask = |place: usize| {
            let url: Url = format!("http://127.0.0.{place}:{port}").parse().unwrap();
            let http = http.clone();
            names_for(Some(1), async move {
                let client = http.client(&url).unwrap();
                client.get(url).send().await.unwrap().text().await.unwrap()
            })
        };
        let mut first = BTreeSet::new();
        while first.insert(ask(1).await) {}
        for place in 2..=PLACES_MAX + 1 {
            ask(place).await;
        }
        assert!(!first.contains(&ask(1).await));
    }
}
