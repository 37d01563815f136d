//! What is large of requests and results: an owner has so much of it in memory at a time, however many of their runs ask. Requests and results
//! with many values take many times as much as values than as text. Knows nothing of effects.
//!
//! Whoever takes several rooms takes that for a request's values first, then that for a result's bytes, and then that for its values, each
//! once: nobody waits for what somebody holds who waits for them.

use crate::aside::is_small;
use heddle_processes::places::PerOwner;
use std::sync::LazyLock;
use tokio::sync::OwnedSemaphorePermit;

/// Values that count as one part. Requests with fewer don't count.
const PART_VALUES: usize = 1 << 16;
/// Parts of an owner. A request with more takes all of them.
const PARTS: u16 = 16;

/// Bytes of an owner's results, from before they are read until their runs have taken them.
const RESULTS_BYTES: usize = 128 << 20;
const RESULTS_KIB: usize = RESULTS_BYTES >> 10;

/// Rooms of owners. `None` is an owner as well.
type Rooms = LazyLock<PerOwner<Option<u128>>>;
/// For requests as values. An owner's places are parts.
static REQUESTS: Rooms = LazyLock::new(|| PerOwner::new(PARTS.into()));
/// For results as values. Apart from those of requests, which effects keep while they read their results.
static RESULT_VALUES: Rooms = LazyLock::new(|| PerOwner::new(PARTS.into()));
/// For results as bytes. An owner's places are KiB.
static RESULTS: Rooms = LazyLock::new(|| PerOwner::new(RESULTS_KIB));

/// How many values a text of JSON has at most: one more than what separates and what opens.
pub(super) fn values_at_most(json: &[u8]) -> usize {
    let (mut count, mut in_text, mut is_escaped) = (1, false, false);
    for byte in json {
        match (in_text, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => in_text = !in_text,
            (false, b',' | b'[' | b'{') => count += 1,
            _ => {}
        }
    }
    count
}

/// How many values a text has at most, or 0 if it is too short to have many.
pub(super) fn values_if_many<T: AsRef<[u8]> + ?Sized>(json: &T) -> usize {
    let json = json.as_ref();
    match json.len() < PART_VALUES {
        true => 0,
        false => values_at_most(json),
    }
}

/// Waits until there is room for so many values of an owner's requests; few need none.
pub(super) async fn room(owner: Option<u128>, values: usize) -> Option<OwnedSemaphorePermit> {
    parts_of(&REQUESTS, owner, values).await
}

/// The same for values of their results.
pub(super) async fn room_of_result(owner: Option<u128>, values: usize) -> Option<OwnedSemaphorePermit> {
    parts_of(&RESULT_VALUES, owner, values).await
}

/// Waits until there is room for a result of so many bytes, of which more than an owner may have count as that.
pub(super) async fn room_for_bytes(owner: Option<u128>, bytes: usize) -> Option<OwnedSemaphorePermit> {
    let kib = bytes.div_ceil(1 << 10).min(RESULTS_KIB);
    let kib = u32::try_from(kib).unwrap_or(u32::MAX);
    RESULTS.of(owner).acquire_many_owned(kib).await.ok()
}

/// What a result of so many bytes keeps of the room that was taken for it; small ones keep none.
pub(super) fn room_kept(mut room: OwnedSemaphorePermit, bytes: usize) -> Option<OwnedSemaphorePermit> {
    if is_small(bytes) {
        return None;
    }
    let unused = room.num_permits().saturating_sub(bytes.div_ceil(1 << 10));
    drop(room.split(unused));
    Some(room)
}

async fn parts_of(
    rooms: &PerOwner<Option<u128>>,
    owner: Option<u128>,
    values: usize,
) -> Option<OwnedSemaphorePermit> {
    let parts = u16::try_from(values / PART_VALUES).unwrap_or(PARTS).min(PARTS);
    match parts {
        0 => None,
        parts => rooms.of(owner).acquire_many_owned(parts.into()).await.ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Waker};

    #[test]
    fn values_are_counted_outside_of_texts() {
        for (json, values) in [
            ("7", 1),
            ("[1,2]", 3),
            ("{\"a\":[{}]}", 4),
            ("[\"a,[{\\\",\",0]", 3),
        ] {
            assert_eq!(values_at_most(json.as_bytes()), values, "{json}");
        }
        assert_eq!(values_if_many("[1,2]"), 0);
        assert_eq!(values_if_many(&format!("[0{}]", ",0".repeat(99_999))), 100_001);
    }

    #[tokio::test]
    async fn an_owner_has_room_for_so_many_values_at_a_time() {
        let (one, other) = (Some(1), Some(2));
        assert!(room(one, PART_VALUES - 1).await.is_none());
        let all = room(one, usize::MAX).await;
        assert!(all.is_some());
        assert!(room(one, PART_VALUES - 1).await.is_none());
        assert!(room(other, usize::MAX).await.is_some());
        let mut next = pin!(room(one, PART_VALUES));
        let is_waiting = next.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(is_waiting.is_pending());
        // Whoever keeps a large request can read a large result.
        assert!(room_of_result(one, usize::MAX).await.is_some());
        drop(all);
        assert!(next.await.is_some());
    }

    #[tokio::test]
    async fn a_result_keeps_what_it_needs_of_its_room() {
        let owner = Some(0x4b45_5054);
        let all = RESULTS.of(owner);
        let taken = || RESULTS_KIB - all.available_permits();
        let room = room_for_bytes(owner, 8 << 20).await.unwrap();
        assert_eq!(taken(), 8 << 10);
        let kept = room_kept(room, (1 << 20) + 1);
        assert_eq!(taken(), (1 << 10) + 1);
        drop(kept);
        assert_eq!(taken(), 0);
        let room = room_for_bytes(owner, usize::MAX).await.unwrap();
        assert_eq!(taken(), RESULTS_KIB, "more than all is all");
        assert!(room_kept(room, 100).is_none());
        assert_eq!(taken(), 0);
    }
}
