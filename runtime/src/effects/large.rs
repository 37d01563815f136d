//! Requests with many values, which take many times as much memory as values than as text: an owner has so many of them as values at a
//! time, however many of their runs ask. Knows nothing of effects.

use heddle_processes::places::PerOwner;
use std::sync::LazyLock;
use tokio::sync::OwnedSemaphorePermit;

/// Values that count as one part. Requests with fewer don't count.
const PART_VALUES: usize = 1 << 16;
/// Parts of an owner. A request with more takes all of them.
const PARTS: u16 = 16;

/// An owner's places are parts. `None` is an owner as well.
static ROOMS: LazyLock<PerOwner<Option<u128>>> = LazyLock::new(|| PerOwner::new(PARTS.into()));

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
pub(super) fn values_if_many(json: &str) -> usize {
    match json.len() < PART_VALUES {
        true => 0,
        false => values_at_most(json.as_bytes()),
    }
}

/// Waits until there is room for so many values of an owner's; few need none.
pub(super) async fn room(owner: Option<u128>, values: usize) -> Option<OwnedSemaphorePermit> {
    let parts = u16::try_from(values / PART_VALUES).unwrap_or(PARTS).min(PARTS);
    match parts {
        0 => None,
        parts => ROOMS.of(owner).acquire_many_owned(parts.into()).await.ok(),
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
        drop(all);
        assert!(next.await.is_some());
    }
}
