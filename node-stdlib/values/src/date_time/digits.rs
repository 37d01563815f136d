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

/// A number with commas between thousands and at most three decimals.
pub(super) fn grouped(number: f64) -> String {
    let text = number_to_text(js_round(number.abs() * 1000.0) / 1000.0);
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::from(if number < 0.0 { "-" } else { "" });
    for (at, digit) in whole.char_indices() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if !fraction.is_empty() {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}
