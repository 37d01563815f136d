//! The record of what each node did, for runs compiled with a trace. What there is no room for is left out, values
//! first, and the run goes on.

use crate::clock::{monotonic, since};
use crate::limits::Limits;
use crate::report::TraceEntry;
use crate::watch_event::{NodeEnd, NodeEvent, NodePhase, omitted};
use serde_json::value::RawValue;
use std::time::Instant;

/// Longer values are recorded as an excerpt.
pub const VALUE_BYTES_MAX: usize = 16 << 10;
const EXCERPT_BYTES: usize = 2 << 10;
/// What an entry without values is taken to weigh.
pub const ENTRY_BYTES: usize = 200;
/// Entries for which there is no room have this token, which belongs to none.
const NO_ENTRY: i32 = -1;

/// Entries in order of their starts.
pub struct Trace {
    started: Instant,
    entries: Vec<Entry>,
    bytes: usize,
    bytes_max: usize,
    omitted: usize,
}

struct Entry {
    node: u32,
    public: TraceEntry,
    began: Instant,
    /// Fuel left when the node began or went on; `None` while it waits and when it has ended.
    fuel_at: Option<u64>,
    ended: bool,
}

/// How an execution of a node ended.
pub struct End {
    /// 0 output, 1 error, 2 pinned.
    pub kind: i32,
    pub port: Option<String>,
    pub json: String,
}

impl Trace {
    pub fn new(started: Instant, limits: &Limits) -> Self {
        Trace {
            started,
            entries: Vec::new(),
            bytes: 0,
            bytes_max: limits.output_bytes_max,
            omitted: 0,
        }
    }

    /// Notes a start; gives the token of the entry.
    pub fn begin(&mut self, node: u32, node_id: String, path: String, fuel_left: u64) -> i32 {
        let token = i32::try_from(self.entries.len()).unwrap_or(NO_ENTRY);
        let bytes = ENTRY_BYTES + node_id.len() + path.len();
        if token == NO_ENTRY || !self.takes(bytes, self.bytes_max) {
            self.omitted += 1;
            return NO_ENTRY;
        }
        let began = monotonic();
        let public = TraceEntry {
            node_id,
            path,
            started_at_ms: began.duration_since(self.started).as_secs_f64() * 1_000.0,
            duration_us: 0,
            fuel: 0,
            port: None,
            output: None,
            error: None,
            pinned: false,
        };
        self.entries.push(Entry {
            node,
            public,
            began,
            fuel_at: Some(fuel_left),
            ended: false,
        });
        token
    }

    /// Plan index of the entry's node.
    pub fn node(&self, token: i32) -> Option<u32> {
        self.entries
            .get(usize::try_from(token).ok()?)
            .map(|entry| entry.node)
    }

    /// The node waits. Whether it was executing.
    pub fn pause(&mut self, token: i32, fuel_left: u64) -> bool {
        let Some(entry) = self.entry(token) else {
            return false;
        };
        let Some(fuel_at) = entry.fuel_at.take() else {
            return false;
        };
        entry.public.fuel += fuel_at.saturating_sub(fuel_left);
        true
    }

    /// It goes on. Whether there is an entry of it that has not ended.
    pub fn resume(&mut self, token: i32, fuel_left: u64) -> bool {
        let entry = self.entry(token);
        entry.map(|entry| entry.fuel_at = Some(fuel_left)).is_some()
    }

    /// It has ended. Whether there is an entry of it that had not ended before.
    pub fn end(&mut self, token: i32, fuel_left: u64, end: End) -> bool {
        self.pause(token, fuel_left);
        let mut value = excerpt(end.json);
        // A quarter is for entries, so that the path which the run took is known where its values are not.
        if !self.takes(value.get().len(), self.bytes_max / 4 * 3) {
            value = omitted(&value);
        }
        let Some(entry) = self.entry(token) else {
            return false;
        };
        entry.ended = true;
        entry.public.duration_us = since(entry.began).as_micros() as u64;
        entry.public.port = end.port;
        entry.public.pinned = end.kind == 2;
        if end.kind == 1 {
            entry.public.error = Some(value);
        } else {
            entry.public.output = Some(value);
        }
        true
    }

    /// What is told of an entry's node.
    pub fn event(&self, token: i32, phase: NodePhase) -> Option<NodeEvent> {
        let public = self.public(token)?;
        Some(NodeEvent {
            execution: usize::try_from(token).ok()?,
            node_id: public.node_id.clone(),
            path: public.path.clone(),
            phase,
        })
    }

    /// How an entry's node has ended.
    pub fn ended(&self, token: i32) -> Option<NodePhase> {
        let public = self.public(token)?;
        Some(NodePhase::Ended(NodeEnd {
            duration_us: public.duration_us,
            fuel: public.fuel,
            port: public.port.clone(),
            output: public.output.clone(),
            error: public.error.clone(),
            pinned: public.pinned,
        }))
    }

    fn public(&self, token: i32) -> Option<&TraceEntry> {
        let entry = self.entries.get(usize::try_from(token).ok()?)?;
        Some(&entry.public)
    }

    /// All entries, of which what has not ended lasted until now; and how many there was no room for.
    pub fn finish(self) -> (Vec<TraceEntry>, usize) {
        let finish = |mut entry: Entry| {
            if !entry.ended {
                entry.public.duration_us = since(entry.began).as_micros() as u64;
            }
            entry.public
        };
        (self.entries.into_iter().map(finish).collect(), self.omitted)
    }

    fn entry(&mut self, token: i32) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(usize::try_from(token).ok()?)?;
        (!entry.ended).then_some(entry)
    }

    /// Takes so many bytes, unless there would be more than `bytes_max`.
    fn takes(&mut self, bytes: usize, bytes_max: usize) -> bool {
        let after = self.bytes.saturating_add(bytes);
        let has_room = after <= bytes_max;
        if has_room {
            self.bytes = after;
        }
        has_room
    }
}

/// The value, or `{"truncated": true, "bytes", "excerpt"}` with the beginning of its JSON text.
fn excerpt(json: String) -> Box<RawValue> {
    let bytes = json.len();
    let json = if bytes > VALUE_BYTES_MAX {
        let excerpt = &json[..json.floor_char_boundary(EXCERPT_BYTES)];
        serde_json::json!({ "truncated": true, "bytes": bytes, "excerpt": excerpt }).to_string()
    } else {
        json
    };
    RawValue::from_string(json).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
