//! Logs, metrics and traces of the service: their format and destination, not their contents.

mod traces;

pub use traces::Traces;

use crate::config::sources::SettingError;
use crate::config::{Config, LogFormat};
use heddle_runtime::TRACE_TARGET;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::sync::OnceLock;
use tokio::runtime::Handle;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// Bounds of the histograms of durations, in seconds.
const DURATION_BUCKETS_S: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0,
];

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
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
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

/// The process's metrics, which are collected from the first call on. The `metrics` crate has one place for them, so
/// all services of a process share theirs. `None`: another recorder was there first.
pub fn metrics() -> Option<&'static PrometheusHandle> {
    static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    let handle = HANDLE.get_or_init(|| {
        let durations = Matcher::Suffix("_seconds".to_owned());
        let builder = PrometheusBuilder::new().set_buckets_for_metric(durations, DURATION_BUCKETS_S);
        let recorder = builder.ok()?.build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).ok()?;
        Some(handle)
    });
    handle.as_ref()
}
