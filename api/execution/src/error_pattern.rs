//! Telling of failed runs: the pattern that a failed run's settings name is run with what has happened. Knows nothing of
//! how runs fail.

use super::Inner;
use super::acceptor;
use super::live::Ended;
use super::worker::Job;
use heddle_model::error::ServiceError;
use heddle_model::ids::RunId;
use heddle_model::shown::shown;
use heddle_model::status::TriggeredBy;
use heddle_runtime::RunError;
use serde::Serialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The event of OnError.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure<'a> {
    run_id: RunId,
    pattern_id: heddle_model::ids::PatternId,
    node_id: Option<&'a str>,
    error: Option<&'a RunError>,
    /// As it is shown: another pattern has no use for its credentials.
    event_data: Box<RawValue>,
}

/// Runs the error pattern that the failed run's settings name, once, if it is the same tenant's. A run that itself
/// tells of an error tells of none, so that error patterns can't chase each other.
pub(super) async fn tell(inner: &Arc<Inner>, job: &Job, ended: &Ended) {
    let settings = &job.deployment.manifest().settings;
    let Some(pattern) = &settings.error_pattern_id else {
        return;
    };
    if job.triggered_by == TriggeredBy::Error {
        return;
    }
    let told = async {
        let Ok(pattern) = pattern.parse() else {
            return Ok(false);
        };
        let Some(deployment) = inner.active_for(pattern).await? else {
            return Ok(false);
        };
        let Some(trigger) = deployment.trigger("OnError") else {
            return Ok(false);
        };
        if deployment.tenant != job.deployment.tenant {
            return Ok(false);
        }
        let event = match job.is_event_left {
            true => inner.event_of(job.run).await?,
            false => job.event.clone(),
        };
        let failure = Failure {
            run_id: job.run,
            pattern_id: job.deployment.pattern_id,
            node_id: ended.error.as_ref().and_then(|error| error.node_id.as_deref()),
            error: ended.error.as_ref(),
            event_data: shown(event),
        };
        let event = serde_json::value::to_raw_value(&failure).map_err(ServiceError::internal)?;
        let request = acceptor::Request {
            triggered_by: TriggeredBy::Error,
            node_id: Some(trigger.node_id.clone()),
            event,
            key: Some((job.run.to_string(), "error".to_owned())),
            wait: false,
            parent: None,
            depth: 0,
            deployment,
        };
        acceptor::accept_without_room(inner, request).await.map(|_| true)
    };
    match told.await {
        Ok(true) => {}
        Ok(false) => {
            tracing::warn!(run = %job.run, pattern, "The error pattern is not active, or has no OnError")
        }
        Err(error) => {
            tracing::error!(run = %job.run, pattern, "The error pattern was not run: {}", error.message())
        }
    }
}
