//! Logs and metrics of the service. Knows what form they have, not what is said in them.

use crate::config::{Config, LogFormat};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

/// Sends log lines to standard error, as the settings say.
pub fn log(config: &Config) -> Result<(), String> {
    let filter = EnvFilter::try_new(&config.log).map_err(|error| format!("is wrong: {error}"))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let set = match config.log_format {
        LogFormat::Text => lines.finish().try_init(),
        LogFormat::Json => lines.json().flatten_event(true).finish().try_init(),
    };
    set.map_err(|error| error.to_string())
}
