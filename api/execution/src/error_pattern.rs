//! Error patterns: a run that fails starts the pattern that its settings name, with the failure as the event. Knows nothing of how
//! runs fail.

use crate::acceptor::Acceptor;
use crate::active_deployments::ActiveDeployments;
use crate::files::{FileService, OwnedRight};
use crate::live::Ended;
use crate::run::{IdempotencyKey, NewRun, Run};
use crate::stored_event::stored_event;
use heddle_catalogue::Start;
use heddle_model::clock::{monotonic, since};
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::file::Holder;
use heddle_model::ids::{PatternId, RunId};
use heddle_model::shown::shown;
use heddle_model::status::TriggeredBy;
use heddle_runtime::{RunError, aside_if_large};
use heddle_store::Store;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;
use std::time::Duration;

/// Wait before trying again what the database, or a compiler, had no time for.
const RETRY: Duration = Duration::from_millis(500);
/// For how long that is tried. The failed run's end could mostly not be stored either.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// The event of OnError.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure<'a> {
    run_id: RunId,
    pattern_id: PatternId,
    node_id: Option<&'a str>,
    error: Option<&'a RunError>,
    /// As it is shown: another pattern has no use for its credentials.
    event_data: Box<RawValue>,
}

/// Starts error patterns.
pub(crate) struct ErrorPatterns {
    pub store: Store,
    pub active: Arc<ActiveDeployments>,
    pub acceptor: Arc<Acceptor>,
    pub files: FileService,
}

impl ErrorPatterns {
    /// Starts the error pattern that the failed run's settings name, once. A run that was itself started by an error
    /// starts none, so that error patterns can't chase each other. A database that is away is waited for; what fails otherwise is logged
    /// only.
    pub async fn start(&self, run: &Run, ended: &Ended) {
        let settings = &run.deployment.manifest().settings;
        let Some(pattern) = &settings.error_pattern_id else {
            return;
        };
        if run.triggered_by == TriggeredBy::Error {
            return;
        }
        let begun = monotonic();
        // Whoever has a run that was lost goes on with it.
        while !run.live.is_lost() {
            match self.try_start(pattern, run, ended).await {
                Ok(true) => return,
                Ok(false) => {
                    return tracing::warn!(run = %run.id, pattern, "The error pattern is not active, or has no OnError");
                }
                // Under the run's key it starts once, even if it was stored and the answer lost.
                Err(error) if error.code() == Code::Unavailable && since(begun) < PATIENCE => {
                    tracing::warn!(run = %run.id, pattern, "The error pattern can't be run yet: {}", chain(&error));
                    tokio::time::sleep(RETRY).await;
                }
                Err(error) => {
                    return tracing::error!(run = %run.id, pattern, "The error pattern was not run: {}", chain(&error));
                }
            }
        }
    }

    /// `false`: there is no such pattern of the same tenant that an error can start.
    async fn try_start(&self, pattern: &str, run: &Run, ended: &Ended) -> Result<bool, ServiceError> {
        let Ok(pattern) = pattern.parse() else {
            return Ok(false);
        };
        let slot = self.active.slot_for(pattern, run.deployment.origin()).await?;
        let Some(deployment) = self.active.in_slot(slot).await? else {
            return Ok(false);
        };
        let Some(trigger) = deployment.trigger(Start::Error) else {
            return Ok(false);
        };
        if deployment.tenant != run.deployment.tenant {
            return Ok(false);
        }
        let event = match run.event.here() {
            Some(event) => event.to_owned(),
            None => stored_event(&self.store, run.id).await?,
        };
        let (run_id, pattern_id, error) = (run.id, run.deployment.pattern_id(), ended.error.clone());
        let owner = Some(run.deployment.owner.as_u128());
        let written = aside_if_large(owner, event.get().len(), move || {
            to_raw_value(&Failure {
                run_id,
                pattern_id,
                node_id: error.as_ref().and_then(|error| error.node_id.as_deref()),
                error: error.as_ref(),
                event_data: shown(event),
            })
        });
        let event = written.await.ok_or(Code::Internal)?;
        let event = event.map_err(ServiceError::internal)?;
        let right = OwnedRight::Holder(Holder::Run(run.id));
        let new = NewRun {
            triggered_by: TriggeredBy::Error,
            id: self.files.run_with(deployment.tenant, event.get(), right).await?,
            node_id: Some(trigger.node_id.clone()),
            event,
            text: None,
            idempotency: Some(IdempotencyKey::of_run(run.id, "error".to_owned())),
            wait: false,
            caller: None,
            deployment,
        };
        self.acceptor.accept_without_room(new).await.map(|_| true)
    }
}
