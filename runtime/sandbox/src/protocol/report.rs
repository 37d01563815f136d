//! Reports of runs. What is read was written by an executor that may be anybody's: every part is held to the limits that the
//! sandbox itself would have held.

use super::bytes::{Malformed, Reader, Write};
use crate::host::FAILED_INPUT_BYTES_MAX;
use crate::limits::Limits;
use crate::report::{End, FailedInput, LogLine, Report, RunError, TraceEntry};
use crate::trace::ENTRY_BYTES;
use heddle_processes::Frame;
use serde_json::value::RawValue;

const COMPLETED: u8 = 0;
const FAILED: u8 = 1;
const PAUSED: u8 = 2;
const PARKED: u8 = 3;

/// Of a report's frame besides its texts, with room for a node's id.
const FIXED_BYTES: usize = 128;

/// Levels of log lines by their numbers.
const LEVELS: [&str; 4] = ["debug", "info", "warn", "error"];
/// Of a node's id, an output's name and a code.
pub(super) const NAME_BYTES_MAX: usize = 64 << 10;
/// The guest's own words for what is larger than a limit are a little longer than the limit.
const SLACK_BYTES: usize = 4 << 10;

impl Report {
    /// Reads a report. JSON is checked to be such.
    pub fn read(frame: &[u8], limits: &Limits) -> Result<Self, Malformed> {
        let mut reader = Reader::new(frame);
        let bytes_max = limits.output_bytes_max.saturating_add(SLACK_BYTES);
        let end = read_end(&mut reader, bytes_max)?;
        let response = maybe_json(&mut reader, bytes_max)?;
        let logs = read_logs(&mut reader, limits)?;
        let trace = read_trace(&mut reader, bytes_max)?;
        let report = Report {
            trace_omitted: reader.size()?,
            end,
            response,
            logs,
            trace,
            fuel_used: reader.u64()?.min(limits.fuel_max),
            memory_bytes_peak: reader.size()?.min(limits.memory_bytes_max),
        };
        reader.end()?;
        Ok(report)
    }

    /// Bytes that it takes, about; of one with a trace or with lines of a log only the beginning.
    pub(crate) fn room(&self) -> usize {
        let end = match &self.end {
            End::Completed(output) => output.get().len(),
            End::Failed { error, .. } => error.message.len() + error.code.len(),
            End::Paused {
                breakpoint,
                pinned_nodes,
            } => breakpoint.get().len() + pinned_nodes.get().len(),
            End::Parked => 0,
        };
        let response = self.response.as_ref().map_or(0, |response| response.get().len());
        end + response + FIXED_BYTES
    }

    /// Appends it to a frame.
    pub(crate) fn write(&self, to: &mut Frame) {
        match &self.end {
            End::Completed(output) => {
                to.u8(COMPLETED);
                to.text(output.get());
            }
            End::Failed {
                error,
                in_node,
                input,
            } => {
                to.u8(FAILED);
                to.text(&error.message);
                to.text(&error.code);
                to.maybe_text(error.node_id.as_deref());
                to.flag(*in_node);
                write_failed_input(to, input.as_deref());
            }
            End::Paused {
                breakpoint,
                pinned_nodes,
            } => {
                to.u8(PAUSED);
                to.text(breakpoint.get());
                to.text(pinned_nodes.get());
            }
            End::Parked => to.u8(PARKED),
        }
        to.maybe_text(self.response.as_deref().map(RawValue::get));
        to.length(self.logs.len());
        for line in &self.logs {
            write_line(to, line);
        }
        to.length(self.trace.len());
        self.trace.iter().for_each(|entry| write_entry(to, entry));
        to.size(self.trace_omitted);
        to.u64(self.fuel_used);
        to.size(self.memory_bytes_peak);
    }
}

pub(super) fn write_line(to: &mut Frame, line: &LogLine) {
    let level = LEVELS.iter().position(|level| *level == line.level);
    to.u8(level.unwrap_or_default() as u8);
    to.text(&line.message);
    to.maybe_text(line.node_id.as_deref());
}

fn write_failed_input(to: &mut Frame, input: Option<&FailedInput>) {
    to.maybe_text(input.map(|input| input.input.get()));
    if let Some(input) = input {
        to.text(&input.path);
        to.flag(input.truncated);
    }
}

fn read_failed_input(reader: &mut Reader<'_>) -> Result<Option<Box<FailedInput>>, Malformed> {
    let Some(input) = maybe_json(reader, FAILED_INPUT_BYTES_MAX)? else {
        return Ok(None);
    };
    Ok(Some(Box::new(FailedInput {
        input,
        path: within(reader.text()?, NAME_BYTES_MAX)?.to_owned(),
        truncated: reader.flag()?,
    })))
}

