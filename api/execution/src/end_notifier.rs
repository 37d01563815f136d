//! Telling of ends that are stored: those who wait for the run, those who look on, and the run that has called it.

use crate::live::Ended;
use crate::live_runs::LiveRuns;
use crate::poller::Wakeup;
use crate::run::Run;
use crate::run_metrics::{self, Figures};
use crate::tail::Tail;
use heddle_model::status::{Phase, RunStatus, TriggeredBy};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Tells everybody what became of a run. Cheap to clone.
#[derive(Clone)]
pub(crate) struct EndNotifier {
    pub live: Arc<LiveRuns>,
    pub tail: Tail,
    pub parked: Wakeup,
}

impl EndNotifier {
    /// The run has ended, which is stored.
    pub fn ended(&self, run: &Run, figures: Figures, ended: Ended) {
        run_metrics::ended(ended.status, figures);
        self.live.remove(run.id);
        self.tail.ended(run, &ended);
        if run.parent.is_some() {
            self.parked.wake();
        }
        run.live.end(ended);
    }

    /// The run is parked, which is stored, and its RespondToWebhook gave `response`.
    pub fn parked(&self, run: &Run, response: Option<Box<RawValue>>) {
        self.tail.phase(run, Phase::Waiting);
        run.live.set_parked(true);
        let answers_sender = response.is_some() && run.triggered_by == TriggeredBy::Webhook;
        // Only those who wait for the run's end keep something of it in memory.
        if answers_sender || !run.live.is_watched() {
            self.live.remove(run.id);
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
