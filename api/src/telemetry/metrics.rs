//! Metrics: what each of them counts, for those who read them, and where they are collected. Knows nothing of who counts.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::sync::OnceLock;

/// Bounds of the histograms of durations, in seconds.
const DURATION_BUCKETS_S: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0,
];

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// A current value.
    Gauge,
    /// A distribution.
    Histogram,
}

/// A metric's name, what it is, and what it counts.
pub type Metric = (&'static str, Kind, &'static str);

/// All metrics of the service.
pub const METRICS: &[Metric] = &[
    (
        "heddle_executor_deaths_total",
        Kind::Counter,
        "Processes that executed runs and died or were killed; their runs were taken up again",
    ),
    (
        "heddle_file_bytes_written_total",
        Kind::Counter,
        "Bytes of files that were stored, before equal ones were found",
    ),
    (
        "heddle_file_contents_removed_total",
        Kind::Counter,
        "Contents of files that were removed since nothing needed them",
    ),
    (
        "heddle_http_accept_errors_total",
        Kind::Counter,
        "Connections that could not be accepted, because the system lacks descriptors or memory",
    ),
    (
        "heddle_http_closed_total",
        Kind::Counter,
        "Connections that the server closed, by reason",
    ),
    ("heddle_http_connections", Kind::Gauge, "Open connections"),
    (
        "heddle_http_late_bodies_total",
        Kind::Counter,
        "Request bodies that arrived too slowly",
    ),
    (
        "heddle_http_refused_total",
        Kind::Counter,
        "Connections and bodies that were refused for lack of room, by reason",
    ),
    (
        "heddle_http_request_seconds",
        Kind::Histogram,
        "Time from a request's headers to those of its response, by method and route",
    ),
    (
        "heddle_http_requests_total",
        Kind::Counter,
        "Requests that were answered, by method, route and status",
    ),
    (
        "heddle_http_tls_failures_total",
        Kind::Counter,
        "TLS handshakes that failed",
    ),
    (
        "heddle_leases_lost_total",
        Kind::Counter,
        "Times that this server lost its runs to others, because it did not renew its lease in time",
    ),
    (
        "heddle_mailbox_failures_total",
        Kind::Counter,
        "Times that a mailbox of an OnMailbox node could not be read",
    ),
    (
        "heddle_mailbox_messages_total",
        Kind::Counter,
        "Messages of OnMailbox nodes, by result",
    ),
    (
        "heddle_mailboxes_connected",
        Kind::Gauge,
        "Mailboxes that this server is connected to",
    ),
    (
        "heddle_polls_total",
        Kind::Counter,
        "Lists that OnPoll nodes asked for, by result",
    ),
    (
        "heddle_run_duration_seconds",
        Kind::Histogram,
        "Time that runs executed",
    ),
    (
        "heddle_run_fuel_total",
        Kind::Counter,
        "Fuel that runs used, roughly instructions",
    ),
    (
        "heddle_run_memory_bytes",
        Kind::Histogram,
        "Memory that runs used at most",
    ),
    (
        "heddle_run_retries_total",
        Kind::Counter,
        "Further attempts of runs that failed",
    ),
    (
        "heddle_runs_accepted_total",
        Kind::Counter,
        "Runs that were accepted, by what triggered them",
    ),
    (
        "heddle_runs_ended_total",
        Kind::Counter,
        "Runs that ended, by status",
    ),
    (
        "heddle_runs_executing",
        Kind::Gauge,
        "Runs that execute on this server",
    ),
    (
        "heddle_runs_over_quota_total",
        Kind::Counter,
        "Runs that were refused because a quota of their workspace is used up, by quota",
    ),
    (
        "heddle_runs_parked_total",
        Kind::Counter,
        "Runs that began to wait as rows in the database",
    ),
    (
        "heddle_runs_quarantined_total",
        Kind::Counter,
        "Runs that were given up because they crashed servers or executors",
    ),
    (
        "heddle_runs_refused_total",
        Kind::Counter,
        "Events that were refused because too many runs wait",
    ),
    (
        "heddle_runs_removed_total",
        Kind::Counter,
        "Ended runs that were removed by retention",
    ),
    (
        "heddle_runs_taken_up_total",
        Kind::Counter,
        "Runs that were taken up from a server that stopped or died",
    ),
    (
        "heddle_runs_unclaimed",
        Kind::Gauge,
        "Runs in the database that wait for a server to execute them",
    ),
    (
        "heddle_runs_waiting",
        Kind::Gauge,
        "Accepted runs that wait in the memory of this server",
    ),
    (
        "heddle_runs_woken_total",
        Kind::Counter,
        "Runs that waited as rows in the database and go on",
    ),
    ("heddle_servers", Kind::Gauge, "Servers that share the database"),
    (
        "heddle_subscriptions_total",
        Kind::Counter,
        "Services that were told of webhooks, or asked for them, by result",
    ),
    (
        "heddle_tenant_run_fuel_total",
        Kind::Counter,
        "Fuel that runs used, by workspace; only with metrics_tenants",
    ),
    (
        "heddle_tenant_runs_ended_total",
        Kind::Counter,
        "Runs that ended, by workspace and status; only with metrics_tenants",
    ),
];

/// The process's metrics, which are collected from the first call on. The `metrics` crate has one place for them, so
/// all services of a process share theirs. `None`: another recorder was there first.
pub fn handle() -> Option<&'static PrometheusHandle> {
    static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    let handle = HANDLE.get_or_init(|| {
        let durations = Matcher::Suffix("_seconds".to_owned());
        let builder = PrometheusBuilder::new().set_buckets_for_metric(durations, DURATION_BUCKETS_S);
        let recorder = builder.ok()?.build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).ok()?;
        describe();
        Some(handle)
    });
    handle.as_ref()
}

fn describe() {
    for (name, kind, help) in METRICS {
        match kind {
            Kind::Counter => metrics::describe_counter!(*name, *help),
            Kind::Gauge => metrics::describe_gauge!(*name, *help),
            Kind::Histogram => metrics::describe_histogram!(*name, *help),
        }
    }
}
