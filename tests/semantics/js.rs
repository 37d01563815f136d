//! JavaScript values, written for clarity: what the reference evaluator computes with.
//!
//! Shares nothing with `heddle_values`, which it checks. Follows ECMA-262, sections 7.1 and 7.2.

use serde_json::Value;

/// Stands for a part of a text that the documents leave open, such as a message. Compared as "any text".
pub const OPEN: char = '\u{2603}';

/// A JavaScript value without functions.
#[derive(Clone, Debug, PartialEq)]
pub enum Js {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    Array(Vec<Js>),
    Object(Vec<(String, Js)>),
}

impl Js {
    pub fn text(text: &str) -> Js {
        Js::String(text.to_owned())
    }

    pub fn object<const N: usize>(fields: [(&str, Js); N]) -> Js {
        Js::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }

    pub fn from_json(value: &Value) -> Js {
        match value {
            Value::Null => Js::Null,
            Value::Bool(value) => Js::Bool(*value),
            Value::Number(number) => Js::Number(number.as_f64().unwrap()),
            Value::String(text) => Js::String(text.clone()),
            Value::Array(items) => Js::Array(items.iter().map(Js::from_json).collect()),
            Value::Object(fields) => Js::Object(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), Js::from_json(value)))
                    .collect(),
            ),
        }
    }

    /// The value as it leaves a node: undefined is left out of objects and null elsewhere, as are NaN and
    /// infinities.
    pub fn leaving(self) -> Js {
        match self {
            Js::Undefined => Js::Null,
            Js::Number(number) if !number.is_finite() => Js::Null,
            Js::Array(items) => Js::Array(items.into_iter().map(Js::leaving).collect()),
            Js::Object(fields) => Js::Object(
                fields
                    .into_iter()
                    .filter(|(_, value)| *value != Js::Undefined)
                    .map(|(name, value)| (name, value.leaving()))
                    .collect(),
            ),
            other => other,
        }
    }

    pub fn is_nullish(&self) -> bool {
        matches!(self, Js::Undefined | Js::Null)
    }

    pub fn truthy(&self) -> bool {
        match self {
            Js::Undefined | Js::Null => false,
            Js::Bool(value) => *value,
            Js::Number(number) => *number != 0.0 && !number.is_nan(),
            Js::String(text) => !text.is_empty(),
            Js::Array(_) | Js::Object(_) => true,
        }
    }

    /// JavaScript's ToString.
    pub fn to_text(&self) -> String {
        match self {
            Js::Undefined => "undefined".to_owned(),
            Js::Null => "null".to_owned(),
            Js::Bool(value) => value.to_string(),
            Js::Number(number) => number_to_text(*number),
            Js::String(text) => text.clone(),
            Js::Array(items) => items
                .iter()
                .map(|item| {
                    if item.is_nullish() {
                        String::new()
                    } else {
                        item.to_text()
                    }
                })
                .collect::<Vec<_>>()
                .join(","),
            Js::Object(_) => "[object Object]".to_owned(),
        }
    }

    /// The text of a `{{ }}` among other text.
    pub fn among_text(&self) -> String {
        match self {
            Js::Undefined | Js::Null => String::new(),
            Js::Array(_) | Js::Object(_) => self.stringify(),
            other => other.to_text(),
        }
    }

    /// `JSON.stringify`.
    pub fn stringify(&self) -> String {
        match self {
            Js::Undefined | Js::Null => "null".to_owned(),
            Js::Number(number) if !number.is_finite() => "null".to_owned(),
            Js::Number(number) => number_to_text(*number),
            Js::Bool(value) => value.to_string(),
            Js::String(text) => Value::String(text.clone()).to_string(),
            Js::Array(items) => format!(
                "[{}]",
                items.iter().map(Js::stringify).collect::<Vec<_>>().join(",")
            ),
            Js::Object(fields) => {
                let fields = fields.iter().filter(|(_, value)| *value != Js::Undefined);
                let fields = fields
                    .map(|(name, value)| format!("{}:{}", Value::String(name.clone()), value.stringify()));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
            }
        }
    }

    pub fn to_number(&self) -> f64 {
        match self {
            Js::Undefined => f64::NAN,
            Js::Null => 0.0,
            Js::Bool(value) => f64::from(u8::from(*value)),
            Js::Number(number) => *number,
            Js::String(text) => text_to_number(text),
            Js::Array(_) | Js::Object(_) => text_to_number(&self.to_text()),
        }
    }

    /// JavaScript's ToInt32.
    pub fn to_int32(&self) -> i32 {
        let number = self.to_number();
        if number.is_finite() {
            number.trunc().rem_euclid(4_294_967_296.0) as u32 as i32
        } else {
            0
        }
    }

    pub fn type_of(&self) -> &'static str {
        match self {
            Js::Undefined => "undefined",
            Js::Null | Js::Array(_) | Js::Object(_) => "object",
            Js::Bool(_) => "boolean",
            Js::Number(_) => "number",
            Js::String(_) => "string",
        }
    }

    /// `self[key]`; `None` when JavaScript throws.
    pub fn get(&self, key: &str) -> Option<Js> {
        let index = key.parse::<usize>().ok().filter(|index| index.to_string() == key);
        Some(match self {
            Js::Undefined | Js::Null => return None,
            Js::Bool(_) | Js::Number(_) => Js::Undefined,
            Js::String(text) => {
                let units = text.encode_utf16().collect::<Vec<_>>();
                match (key, index.and_then(|index| units.get(index))) {
                    ("length", _) => Js::Number(units.len() as f64),
                    (_, Some(unit)) => Js::String(String::from_utf16_lossy(&[*unit])),
                    _ => Js::Undefined,
                }
            }
            Js::Array(items) if key == "length" => Js::Number(items.len() as f64),
            Js::Array(items) => index
                .and_then(|index| items.get(index))
                .cloned()
                .unwrap_or(Js::Undefined),
            Js::Object(fields) => fields
                .iter()
                .find(|(name, _)| name == key)
                .map_or(Js::Undefined, |(_, value)| value.clone()),
        })
    }

    /// Sets a property; one that is there keeps its place.
    pub fn set(&mut self, key: &str, value: Js) {
        if let Js::Object(fields) = self {
            match fields.iter_mut().find(|(name, _)| name == key) {
                Some((_, old)) => *old = value,
                None => fields.push((key.to_owned(), value)),
            }
        }
    }

    pub fn strict_equal(&self, other: &Js) -> bool {
        match (self, other) {
            (Js::Array(_) | Js::Object(_), _) => false,
            (Js::Number(a), Js::Number(b)) => a == b,
            (a, b) => a == b,
        }
    }

    pub fn loose_equal(&self, other: &Js) -> bool {
        match (self, other) {
            (a, b) if a.is_nullish() || b.is_nullish() => a.is_nullish() && b.is_nullish(),
            (Js::Array(_) | Js::Object(_), Js::Array(_) | Js::Object(_)) => false,
            (Js::String(a), Js::String(b)) => a == b,
            (Js::Array(_) | Js::Object(_), b) => Js::String(self.to_text()).loose_equal(b),
            (a, Js::Array(_) | Js::Object(_)) => a.loose_equal(&Js::String(other.to_text())),
            (a, b) => a.to_number() == b.to_number(),
        }
    }

    /// JavaScript's `<`; `None` when a side is NaN.
    pub fn less(&self, other: &Js) -> Option<bool> {
        let primitive = |value: &Js| match value {
            Js::Array(_) | Js::Object(_) => Js::String(value.to_text()),
            other => other.clone(),
        };
        match (primitive(self), primitive(other)) {
            (Js::String(a), Js::String(b)) => Some(a.encode_utf16().lt(b.encode_utf16())),
            (a, b) => a
                .to_number()
                .partial_cmp(&b.to_number())
                .map(|order| order.is_lt()),
        }
    }

    /// JavaScript's `+`.
    pub fn add(&self, other: &Js) -> Js {
        let is_text = |value: &Js| matches!(value, Js::String(_) | Js::Array(_) | Js::Object(_));
        if is_text(self) || is_text(other) {
            Js::String(self.to_text() + &other.to_text())
        } else {
            Js::Number(self.to_number() + other.to_number())
        }
    }

    /// Whether it is one of those that are equal to themselves alone, which copies can't tell.
    pub fn has_identity(&self) -> bool {
        matches!(self, Js::Array(_) | Js::Object(_))
    }

    /// Whether a text that is [`OPEN`] is part of the value: then what it compares to is open, too.
    pub fn is_open(&self) -> bool {
        match self {
            Js::String(text) => text.contains(OPEN),
            Js::Array(items) => items.iter().any(Js::is_open),
            Js::Object(fields) => fields.iter().any(|(_, value)| value.is_open()),
            _ => false,
        }
    }

    /// Whether `actual` is this value, [`OPEN`] parts standing for any text and properties in any order.
    pub fn matches(&self, actual: &Js) -> bool {
        match (self, actual) {
            (Js::String(expected), Js::String(actual)) => text_matches(expected, actual),
            (Js::Array(expected), Js::Array(actual)) => {
                expected.len() == actual.len() && expected.iter().zip(actual).all(|(e, a)| e.matches(a))
            }
            (Js::Object(expected), Js::Object(fields)) => {
                expected.len() == fields.len()
                    && expected
                        .iter()
                        .all(|(name, value)| actual.get(name).is_some_and(|a| value.matches(&a)))
            }
            (expected, actual) => expected == actual,
        }
    }
}

