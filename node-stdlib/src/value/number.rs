//! Numbers as text and back, as ECMAScript's Number::toString and StringToNumber do.

/// A number as JavaScript writes it.
pub fn number_to_text(number: f64) -> String {
    number.to_string()
}

/// JavaScript's `Number(text)`.
pub fn text_to_number(text: &str) -> f64 {
    text.trim().parse().unwrap_or(f64::NAN)
}
