//! Telling of ends that are stored: those who wait for the run, those who look on, and the run that has called it.

use crate::live::{Ended, Parking};
use crate::live_runs::LiveRuns;
use crate::poller::Wakeup;
use crate::run::Run;
use crate::run_metrics::{self, Figures, TenantMetrics};
use crate::tail::Tail;
use heddle_model::status::{Phase, RunStatus, TriggeredBy};
use heddle_runtime::RunError;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Codes that are longer are not written to the log.
const CODE_BYTES_LOGGED_MAX: usize = 64;

/// Tells everybody what became of a run. Cheap to clone.
#[derive(Clone)]
pub(crate) struct EndNotifier {
    pub live: Arc<LiveRuns>,
    pub tail: Tail,
    pub parked: Wakeup,
    pub tenants: Arc<TenantMetrics>,
}

impl EndNotifier {
    /// The run has ended, which is stored.
    pub fn ended(&self, run: &Run, figures: Figures, ended: Ended) {
        run_metrics::ended(ended.status, figures);
        self.tenants.ended(run.deployment.tenant, ended.status, figures);
        if let Some(error) = &ended.error {
            log_failure(run, ended.status, figures, error);
        }
        self.live.remove(run.id);
        self.tail.ended(run, &ended);
        if run.parent.is_some() {
            self.parked.wake();
        }
        run.live.end(ended);
    }

    /// The run is parked, which is stored, and its RespondToWebhook gave `response`. `false`: it was cancelled by then, and is to be ended.
    pub fn parked(&self, run: &Run, response: Option<Box<RawValue>>) -> bool {
        let answers_sender = response.is_some() && run.triggered_by == TriggeredBy::Webhook;
        match self.live.park(run, answers_sender) {
            Parking::Parked => self.tail.phase(run, Phase::Waiting),
            Parking::TakenUp | Parking::Lost => {}
            Parking::Cancelled => return false,
        }
        if answers_sender {
            run.live.end(Ended {
                status: RunStatus::Running,
                output: None,
                error: None,
                response,
            });
        }
        self.parked.wake();
        true
    }

    /// The execution does not count: its run is not this server's any more, or has been ended by somebody else. Whoever
    /// waits here hears of the end if the run was cancelled, and else that it goes on elsewhere.
    pub fn withdrawn(&self, run: &Run, ended: Option<Ended>) {
        tracing::info!(run = %run.id, "Ignored the end of an execution of a run that no longer counts");
        self.live.forget(run);
        if let Some(ended) = ended
            && run.live.is_cancelled()
        {
            self.tail.ended(run, &ended);
            run.live.end(ended);
        }
    }
}

/// One line for operators. The message is left out: it may contain some of the run's data.
fn log_failure(run: &Run, status: RunStatus, figures: Figures, error: &RunError) {
    let (id, deployment, tenant) = (run.id, run.deployment.id, run.deployment.tenant);
    let (status, code, node) = (status.name(), logged_code(&error.code), error.node_id.as_deref());
    let (attempt, ms) = (run.attempt, figures.duration_ms.unwrap_or_default());
    tracing::info!(
        run = %id, %deployment, %tenant, status, code, node, attempt, ms, "A run failed"
    );
}

/// The code, unless the pattern has made one up: it can compute codes, and so put data or line breaks into them.
fn logged_code(code: &str) -> &str {
    let is_plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
    let is_loggable = (1..=CODE_BYTES_LOGGED_MAX).contains(&code.len()) && code.bytes().all(is_plain);
    if is_loggable { code } else { "(own)" }
}
