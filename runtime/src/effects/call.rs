//! `call`: `{"patternId", "inputs", "wait", "version"}` runs another deployed pattern and gives what it returned, or
//! `{runId}` when its end is not waited for. Whoever owns the runtime does the calling.

use super::calls::{Call, CallContext, Calls};
use super::effect::Effect;
use super::handles::{GrantedPatterns, Signals};
use super::progress::{Progress, result_from_json};
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Calls other patterns.
pub struct CallPattern;

impl Effect for CallPattern {
    const KIND: &'static str = "call";
    const ONLY_WAITS: bool = true;

    type Needs = (GrantedPatterns, Signals, CallContext, Option<Arc<dyn Calls>>);
    type Output = Progress;

    fn start(
        &self,
        request: Value,
        needs: Self::Needs,
    ) -> impl Future<Output = Result<Progress, EffectError>> + Send + 'static {
        call(request, needs)
    }
}

/// Calls a pattern that the manifest grants.
async fn call(
    request: Value,
    (patterns, signals, context, calls): <CallPattern as Effect>::Needs,
) -> Result<Progress, EffectError> {
    let call: Call = serde_json::from_value(request)
        .map_err(|error| EffectError::new(EffectCode::Parameter, format!("Can't read the call: {error}.")))?;
    check_granted(&patterns, &call)?;
    let signal = context.signal_key();
    if signals.has(&signal) {
        context.take_place().await;
        let ended = context.read(signals.read(&signal).await?).await?;
        return result_from_json(ended).map(Progress::Done);
    }
    let Some(calls) = calls else {
        return Err(EffectError::new(
            EffectCode::NoService,
            "Patterns can only be called in a service that has deployed them. Deploy this pattern with \
             `heddle serve`, or pin this node's output.",
        ));
    };
    in_time(&*calls, call, context).await
}

fn check_granted(GrantedPatterns(patterns): &GrantedPatterns, call: &Call) -> Result<(), EffectError> {
    if patterns
        .iter()
        .any(|name| name == "*" || *name == call.pattern_id)
    {
        return Ok(());
    }
    let message = format!(
        "The pattern's manifest does not list the pattern `{}`.",
        call.pattern_id
    );
    Err(EffectError::new(EffectCode::NotPermitted, message))
}

/// Calls, and waits until the time that the call has from its first beginning.
async fn in_time(calls: &dyn Calls, mut call: Call, context: CallContext) -> Result<Progress, EffectError> {
    let now_ms = context.now_ms();
    let known = context.parked().map(|state| state["untilMs"].as_i64());
    call.until_ms = match known {
        Some(until_ms) => until_ms,
        None => call.timeout_ms.map(|ms| now_ms.saturating_add(ms as i64)),
    };
    // A wait that is over is looked at once more: the end may be there.
    let left_ms = call
        .until_ms
        .map(|until_ms| until_ms.saturating_sub(now_ms).max(1));
    let time_max = left_ms.map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or(1)));
    let place = context.place.clone();
    let mut work = calls.call(call, context);
    let Some(time_max) = time_max.filter(|_| known.is_none()) else {
        return work.await;
    };
    match tokio::time::timeout(time_max, &mut work).await {
        Ok(done) => done,
        // It has ended in time, and waits for the run to take other results.
        Err(_) if place.is_wanted() => work.await,
        Err(_) => {
            let message = format!("It took longer than {} ms.", time_max.as_millis());
            Err(EffectError::new(EffectCode::Timeout, message))
        }
    }
}
