//! How many connections to mailboxes this server keeps open, so that it is told of new messages: in all, of a workspace, and of an
//! owner no more than are free besides. Who gets none looks now and then.

use heddle_model::ids::UserId;
use heddle_model::tenant::Tenant;
use metrics::gauge;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Who stays connected.
#[derive(Debug)]
pub(crate) struct MailboxPlaces {
    all: usize,
    of_tenant: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_owner: HashMap<UserId, usize>,
    by_tenant: HashMap<Tenant, usize>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(crate) struct MailboxPlace {
    places: Arc<MailboxPlaces>,
    owner: UserId,
    tenant: Tenant,
}

impl MailboxPlaces {
    /// So many in all, and of a workspace.
    pub fn new(all: usize, of_tenant: usize) -> Self {
        MailboxPlaces {
            all,
            of_tenant,
            taken: Mutex::default(),
        }
    }

    /// A place, if there is one.
    pub fn take(self: &Arc<Self>, owner: UserId, tenant: Tenant) -> Option<MailboxPlace> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.all.saturating_sub(taken.all);
        let of_owner = taken.by_owner.get(&owner).copied().unwrap_or_default();
        let of_tenant = taken.by_tenant.get(&tenant).copied().unwrap_or_default();
        if of_owner >= free || of_tenant >= self.of_tenant {
            return None;
        }
        taken.all += 1;
        taken.by_owner.insert(owner, of_owner + 1);
        taken.by_tenant.insert(tenant, of_tenant + 1);
        gauge!("heddle_mailboxes_connected").set(taken.all as f64);
        Some(MailboxPlace {
            places: self.clone(),
            owner,
            tenant,
        })
    }
}

impl Drop for MailboxPlace {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all = taken.all.saturating_sub(1);
        give_back(&mut taken.by_owner, &self.owner);
        give_back(&mut taken.by_tenant, &self.tenant);
        gauge!("heddle_mailboxes_connected").set(taken.all as f64);
    }
}

/// Whoever has none any more is forgotten.
fn give_back<K: Eq + std::hash::Hash>(taken: &mut HashMap<K, usize>, key: &K) {
    match taken.get_mut(key) {
        Some(count) if *count > 1 => *count -= 1,
        _ => {
            taken.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_model::ids::WorkspaceId;

    #[test]
    fn an_owner_has_no_more_than_what_is_free_and_a_workspace_its_number() {
        let places = Arc::new(MailboxPlaces::new(8, 3));
        let (ann, bob) = (UserId::new(), UserId::new());
        let own = || Tenant::Workspace(WorkspaceId::new());
        let shop = own();
        let mut held: Vec<_> = (0..4).filter_map(|_| places.take(ann, shop)).collect();
        assert_eq!(held.len(), 3);
        held.extend((0..9).filter_map(|_| places.take(ann, own())));
        assert_eq!(held.len(), 4);
        let others: Vec<_> = (0..9).filter_map(|_| places.take(bob, own())).collect();
        assert_eq!(others.len(), 2);
        drop(held);
        assert!(places.take(ann, shop).is_some());
        assert!(places.taken.lock().unwrap().by_tenant.len() <= 3);
    }
}
