//! Events of a run that is watched. Those that are read come from an executor that an attacker may have taken over.

use super::bytes::{Malformed, Reader, Write};
use super::report::{NAME_BYTES_MAX, maybe_json, maybe_name, read_line, within, write_line};
use crate::limits::Limits;
use crate::trace::VALUE_BYTES_MAX;
use crate::watch_event::{NodeEnd, NodeEvent, NodePhase, WatchEvent};
use heddle_processes::Frame;
use serde_json::value::RawValue;

const NODE: u8 = 0;
const LOG: u8 = 1;
const OMITTED: u8 = 2;

const STARTED: u8 = 0;
const WAITING: u8 = 1;
const RESUMED: u8 = 2;
const ENDED: u8 = 3;

/// Events that a run may tell between two waits.
const EVENTS_MAX: u32 = 8_192;
/// Bytes of those events.
const BYTES_MAX: usize = 8 << 20;

/// What a run may still tell before it waits: what it told before that has been heard by then, so that no more than this is
/// ever on its way. An executor leaves out what is beyond, and counts it; the service ends one that doesn't.
#[derive(Clone, Copy, Debug)]
pub struct WatchRoom {
    events: u32,
    bytes: usize,
}

impl Default for WatchRoom {
    fn default() -> Self {
        WatchRoom {
            events: EVENTS_MAX,
            bytes: BYTES_MAX,
        }
    }
}

impl WatchRoom {
    /// For an executor, which can say in addition how much it has left out.
    pub(crate) fn but_one() -> Self {
        WatchRoom {
            events: EVENTS_MAX - 1,
            bytes: BYTES_MAX,
        }
    }

    /// Takes the room of an event, if it is there.
    #[must_use]
    pub fn take(&mut self, event: &WatchEvent) -> bool {
        match (self.events.checked_sub(1), self.bytes.checked_sub(event.bytes())) {
            (Some(events), Some(bytes)) => {
                *self = WatchRoom { events, bytes };
                true
            }
            _ => false,
        }
    }
}

impl WatchEvent {
    /// Reads it. JSON is checked to be such.
    pub fn read(frame: &[u8], limits: &Limits) -> Result<Self, Malformed> {
        let mut reader = Reader::new(frame);
        let event = match reader.u8()? {
            NODE => WatchEvent::Node(read_node(&mut reader, limits)?),
            LOG => WatchEvent::Log(read_line(&mut reader, limits.log_bytes_max)?),
            OMITTED => WatchEvent::Omitted(reader.u32()?),
            _ => return Err(Malformed("an event's kind is unknown")),
        };
        reader.end()?;
        Ok(event)
    }

    /// Appends it to a frame.
    pub(crate) fn write(&self, to: &mut Frame) {
        match self {
            WatchEvent::Node(event) => {
                to.u8(NODE);
                write_node(to, event);
            }
            WatchEvent::Log(line) => {
                to.u8(LOG);
                write_line(to, line);
            }
            WatchEvent::Omitted(events) => {
                to.u8(OMITTED);
                to.u32(*events);
            }
        }
    }
}

fn write_node(to: &mut Frame, event: &NodeEvent) {
    to.size(event.execution);
    to.text(&event.node_id);
    to.text(&event.path);
    match &event.phase {
        NodePhase::Started => to.u8(STARTED),
        NodePhase::Waiting => to.u8(WAITING),
        NodePhase::Resumed => to.u8(RESUMED),
        NodePhase::Ended(end) => {
            to.u8(ENDED);
            to.u64(end.duration_us);
            to.u64(end.fuel);
            to.maybe_text(end.port.as_deref());
            to.maybe_text(end.output.as_deref().map(RawValue::get));
            to.maybe_text(end.error.as_deref().map(RawValue::get));
            to.flag(end.pinned);
        }
    }
}

fn read_node(reader: &mut Reader<'_>, limits: &Limits) -> Result<NodeEvent, Malformed> {
    Ok(NodeEvent {
        execution: reader.size()?,
        node_id: within(reader.text()?, NAME_BYTES_MAX)?.to_owned(),
        path: within(reader.text()?, NAME_BYTES_MAX)?.to_owned(),
        phase: match reader.u8()? {
            STARTED => NodePhase::Started,
            WAITING => NodePhase::Waiting,
            RESUMED => NodePhase::Resumed,
            ENDED => NodePhase::Ended(NodeEnd {
                duration_us: reader.u64()?,
                fuel: reader.u64()?.min(limits.fuel_max),
                port: maybe_name(reader)?,
                output: maybe_json(reader, VALUE_BYTES_MAX)?,
                error: maybe_json(reader, VALUE_BYTES_MAX)?,
                pinned: reader.flag()?,
            }),
            _ => return Err(Malformed("a node's state is unknown")),
        },
    })
}
