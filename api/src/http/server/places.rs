//! Admission of connections: limits in total and per address, and which connections are closed when the limits are
//! reached. Ordinary places are for all requests. When they are all taken, the connections that have waited longest for
//! their clients are closed, and a reserve remains for health checks, so that a full server can be distinguished from a
//! dead one. Knows nothing about sockets.

use super::address::Address;
use super::connection::{Closing, Connection, Patience, Phase, Verdict, millis};
use crate::config::http::HttpLimits;
use crate::http::client_ip::{ClientIp, behind};
use axum::http::HeaderMap;
use ipnet::IpNet;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// Places that are kept for questions about health.
const RESERVE_MAX: usize = 64;
/// Milliseconds after which somebody who has sent nothing more may have to give way.
const GRACE: u64 = 1_000;
/// A connection in the reserve gets so long for its request's headers.
const RESERVE_HEADER: u64 = 2_000;
/// Bytes of each body that are taken however many others there are: events and logins that are small always come in.
pub(super) const ALWAYS_BYTES: usize = 16 << 10;
/// Bytes of each answer that are not counted: there are only so many connections.
pub(super) const SMALL_ANSWER_BYTES: usize = 64 << 10;

/// Clients behind proxies from which on it is looked for those that have nothing here any more.
const CLIENTS_REMEMBERED_MAX: usize = 1_024;

/// A proxy on the same machine is here.
const THIS_MACHINE: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The address has as many connections as one may have.
    Address,
    /// All places are taken.
    Full,
}

impl Refusal {
    pub fn name(self) -> &'static str {
        match self {
            Refusal::Address => "address",
            Refusal::Full => "full",
        }
    }
}

#[derive(Debug, Default)]
struct Held {
    next: u64,
    open: HashMap<u64, Arc<Connection>>,
    by_address: HashMap<IpAddr, (Arc<Address>, usize)>,
    /// Connections that have places in the reserve, the oldest first.
    in_reserve: BTreeMap<u64, Arc<Connection>>,
    /// How many connections have been told to give way.
    leaving: usize,
    /// When nobody was found who could give way.
    barren_at: Option<u64>,
    is_stopping: bool,
}

/// Clients behind proxies that are trusted, by what their limits are counted by, for as long as they have something here.
#[derive(Debug)]
struct Clients {
    by_key: HashMap<IpAddr, Weak<Address>>,
    /// When there are so many, those that have nothing any more are forgotten.
    remembered_max: usize,
}

impl Default for Clients {
    fn default() -> Self {
        Clients {
            by_key: HashMap::new(),
            remembered_max: CLIENTS_REMEMBERED_MAX,
        }
    }
}

impl Clients {
    fn of(&mut self, key: IpAddr) -> Arc<Address> {
        if let Some(address) = self.by_key.get(&key).and_then(Weak::upgrade) {
            return address;
        }
        if self.by_key.len() >= self.remembered_max {
            self.by_key.retain(|_, address| address.strong_count() > 0);
            self.remembered_max = (2 * self.by_key.len()).max(CLIENTS_REMEMBERED_MAX);
        }
        let address = Arc::new(Address::new(key, false));
        self.by_key.insert(key, Arc::downgrade(&address));
        address
    }
}

/// All connections of a listener.
#[derive(Debug)]
pub(super) struct Places {
    held: Mutex<Held>,
    clients: Mutex<Clients>,
    ordinary_max: usize,
    reserve_max: usize,
    per_address_max: usize,
    trusted: Vec<IpNet>,
    patience: Patience,
    /// Milliseconds for which the server has been at work, as of the last look.
    now: Arc<AtomicU64>,
    unfinished_max: usize,
    unfinished_bytes: AtomicUsize,
    unsent_max: usize,
    unsent_bytes: AtomicUsize,
    /// One has gone.
    left: Notify,
}

/// Room for a large answer, which is given back when it is dropped.
pub(super) struct Unsent {
    places: Arc<Places>,
    address: Arc<Address>,
    bytes: usize,
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.places.unsent_bytes.fetch_sub(self.bytes, Relaxed);
        self.address.unsent_bytes.fetch_sub(self.bytes, Relaxed);
    }
}

/// A request that is being answered, and whose it is: what is held for it is held for them.
pub(super) struct Begun {
    pub address: Arc<Address>,
    /// It came by a proxy, whose connections are not counted.
    is_counted: bool,
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.is_counted {
            self.address.requests.fetch_sub(1, Relaxed);
        }
    }
}

/// A place; given back when it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    pub connection: Arc<Connection>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.places.held();
        held.open.remove(&self.number);
        held.in_reserve.remove(&self.number);
        if self.connection.closing() == Some(Closing::Evicted) {
            held.leaving = held.leaving.saturating_sub(1);
        }
        let key = self.connection.address.key;
        if let Some((_, count)) = held.by_address.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                held.by_address.remove(&key);
            }
        }
        drop(held);
        metrics::gauge!("heddle_http_connections").decrement(1.0);
        self.places.left.notify_one();
    }
}

