//! Numbers as digits.

use crate::number_to_text;

/// The number with at least so many digits.
pub(super) fn padded(number: f64, digits: usize) -> String {
    let text = number_to_text(number.abs());
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{text:0>digits$}")
}

/// JavaScript's `Math.round`.
pub(super) fn js_round(number: f64) -> f64 {
    if number.fract() == 0.0 {
        return number;
    }
    let floor = number.floor();
    if number - floor >= 0.5 { floor + 1.0 } else { floor }
}
