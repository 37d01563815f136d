//! What a component has written and printed: lines of the run's log, up to the call's own limit.

use crate::stop::{Stop, grouped};
use heddle_contract::abi::code;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;

/// Lines that a call may write.
const LINES_MAX: usize = 1_000;
/// Bytes of them.
const BYTES_MAX: usize = 64 << 10;
/// Bytes that a call may print on each of its two streams.
const PRINTED_BYTES_MAX: usize = 16 << 10;

/// What a call has written.
#[derive(Default)]
pub struct Written {
    /// Level and text, in order.
    pub lines: Vec<(&'static str, String)>,
    bytes: usize,
}

impl Written {
    /// Takes a line, if there is room for it.
    pub fn push(&mut self, level: &'static str, message: &str) -> Result<(), Stop> {
        self.bytes = self.bytes.saturating_add(message.len());
        if self.lines.len() >= LINES_MAX || self.bytes > BYTES_MAX {
            return Err(too_much());
        }
        self.lines.push((level, message.to_owned()));
        Ok(())
    }
}

fn too_much() -> Stop {
    Stop::new(
        code::LOG_LIMIT,
        format!(
            "The component wrote more than {} lines or {} KiB of log",
            grouped(LINES_MAX as u64),
            BYTES_MAX >> 10
        ),
        "Log less in loops.",
    )
}

/// Standard output and error of a call.
pub struct Printed {
    pub out: MemoryOutputPipe,
    pub err: MemoryOutputPipe,
}

impl Printed {
    pub fn new() -> Self {
        Printed {
            out: MemoryOutputPipe::new(PRINTED_BYTES_MAX),
            err: MemoryOutputPipe::new(PRINTED_BYTES_MAX),
        }
    }

    /// Adds what was printed to the lines.
    pub fn add_to(&self, written: &mut Written) {
        for (level, pipe) in [("info", &self.out), ("error", &self.err)] {
            let contents = pipe.contents();
            let text = String::from_utf8_lossy(&contents);
            for line in text.lines().filter(|line| !line.is_empty()) {
                if written.push(level, line).is_err() {
                    return;
                }
            }
        }
    }

    /// Whether a stream is full, so that the component could not go on printing.
    pub fn is_full(&self) -> bool {
        [&self.out, &self.err]
            .iter()
            .any(|pipe| pipe.contents().len() >= PRINTED_BYTES_MAX)
    }

    /// The error for too much output.
    pub fn too_much() -> Stop {
        Stop::new(
            code::LOG_LIMIT,
            format!("The component printed more than {} KiB", PRINTED_BYTES_MAX >> 10),
            "Print less.",
        )
    }
}
