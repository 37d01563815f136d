//! Groups: what goes together, whose turn it is, and what stays in its order.

use super::{GROUP_BYTES_MAX, Load, Turns};
use heddle_model::ids::UserId;

/// What was sent: whose, in which sequence, and how many bytes.
type Sent = (UserId, u32, usize);

const KIB: usize = 1_024;
const COUNT_MAX: usize = 16;

/// All groups of what has come together, of which what is large is stored before the next of what is small.
fn groups(sent: &[Sent]) -> Vec<Vec<Sent>> {
    let mut turns = Turns::new(COUNT_MAX);
    let mut groups = Vec::new();
    let mut come = sent.to_vec();
    loop {
        turns.small_group(&mut come, of);
        if !come.is_empty() {
            groups.push(std::mem::take(&mut come));
        }
        match turns.large_group() {
            Some((_, group)) => groups.push(group),
            None if turns.is_empty() => return groups,
            None => {}
        }
        turns.large_is_stored();
    }
}

fn of((owner, sequence, bytes): &Sent) -> (Load, u32) {
    (Load::of(Some(*owner), *bytes), *sequence)
}

fn bytes(group: &[Sent]) -> usize {
    group.iter().map(|(_, _, bytes)| bytes).sum()
}

#[test]
fn what_is_small_comes_before_all_that_is_large_and_groups_are_bounded_by_bytes() {
    let (ann, bob) = (UserId::new(), UserId::new());
    let mut sent: Vec<Sent> = (0..64).map(|n| (ann, n, 128 * KIB)).collect();
    sent.push((bob, 64, KIB));
    let groups = groups(&sent);
    assert_eq!(groups[0], [(bob, 64, KIB)]);
    assert_eq!(groups[1], [(ann, 0, 128 * KIB)]);
    assert!(groups.iter().all(|group| bytes(group) <= GROUP_BYTES_MAX));
    assert_eq!(groups.concat().len(), sent.len());
}

#[test]
fn one_that_is_larger_than_a_group_is_one_by_itself() {
    let ann = UserId::new();
    let sent = [(ann, 0, 8_192 * KIB), (ann, 1, 128 * KIB), (ann, 2, KIB)];
    assert_eq!(groups(&sent), [vec![sent[2]], vec![sent[0]], vec![sent[1]]]);
}

#[test]
fn owners_take_turns_with_what_is_small_and_with_what_is_large() {
    let (ann, bob) = (UserId::new(), UserId::new());
    for size in [KIB, 30 * KIB, 100 * KIB] {
        let mut sent: Vec<Sent> = (0..40).map(|n| (ann, n, size)).collect();
        sent.push((bob, 40, size));
        let groups = groups(&sent);
        assert!(groups[..2].concat().contains(&(bob, 40, size)), "{size}");
        assert!(groups.iter().all(|group| group.len() <= COUNT_MAX));
    }
}

#[test]
fn what_belongs_to_a_sequence_keeps_its_order() {
    let (ann, bob) = (UserId::new(), UserId::new());
    let sent = [
        (ann, 0, KIB),
        (ann, 0, 200 * KIB),
        (ann, 0, 2 * KIB),
        (ann, 1, 100 * KIB),
        (bob, 2, 3 * KIB),
        (ann, 0, 4 * KIB),
    ];
    let stored = groups(&sent).concat();
    let first: Vec<_> = stored.iter().filter(|sent| sent.1 == 0).collect();
    assert_eq!(first, [&sent[0], &sent[1], &sent[2], &sent[5]]);
    assert!(stored[..3].contains(&sent[4]), "{stored:?}");
}

#[test]
fn what_is_small_and_fits_is_one_group_in_the_order_in_which_it_came() {
    let (ann, bob) = (UserId::new(), UserId::new());
    let sent = [(ann, 0, KIB), (ann, 1, KIB), (bob, 2, KIB), (ann, 0, KIB)];
    assert_eq!(groups(&sent), [sent.to_vec()]);
}

#[test]
fn what_is_small_goes_on_beside_what_is_large_but_overtakes_none_of_its_sequence() {
    let (ann, bob) = (UserId::new(), UserId::new());
    let mut turns = Turns::new(COUNT_MAX);
    let mut come = vec![(ann, 0, 100 * KIB), (ann, 0, KIB), (ann, 1, 100 * KIB)];
    turns.small_group(&mut come, of);
    assert!(come.is_empty());
    let (load, large) = turns.large_group().unwrap();
    assert!(load.is_large());
    assert_eq!(large, [(ann, 0, 100 * KIB)]);
    assert!(turns.large_group().is_none() && !turns.may_store_large());
    assert!(!turns.has_small());

    let mut come = vec![(bob, 2, KIB), (ann, 0, 2 * KIB), (bob, 2, 2 * KIB)];
    turns.small_group(&mut come, of);
    assert_eq!(come, [(bob, 2, KIB), (bob, 2, 2 * KIB)]);

    turns.large_is_stored();
    let mut come = Vec::new();
    turns.small_group(&mut come, of);
    assert_eq!(come, [(ann, 0, KIB), (ann, 0, 2 * KIB)]);
    assert_eq!(turns.large_group().unwrap().1, [(ann, 1, 100 * KIB)]);
    assert!(turns.is_empty());
}

#[test]
fn what_is_large_comes_after_each_group_of_what_is_small_or_waits() {
    let (ann, bob) = (UserId::new(), UserId::new());
    let mut turns = Turns::new(1);
    for (sequence, owner, bytes) in [
        (0, ann, 100 * KIB),
        (1, ann, 100 * KIB),
        (2, bob, KIB),
        (3, bob, KIB),
    ] {
        turns.push(sequence, Load::of(Some(owner), bytes), sequence);
    }
    let mut next = |may_be_large| {
        let mut group = turns.begin(may_be_large);
        turns.take(&mut group)
    };
    assert_eq!(next(true), Some(0));
    assert_eq!(next(true), Some(2));
    assert_eq!(next(false), Some(3));
    assert_eq!(next(false), None);
    assert_eq!(next(true), Some(1));
}
