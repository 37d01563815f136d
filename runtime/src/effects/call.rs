//! `call`: `{"patternId", "inputs", "wait", "version"}` runs another deployed pattern and gives what it returned, or
//! `{runId}` when its end is not waited for. Whoever owns the runtime does the calling.

use super::{Effect, EffectContext, EffectError, EffectFuture, result_from_json, within};
use heddle_contract::abi::code;
use serde::Deserialize;
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// Runs other patterns for one run.
pub trait Calls: fmt::Debug + Send + Sync + 'static {
    /// Runs a pattern. Dropping the future cancels that run, if its end is waited for.
    fn call(&self, call: Call, context: EffectContext) -> EffectFuture;
}

/// A call of another pattern.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// The pattern.
    pub pattern_id: String,
    /// What its OnCall emits.
    #[serde(default)]
    pub inputs: Value,
    /// Whether its end is waited for.
    pub wait: bool,
    /// Its newest version rather than the deployed one.
    pub latest: bool,
    /// Until when its end is waited for, in milliseconds since 1970 UTC.
    #[serde(skip)]
    pub until_ms: Option<i64>,
    #[serde(default)]
    timeout_ms: Option<f64>,
}

/// Calls other patterns.
pub struct CallPattern;

impl Effect for CallPattern {
    fn kind(&self) -> &'static str {
        "call"
    }

    fn start(&self, request: Value, context: EffectContext) -> EffectFuture {
        Box::pin(async move {
            let mut call: Call = serde_json::from_value(request).map_err(|error| {
                EffectError::new(code::PARAMETER, format!("The call can't be read: {error}."))
            })?;
            let granted = |name: &String| name == "*" || *name == call.pattern_id;
            if !context.patterns.iter().any(granted) {
                let message = format!(
                    "The pattern's manifest does not list the pattern `{}`.",
                    call.pattern_id
                );
                return Err(EffectError::new(code::NOT_PERMITTED, message));
            }
            if let Some(ended) = context.signals.get(&context.key) {
                return result_from_json(ended.clone());
            }
            let Some(calls) = context.calls.clone() else {
                return Err(EffectError::new(
                    code::NO_SERVICE,
                    "There is no service here that knows deployed patterns, so none can be called. Deploy this \
                     pattern with `heddle serve`, or pin what this node shall emit.",
                ));
            };
            let now_ms = context.now_ms();
            let known = context.parked.as_ref().map(|state| state["untilMs"].as_i64());
            call.until_ms = match known {
                Some(until_ms) => until_ms,
                None => call.timeout_ms.map(|ms| now_ms.saturating_add(ms as i64)),
            };
            // A wait that is over is looked at once more: the end may be there.
            let left_ms = call
                .until_ms
                .map(|until_ms| until_ms.saturating_sub(now_ms).max(1));
            let time_max = left_ms.map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or(1)));
            match call.until_ms.filter(|_| known.is_some()) {
                Some(_) => calls.call(call, context).await,
                None => {
                    let work = calls.call(call, context);
                    let late = |ms| format!("It took longer than {ms} ms.");
                    match time_max {
                        Some(time_max) => within(time_max, work, late).await,
                        None => work.await,
                    }
                }
            }
        })
    }

    fn only_waits(&self) -> bool {
        true
    }
}
