//! The record of what each node did, for runs compiled with a trace.

use crate::limits::Limits;
use crate::outcome::TraceEntry;
use crate::stop::Stop;
use heddle_contract::abi::code;
use serde_json::value::RawValue;
use std::time::Instant;

/// Longer values are recorded as an excerpt.
const VALUE_BYTES_MAX: usize = 16 << 10;
const EXCERPT_BYTES: usize = 2 << 10;
/// What an entry without values is taken to weigh.
const ENTRY_BYTES: usize = 200;

/// Entries in order of their starts.
pub struct Trace {
    started: Instant,
    entries: Vec<Entry>,
    bytes: usize,
    bytes_max: usize,
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
        }
    }

    /// Notes a start; gives the token of the entry.
    pub fn begin(&mut self, node: u32, node_id: String, path: String, fuel_left: u64) -> Result<i32, Stop> {
        self.charge(ENTRY_BYTES + node_id.len() + path.len())?;
        let began = Instant::now();
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
        i32::try_from(self.entries.len() - 1)
            .map_err(|_| Stop::broken_guest("The trace has too many entries"))
    }

    /// Plan index of the entry's node.
    pub fn node(&self, token: i32) -> Option<u32> {
        self.entries
            .get(usize::try_from(token).ok()?)
            .map(|entry| entry.node)
    }

    /// The node waits.
    pub fn pause(&mut self, token: i32, fuel_left: u64) {
        if let Some(entry) = self.entry(token)
            && let Some(fuel_at) = entry.fuel_at.take()
        {
            entry.public.fuel += fuel_at.saturating_sub(fuel_left);
        }
    }

    /// It goes on.
    pub fn resume(&mut self, token: i32, fuel_left: u64) {
        if let Some(entry) = self.entry(token) {
            entry.fuel_at = Some(fuel_left);
        }
    }

    /// It has ended.
    pub fn end(&mut self, token: i32, fuel_left: u64, end: End) -> Result<(), Stop> {
        self.pause(token, fuel_left);
        let value = excerpt(end.json);
        self.charge(value.get().len())?;
        if let Some(entry) = self.entry(token) {
            entry.ended = true;
            entry.public.duration_us = entry.began.elapsed().as_micros() as u64;
            entry.public.port = end.port;
            entry.public.pinned = end.kind == 2;
            if end.kind == 1 {
                entry.public.error = Some(value);
            } else {
                entry.public.output = Some(value);
            }
        }
        Ok(())
    }

    /// All entries; what has not ended lasted until now.
    pub fn finish(self) -> Vec<TraceEntry> {
        let finish = |mut entry: Entry| {
            if !entry.ended {
                entry.public.duration_us = entry.began.elapsed().as_micros() as u64;
            }
            entry.public
        };
        self.entries.into_iter().map(finish).collect()
    }

    fn entry(&mut self, token: i32) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(usize::try_from(token).ok()?)?;
        (!entry.ended).then_some(entry)
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Stop> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= self.bytes_max {
            return Ok(());
        }
        Err(Stop::new(
            code::OUTPUT_LIMIT,
            format!("The run's trace is larger than {} KiB", self.bytes_max >> 10),
            "Run it without a trace, or on less data.",
        ))
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
