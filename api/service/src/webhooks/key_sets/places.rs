//! What is kept of addresses, by who chose them: so much of each owner, and so much of all together. What was used least recently is
//! forgotten; where all together have too much, that of whoever has the most. So nobody empties the places of others.

use heddle_model::ids::UserId;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) struct Places<V> {
    of_owner_max: usize,
    all_max: usize,
    of_owners: HashMap<UserId, HashMap<String, Place<V>>>,
    count: usize,
    /// How often something was used: the time by which the oldest is found.
    uses: u64,
}

struct Place<V> {
    used: u64,
    value: Arc<V>,
}

impl<V: Default> Places<V> {
    pub(super) fn new(of_owner_max: usize, all_max: usize) -> Self {
        Places {
            of_owner_max,
            all_max,
            of_owners: HashMap::new(),
            count: 0,
            uses: 0,
        }
    }

    /// What is kept of an owner's address.
    pub(super) fn of(&mut self, owner: UserId, address: &str) -> Arc<V> {
        self.uses += 1;
        let used = self.uses;
        let places = self.of_owners.get_mut(&owner);
        if let Some(place) = places.and_then(|places| places.get_mut(address)) {
            place.used = used;
            return place.value.clone();
        }
        self.make_room(owner);
        let value = Arc::<V>::default();
        let place = Place {
            used,
            value: value.clone(),
        };
        self.of_owners
            .entry(owner)
            .or_default()
            .insert(address.to_owned(), place);
        self.count += 1;
        value
    }

    /// Makes room for one more of this owner.
    fn make_room(&mut self, owner: UserId) {
        let has = self.of_owners.get(&owner).map_or(0, HashMap::len);
        let gives_way = match (has >= self.of_owner_max, self.count >= self.all_max) {
            (true, _) => Some(owner),
            (false, true) => self.with_most(),
            (false, false) => None,
        };
        if let Some(owner) = gives_way {
            self.forget_oldest(owner);
        }
    }

    /// The owner of the most; of several, the one who has not used theirs for the longest time.
    fn with_most(&self) -> Option<UserId> {
        let has = |places: &HashMap<String, Place<V>>| {
            let oldest = places.values().map(|place| place.used).min();
            (places.len(), Reverse(oldest))
        };
        let most = self.of_owners.iter().max_by_key(|(_, places)| has(places));
        most.map(|(owner, _)| *owner)
    }

    fn forget_oldest(&mut self, owner: UserId) {
        let Some(places) = self.of_owners.get_mut(&owner) else {
            return;
        };
        let oldest = places.iter().min_by_key(|(_, place)| place.used);
        let Some(address) = oldest.map(|(address, _)| address.clone()) else {
            return;
        };
        places.remove(&address);
        self.count -= 1;
        if places.is_empty() {
            self.of_owners.remove(&owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses a place, and tells whether it was there.
    fn has(places: &mut Places<()>, owner: UserId, address: &str) -> bool {
        let known = places.of_owners.get(&owner);
        let is_known = known.is_some_and(|known| known.contains_key(address));
        places.of(owner, address);
        assert!(places.count <= places.all_max);
        is_known
    }

    #[test]
    fn what_an_owner_used_least_recently_gives_way_to_their_own() {
        let mut places = Places::new(2, 10);
        let (ann, bob) = (UserId::new(), UserId::new());
        assert!(!has(&mut places, bob, "1"));
        for address in ["1", "2"] {
            assert!(!has(&mut places, ann, address));
        }
        assert!(has(&mut places, ann, "1"));
        assert!(!has(&mut places, ann, "3"));
        assert!(has(&mut places, ann, "1"));
        assert!(!has(&mut places, ann, "2"), "it was used before the others");
        assert!(has(&mut places, bob, "1"), "an address is its owner's");
        assert_eq!(places.count, 3);
    }

    #[test]
    fn whoever_has_the_most_gives_way_to_others() {
        let mut places = Places::new(4, 6);
        let [ann, bob, cid] = [(); 3].map(|()| UserId::new());
        for address in ["1", "2"] {
            has(&mut places, bob, address);
        }
        for turn in 0..100 {
            has(&mut places, ann, &turn.to_string());
        }
        assert_eq!(places.count, 6);
        // Ann's, although Bob's are older.
        has(&mut places, cid, "1");
        for address in ["1", "2"] {
            assert!(has(&mut places, bob, address));
        }
        assert!(!has(&mut places, ann, "96"));
        assert!(has(&mut places, ann, "99"));
        // As many owners as there are places: the one who has not come for the longest time.
        let mut places = Places::new(4, 2);
        for owner in [ann, bob, cid] {
            has(&mut places, owner, "1");
        }
        assert!(has(&mut places, bob, "1"));
        assert!(!has(&mut places, ann, "1"));
        assert!(!has(&mut places, cid, "1"));
    }
}
