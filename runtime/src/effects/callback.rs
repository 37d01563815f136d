//! `callback`: parks the run until its one-time URL is called, or the time is over: `{"place": "…", "timeoutMs": n,
//! "respondBody"?: …, "page"?: "<p>…", "respondPage"?: "<p>…", "form"?: {"title": …, "fields": […]}}`
//! gives `{"event": …}` or `{"timeout": true}`.

use super::effect::Effect;
use super::handles::{Clock, Parking, Signals};
use super::progress::{Park, Progress};
use super::result_place::ResultPlace;
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::{Map, Value, json};

/// Waits for a call from outside.
pub struct Callback;

impl Effect for Callback {
    const KIND: &'static str = "callback";
    const ONLY_WAITS: bool = true;

    type Needs = (Signals, Clock, Parking, ResultPlace);
    type Output = Progress;

    fn start(
        &self,
        request: Value,
        needs: Self::Needs,
    ) -> impl Future<Output = Result<Progress, EffectError>> + Send + 'static {
        wait_for_call(request, needs)
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

/// Gives what has come, or parks.
async fn wait_for_call(
    request: Value,
    (signals, clock, parking, result): <Callback as Effect>::Needs,
) -> Result<Progress, EffectError> {
    if !parking.is_possible {
        return Err(EffectError::new(
            EffectCode::NoService,
            "Callbacks are not possible here: only runs of deployed patterns have URLs. Deploy the pattern, \
             or pin this node's output.",
        ));
    }
    let place = request["place"].as_str().unwrap_or_default();
    if signals.has(place) {
        result.take_with_room().await;
        let event = result.read(signals.read(place).await?).await?;
        // `json!` would copy it, and it may be large.
        return Ok(Value::Object(Map::from_iter([("event".to_owned(), event)])).into());
    }
    let now_ms = clock.now_ms();
    let until_ms = match parking.until_ms() {
        Some(until_ms) => until_ms,
        None => now_ms.saturating_add(request["timeoutMs"].as_f64().unwrap_or(0.0) as i64),
    };
    if until_ms <= now_ms {
        return Ok(json!({ "timeout": true }).into());
    }
    let mut state = json!({ "untilMs": until_ms, "respondBody": request.get("respondBody") });
    for name in ["page", "respondPage", "form"] {
        if let Some(shown) = request.get(name) {
            state[name] = shown.clone();
        }
    }
    Ok(Progress::Parked(Park {
        wake_at_ms: Some(until_ms),
        state,
    }))
}
