//! Global functions that are neither of `Math` nor of `Object`, and which function a [`Global`] is.

use super::arguments::{Arguments, Function};
use super::array::LENGTH_MAX;
use super::extension::emptiness::if_empty;
use super::{Caller, Exception, Global, Kind, Outcome, base64, items, json, math, object, uri};
use crate::number::{is_space, to_int32};
use crate::{Array, Object, Text, Value, date_time, ops, query, text_to_number};

pub(super) fn call(global: Global, arguments: Arguments<'_>, caller: &mut dyn Caller) -> Outcome {
    if let Some(outcome) = math::call(global, arguments) {
        return outcome;
    }
    if let Some(outcome) = items::call(global, arguments) {
        return outcome;
    }
    let number = |holds: fn(f64) -> bool| match arguments.get(0) {
        Value::Number(number) => Ok(holds(*number).into()),
        _ => Ok(false.into()),
    };
    if arguments.len() == 0 && matches!(global, Global::Atob | Global::Btoa | Global::StructuredClone) {
        let message = format!("`{}` needs an argument", global.name());
        return Err(Exception::new(Kind::Type, message));
    }
    match global {
        Global::ArrayFrom => array_from(arguments, caller),
        Global::ArrayIsArray => Ok(matches!(arguments.get(0), Value::Array(_)).into()),
        Global::ArrayOf => Ok(arguments.all().to_vec().into()),
        Global::Boolean => Ok(arguments.get(0).truthy().into()),
        Global::JSONParse => json::parse(arguments),
        Global::JSONStringify => json::stringify(arguments),
        Global::Number if arguments.len() == 0 => Ok(0.0.into()),
        Global::Number => arguments.number(0).map(Value::Number),
        Global::NumberIsFinite => number(f64::is_finite),
        Global::NumberIsInteger => number(is_integer),
        Global::NumberIsNaN => number(f64::is_nan),
        Global::NumberIsSafeInteger => {
            number(|number| is_integer(number) && number.abs() <= 9_007_199_254_740_991.0)
        }
        Global::ParseFloat | Global::NumberParseFloat => parse_float(&arguments.text(0)?),
        Global::ParseInt | Global::NumberParseInt => parse_int(arguments),
        Global::IsFinite => Ok(arguments.number(0)?.is_finite().into()),
        Global::IsNaN => Ok(arguments.number(0)?.is_nan().into()),
        Global::ObjectAssign => object::assign(arguments),
        Global::ObjectEntries => object::entries(arguments),
        Global::ObjectFromEntries => object::from_entries(arguments),
        Global::ObjectHasOwn => object::has_own_property(arguments),
        Global::ObjectIs => Ok(is_same(arguments.get(0), arguments.get(1)).into()),
        Global::ObjectKeys => object::keys(arguments),
        Global::ObjectValues => object::values(arguments),
        Global::String if arguments.len() == 0 => Ok(Text::default().into()),
        Global::String => arguments.text(0).map(Value::String),
        Global::StringFromCharCode => from_char_codes(arguments),
        Global::StringFromCodePoint => from_code_points(arguments),
        Global::StructuredClone if arguments.defined(1).is_some() => {
            let message = "`structuredClone` with options isn't supported";
            Err(Exception::new(Kind::Unsupported, message))
        }
        Global::StructuredClone => Ok(cloned(arguments.get(0))),
        Global::IfEmpty => if_empty(arguments),
        Global::Jmespath => queried(arguments),
        Global::Max => call(Global::MathMax, arguments, caller),
        Global::Min => call(Global::MathMin, arguments, caller),
        Global::Atob => base64::decode(&arguments.text(0)?),
        Global::Btoa => base64::encode(&arguments.text(0)?),
        Global::DecodeURI => uri::decode(&arguments.text(0)?, uri::RESERVED_AND_HASH),
        Global::DecodeURIComponent => uri::decode(&arguments.text(0)?, ""),
        Global::EncodeURI => uri::encode(&arguments.text(0)?, uri::RESERVED_AND_HASH),
        Global::EncodeURIComponent => uri::encode(&arguments.text(0)?, ""),
        _ => match date_time::call_static(global.name(), arguments.all(), &caller.clock()) {
            Some(time) => Ok(time?),
            None => Err(Exception::new(
                Kind::Unsupported,
                format!("`{}` is not a function here", global.name()),
            )),
        },
    }
}

/// `$jmespath(value, query)`
fn queried(arguments: Arguments<'_>) -> Outcome {
    let value = arguments.get(0);
    match (value, arguments.get(1)) {
        (Value::Array(_) | Value::Object(_) | Value::Null, Value::String(text)) => {
            query::search(value, &text.to_utf8())
        }
        (value, query) => {
            let (value, query) = (value.shape(), query.shape());
            let message = format!(
                "`$jmespath` takes an object or an array, and a query as text, not {value} and {query}"
            );
            Err(Exception::new(Kind::Type, message))
        }
    }
}

fn is_integer(number: f64) -> bool {
    number.is_finite() && number.fract() == 0.0
}

/// SameValue
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            (a.is_nan() && b.is_nan()) || (a == b && a.is_sign_negative() == b.is_sign_negative())
        }
        _ => a.strict_equal(b),
    }
}

