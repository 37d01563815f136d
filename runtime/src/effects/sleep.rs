//! `sleep`: `{"ms": 1000}` gives `null` after that time.

use super::effect::Effect;
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::Value;
use std::time::Duration;

/// Waits. The run's own deadline bounds it.
pub struct Sleep;

impl Effect for Sleep {
    const KIND: &'static str = "sleep";
    const ONLY_WAITS: bool = true;

    type Needs = ();
    type Output = Value;

    fn start(
        &self,
        request: Value,
        (): (),
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        sleep(request)
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

/// Waits for the milliseconds of the request.
async fn sleep(request: Value) -> Result<Value, EffectError> {
    let Some(ms) = request.get("ms").and_then(Value::as_f64).filter(|ms| *ms >= 0.0) else {
        return Err(EffectError::new(
            EffectCode::Parameter,
            "A wait needs a number of milliseconds.",
        ));
    };
    // Longer than any run may take; also keeps the clock's arithmetic in range.
    let duration = Duration::from_millis(ms.min(1e12) as u64);
    tokio::time::sleep(duration).await;
    Ok(Value::Null)
}
