//! How many names are looked up at a time: each takes a thread, which nobody can end, until the name's servers have answered or the
//! system gives them up. Of these places a domain gets no more than it leaves free, so that whoever has servers that keep
//! silent keeps nobody else's names from being found. Knows nothing of addresses.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// All at a time; tokio has 512 threads for this and other things.
const LOOKUPS_MAX: usize = 256;

/// Those of the process, as its threads are.
pub(super) static LOOKUPS: LazyLock<Lookups> = LazyLock::new(Lookups::default);

#[derive(Default)]
pub(super) struct Lookups(Arc<Shared>);

#[derive(Default)]
struct Shared(Mutex<State>);

#[derive(Default)]
struct State {
    /// How many names of each domain are being looked up.
    held: HashMap<String, usize>,
    /// All of them.
    count: usize,
    /// Who waits. Of these none has room, so that whoever gives a place back wakes no more than get one.
    waiting: HashMap<String, VecDeque<oneshot::Sender<Place>>>,
    /// Domains that somebody waits for, by turns.
    turns: VecDeque<String>,
}

/// For one lookup; given back when dropped.
pub(super) struct Place {
    shared: Arc<Shared>,
    domain: String,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether more places are free than the domain has.
    fn has_room(&self, domain: &str) -> bool {
        let own = self.held.get(domain).copied().unwrap_or_default();
        own < LOOKUPS_MAX.saturating_sub(self.count)
    }

    fn take(&mut self, domain: &str) {
        self.count += 1;
        *self.held.entry(domain.to_owned()).or_default() += 1;
    }

    fn give_back(&mut self, domain: &str) {
        self.count = self.count.saturating_sub(1);
        match self.held.get_mut(domain) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(self.held.remove(domain)),
        }
    }

    fn wait(&mut self, domain: &str) -> oneshot::Receiver<Place> {
        let (sender, place) = oneshot::channel();
        let those = self.waiting.entry(domain.to_owned()).or_default();
        if those.is_empty() {
            self.turns.push_back(domain.to_owned());
        }
        those.push_back(sender);
        place
    }

    /// The next one that waits and gets a place, which is taken by then.
    fn grant(&mut self) -> Option<(String, oneshot::Sender<Place>)> {
        for _ in 0..self.turns.len() {
            let domain = self.turns.pop_front()?;
            let has_room = self.has_room(&domain);
            let Some(those) = self.waiting.get_mut(&domain) else {
                continue;
            };
            while those.front().is_some_and(oneshot::Sender::is_closed) {
                those.pop_front();
            }
            let next = if has_room { those.pop_front() } else { None };
            match those.is_empty() {
                true => drop(self.waiting.remove(&domain)),
                false => self.turns.push_back(domain.clone()),
            }
            if let Some(next) = next {
                self.take(&domain);
                return Some((domain, next));
            }
        }
        None
    }
}

impl Lookups {
    /// Waits for a place for a name.
    pub async fn place(&self, host: &str) -> Place {
        let domain = domain(host);
        loop {
            let waiting = match self.take_or_wait(&domain) {
                Ok(place) => return place,
                Err(waiting) => waiting,
            };
            // Its sender is dropped only with everything.
            if let Ok(place) = waiting.await {
                return place;
            }
        }
    }

    fn take_or_wait(&self, domain: &str) -> Result<Place, oneshot::Receiver<Place>> {
        let mut state = self.0.state();
        if !state.has_room(domain) {
            return Err(state.wait(domain));
        }
        state.take(domain);
        Ok(Place {
            shared: self.0.clone(),
            domain: domain.to_owned(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let next: Vec<_> = {
            let mut state = self.shared.state();
            state.give_back(&self.domain);
            std::iter::from_fn(|| state.grant()).collect()
        };
        for (domain, waits) in next {
            let shared = self.shared.clone();
            // Whoever has just left gives it back.
            drop(waits.send(Place { shared, domain }));
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

    #[test]
    fn a_domain_leaves_as_many_places_as_it_has() {
        let lookups = Lookups::default();
        let all = |domain: &str| -> Vec<Place> {
            std::iter::from_fn(|| lookups.place(domain).now_or_never()).collect()
        };
        let mut silent = all("silent.example");
        assert_eq!(silent.len(), LOOKUPS_MAX / 2);
        let other = all("other.example");
        assert_eq!(other.len(), LOOKUPS_MAX / 4);
        assert!(lookups.place("www.silent.example").now_or_never().is_none());
        assert!(lookups.place("a.third.example").now_or_never().is_some());
        // Who waits comes in order; who has left is passed over.
        let mut first = Box::pin(lookups.place("www.silent.example"));
        assert!(first.as_mut().now_or_never().is_none());
        let mut second = Box::pin(lookups.place("www.silent.example"));
        assert!(second.as_mut().now_or_never().is_none());
        drop(other);
        assert!(second.as_mut().now_or_never().is_none());
        silent.truncate(LOOKUPS_MAX / 2 - 1);
        assert!(second.as_mut().now_or_never().is_none());
        drop(first);
        assert!(second.as_mut().now_or_never().is_some());
        silent.truncate(1);
        assert!(lookups.place("www.silent.example").now_or_never().is_some());
        drop(silent);
        let state = lookups.0.state();
        assert!(state.held.is_empty() && state.waiting.is_empty() && state.count == 0);
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
