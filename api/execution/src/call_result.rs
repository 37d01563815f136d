//! The end of a called run, as the effect CallPattern of the one that waits for it. Knows nothing of calling.

use crate::live::Ended;
use heddle_contract::abi::code;
use heddle_model::ids::RunId;
use heddle_model::status::RunStatus;
use heddle_runtime::{EffectError, result_to_json};
use serde_json::value::RawValue;

/// What the run has given, as JSON, or the effect's error.
pub(crate) fn output(run: RunId, ended: &Ended) -> Result<&str, EffectError> {
    match (&ended.error, ended.status) {
        (None, RunStatus::Success) => Ok(ended.output.as_deref().map_or("null", RawValue::get)),
        (error, _) => {
            let (code, message, node_id) = match error {
                Some(error) => (
                    error.code.as_str(),
                    error.message.as_str(),
                    error.node_id.as_deref(),
                ),
                None => (code::INTERNAL, "it has no error", None),
            };
            let at = node_id
                .map(|node_id| format!(" at its node `{node_id}`"))
                .unwrap_or_default();
            let message = format!("The called run {run} failed{at}: {message}");
            Err(EffectError::new(code.into(), message))
        }
    }
}

/// The effect's result as the payload of a signal, by which a run hears of it that is not in memory, or has no place for it yet.
pub(crate) fn signal_payload(run: RunId, ended: &Ended) -> String {
    // What was given out as JSON is JSON.
    let result = output(run, ended).map(|output| serde_json::from_str(output).unwrap_or_default());
    result_to_json(result).to_string()
}
