//! How many names are looked up at a time: each takes a thread, which nobody can end, until the name's servers have answered or the
//! system gives them up. Of these places neither an owner nor a domain gets more than it leaves free, so that whoever asks for many
//! names whose servers keep silent, of one domain or of many, keeps nobody else's from being found. Knows nothing of addresses.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// All at a time; tokio has 512 threads for this and other things.
const LOOKUPS_MAX: usize = 256;

/// Those of the process, as its threads are.
pub(super) static LOOKUPS: LazyLock<Lookups> = LazyLock::new(Lookups::default);

/// Who asks, as runs' owners are numbered. What the service asks for itself is nobody's, and has a share like an owner.
pub(super) type Owner = Option<u128>;

tokio::task_local! {
    static OWNER: Owner;
}

/// Names that this work looks up are counted for their owner, however far down they are asked for: clients of HTTP give their
/// resolvers nothing but a name. What it spawns is not part of it, see [`names_as_here`].
pub fn names_for<W: Future>(owner: Option<u128>, work: W) -> impl Future<Output = W::Output> {
    OWNER.scope(owner, work)
}

/// Counts the names that spawned work looks up for the owner of the present work.
pub fn names_as_here<W: Future>(work: W) -> impl Future<Output = W::Output> {
    names_for(asker(), work)
}

/// For whom the present work is done.
pub(super) fn asker() -> Owner {
    OWNER.try_with(|owner| *owner).unwrap_or_default()
}

#[derive(Default)]
pub(super) struct Lookups(Arc<Shared>);

#[derive(Default)]
struct Shared(Mutex<State>);

#[derive(Default)]
struct State {
    /// How many names each owner, and of each domain anybody, is looking up.
    of_owners: HashMap<Owner, usize>,
    of_domains: HashMap<String, usize>,
    /// All of them.
    count: usize,
    /// Who waits, by domain. Of these none has room, so that whoever gives a place back wakes no more than get one.
    waiting: HashMap<Owner, VecDeque<(String, oneshot::Sender<Place>)>>,
    /// Owners who wait, by turns.
    turns: VecDeque<Owner>,
}

/// For one lookup; given back when dropped.
pub(super) struct Place {
    shared: Arc<Shared>,
    owner: Owner,
    domain: String,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether more places are free than the owner has.
    fn has_room_for(&self, owner: Owner) -> bool {
        let own = self.of_owners.get(&owner).copied().unwrap_or_default();
        own < self.free()
    }

    /// Whether more places are free than the domain has.
    fn has_room_at(&self, domain: &str) -> bool {
        let own = self.of_domains.get(domain).copied().unwrap_or_default();
        own < self.free()
    }

    fn free(&self) -> usize {
        LOOKUPS_MAX.saturating_sub(self.count)
    }

    fn take(&mut self, owner: Owner, domain: &str) {
        self.count += 1;
        *self.of_owners.entry(owner).or_default() += 1;
        *self.of_domains.entry(domain.to_owned()).or_default() += 1;
    }

    fn give_back(&mut self, owner: Owner, domain: &str) {
        self.count = self.count.saturating_sub(1);
        one_less(&mut self.of_owners, &owner);
        one_less(&mut self.of_domains, domain);
    }

    fn wait(&mut self, owner: Owner, domain: &str) -> oneshot::Receiver<Place> {
        let (sender, place) = oneshot::channel();
        let those = self.waiting.entry(owner).or_default();
        if those.is_empty() {
            self.turns.push_back(owner);
        }
        // Those who have left would be kept for as long as the owner has no room.
        if those.len().is_power_of_two() {
            those.retain(|(_, sender)| !sender.is_closed());
        }
        those.push_back((domain.to_owned(), sender));
        place
    }

