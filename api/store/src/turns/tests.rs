//! Groups: what goes together, whose turn it is, and what stays in its order.

use super::{GROUP_BYTES_MAX, Load, Turns};
use heddle_model::ids::UserId;

/// What was sent: whose, in which sequence, and how many bytes.
type Sent = (UserId, u32, usize);

const KIB: usize = 1_024;
const COUNT_MAX: usize = 16;

/// All groups of what has come together.
fn groups(sent: &[Sent]) -> Vec<Vec<Sent>> {
    let mut turns = Turns::new(COUNT_MAX);
    let mut groups = Vec::new();
    let mut come = sent.to_vec();
    loop {
        turns.group(&mut come, |(owner, sequence, bytes)| {
            (Load::of(Some(*owner), *bytes), *sequence)
        });
        if come.is_empty() {
            assert!(turns.is_empty());
            return groups;
        }
        groups.push(std::mem::take(&mut come));
    }
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
    assert_eq!(groups[0], [(ann, 0, 128 * KIB), (ann, 1, 128 * KIB)]);
    assert_eq!(groups[1], [(bob, 64, KIB)]);
    assert!(groups.iter().all(|group| bytes(group) <= GROUP_BYTES_MAX));
    assert_eq!(groups.concat().len(), sent.len());
}

#[test]
fn one_that_is_larger_than_a_group_is_one_by_itself() {
    let ann = UserId::new();
    let sent = [(ann, 0, 8_192 * KIB), (ann, 1, 128 * KIB), (ann, 2, KIB)];
    assert_eq!(groups(&sent), [vec![sent[0]], vec![sent[2]], vec![sent[1]]]);
}

#[test]
fn owners_take_turns_with_what_is_small_and_with_what_is_large() {
    let (ann, bob) = (UserId::new(), UserId::new());
    for size in [KIB, 30 * KIB, 100 * KIB] {
        let mut sent: Vec<Sent> = (0..40).map(|n| (ann, n, size)).collect();
        sent.push((bob, 40, size));
        let groups = groups(&sent);
        assert!(groups[0].contains(&(bob, 40, size)), "{size}");
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
