//! Whether files have changed, for commands that do something again whenever they have.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

/// When files were changed, by their paths.
pub type Times = BTreeMap<PathBuf, Option<SystemTime>>;

/// When files changed: these, and those below these folders. What does not exist has no time.
pub fn times(places: &[PathBuf]) -> Times {
    let mut times = BTreeMap::new();
    let mut waiting = places.to_vec();
    while let Some(place) = waiting.pop() {
        let Ok(kind) = place.symlink_metadata() else {
            continue;
        };
        if kind.is_dir() {
            waiting.extend(
                fs::read_dir(&place)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .map(|entry| entry.path()),
            );
        } else {
            let changed = place.metadata().and_then(|file| file.modified());
            times.insert(place, changed.ok());
        }
    }
    times
}