    /// The next one that waits and gets a place, which is taken by then.
    fn grant(&mut self) -> Option<(Owner, String, oneshot::Sender<Place>)> {
        for _ in 0..self.turns.len() {
            let owner = self.turns.pop_front()?;
            let next = self.next_of(owner);
            match self.waiting.get(&owner).is_none_or(VecDeque::is_empty) {
                true => drop(self.waiting.remove(&owner)),
                false => self.turns.push_back(owner),
            }
            if let Some((domain, sender)) = next {
                self.take(owner, &domain);
                return Some((owner, domain, sender));
            }
        }
        None
    }

    /// The first of an owner's whose domain has room.
    fn next_of(&mut self, owner: Owner) -> Option<(String, oneshot::Sender<Place>)> {
        if !self.has_room_for(owner) {
            return None;
        }
        let mut those = self.waiting.remove(&owner)?;
        those.retain(|(_, sender)| !sender.is_closed());
        let first = those.iter().position(|(domain, _)| self.has_room_at(domain));
        let next = first.and_then(|at| those.remove(at));
        self.waiting.insert(owner, those);
        next
    }
}

fn one_less<K, Q>(places: &mut HashMap<K, usize>, whose: &Q)
where
    K: Borrow<Q> + Eq + Hash,
    Q: Eq + Hash + ?Sized,
{
    match places.get_mut(whose) {
        Some(own) if *own > 1 => *own -= 1,
        _ => drop(places.remove(whose)),
    }
}

impl Lookups {
    /// Waits for a place for a name that this owner asks for.
    pub async fn place(&self, owner: Owner, host: &str) -> Place {
        let domain = domain(host);
        loop {
            let waiting = match self.take_or_wait(owner, &domain) {
                Ok(place) => return place,
                Err(waiting) => waiting,
            };
            // Its sender is dropped only with everything.
            if let Ok(place) = waiting.await {
                return place;
            }
        }
    }

