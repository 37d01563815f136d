//! The files that a run is writing, between the effects that write their pieces.

use super::stored_file::failed;
use crate::files::{FileSink, FileValue, Files};
use bytes::Bytes;
use heddle_sandbox::{EffectCode, EffectError};
use serde::Deserialize;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files that a run writes at a time: each holds a part of a file in the service's memory.
const SINKS_MAX: usize = 8;
/// As many while a run does again what its journal has: writes that were at work at the same time come one after the other then,
/// so which file has waited longest may differ by a few from then. Nothing may fail that has not failed then.
const SINKS_AGAIN_MAX: usize = 12;

/// Where a node is in a file that it writes.
#[derive(Deserialize)]
pub(super) struct Place {
    sink: String,
    at: f64,
    name: String,
    #[serde(rename = "type")]
    media_type: String,
}

/// The files that a run is writing. Dropping it gives them up.
#[derive(Clone)]
pub struct OpenSinks {
    table: Arc<Mutex<Table>>,
    max: usize,
}

#[derive(Default)]
struct Table {
    slots: HashMap<String, Slot>,
    /// Counts what is taken and put back, and so says what came before what.
    ticks: u64,
}

/// The place of a file.
struct Slot {
    /// When it was last taken or put back.
    tick: u64,
    /// `None`: it is taken by a write.
    open: Option<Open>,
}

struct Open {
    sink: Box<dyn FileSink>,
    written: u64,
}

/// What a write has taken. Dropping it frees the place, unless somebody has begun anew there.
struct Taken {
    sinks: OpenSinks,
    sink: String,
    tick: u64,
}

impl Default for OpenSinks {
    fn default() -> Self {
        OpenSinks {
            table: Arc::default(),
            max: SINKS_MAX,
        }
    }
}

impl fmt::Debug for OpenSinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenSinks")
    }
}

impl Table {
    fn tick(&mut self) -> u64 {
        self.ticks += 1;
        self.ticks
    }

    /// Makes a place for a file that is begun, and says what gave way to it: what an attempt before has left, and
    /// whatever has waited longest if there are too many.
    ///
    /// The host does not hear when a node fails in the sandbox, and what such a node has begun would take a place until the run ends.
    /// It is nearly always what has waited longest, since nodes that still write come back soon.
    fn begin(&mut self, sink: &str, tick: u64, max: usize) -> Result<Vec<Slot>, EffectError> {
        let mut gone: Vec<Slot> = self.slots.remove(sink).into_iter().collect();
        while self.slots.len() >= max {
            let idle = self.slots.iter().filter(|(_, slot)| slot.open.is_some());
            let longest = idle.min_by_key(|(_, slot)| slot.tick);
            let Some(longest) = longest.map(|(sink, _)| sink.clone()) else {
                let message = format!("A run can write at most {max} files at a time.");
                return Err(EffectError::new(EffectCode::FileLimit, message));
            };
            gone.extend(self.slots.remove(&longest));
        }
        self.slots.insert(sink.to_owned(), Slot { tick, open: None });
        Ok(gone)
    }

    /// Takes out a file of which so much is written.
    fn take(&mut self, sink: &str, tick: u64, at: u64) -> Result<Open, EffectError> {
        let slot = self.slots.get_mut(sink).ok_or_else(|| {
            let message = format!(
                "The file that the node was writing has given way to others: a run writes at most {SINKS_MAX} files at a time."
            );
            EffectError::new(EffectCode::FileLimit, message)
        })?;
        match slot.open.take_if(|open| open.written == at) {
            Some(open) => {
                slot.tick = tick;
                Ok(open)
            }
            None => {
                let message = "The file that the node was writing is not as the node left it: the node has to begin again.";
                Err(EffectError::new(EffectCode::Unavailable, message))
            }
        }
    }
}

impl Taken {
    /// For the next write.
    fn put_back(self, open: Open) {
        let mut open = Some(open);
        let mut table = self.sinks.table();
        let tick = table.tick();
        if let Some(slot) = table.slots.get_mut(&self.sink)
            && slot.tick == self.tick
        {
            *slot = Slot {
                tick,
                open: open.take(),
            };
        }
        // Dropping `self` needs it.
        drop(table);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut table = self.sinks.table();
        let is_its = |slot: &Slot| slot.tick == self.tick;
        if table.slots.get(&self.sink).is_some_and(is_its) {
            table.slots.remove(&self.sink);
        }
    }
}

