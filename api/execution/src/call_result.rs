//! The end of a called run, as the effect CallPattern of the one that waits for it. Knows nothing of calling.

use crate::live::Ended;
use heddle_contract::abi::code;
use heddle_model::ids::RunId;
use heddle_model::status::RunStatus;
use heddle_runtime::{EffectError, EffectResult, result_from_json, result_to_json};

/// The effect's result.
pub(crate) fn effect_result(run: RunId, ended: &Ended) -> EffectResult {
    match (&ended.error, ended.status) {
        (None, RunStatus::Success) => {
            let output = ended
                .output
                .as_deref()
                .map(|output| serde_json::from_str(output.get()));
            // What was given out as JSON is JSON.
            Ok(output.and_then(Result::ok).unwrap_or_default())
        }
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

/// The effect's result as the payload of a signal, by which a run hears of it that is not in memory.
pub(crate) fn signal_payload(run: RunId, ended: &Ended) -> String {
    result_to_json(effect_result(run, ended)).to_string()
}

/// The effect's result from a signal's payload.
pub(crate) fn of_signal(payload: &str) -> EffectResult {
    result_from_json(serde_json::from_str(payload).unwrap_or_default())
}
