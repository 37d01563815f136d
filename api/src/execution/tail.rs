//! What runs do, as it happens, for those who look on. Costs nothing while nobody does.

use super::live::Ended;
use super::status::{Phase, RunStatus, TriggeredBy};
use super::worker::Job;
use crate::clock::Timestamp;
use crate::ids::{DeploymentId, RunId};
use heddle_runtime::RunError;
use serde::Serialize;
use std::sync::Arc;
use tokio::sync::broadcast;
use utoipa::ToSchema;

/// Changes that a slow onlooker may be behind.
const BACKLOG_MAX: usize = 1_024;

/// A change of a run.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunChange {
    /// The run.
    pub run_id: RunId,
    /// Its deployment.
    pub deployment_id: DeploymentId,
    /// Its state.
    pub status: RunStatus,
    /// What it is doing.
    pub phase: Phase,
    /// What started it.
    pub triggered_by: TriggeredBy,
    /// Attempt, from 1.
    pub attempt: u32,
    /// When accepted.
    pub accepted_at: Timestamp,
    /// Why it failed, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub error: Option<RunError>,
}

/// Where changes are told.
#[derive(Clone, Debug)]
pub struct Tail(broadcast::Sender<Arc<RunChange>>);

impl Default for Tail {
    fn default() -> Self {
        Tail(broadcast::Sender::new(BACKLOG_MAX))
    }
}

impl Tail {
    /// All changes of all runs from now on; the onlooker chooses those that it may see.
    pub fn watch(&self) -> broadcast::Receiver<Arc<RunChange>> {
        self.0.subscribe()
    }

    /// How many look on.
    pub fn onlookers(&self) -> usize {
        self.0.receiver_count()
    }

    pub(super) fn accepted(&self, job: &Job) {
        self.tell(job, RunStatus::Running, Phase::Queued, None);
    }

    pub(super) fn phase(&self, job: &Job, phase: Phase) {
        job.live.set_phase(phase);
        self.tell(job, RunStatus::Running, phase, None);
    }

    pub(super) fn ended(&self, job: &Job, ended: &Ended) {
        job.live.set_phase(Phase::Ended);
        self.tell(job, ended.status, Phase::Ended, ended.error.as_ref());
    }

    fn tell(&self, job: &Job, status: RunStatus, phase: Phase, error: Option<&RunError>) {
        if self.0.receiver_count() == 0 {
            return;
        }
        // Refused only when the last onlooker has just gone.
        let _ = self.0.send(Arc::new(RunChange {
            run_id: job.run,
            deployment_id: job.deployment.id,
            status,
            phase,
            triggered_by: job.triggered_by,
            attempt: job.attempt,
            accepted_at: job.accepted_at,
            error: error.cloned(),
        }));
    }
}
