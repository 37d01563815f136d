//! `Math`.

use super::arguments::Arguments;
use super::{Exception, Outcome};
use crate::value::Value;

/// `Math.max`: NaN if there is one, and 0 above -0.
pub(super) fn max(arguments: Arguments<'_>) -> Outcome {
    fold(arguments, f64::NEG_INFINITY, |a, b| {
        a > b || (a == b && b.is_sign_negative())
    })
}

fn fold(arguments: Arguments<'_>, start: f64, wins: fn(f64, f64) -> bool) -> Outcome {
    let mut best = start;
    for at in 0..arguments.len() {
        let number = arguments.number(at)?;
        if best.is_nan() {
            continue;
        }
        if number.is_nan() || wins(number, best) {
            best = number;
        }
    }
    Ok::<_, Exception>(Value::Number(best))
}
