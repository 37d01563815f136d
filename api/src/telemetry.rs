//! Logs and metrics of the service. Knows what form they have, not what is said in them.

use crate::config::{Config, LogFormat};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::sync::OnceLock;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

/// Bounds of the histograms of durations, in seconds.
const DURATION_BUCKETS_S: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0,
];

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
