//! Types of scalars: the core schema (YAML 1.2.2, section 10.3).

use heddle_values::Value;

/// The value of a plain scalar without a tag.
pub(super) fn resolved(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => number(text).map_or_else(|| text.into(), Value::Number),
    }
}

/// The value of a scalar with a tag of YAML's own (its last part); the type's name if the text is none of it.
pub(super) fn tagged(tag: &str, text: &str) -> Result<Value, &'static str> {
    match (tag, resolved(text)) {
        ("null", Value::Null) => Ok(Value::Null),
        ("null", _) => Err("null"),
        ("bool", Value::Bool(value)) => Ok(value.into()),
        ("bool", _) => Err("a boolean"),
        ("int", Value::Number(number)) if number.fract() == 0.0 => Ok(number.into()),
        ("int", _) => Err("a whole number"),
        ("float", Value::Number(number)) => Ok(number.into()),
        ("float", _) => Err("a number"),
        ("binary", _) => Ok(text.split_ascii_whitespace().collect::<String>().into()),
        ("seq" | "omap" | "pairs", _) => Err("a sequence"),
        ("map" | "set", _) => Err("a mapping"),
        _ => Ok(text.into()),
    }
}

/// Infinities and "not a number" included, which become null once they leave the node.
fn number(text: &str) -> Option<f64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    match unsigned {
        ".inf" | ".Inf" | ".INF" => return Some(sign * f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if unsigned == text => return Some(f64::NAN),
        _ => {}
    }
    is_decimal(unsigned)
        .then(|| unsigned.parse::<f64>().ok())
        .flatten()
        .map(|number| sign * number)
}

fn radix(digits: &str, radix: u32) -> Option<f64> {
    let digit = |value: Option<f64>, c: char| Some(value? * f64::from(radix) + f64::from(c.to_digit(radix)?));
    match digits.is_empty() {
        true => None,
        false => digits.chars().fold(Some(0.0), digit),
    }
}

/// `[0-9]+`, or `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_decimal(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let exponent_is_sound = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    exponent_is_sound && digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty())
}
