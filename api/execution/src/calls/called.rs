//! A run that was called, as the effect knows of it that waits for its end. Knows nothing of calling.

use heddle_model::ids::RunId;
use heddle_runtime::{Call, CallContext, Park, Progress};
use serde_json::{Value, json};

/// How often a parked run looks whether the one that it waits for is still there: nobody signals that it was deleted.
const LOOK_EVERY_MS: i64 = 60 * 60 * 1_000;

/// A run that was called, for whose end another one waits.
pub(super) struct Called {
    pub run: RunId,
    /// Under which key it leaves its end for the one that waits.
    pub signal: String,
}

impl Called {
    /// The one that an execution of this effect had called before it parked in this state.
    pub fn of_state(state: &Value, context: &CallContext) -> Option<Self> {
        let run = state["runId"].as_str()?.parse().ok()?;
        let signal = context.signal_key();
        Some(Called { run, signal })
    }
}

/// The key under which a call is made once: in each attempt if its end is waited for. A call that is not waited for is made once for all
/// attempts, even if the first one failed before it could note that.
pub(super) fn key_of(call: &Call, context: &CallContext) -> String {
    let attempt = if call.wait { context.attempt } else { 1 };
    format!("call {}@{attempt}", context.key)
}

/// Waits for the run as a row.
pub(super) fn park(called: &Called, call: &Call, context: &CallContext) -> Progress {
    let look_at_ms = context.now_ms().saturating_add(LOOK_EVERY_MS);
    Progress::Parked(Park {
        wake_at_ms: Some(
            call.until_ms
                .map_or(look_at_ms, |until_ms| until_ms.min(look_at_ms)),
        ),
        state: json!({ "runId": called.run, "signal": called.signal, "untilMs": call.until_ms }),
    })
}
