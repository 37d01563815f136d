//! Methods of strings (ECMAScript 2025, 22.1.3 and Annex B.2.2). Positions are those of UTF-16 code units.

use super::arguments::Arguments;
use super::length::{UNITS_MAX, too_long};
use super::{Caller, Exception, Kind, Method, Outcome, collate, replace, search};
use crate::builder::TextBuilder;
use crate::number::is_space;
use crate::{Text, Value};

/// The method on a string; `None` when strings don't have it.
pub(super) fn call(
    text: &Text,
    method: Method,
    arguments: Arguments<'_>,
    caller: &mut dyn Caller,
) -> Option<Outcome> {
    Some(match method {
        Method::At => at(text, arguments),
        Method::CharAt => unit(text, arguments).map(|unit| unit.map_or_else(Text::default, one).into()),
        Method::CharCodeAt => unit(text, arguments).map(|unit| unit.map_or(f64::NAN, f64::from).into()),
        Method::CodePointAt => code_point_at(text, arguments),
        Method::Concat => concat(text, arguments),
        Method::EndsWith => ends_with(text, arguments),
        Method::Includes => includes(text, arguments),
        Method::IndexOf => index_of(text, arguments),
        Method::IsWellFormed => Ok(text.as_str().is_some().into()),
        Method::LastIndexOf => last_index_of(text, arguments),
        Method::LocaleCompare => collate::compare(text, arguments),
        Method::PadEnd => pad(text, arguments).map(|padding| text.concat(&padding).into()),
        Method::PadStart => pad(text, arguments).map(|padding| padding.concat(text).into()),
        Method::Repeat => repeat(text, arguments),
        Method::Replace => replace::replace(text, arguments, caller, false),
        Method::ReplaceAll => replace::replace(text, arguments, caller, true),
        Method::Slice => slice(text, arguments),
        Method::Split => split(text, arguments),
        Method::StartsWith => starts_with(text, arguments),
        Method::Substr => substr(text, arguments),
        Method::Substring => substring(text, arguments),
        Method::ToLocaleLowerCase => {
            without_locale(arguments).map(|()| mapped(text, str::to_ascii_lowercase, str::to_lowercase))
        }
        Method::ToLocaleUpperCase => {
            without_locale(arguments).map(|()| mapped(text, str::to_ascii_uppercase, str::to_uppercase))
        }
        Method::ToLowerCase => Ok(mapped(text, str::to_ascii_lowercase, str::to_lowercase)),
        Method::ToUpperCase => Ok(mapped(text, str::to_ascii_uppercase, str::to_uppercase)),
        Method::ToString | Method::ValueOf => Ok(text.clone().into()),
        Method::ToWellFormed => Ok(text.to_utf8().into_owned().into()),
        Method::Trim => Ok(trimmed(text, true, true)),
        Method::TrimEnd | Method::TrimRight => Ok(trimmed(text, false, true)),
        Method::TrimLeft | Method::TrimStart => Ok(trimmed(text, true, false)),
        _ => return None,
    })
}

fn one(unit: u16) -> Text {
    Text::from_units(&[unit])
}

/// The unit at a position, which may be too large or negative.
fn unit(text: &Text, arguments: Arguments<'_>) -> Result<Option<u16>, Exception> {
    let position = arguments.integer(0)?;
    Ok((position >= 0.0)
        .then(|| text.unit_at(position as usize))
        .flatten())
}

fn at(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let index = arguments.integer(0)?;
    let from_start = if index < 0.0 {
        text.len() as f64 + index
    } else {
        index
    };
    let found = (from_start >= 0.0)
        .then(|| text.char_at(from_start as usize))
        .flatten();
    Ok(found.map_or(Value::Undefined, Value::String))
}

fn code_point_at(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let Some(first) = unit(text, arguments)? else {
        return Ok(Value::Undefined);
    };
    let second = text.unit_at(arguments.integer(0)? as usize + 1).unwrap_or(0);
    Ok(match (first, second) {
        (0xd800..0xdc00, 0xdc00..0xe000) => {
            let high = u32::from(first - 0xd800) << 10;
            f64::from(0x10000 + high + u32::from(second - 0xdc00)).into()
        }
        _ => f64::from(first).into(),
    })
}

fn concat(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let mut all = TextBuilder::default();
    all.push(text);
    for at in 0..arguments.len() {
        all.push(&arguments.text(at)?);
    }
    Ok(all.finish().into())
}

fn ends_with(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let end = arguments.text(0)?;
    let upto = match arguments.defined(1) {
        Some(_) => arguments.clamped(1, text.len())?,
        None => text.len(),
    };
    Ok(upto
        .checked_sub(end.len())
        .is_some_and(|start| text.slice(start, upto) == end)
        .into())
}

fn starts_with(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let start = arguments.text(0)?;
    let from = arguments.clamped(1, text.len())?;
    Ok((text.len() - from >= start.len() && text.slice(from, from + start.len()) == start).into())
}

fn includes(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let wanted = arguments.text(0)?;
    let from = arguments.clamped(1, text.len())?;
    Ok(search::find(text, &wanted, from).is_some().into())
}

fn index_of(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let wanted = arguments.text(0)?;
    let from = arguments.clamped(1, text.len())?;
    Ok(search::find(text, &wanted, from)
        .map_or(-1.0, |at| at as f64)
        .into())
}