/// Whether `actual` is `expected`, each [`OPEN`] standing for any text.
pub fn text_matches(expected: &str, actual: &str) -> bool {
    let Some((head, rest)) = expected.split_once(OPEN) else {
        return expected == actual;
    };
    let Some(actual) = actual.strip_prefix(head) else {
        return false;
    };
    let ends = actual.char_indices().map(|(at, _)| at).chain([actual.len()]);
    ends.into_iter().any(|at| text_matches(rest, &actual[at..]))
}

/// ECMA-262 6.1.6.1.20, Number::toString.
pub fn number_to_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}Infinity");
    }
    // Rust's shortest digits are JavaScript's; only the layout differs.
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap();
    let digits = mantissa.replace('.', "");
    let point = exponent.parse::<i32>().unwrap() + 1;
    let count = digits.len() as i32;
    let body = if count <= point && point <= 21 {
        digits.clone() + &"0".repeat((point - count) as usize)
    } else if 0 < point && point <= 21 {
        format!("{}.{}", &digits[..point as usize], &digits[point as usize..])
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", "0".repeat(-point as usize))
    } else {
        let fraction = if count > 1 {
            format!(".{}", &digits[1..])
        } else {
            String::new()
        };
        format!(
            "{}{fraction}e{}{}",
            &digits[..1],
            if point > 0 { "+" } else { "-" },
            (point - 1).abs()
        )
    };
    format!("{sign}{body}")
}

/// JavaScript's Number(text), for the decimal texts that occur here.
fn text_to_number(text: &str) -> f64 {
    let text = text.trim();
    let is_decimal = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    match text.trim_start_matches(['+', '-']) {
        "" if text.is_empty() => 0.0,
        "Infinity" => {
            if text.starts_with('-') {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        _ if text.chars().all(is_decimal) => text.parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}
