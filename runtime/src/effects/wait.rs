//! `wait`: `{"ms": 1000}` or `{"untilMs": 1700000000000}` gives `null` after that time. What takes longer than a
//! minute parks the run, where there is a journal to continue from.

use super::effect::Effect;
use super::handles::{Clock, Parking};
use super::progress::{Park, Progress};
use heddle_sandbox::{EffectCode, EffectError};
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
    const KIND: &'static str = "wait";
    const ONLY_WAITS: bool = true;

    type Needs = (Clock, Parking);
    type Output = Progress;

    fn start(
        &self,
        request: Value,
        needs: Self::Needs,
    ) -> impl Future<Output = Result<Progress, EffectError>> + Send + 'static {
        wait(request, needs)
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

/// Waits in memory, or parks.
async fn wait(request: Value, (clock, parking): <Wait as Effect>::Needs) -> Result<Progress, EffectError> {
    let now_ms = clock.now_ms();
    let until_ms = match parking.until_ms() {
        Some(until_ms) => until_ms,
        None => until(request, now_ms)?,
    };
    let wait_ms = until_ms.saturating_sub(now_ms);
    if wait_ms > IN_MEMORY_MAX_MS && parking.is_possible {
        return Ok(Progress::Parked(Park {
            wake_at_ms: Some(until_ms),
            state: json!({ "untilMs": until_ms }),
        }));
    }
    tokio::time::sleep(Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0))).await;
    Ok(Value::Null.into())
}

fn until(request: Value, now_ms: i64) -> Result<i64, EffectError> {
    let request: Request = serde_json::from_value(request)
        .map_err(|error| EffectError::new(EffectCode::Parameter, format!("Can't read the wait: {error}.")))?;
    match (request.ms, request.until_ms) {
        (Some(ms), _) => Ok(now_ms.saturating_add(ms as i64)),
        (None, Some(until_ms)) => Ok(until_ms as i64),
        (None, None) => Err(EffectError::new(
            EffectCode::Parameter,
            "A wait needs a duration or a time.",
        )),
    }
}
