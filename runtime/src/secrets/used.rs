//! The values that a run has used, and what finds them in texts. A value that comes later makes a small set of spellings of its own, or a
//! larger one together with sets of about its size and smaller ones: so there are few sets, each of which goes through every text, and a
//! run that uses many values one after the other has none of them spelled anew for each that follows.

use super::mask::Masker;
use super::spelling::spellings;
use heddle_sandbox::{Digest256, EffectCode, EffectError, sha256};
use std::collections::HashSet;
use zeroize::Zeroizing;

/// Different values that one run may use.
const USED_MAX: usize = 1_000;
/// Their bytes together: what finds them takes more than twenty times as many.
const USED_BYTES_MAX: usize = 1 << 20;
/// How many times as long as a value its spellings are, about.
const SPELLINGS: usize = 20;

/// The values used so far.
#[derive(Default)]
pub struct Used {
    values: Vec<Zeroizing<String>>,
    digests: HashSet<Digest256>,
    bytes: usize,
    /// Of the first values, so many of them.
    masker: Masker,
    known: usize,
    /// The sets of the masker.
    sets: Vec<Set>,
}

/// Values that are looked for together: from this one on, up to the next set.
#[derive(Clone, Copy)]
struct Set {
    first: usize,
    bytes: usize,
}

impl Used {
    /// In the order in which they came.
    pub fn values(&self) -> &[Zeroizing<String>] {
        &self.values
    }

    /// From now on this value is one of them.
    pub fn note(&mut self, value: &str) -> Result<(), EffectError> {
        let digest = sha256(value.as_bytes());
        if self.digests.contains(&digest) {
            return Ok(());
        }
        let bytes = self.bytes.saturating_add(value.len());
        if self.values.len() >= USED_MAX || bytes > USED_BYTES_MAX {
            let message = format!(
                "The run has used more than {USED_MAX} different secrets, or more than {} MiB of them.",
                USED_BYTES_MAX >> 20
            );
            return Err(EffectError::new(EffectCode::EffectLimit, message));
        }
        self.bytes = bytes;
        self.digests.insert(digest);
        self.values.push(Zeroizing::new(value.to_owned()));
        Ok(())
    }

    /// Of all values; `None`: there are none.
    pub fn masker(&mut self) -> Option<Masker> {
        if self.values.is_empty() {
            return None;
        }
        if let Some(due) = self.due() {
            let values = self.values.get(due.first..).unwrap_or_default();
            let all: Vec<_> = values.iter().flat_map(|value| spellings(value)).collect();
            self.sets.retain(|set| set.first < due.first);
            self.masker.replace_from(self.sets.len(), &all);
            self.sets.push(due);
            self.known = self.values.len();
        }
        Some(self.masker.clone())
    }

    /// About how many bytes of spellings the next masker makes; and where a text is cut, those of all values are made once more.
    pub fn spelling_bytes(&self, is_cut: bool) -> usize {
        let next = self.due().map_or(0, |due| due.bytes);
        let all = if is_cut { self.bytes } else { 0 };
        next.saturating_add(all).saturating_mul(SPELLINGS)
    }

    /// The set that the masker lacks: of values that it does not know, and of the sets before them, up to one with a higher power of two in
    /// its bytes. So no two sets have the same power, also where each value is a little shorter than the one before.
    fn due(&self) -> Option<Set> {
        let unknown = self.values.get(self.known..).unwrap_or_default();
        if unknown.is_empty() {
            return None;
        }
        let mut due = Set {
            first: self.known,
            bytes: unknown.iter().map(|value| value.len()).sum(),
        };
        for before in self.sets.iter().rev() {
            if before.bytes.checked_ilog2() > due.bytes.checked_ilog2() {
                break;
            }
            due = Set {
                first: before.first,
                bytes: before.bytes.saturating_add(due.bytes),
            };
        }
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value of 100 bytes.
    fn value(number: usize) -> String {
        format!("<{number:03}>").repeat(20)
    }

    #[test]
    fn no_value_is_spelled_again_for_each_that_follows() {
        const VALUES: usize = 256;
        let mut used = Used::default();
        let mut spelled = 0;
        for number in 0..VALUES {
            used.note(&value(number)).unwrap();
            spelled += used.spelling_bytes(false) / SPELLINGS;
            let masker = used.masker().unwrap();
            assert_eq!(used.spelling_bytes(false), 0);
            assert!(masker.is_in(value(number).as_bytes()));
            assert!(!masker.is_in(value(number + 1).as_bytes()));
            assert!(used.sets.len() <= 8, "{number}: {}", used.sets.len());
        }
        assert!(spelled <= used.bytes * 8, "{spelled} of {}", used.bytes);
        assert_eq!(used.spelling_bytes(true), used.bytes * SPELLINGS);
        // Those that came first are still found.
        let masker = used.masker().unwrap();
        assert!((0..VALUES).all(|number| masker.is_in(value(number).as_bytes())));
    }

    #[test]
    fn values_that_get_shorter_make_few_sets() {
        let mut used = Used::default();
        for length in (4..=100).rev() {
            used.note(&"x".repeat(length)).unwrap();
            assert!(used.masker().is_some());
            let powers = used.bytes.ilog2() as usize + 1;
            assert!(used.sets.len() <= powers, "{length}: {}", used.sets.len());
        }
        let (first, bytes) = (
            used.sets[0].first,
            used.sets.iter().map(|set| set.bytes).sum::<usize>(),
        );
        assert_eq!((first, bytes), (0, used.bytes));
        assert!(
            used.sets
                .is_sorted_by(|set, next| set.bytes.ilog2() > next.bytes.ilog2())
        );
    }

    #[test]
    fn there_are_so_many_values() {
        let mut used = Used::default();
        assert!((0..USED_MAX).all(|number| used.note(&value(number)).is_ok()));
        assert!(used.note("one more").is_err() && used.note(&value(7)).is_ok());
    }

    #[test]
    fn values_have_so_many_bytes_together() {
        let mut used = Used::default();
        used.note(&"x".repeat(USED_BYTES_MAX)).unwrap();
        let refused = used.note("geheim").unwrap_err();
        assert_eq!(refused.code, EffectCode::EffectLimit);
        assert!(refused.message.contains("more than 1 MiB"), "{refused}");
        assert!(used.note(&"x".repeat(USED_BYTES_MAX)).is_ok());
    }
}
