//! Logs, metrics and traces of the service: their format and destination, not their contents.

pub mod metrics;
mod traces;

pub use traces::Traces;

use crate::config::sources::SettingError;
use crate::config::{Config, LogFormat};
use anstream::{AutoStream, ColorChoice};
use heddle_runtime::TRACE_TARGET;
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
    let has_colours = AutoStream::choice(&std::io::stderr()) != ColorChoice::Never;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
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