    fn take_or_wait(&self, owner: Owner, domain: &str) -> Result<Place, oneshot::Receiver<Place>> {
        let mut state = self.0.state();
        if !state.has_room_for(owner) || !state.has_room_at(domain) {
            return Err(state.wait(owner, domain));
        }
        state.take(owner, domain);
        Ok(Place {
            shared: self.0.clone(),
            owner,
            domain: domain.to_owned(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let next: Vec<_> = {
            let mut state = self.shared.state();
            state.give_back(self.owner, &self.domain);
            std::iter::from_fn(|| state.grant()).collect()
        };
        for (owner, domain, waits) in next {
            let shared = self.shared.clone();
            // Whoever has just left gives it back.
            drop(waits.send(Place {
                shared,
                owner,
                domain,
            }));
        }
    }
}

/// The last two labels of a name. Where these are not yet one owner's, as below `co.uk`, its owners share.
fn domain(host: &str) -> String {
    let host = host.trim_end_matches('.');
    let mut dots = host.rmatch_indices('.').map(|(at, _)| at);
    let from = dots.nth(1).map_or(0, |at| at + 1);
    host.get(from..).unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::cell::Cell;
    use std::error::Error;

    impl Lookups {
        fn is_at_rest(&self) -> bool {
            let state = self.0.state();
            state.of_owners.is_empty()
                && state.of_domains.is_empty()
                && state.waiting.is_empty()
                && state.turns.is_empty()
                && state.count == 0
        }
    }

    #[test]
    fn a_domain_leaves_as_many_places_as_it_has() {
        let lookups = Lookups::default();
        // Each name is asked for by somebody else, so that only domains count.
        let askers = Cell::new(0);
        let place = |domain: &'static str| {
            askers.set(askers.get() + 1);
            lookups.place(Some(askers.get()), domain)
        };
        let all = |domain| -> Vec<Place> { std::iter::from_fn(|| place(domain).now_or_never()).collect() };
        let mut silent = all("silent.example");
        assert_eq!(silent.len(), LOOKUPS_MAX / 2);
        let other = all("other.example");
        assert_eq!(other.len(), LOOKUPS_MAX / 4);
        assert!(place("www.silent.example").now_or_never().is_none());
        assert!(place("a.third.example").now_or_never().is_some());
        // Who waits comes in order; who has left is passed over.
        let mut first = Box::pin(place("www.silent.example"));
        assert!(first.as_mut().now_or_never().is_none());
        let mut second = Box::pin(place("www.silent.example"));
        assert!(second.as_mut().now_or_never().is_none());
        drop(other);
        assert!(second.as_mut().now_or_never().is_none());
        silent.truncate(LOOKUPS_MAX / 2 - 1);
        assert!(second.as_mut().now_or_never().is_none());
        drop(first);
        assert!(second.as_mut().now_or_never().is_some());
        silent.truncate(1);
        assert!(place("www.silent.example").now_or_never().is_some());
        drop(silent);
        assert!(lookups.is_at_rest());
    }

    #[test]
    fn an_owner_leaves_as_many_places_as_it_has_whatever_it_asks_for() {
        let lookups = Lookups::default();
        let all = |owner: Owner, domains: &str| -> Vec<Place> {
            let mut numbers = 0..;
            let next = || {
                let host = format!("{domains}{}.example", numbers.next()?);
                lookups.place(owner, &host).now_or_never()
            };
            std::iter::from_fn(next).collect()
        };
        let mut silent = all(Some(1), "silent");
        assert_eq!(silent.len(), LOOKUPS_MAX / 2);
        assert_eq!(all(Some(2), "other").len(), LOOKUPS_MAX / 4);
        // What nobody pays for has a share as well.
        assert_eq!(all(None, "own").len(), LOOKUPS_MAX / 4);
        let mut waits = Box::pin(lookups.place(Some(1), "late.example"));
        assert!(waits.as_mut().now_or_never().is_none());
        let mut busy = Box::pin(lookups.place(Some(1), "silent0.example"));
        assert!(busy.as_mut().now_or_never().is_none());
        silent.truncate(LOOKUPS_MAX / 2 - 1);
        assert!(waits.as_mut().now_or_never().is_some());
        assert!(busy.as_mut().now_or_never().is_some());
        drop(silent);
        assert!(lookups.is_at_rest());
    }

    #[test]
    fn who_has_left_is_not_remembered() {
        let lookups = Lookups::default();
        let place = |number: usize| {
            let host = format!("silent{number}.example");
            lookups.place(Some(1), &host).now_or_never()
        };
        let mut numbers = 0..;
        let held: Vec<Place> = std::iter::from_fn(|| place(numbers.next()?)).collect();
        assert!((0..1_000).all(|number| place(number).is_none()));
        assert_eq!(lookups.0.state().waiting[&Some(1)].len(), 1);
        drop(held);
        assert!(lookups.is_at_rest());
    }

    #[tokio::test]
    async fn a_client_of_http_resolves_names_for_whom_its_request_is_sent() {
        #[derive(Default)]
        struct Seen(Mutex<Vec<Owner>>);
        impl reqwest::dns::Resolve for Seen {
            fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
                self.0.lock().unwrap().push(asker());
                let nowhere: Result<reqwest::dns::Addrs, Box<dyn Error + Send + Sync>> =
                    Err("nowhere".into());
                Box::pin(std::future::ready(nowhere))
            }
        }
        // Chooses how TLS is done.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let seen = Arc::new(Seen::default());
        let client = reqwest::Client::builder()
            .no_proxy()
            .dns_resolver(seen.clone())
            .build()
            .unwrap();
        let ask = || async { client.get("http://nowhere.example").send().await.is_err() };
        assert!(names_for(Some(7), ask()).await);
        assert!(names_for(Some(8), ask()).await);
        assert!(ask().await);
        assert_eq!(*seen.0.lock().unwrap(), [Some(7), Some(8), None]);
    }

    #[test]
    fn names_of_a_domain_are_one() {
        for (host, expected) in [
            ("localhost", "localhost"),
            ("example.com", "example.com"),
            ("a.b.Example.COM.", "example.com"),
            ("a.example.co.uk", "co.uk"),
            ("", ""),
            ("..", ""),
        ] {
            assert_eq!(domain(host), expected);
        }
    }
}