impl Places {
    pub fn new(limits: &HttpLimits, trusted: &[IpNet]) -> Arc<Self> {
        Arc::new(Places {
            held: Mutex::default(),
            clients: Mutex::default(),
            ordinary_max: limits.connections_max,
            reserve_max: reserve(limits.connections_max),
            per_address_max: limits.per_address_max(),
            trusted: trusted.to_vec(),
            patience: Patience {
                header: millis(limits.header_timeout),
                body: millis(limits.body_timeout),
                idle: millis(limits.idle_timeout),
                stall: millis(limits.stall_timeout),
            },
            now: Arc::default(),
            unfinished_max: limits.unfinished_bytes_max,
            unfinished_bytes: AtomicUsize::new(0),
            unsent_max: limits.unsent_bytes_max,
            unsent_bytes: AtomicUsize::new(0),
            left: Notify::new(),
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from this address, or why there is none.
    pub fn take(self: &Arc<Self>, peer: IpAddr) -> Result<Place, Refusal> {
        let peer = peer.to_canonical();
        let key = ClientIp(peer).limit_key().address();
        let mut held = self.held();
        let (address, count) = match held.by_address.get(&key) {
            Some((address, count)) => (address.clone(), *count),
            None => {
                let is_exempt = THIS_MACHINE.contains(&peer)
                    || self.trusted.iter().any(|network| network.contains(&peer));
                (Arc::new(Address::new(key, is_exempt)), 0)
            }
        };
        if count >= self.per_address_max && !address.is_exempt {
            return Err(Refusal::Address);
        }
        let open = held.open.len();
        let mut is_reserve = false;
        if open >= self.ordinary_max {
            // Those that are told to close do so a moment later: till then the new one is beyond the ordinary places.
            is_reserve = !self.make_room(&mut held);
            if open >= self.ordinary_max + self.reserve_max {
                make_room_in_reserve(&mut held);
            }
            if open >= self.ordinary_max + 2 * self.reserve_max {
                return Err(Refusal::Full);
            }
        }
        let connection = Connection::new(address.clone(), is_reserve, self.now.clone());
        let connection = Arc::new(connection);
        if held.is_stopping {
            connection.stop();
        }
        let number = held.next;
        held.next += 1;
        held.open.insert(number, connection.clone());
        if is_reserve {
            held.in_reserve.insert(number, connection.clone());
        }
        held.by_address.entry(key).or_insert((address, 0)).1 += 1;
        metrics::gauge!("heddle_http_connections").increment(1.0);
        Ok(Place {
            places: self.clone(),
            number,
            connection,
        })
    }

    /// Has some of those that wait for their clients close, so that the next ones find a place: whether there are any.
    fn make_room(&self, held: &mut Held) -> bool {
        if held.leaving > 0 && held.open.len() < self.ordinary_max + held.leaving {
            return true;
        }
        let now = self.now.load(Relaxed);
        if held.barren_at == Some(now) {
            return false;
        }
        let mut waiting: Vec<_> = held
            .open
            .iter()
            // The clock is coarse: of those that have waited as long, the lowest number came first.
            .filter_map(|(number, connection)| {
                let (rank, waited) = precedence(connection, now)?;
                Some(((rank, waited, *number), connection))
            })
            .collect();
        // Many at a time, since to find them is to look at all.
        let count = (self.ordinary_max / 32).max(1).min(waiting.len());
        if (1..waiting.len()).contains(&count) {
            waiting.select_nth_unstable_by_key(count - 1, |(precedence, _)| *precedence);
        }
        for (_, connection) in waiting.iter().take(count) {
            connection.close(Closing::Evicted);
        }
        held.leaving += count;
        held.barren_at = (count == 0).then_some(now);
        count > 0
    }

    /// Closes some idle connections, since the system has no more descriptors.
    pub fn shrink(&self) {
        self.make_room(&mut self.held());
    }

    /// Whether some have been told to give way, and have not gone yet.
    pub fn are_some_leaving(&self) -> bool {
        self.held().leaving > 0
    }

    /// Waits until a connection has ended.
    pub async fn one_left(&self) {
        self.left.notified().await;
    }

    /// Looks at all connections, once for every time that this is awaited to its end, which it never is.
    pub async fn watch(&self) {
        let patience = self.patience;
        let shortest = [patience.header, patience.body, patience.idle, patience.stall];
        let shortest = shortest.into_iter().min().unwrap_or_default();
        let every = Duration::from_millis((shortest / 4).clamp(10, 1_000));
        let mut looks = tokio::time::interval(every);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // The first comes at once.
        let mut last = looks.tick().await;
        loop {
            let at = looks.tick().await;
            // While the process stood still, nobody was kept waiting by a client.
            let passed = at.duration_since(last).min(every * 2);
            last = at;
            let now = self.now.fetch_add(millis(passed), Relaxed) + millis(passed);
            let held = self.held();
            let in_reserve = Patience {
                header: patience.header.min(RESERVE_HEADER),
                ..patience
            };
            for connection in held.open.values() {
                let patience = if connection.is_reserve {
                    &in_reserve
                } else {
                    &patience
                };
                match connection.judge(now, patience) {
                    Verdict::Fine => {}
                    Verdict::LateBody => {
                        metrics::counter!("heddle_http_late_bodies_total").increment(1);
                        connection.give_body_up();
                    }
                    Verdict::Close(closing) => connection.close(closing),
                }
            }
        }
    }

    /// Has all connections end once what they do is done, and waits until they have.
    pub async fn stop(&self) {
        {
            let mut held = self.held();
            held.is_stopping = true;
            for connection in held.open.values() {
                connection.stop();
            }
        }
        while !self.held().open.is_empty() {
            self.left.notified().await;
        }
    }

    /// A request on a connection of this address. One that came by a proxy that is trusted is its client's, of whom no more are answered
    /// at a time than one may have connections (`None`: there are as many): a proxy's client must not take what there is for all of them.
    pub fn begin(&self, own: &Arc<Address>, peer: IpAddr, headers: &HeaderMap) -> Option<Begun> {
        let client = own
            .is_exempt
            .then(|| behind(peer, headers, &self.trusted).limit_key().address());
        let Some(client) = client.filter(|client| *client != own.key) else {
            return Some(Begun {
                address: own.clone(),
                is_counted: false,
            });
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let address = clients.of(client);
        drop(clients);
        let before = address.requests.fetch_add(1, Relaxed);
        // Given back if it is one too many.
        let begun = Begun {
            address,
            is_counted: true,
        };
        (before < self.per_address_max).then_some(begun)
    }

    /// Counts bytes of a body that is not whole yet, which has `had` so far: whether there is room for them.
    pub fn hold(&self, address: &Address, bytes: usize, had: usize) -> bool {
        let all = self.unfinished_bytes.fetch_add(bytes, Relaxed) + bytes;
        let of_address = address.unfinished_bytes.fetch_add(bytes, Relaxed) + bytes;
        let share_max = match address.is_exempt {
            true => self.unfinished_max,
            false => self.unfinished_max / 4,
        };
        had + bytes <= ALWAYS_BYTES || (all <= self.unfinished_max && of_address <= share_max)
    }

    /// Room for a large answer until its client has taken it. `None`: there is none. An address has no more than is free besides, unless
    /// others are behind it.
    pub fn send(self: &Arc<Self>, address: &Arc<Address>, bytes: usize) -> Option<Unsent> {
        let all = self.unsent_bytes.fetch_add(bytes, Relaxed);
        let own = address.unsent_bytes.fetch_add(bytes, Relaxed);
        // Given back if there is none.
        let unsent = Unsent {
            places: self.clone(),
            address: address.clone(),
            bytes,
        };
        let wanted = match address.is_exempt {
            true => bytes,
            false => own.saturating_add(bytes),
        };
        (wanted <= self.unsent_max.saturating_sub(all)).then_some(unsent)
    }

    /// These bytes are no longer part of an unfinished body.
    pub fn release(&self, address: &Address, bytes: usize) {
        self.unfinished_bytes.fetch_sub(bytes, Relaxed);
        address.unfinished_bytes.fetch_sub(bytes, Relaxed);
    }
}

/// Has the oldest one in the reserve close that is not being answered.
fn make_room_in_reserve(held: &mut Held) {
    let waits = |connection: &&Arc<Connection>| {
        let phase = connection.phase();
        connection.closing().is_none() && matches!(phase, Phase::New | Phase::Head | Phase::Idle)
    };
    if let Some(connection) = held.in_reserve.values().find(waits) {
        connection.close(Closing::Evicted);
        held.leaving += 1;
    }
}

/// Places that are kept for questions about health, beside so many ordinary ones.
pub(super) fn reserve(ordinary: usize) -> usize {
    (ordinary / 16).clamp(4, RESERVE_MAX)
}

/// Who gives way first: the lowest. `None`: nobody who is being served.
fn precedence(connection: &Connection, now: u64) -> Option<(u8, std::cmp::Reverse<u64>)> {
    if connection.is_reserve || connection.closing().is_some() {
        return None;
    }
    let waited = connection.waited(now);
    let is_exempt = connection.address.is_exempt;
    let rank = match connection.phase() {
        // Who has been let in and says nothing.
        Phase::New | Phase::Head if waited > GRACE => 0,
        Phase::Idle if !is_exempt => 1,
        Phase::Idle => 2,
        Phase::Body if connection.is_starved(now, GRACE * 5) => 3,
        Phase::New => 4,
        _ => return None,
    };
    Some((rank, std::cmp::Reverse(waited)))
}