fn array_from(arguments: Arguments<'_>, caller: &mut dyn Caller) -> Outcome {
    let mut function = match arguments.defined(1) {
        Some(_) => Some(Function {
            function: arguments.function(1)?,
            caller,
        }),
        None => None,
    };
    let mut elements = match arguments.get(0) {
        Value::Array(array) => array.to_vec(),
        Value::String(text) => text.code_points().map(Value::String).collect(),
        Value::Object(object) => like_array(object)?,
        Value::Undefined | Value::Null => {
            let message = format!("{} is not iterable", arguments.get(0).type_name());
            return Err(Exception::new(Kind::Type, message));
        }
        _ => Vec::new(),
    };
    if let Some(function) = &mut function {
        for (index, element) in elements.iter_mut().enumerate() {
            *element = function.call(&mut [std::mem::take(element), (index as f64).into()])?;
        }
    }
    Ok(elements.into())
}

/// `{ length: 3, 0: "a" }`
fn like_array(object: &Object) -> Result<Vec<Value>, Exception> {
    let length = ops::to_number(object.get("length").unwrap_or(&Value::Undefined))?;
    let length = super::arguments::to_integer(length).max(0.0);
    if length > LENGTH_MAX as f64 {
        let message = format!("Invalid array length: an array has at most {LENGTH_MAX} elements");
        return Err(Exception::new(Kind::Range, message));
    }
    let mut elements = vec![Value::Undefined; length as usize];
    for (name, value) in object.iter() {
        if let Some(slot) = name.as_index().and_then(|index| elements.get_mut(index as usize)) {
            *slot = value.clone();
        }
    }
    Ok(elements)
}

/// A copy that is not the same, at any depth.
fn cloned(value: &Value) -> Value {
    match value {
        Value::Array(array) => array.iter().map(cloned).collect::<Array>().into(),
        Value::Object(object) => object
            .iter()
            .map(|(name, value)| (name.clone(), cloned(value)))
            .collect::<Object>()
            .into(),
        other => other.clone(),
    }
}

/// The number that the text begins with.
fn parse_float(text: &Text) -> Outcome {
    let text = text.to_utf8();
    let text = text.trim_start_matches(is_space);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = &text[..text.len() - unsigned.len()];
    if unsigned.starts_with("Infinity") {
        return Ok(if sign == "-" {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        }
        .into());
    }
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(unsigned);
    if let Some(fraction) = unsigned[end..].strip_prefix('.') {
        let places = digits(fraction);
        if end + places == 0 {
            return Ok(f64::NAN.into());
        }
        end += 1 + places;
    }
    if end == 0 {
        return Ok(f64::NAN.into());
    }
    if let Some(exponent) = unsigned[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let places = digits(&exponent[sign..]);
        end += if places > 0 { 1 + sign + places } else { 0 };
    }
    Ok(text_to_number(&text[..sign.len() + end]).into())
}

fn parse_int(arguments: Arguments<'_>) -> Outcome {
    let text = arguments.text(0)?;
    let mut radix = to_int32(arguments.number(1)?);
    let text = text.to_utf8();
    let text = text.trim_start_matches(is_space);
    let mut digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(radix, 0 | 16)
        && let Some(hexadecimal) = digits.strip_prefix("0x").or(digits.strip_prefix("0X"))
    {
        digits = hexadecimal;
        radix = 16;
    }
    let radix = if radix == 0 { 10 } else { radix };
    if !(2..=36).contains(&radix) {
        return Ok(f64::NAN.into());
    }
    let radix = radix.cast_unsigned();
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let digits = &digits[..end];
    let number = match radix {
        _ if digits.is_empty() => f64::NAN,
        10 => digits.parse().unwrap_or(f64::NAN),
        16 => text_to_number(&format!("0x{digits}")),
        8 => text_to_number(&format!("0o{digits}")),
        2 => text_to_number(&format!("0b{digits}")),
        _ => digits
            .chars()
            .filter_map(|digit| digit.to_digit(radix))
            .fold(0.0, |number, digit| number * f64::from(radix) + f64::from(digit)),
    };
    Ok(if text.starts_with('-') { -number } else { number }.into())
}

fn from_char_codes(arguments: Arguments<'_>) -> Outcome {
    let units: Result<Vec<u16>, Exception> = (0..arguments.len())
        .map(|at| Ok(to_int32(arguments.number(at)?) as u16))
        .collect();
    Ok(Text::from_units(&units?).into())
}

fn from_code_points(arguments: Arguments<'_>) -> Outcome {
    let mut units = Vec::new();
    for at in 0..arguments.len() {
        let point = arguments.number(at)?;
        if !is_integer(point) || !(0.0..=1_114_111.0).contains(&point) {
            return Err(Exception::new(Kind::Range, format!("Invalid code point {point}")));
        }
        let point = point as u32;
        match char::from_u32(point) {
            Some(character) => units.extend_from_slice(character.encode_utf16(&mut [0; 2])),
            // A lone surrogate.
            None => units.push(point as u16),
        }
    }
    Ok(Text::from_units(&units).into())
}
