//! Logs, metrics and traces of the service: their format and destination, not their contents.

pub mod metrics;
mod traces;

pub use traces::Traces;

use crate::config::sources::SettingError;
use crate::config::{Config, LogFormat};
use anstream::{AutoStream, ColorChoice};
use heddle_runtime::TRACE_TARGET;
use std::borrow::Cow;
use std::io::{self, Write};
use tokio::runtime::Handle;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// Sends log lines to standard error and spans to the collector, as the settings say.
pub fn start(config: &Config, io: Handle) -> Result<Option<Traces>, SettingError> {
    let wrong =
        |error: &dyn std::fmt::Display| SettingError::new("HEDDLE_LOG", format!("is invalid: {error}"));
    let off = format!("{TRACE_TARGET}=off")
        .parse()
        .map_err(|error| wrong(&error))?;
    let filter = EnvFilter::try_new(&config.log)
        .map_err(|error| wrong(&error))?
        .add_directive(off);
    // On a terminal, unless NO_COLOR is set: in a file, escape sequences are noise.
    let has_colours = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(|| Lines)
        .with_ansi(has_colours);
    let lines = match config.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let traces =
        Traces::start(config, io).map_err(|error| SettingError::new("HEDDLE_OTLP_ENDPOINT", error))?;
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .with(traces.as_ref().map(Traces::layer))
        .try_init()
        .map_err(|error| wrong(&error))?;
    Ok(traces)
}

/// Standard error, where each event is one line: line breaks in what strangers have said, such as a service, forge no others.
struct Lines;

impl Write for Lines {
    /// An event, which comes as a whole.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(&one_line(event))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// An event without line breaks but the one at its end.
fn one_line(event: &[u8]) -> Cow<'_, [u8]> {
    let line = event.strip_suffix(b"\n").unwrap_or(event);
    if !line.iter().any(|byte| b"\n\r".contains(byte)) {
        return Cow::Borrowed(event);
    }
    let mut written = Vec::with_capacity(event.len().saturating_add(16));
    for byte in line {
        match byte {
            b'\n' => written.extend_from_slice(b"\\n"),
            b'\r' => written.extend_from_slice(b"\\r"),
            other => written.push(*other),
        }
    }
    written.push(b'\n');
    Cow::Owned(written)
}
