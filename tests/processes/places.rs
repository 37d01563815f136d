//! Places of owners.

use heddle_processes::places::{PerOwner, REMEMBERED_MAX};

#[test]
fn an_owner_waits_for_their_own_and_is_forgotten_afterwards() {
    let all = PerOwner::new(1);
    let (ann, bob) = (0, 1);
    let held = all.of(ann).try_acquire_owned().unwrap();
    assert!(all.of(ann).try_acquire_owned().is_err());
    assert!(all.of(bob).try_acquire_owned().is_ok());
    for owner in 2..3 * REMEMBERED_MAX {
        drop(all.of(owner));
    }
    assert!(all.remembered() <= REMEMBERED_MAX);
    assert!(all.of(ann).try_acquire_owned().is_err());
    drop(held);
    assert!(all.of(ann).try_acquire_owned().is_ok());
}