fn last_index_of(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let wanted = arguments.text(0)?;
    // Here NaN means the end, and so does `undefined`.
    let last = match arguments.number(1)? {
        number if number.is_nan() => text.len(),
        _ => arguments.clamped(1, text.len())?,
    };
    Ok(search::find_last(text, &wanted, last)
        .map_or(-1.0, |at| at as f64)
        .into())
}

/// What fills the string up to the length that is asked for.
fn pad(text: &Text, arguments: Arguments<'_>) -> Result<Text, Exception> {
    let length = arguments.integer(0)?;
    if length <= text.len() as f64 {
        return Ok(Text::default());
    }
    let filler = match arguments.defined(1) {
        Some(_) => arguments.text(1)?,
        None => Text::from(" "),
    };
    if filler.is_empty() {
        return Ok(Text::default());
    }
    if length > UNITS_MAX as f64 {
        return Err(too_long());
    }
    let missing = length as usize - text.len();
    let whole = repeated(&filler, missing / filler.len());
    Ok(whole.concat(&filler.slice(0, missing % filler.len())))
}

fn repeat(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let count = arguments.integer(0)?;
    if !(0.0..f64::INFINITY).contains(&count) {
        let message = format!("a string can't be repeated {count} times");
        return Err(Exception::new(Kind::Range, message));
    }
    if text.is_empty() {
        return Ok(text.clone().into());
    }
    if count * text.len() as f64 > UNITS_MAX as f64 {
        return Err(too_long());
    }
    Ok(repeated(text, count as usize).into())
}

fn repeated(text: &Text, count: usize) -> Text {
    match text.as_str() {
        Some(text) => text.repeat(count).into(),
        None => Text::from_units(&text.units().collect::<Vec<_>>().repeat(count)),
    }
}

fn slice(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let start = arguments.position(0, text.len(), 0)?;
    let end = arguments.position(1, text.len(), text.len())?;
    Ok(text.slice(start, end.max(start)).into())
}

fn substr(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let start = arguments.position(0, text.len(), 0)?;
    let length = match arguments.defined(1) {
        Some(_) => arguments.clamped(1, text.len() - start)?,
        None => text.len() - start,
    };
    Ok(text.slice(start, start + length).into())
}

fn substring(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let start = arguments.clamped(0, text.len())?;
    let end = match arguments.defined(1) {
        Some(_) => arguments.clamped(1, text.len())?,
        None => text.len(),
    };
    Ok(text.slice(start.min(end), start.max(end)).into())
}

fn split(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let limit = match arguments.defined(1) {
        // ToUint32
        Some(_) => crate::number::to_int32(arguments.number(1)?).cast_unsigned() as usize,
        None => usize::MAX,
    };
    let Some(separator) = arguments.defined(0) else {
        arguments.text(0)?;
        let whole = (limit > 0).then(|| text.clone().into());
        return Ok(whole.into_iter().collect::<Vec<Value>>().into());
    };
    let separator = crate::ops::to_string(separator)?;
    let parts: Vec<Value> = match (separator.as_str(), text.as_str()) {
        (Some(""), _) => text.units().take(limit).map(|unit| one(unit).into()).collect(),
        // The empty string has no parts only when it is divided at every unit.
        (Some(separator), Some(text)) => text.split(separator).take(limit).map(Value::from).collect(),
        _ => split_units(text, &separator, limit),
    };
    Ok(parts.into())
}

fn split_units(text: &Text, separator: &Text, limit: usize) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut start = 0;
    while parts.len() < limit {
        match search::find(text, separator, start) {
            Some(at) => {
                parts.push(text.slice(start, at).into());
                start = at + separator.len();
            }
            None => {
                parts.push(text.slice(start, text.len()).into());
                break;
            }
        }
    }
    parts
}

fn without_locale(arguments: Arguments<'_>) -> Result<(), Exception> {
    match arguments.defined(0) {
        None => Ok(()),
        Some(_) => Err(Exception::new(
            Kind::Unsupported,
            "letters can't be changed by the rules of a language here: leave out the argument",
        )),
    }
}

/// The mapping applied to each well-formed part of the text.
/// Each character mapped; `ascii` does the same with ASCII.
fn mapped(text: &Text, ascii: fn(&str) -> String, mapping: fn(&str) -> String) -> Value {
    if let (true, Some(text)) = (text.is_ascii(), text.as_str()) {
        return Text::of_ascii(&ascii(text)).into();
    }
    if let Some(text) = text.as_str() {
        return mapping(text).into();
    }
    let mut all = TextBuilder::default();
    let mut well_formed = String::new();
    for point in text.code_points() {
        match point.as_str() {
            Some(point) => well_formed.push_str(point),
            None => {
                all.push_str(&mapping(&well_formed));
                all.push(&point);
                well_formed.clear();
            }
        }
    }
    all.push_str(&mapping(&well_formed));
    all.finish().into()
}

fn trimmed(text: &Text, start: bool, end: bool) -> Value {
    if let Some(text) = text.as_str() {
        let text = if start {
            text.trim_start_matches(is_space)
        } else {
            text
        };
        return Value::from(if end {
            text.trim_end_matches(is_space)
        } else {
            text
        });
    }
    // White space is in the basic plane: one unit each.
    let is_space = |unit: &u16| char::from_u32((*unit).into()).is_some_and(is_space);
    let units: Vec<u16> = text.units().collect();
    let skipped = |units: &mut dyn Iterator<Item = &u16>| units.take_while(|unit| is_space(unit)).count();
    let from = if start { skipped(&mut units.iter()) } else { 0 };
    let behind = if end { skipped(&mut units.iter().rev()) } else { 0 };
    text.slice(from, units.len() - behind).into()
}
