//! Linear memory of all runs of a process together, and of all calls of components. An owner's runs may have four times as
//! much of it as they leave free. So whoever comes when others have all they can get still finds room: one who takes all
//! that they can leaves a fifth, two leave a ninth, and so on.
//!
//! Source: Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches" (1998).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much of what is free, when it has been taken, an owner may have.
const FACTOR: usize = 4;

/// What all may use together. Clones count together.
#[derive(Clone, Debug)]
pub struct MemoryBudget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    bytes_max: usize,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    bytes: usize,
    /// By id. Few at a time, and looked up several times for each run: hashing would cost more.
    owners: BTreeMap<u128, usize>,
}

/// An owner's part of it. Clones count together, as do all parts of one owner.
#[derive(Clone, Debug)]
pub struct MemoryShare {
    budget: MemoryBudget,
    owner: Option<u128>,
}

/// There is no room left for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// All have these bytes together.
    ForAll(usize),
    /// What is free of these bytes is kept for other owners.
    ForOwner(usize),
}

impl MemoryBudget {
    pub fn new(bytes_max: usize) -> Self {
        MemoryBudget(Arc::new(Shared {
            bytes_max,
            used: Mutex::default(),
        }))
    }

    /// The part of an owner; of nobody, it may be the whole.
    pub fn share(&self, owner: Option<u128>) -> MemoryShare {
        MemoryShare {
            budget: self.clone(),
            owner,
        }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.0.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The least that all may use together so that one owner may use `bytes`.
pub const fn least_for(bytes: usize) -> usize {
    bytes.saturating_add(bytes.div_ceil(FACTOR))
}

impl MemoryShare {
    /// Takes so many bytes; whoever does gives them back.
    pub fn take(&self, bytes: usize) -> Result<(), Exhausted> {
        let bytes_max = self.budget.0.bytes_max;
        let mut used = self.budget.used();
        let left = bytes_max
            .checked_sub(used.bytes)
            .and_then(|free| free.checked_sub(bytes));
        let left = left.ok_or(Exhausted::ForAll(bytes_max))?;
        if let Some(owner) = self.owner {
            let own = used.owners.get(&owner).copied().unwrap_or_default();
            let own = own.saturating_add(bytes);
            if own > left.saturating_mul(FACTOR) {
                return Err(Exhausted::ForOwner(bytes_max));
            }
            used.owners.insert(owner, own);
        }
        used.bytes = bytes_max - left;
        Ok(())
    }

    pub fn give_back(&self, bytes: usize) {
        let mut used = self.budget.used();
        used.bytes = used.bytes.saturating_sub(bytes);
        if let Some(owner) = self.owner
            && let Some(own) = used.owners.get_mut(&owner)
        {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                used.owners.remove(&owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Exhausted, MemoryBudget, least_for};

    #[test]
    fn a_part_is_always_kept_for_others() {
        let budget = MemoryBudget::new(1_000);
        let (a, b, c) = (
            budget.share(Some(1)),
            budget.share(Some(2)),
            budget.share(Some(3)),
        );
        a.take(800).unwrap();
        assert_eq!(a.take(1), Err(Exhausted::ForOwner(1_000)));
        b.take(160).unwrap();
        assert_eq!(b.take(1), Err(Exhausted::ForOwner(1_000)));
        c.take(32).unwrap();
        assert_eq!(budget.share(None).take(9), Err(Exhausted::ForAll(1_000)));
        a.give_back(800);
        b.take(500).unwrap();
        b.give_back(660);
        c.give_back(32);
        assert!(budget.used().owners.is_empty());
        assert_eq!(budget.used().bytes, 0);
        budget.share(None).take(1_000).unwrap();
    }

    #[test]
    fn one_owner_can_have_what_the_least_is_for() {
        for bytes in [0, 1, 3, 64 << 20, usize::MAX / 2] {
            MemoryBudget::new(least_for(bytes))
                .share(Some(1))
                .take(bytes)
                .unwrap();
        }
    }
}
