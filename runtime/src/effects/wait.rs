//! `wait`: `{"ms": 1000}` or `{"untilMs": 1700000000000}` gives `null` after that time. What takes longer than a
//! minute parks the run, where there is a journal to continue from.

use super::{Effect, EffectContext, EffectError, EffectFuture, Park};
use heddle_contract::abi::code;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// A longer wait parks the run.
const IN_MEMORY_MAX_MS: i64 = 60_000;

/// Waits for a time.
pub struct Wait;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    ms: Option<f64>,
    until_ms: Option<f64>,
}

impl Effect for Wait {
    fn kind(&self) -> &'static str {
        "wait"
    }

    fn start(&self, request: Value, context: EffectContext) -> EffectFuture {
        Box::pin(async move {
            let now_ms = context.now_ms();
            let until_ms = match context.parked_until_ms() {
                Some(until_ms) => until_ms,
                None => until(request, now_ms)?,
            };
            let wait_ms = until_ms.saturating_sub(now_ms);
            if wait_ms > IN_MEMORY_MAX_MS && context.can_park() {
                return context.park(Park {
                    wake_at_ms: Some(until_ms),
                    state: json!({ "untilMs": until_ms }),
                });
            }
            tokio::time::sleep(Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0))).await;
            Ok(Value::Null)
        })
    }

    fn only_waits(&self) -> bool {
        true
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

fn until(request: Value, now_ms: i64) -> Result<i64, EffectError> {
    let request: Request = serde_json::from_value(request)
        .map_err(|error| EffectError::new(code::PARAMETER, format!("The wait can't be read: {error}.")))?;
    match (request.ms, request.until_ms) {
        (Some(ms), _) => Ok(now_ms.saturating_add(ms as i64)),
        (None, Some(until_ms)) => Ok(until_ms as i64),
        (None, None) => Err(EffectError::new(
            code::PARAMETER,
            "A wait needs a duration or a time.",
        )),
    }
}
