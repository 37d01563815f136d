//! `sleep`: `{"ms": 1000}` gives `null` after that time.

use super::{Effect, EffectContext, EffectError, EffectFuture};
use heddle_contract::abi::code;
use serde_json::Value;
use std::time::Duration;

/// Waits. The run's own deadline bounds it.
pub struct Sleep;

impl Effect for Sleep {
    fn kind(&self) -> &'static str {
        "sleep"
    }

    fn start(&self, request: Value, _: EffectContext) -> EffectFuture {
        Box::pin(async move {
            let Some(ms) = request.get("ms").and_then(Value::as_f64).filter(|ms| *ms >= 0.0) else {
                return Err(EffectError::new(
                    code::PARAMETER,
                    "A wait needs a number of milliseconds.",
                ));
            };
            // Longer than any run may take; also keeps the clock's arithmetic in range.
            let duration = Duration::from_millis(ms.min(1e12) as u64);
            tokio::time::sleep(duration).await;
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
