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
#[derive(Clone, Default)]
pub struct OpenSinks(Arc<Mutex<HashMap<String, Open>>>);

struct Open {
    sink: Box<dyn FileSink>,
    written: u64,
}

impl fmt::Debug for OpenSinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenSinks")
    }
}

impl OpenSinks {
    fn open(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out what is written at this place, or begins it.
    async fn at(&self, files: &dyn Files, place: &Place) -> Result<Open, EffectError> {
        let found = self.open().remove(&place.sink);
        let at = whole(place.at);
        if at > 0 {
            let found = found.filter(|open| open.written == at);
            return found.ok_or_else(|| {
                let message = "The file that the node was writing is gone: the node has to begin again.";
                EffectError::new(EffectCode::Unavailable, message)
            });
        }
        // What an attempt before has left is given up first.
        drop(found);
        if self.open().len() >= SINKS_MAX {
            let message = format!("A run writes at most {SINKS_MAX} files at a time.");
            return Err(EffectError::new(EffectCode::FileLimit, message));
        }
        let sink = files.create(&place.name, &place.media_type).await;
        Ok(Open {
            sink: sink.map_err(|failure| failed(&failure))?,
            written: 0,
        })
    }

    /// Appends to what is written at this place.
    pub(super) async fn write(
        &self,
        files: &dyn Files,
        place: Place,
        bytes: Bytes,
    ) -> Result<(), EffectError> {
        let mut open = self.at(files, &place).await?;
        open.written += bytes.len() as u64;
        let written = open.sink.write(bytes).await;
        written.map_err(|failure| failed(&failure))?;
        self.open().insert(place.sink, open);
        Ok(())
    }

    /// Drops what is written: the run has the file that a former execution has made of it.
    pub(super) fn give_up(&self, place: &Place) {
        self.open().remove(&place.sink);
    }

    /// Makes a file of what is written.
    pub(super) async fn finish(&self, files: &dyn Files, place: &Place) -> Result<FileValue, EffectError> {
        let open = self.at(files, place).await?;
        let made = open.sink.finish().await;
        made.map_err(|failure| failed(&failure))
    }
}

/// A number of a request as a count of bytes.
pub(super) fn whole(number: f64) -> u64 {
    number.clamp(0.0, 1e15) as u64
}