impl OpenSinks {
    /// These files, for effects that are done again because the journal says that they were done: with a limit of their own.
    pub(super) fn again(&self) -> Self {
        OpenSinks {
            table: self.table.clone(),
            max: SINKS_AGAIN_MAX,
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out what is written at this place; `None`: it is to be begun. There is a place for it from here on.
    fn take(&self, place: &Place) -> Result<(Taken, Option<Open>), EffectError> {
        let at = whole(place.at);
        let mut table = self.table();
        let tick = table.tick();
        let (gone, open) = match at {
            0 => (table.begin(&place.sink, tick, self.max)?, None),
            at => (Vec::new(), Some(table.take(&place.sink, tick, at)?)),
        };
        drop(table);
        drop(gone);
        let taken = Taken {
            sinks: self.clone(),
            sink: place.sink.clone(),
            tick,
        };
        Ok((taken, open))
    }

    async fn at(&self, files: &dyn Files, place: &Place) -> Result<(Taken, Open), EffectError> {
        let (taken, found) = self.take(place)?;
        let open = match found {
            Some(open) => open,
            None => {
                let sink = files.create(&place.name, &place.media_type).await;
                Open {
                    sink: sink.map_err(|failure| failed(&failure))?,
                    written: 0,
                }
            }
        };
        Ok((taken, open))
    }

    /// Appends to what is written at this place.
    pub(super) async fn write(
        &self,
        files: &dyn Files,
        place: Place,
        bytes: Bytes,
    ) -> Result<(), EffectError> {
        let (taken, mut open) = self.at(files, &place).await?;
        open.written += bytes.len() as u64;
        let written = open.sink.write(bytes).await;
        written.map_err(|failure| failed(&failure))?;
        taken.put_back(open);
        Ok(())
    }

    /// Drops what is written: the run has the file that a former execution has made of it.
    pub(super) fn give_up(&self, place: &Place) {
        let gone = self.table().slots.remove(&place.sink);
        drop(gone);
    }

    /// Makes a file of what is written.
    pub(super) async fn finish(&self, files: &dyn Files, place: &Place) -> Result<FileValue, EffectError> {
        let (_taken, open) = self.at(files, place).await?;
        let made = open.sink.finish().await;
        made.map_err(|failure| failed(&failure))
    }
}

/// A number of a request as a count of bytes.
pub(super) fn whole(number: f64) -> u64 {
    number.clamp(0.0, 1e15) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;

    fn place(sink: usize, at: usize) -> Place {
        Place {
            sink: format!("n{sink}"),
            at: at as f64,
            name: "a.txt".to_owned(),
            media_type: "text/plain".to_owned(),
        }
    }

    async fn write(sinks: &OpenSinks, sink: usize, at: usize) -> Result<(), EffectError> {
        let bytes = Bytes::from_static(b"ab");
        sinks.write(&MemoryFiles::default(), place(sink, at), bytes).await
    }

    #[tokio::test]
    async fn what_has_waited_longest_gives_way() {
        let sinks = OpenSinks::default();
        for sink in 0..SINKS_MAX {
            write(&sinks, sink, 0).await.unwrap();
        }
        // The first one is no longer the one that has waited longest.
        write(&sinks, 0, 2).await.unwrap();
        write(&sinks, SINKS_MAX, 0).await.unwrap();
        let gone = write(&sinks, 1, 2).await.unwrap_err();
        assert_eq!(gone.code, EffectCode::FileLimit);
        for sink in [0, 2, SINKS_MAX] {
            let at = if sink == 0 { 4 } else { 2 };
            let made = sinks.finish(&MemoryFiles::default(), &place(sink, at)).await;
            assert_eq!(made.unwrap().size, at as u64);
        }
        assert_eq!(sinks.table().slots.len(), SINKS_MAX - 3);
    }

    #[tokio::test]
    async fn those_at_work_count_and_stay() {
        let sinks = OpenSinks::default();
        let mut taken: Vec<Taken> = (0..SINKS_MAX)
            .map(|sink| sinks.take(&place(sink, 0)).unwrap().0)
            .collect();
        let refused = write(&sinks, SINKS_MAX, 0).await.unwrap_err();
        assert_eq!(refused.code, EffectCode::FileLimit);
        // What the journal has goes on.
        write(&sinks.again(), SINKS_MAX, 0).await.unwrap();
        sinks.give_up(&place(SINKS_MAX, 2));
        // Whoever fails, or goes away, makes room.
        taken.pop();
        write(&sinks, SINKS_MAX, 0).await.unwrap();
        // The next attempt begins anew, whatever comes of the write before.
        write(&sinks, 0, 0).await.unwrap();
        drop(taken);
        assert_eq!(sinks.table().slots.len(), 2);
        write(&sinks, 0, 2).await.unwrap();
        let moved = write(&sinks, 0, 2).await.unwrap_err();
        assert_eq!(moved.code, EffectCode::Unavailable);
    }
}
