//! `callback`: parks the run until its one-time URL is called, or the time is over: `{"place": "…", "timeoutMs": n,
//! "respondBody"?: …}` gives `{"event": …}` or `{"timeout": true}`.

use super::{Effect, EffectContext, EffectError, EffectFuture, Park};
use heddle_contract::abi::code;
use serde_json::{Value, json};

/// Waits for a call from outside.
pub struct Callback;

impl Effect for Callback {
    fn kind(&self) -> &'static str {
        "callback"
    }

    fn start(&self, request: Value, context: EffectContext) -> EffectFuture {
        Box::pin(async move {
            if !context.can_park() {
                return Err(EffectError::new(
                    code::NO_SERVICE,
                    "Nobody can call back here: only runs of deployed patterns have URLs. Deploy the pattern, or pin \
                     what this node shall emit.",
                ));
            }
            let place = request["place"].as_str().unwrap_or_default();
            if let Some(event) = context.signals.get(place) {
                return Ok(json!({ "event": event }));
            }
            let now_ms = context.now_ms();
            let until_ms = match context.parked_until_ms() {
                Some(until_ms) => until_ms,
                None => now_ms.saturating_add(request["timeoutMs"].as_f64().unwrap_or(0.0) as i64),
            };
            if until_ms <= now_ms {
                return Ok(json!({ "timeout": true }));
            }
            context.park(Park {
                wake_at_ms: Some(until_ms),
                state: json!({ "untilMs": until_ms, "respondBody": request.get("respondBody") }),
            })
        })
    }

    fn only_waits(&self) -> bool {
        true
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}