fn write_entry(to: &mut Frame, entry: &TraceEntry) {
    to.text(&entry.node_id);
    to.text(&entry.path);
    to.u64(entry.started_at_ms.to_bits());
    to.u64(entry.duration_us);
    to.u64(entry.fuel);
    to.maybe_text(entry.port.as_deref());
    to.maybe_text(entry.output.as_deref().map(RawValue::get));
    to.maybe_text(entry.error.as_deref().map(RawValue::get));
    to.flag(entry.pinned);
}

fn read_end(reader: &mut Reader<'_>, bytes_max: usize) -> Result<End, Malformed> {
    Ok(match reader.u8()? {
        COMPLETED => End::Completed(json(reader, bytes_max)?),
        FAILED => End::Failed {
            error: RunError {
                message: within(reader.text()?, bytes_max)?.to_owned(),
                code: within(reader.text()?, NAME_BYTES_MAX)?.to_owned(),
                node_id: maybe_name(reader)?,
            },
            in_node: reader.flag()?,
            input: read_failed_input(reader)?,
        },
        // Written anew by the sandbox, so that numbers may be longer than the guest wrote them.
        PAUSED => End::Paused {
            breakpoint: json(reader, bytes_max)?,
            pinned_nodes: json(reader, bytes_max.saturating_mul(2))?,
        },
        PARKED => End::Parked,
        _ => return Err(Malformed("a run's outcome is unknown")),
    })
}

fn read_logs(reader: &mut Reader<'_>, limits: &Limits) -> Result<Vec<LogLine>, Malformed> {
    let count = reader.length()?;
    if count > limits.log_lines_max {
        return Err(Malformed("there are too many log lines"));
    }
    let mut left = limits.log_bytes_max;
    let mut logs = Vec::with_capacity(count);
    for _ in 0..count {
        let line = read_line(reader, left)?;
        left = left.saturating_sub(line.message.len());
        logs.push(line);
    }
    Ok(logs)
}

/// A line of at most so many bytes.
pub(super) fn read_line(reader: &mut Reader<'_>, bytes_max: usize) -> Result<LogLine, Malformed> {
    let level = LEVELS.get(usize::from(reader.u8()?)).copied();
    Ok(LogLine {
        level: level.ok_or(Malformed("a log line's level is unknown"))?,
        message: within(reader.text()?, bytes_max)?.to_owned(),
        node_id: maybe_name(reader)?,
    })
}

fn read_trace(reader: &mut Reader<'_>, bytes_max: usize) -> Result<Vec<TraceEntry>, Malformed> {
    let count = reader.length()?;
    let mut left = bytes_max;
    let mut trace = Vec::with_capacity(count.min(bytes_max / ENTRY_BYTES));
    for _ in 0..count {
        let before = reader.left();
        let entry = read_entry(reader, bytes_max)?;
        let bytes = ENTRY_BYTES.max((before - reader.left()).saturating_sub(ENTRY_BYTES));
        left = left
            .checked_sub(bytes)
            .ok_or(Malformed("the trace is too long"))?;
        trace.push(entry);
    }
    Ok(trace)
}

fn read_entry(reader: &mut Reader<'_>, bytes_max: usize) -> Result<TraceEntry, Malformed> {
    Ok(TraceEntry {
        node_id: within(reader.text()?, NAME_BYTES_MAX)?.to_owned(),
        path: within(reader.text()?, NAME_BYTES_MAX)?.to_owned(),
        started_at_ms: finite(f64::from_bits(reader.u64()?)),
        duration_us: reader.u64()?,
        fuel: reader.u64()?,
        port: maybe_name(reader)?,
        output: maybe_json(reader, bytes_max)?,
        error: maybe_json(reader, bytes_max)?,
        pinned: reader.flag()?,
    })
}

/// JSON has no other numbers.
fn finite(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
}

pub(super) fn within(text: &str, bytes_max: usize) -> Result<&str, Malformed> {
    match text.len() <= bytes_max {
        true => Ok(text),
        false => Err(Malformed("a text is too long")),
    }
}

pub(super) fn maybe_name(reader: &mut Reader<'_>) -> Result<Option<String>, Malformed> {
    let name = reader.maybe_text()?;
    name.map(|name| within(name, NAME_BYTES_MAX).map(str::to_owned))
        .transpose()
}

fn json(reader: &mut Reader<'_>, bytes_max: usize) -> Result<Box<RawValue>, Malformed> {
    of_text(reader.text()?, bytes_max)
}

pub(super) fn maybe_json(
    reader: &mut Reader<'_>,
    bytes_max: usize,
) -> Result<Option<Box<RawValue>>, Malformed> {
    let text = reader.maybe_text()?;
    text.map(|text| of_text(text, bytes_max)).transpose()
}

fn of_text(text: &str, bytes_max: usize) -> Result<Box<RawValue>, Malformed> {
    let text = within(text, bytes_max)?.to_owned();
    RawValue::from_string(text).map_err(|_| Malformed("a value is not JSON"))
}
