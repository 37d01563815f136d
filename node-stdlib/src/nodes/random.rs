//! Random: numbers and choices of the run's seeded randomness.

use super::parameters;
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::{Object, Value};

/// The largest whole number up to which a double holds all of them.
const WHOLE_MAX: i64 = (1 << 53) - 1;

/// One of `choices`, or a number from `min` to `max`.
pub fn random(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let value = match parameters::array(parameters, "choices")? {
        Some(choices) => {
            let index = below(choices.len() as u64, context);
            choices.get(index as usize).cloned().ok_or_else(|| {
                Failure::new(
                    code::PARAMETER,
                    "Parameter `choices` is empty: there is nothing to choose.",
                )
            })?
        }
        None => number(parameters, context)?,
    };
    Ok(Outcome::Emit(Emission::one(0, value)))
}

fn number(parameters: &Object, context: &mut dyn Context) -> Result<Value, Failure> {
    if parameters::boolean(parameters, "integer", false)? {
        let bound = |name| parameters::integer(parameters, name, -WHOLE_MAX, WHOLE_MAX);
        let (min, max) = (bound("min")?.unwrap_or(0), bound("max")?.unwrap_or(1));
        let count = max
            .checked_sub(min)
            .filter(|span| *span >= 0)
            .map(|span| span.unsigned_abs() + 1);
        let offset = below(count.ok_or_else(|| reversed(min as f64, max as f64))?, context);
        return Ok(Value::Number(min.saturating_add_unsigned(offset) as f64));
    }
    let min = parameters::number(parameters, "min")?.unwrap_or(0.0);
    let max = parameters::number(parameters, "max")?.unwrap_or(1.0);
    if min > max {
        return Err(reversed(min, max));
    }
    let fraction = (context.random() >> 11) as f64 / (1u64 << 53) as f64;
    // Weighted ends instead of a width, which could be infinite. Rounding may reach `max`, which is excluded.
    let number = min * (1.0 - fraction) + max * fraction;
    Ok(Value::Number(if number < max {
        number.max(min)
    } else {
        max.next_down().max(min)
    }))
}

fn reversed(min: f64, max: f64) -> Failure {
    Failure::new(
        code::PARAMETER,
        format!("Parameter `min` takes at most `max`, but they are {min} and {max}."),
    )
}

/// Each number below `count` is as likely: what remains above the largest multiple is drawn again. 0 if `count` is.
fn below(count: u64, context: &mut dyn Context) -> u64 {
    let uneven = (u64::MAX % count.max(1) + 1) % count.max(1);
    loop {
        let bits = context.random();
        if bits <= u64::MAX - uneven {
            return bits % count.max(1);
        }
    }
}
