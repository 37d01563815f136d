//! Which elements runs were started for, as far back as is kept.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha2::{Digest, Sha256};
use std::collections::HashSet;

/// Elements that are remembered: more than an answer may have, so that what stands in the last one is never new again.
const SEEN_MAX: usize = 5_000;
/// Bytes of each, of a hash: two of one list that have the same are not found by accident.
const BYTES: usize = 12;
/// Characters of these as they are stored.
const CHARS: usize = 16;

/// What was seen, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    order: Vec<String>,
    all: HashSet<String>,
}

fn mark(key: &str) -> String {
    let hash = Sha256::digest(key);
    STANDARD_NO_PAD.encode(hash.get(..BYTES).unwrap_or_default())
}

impl Seen {
    /// From what was stored; of anything else, nothing.
    pub fn of_stored(stored: &str) -> Self {
        if !stored.is_ascii() {
            return Seen::default();
        }
        let marks = stored.as_bytes().chunks_exact(CHARS).take(SEEN_MAX);
        let order: Vec<String> = marks
            .map(|mark| String::from_utf8_lossy(mark).into_owned())
            .collect();
        Seen {
            all: order.iter().cloned().collect(),
            order,
        }
    }

    /// One mark after the other.
    pub fn stored(&self) -> String {
        self.order.concat()
    }

    pub fn has(&self, key: &str) -> bool {
        self.all.contains(&mark(key))
    }

    /// What is known once these were there as well; what was seen longest ago is forgotten.
    pub fn with<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> Self {
        Self::of_marks(keys.into_iter().map(mark).chain(self.order.iter().cloned()))
    }

    /// What is known once what is known elsewhere is known here as well.
    pub fn and(&self, other: &Self) -> Self {
        Self::of_marks(other.order.iter().chain(&self.order).cloned())
    }

    fn of_marks(newest_first: impl Iterator<Item = String>) -> Self {
        let mut all = HashSet::new();
        let order: Vec<String> = newest_first
            .filter(|mark| all.insert(mark.clone()))
            .take(SEEN_MAX)
            .collect();
        Seen {
            all: order.iter().cloned().collect(),
            order,
        }
    }
}
