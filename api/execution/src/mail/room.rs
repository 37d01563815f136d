//! Memory for messages that are read and whose runs are not stored yet: what comes of a message takes many times as much as the
//! message, and there is a bounded number of bytes for all of them.

use super::message::ANSWER_BYTES_MAX;
use crate::run::EVENT_BYTES_MAX;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The memory, in MiB.
const ROOM_MIB: usize = 256;
/// How many times its bytes what is told of a message has, at most: a control character has six, in the text and in the HTML of it,
/// and an address of one letter, with its comma, has some 30 as JSON.
const ANSWER_FACTOR: usize = 16;
/// How often what is in an event is there until its run is stored: as it was told, in the event of the message and in that of the run,
/// and as that is stored.
const COPIES: usize = 4;

/// All of that memory.
#[derive(Debug)]
pub(super) struct Rooms(Arc<Semaphore>);

impl Default for Rooms {
    fn default() -> Self {
        Rooms(Arc::new(Semaphore::new(ROOM_MIB)))
    }
}

impl Rooms {
    /// For a message of so many bytes, of which nothing else is known.
    pub async fn for_message(&self, bytes: usize) -> Room {
        let answer_bytes = bytes.saturating_mul(ANSWER_FACTOR).min(ANSWER_BYTES_MAX);
        let permits = self.0.clone().acquire_many_owned(mib(bytes, answer_bytes));
        // Never closed, and for none it is more than there is.
        Room(permits.await.ok())
    }
}

/// A message's part of it.
pub(super) struct Room(Option<OwnedSemaphorePermit>);

impl Room {
    /// Gives back what is not needed, once the message itself is gone and it is known how much was told of it.
    pub fn shrink(&mut self, answer_bytes: usize) {
        if let Some(held) = &mut self.0 {
            let surplus = held.num_permits().saturating_sub(mib(0, answer_bytes) as usize);
            drop(held.split(surplus));
        }
    }
}

/// What it takes: the message, what is told of it, and events.
fn mib(bytes: usize, answer_bytes: usize) -> u32 {
    // Attachments are in base64 there.
    let event_bytes = answer_bytes.saturating_add(answer_bytes / 3).min(EVENT_BYTES_MAX);
    let read = bytes.saturating_add(answer_bytes);
    let all = read.saturating_add(event_bytes.saturating_mul(COPIES));
    (all >> 20).saturating_add(1).min(ROOM_MIB) as u32
}

#[cfg(test)]
mod tests {
    use super::{Room, Rooms};

    #[tokio::test]
    async fn a_message_keeps_no_more_room_than_it_takes() {
        let held = |room: &Room| room.0.as_ref().unwrap().num_permits();
        let rooms = Rooms::default();
        let mut room = rooms.for_message(10 << 20).await;
        assert_eq!(held(&room), 10 + 49 + 4 * 16 + 1);
        room.shrink(3 << 20);
        assert_eq!(held(&room), 3 + 4 * 4 + 1);
        assert_eq!(held(&rooms.for_message(1 << 10).await), 1);
    }
}
