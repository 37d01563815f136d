//! Methods that n8n adds to JavaScript's values, which people bring along. A value's own method of the name goes first.
//!
//! Source: n8n's documentation of its data-transformation functions.

mod addresses;
pub(super) mod emptiness;
mod letters;
mod list;
mod markdown;
mod text;
mod times;

use super::arguments::Arguments;
use super::{Caller, Exception, Kind, Method, Outcome, json, number, object};
use crate::date_time::Clock;
use crate::{Object, Value, ops};
use emptiness::is_empty;
use times::number_to_date_time;

/// The method on a value; `None` when n8n adds none of the name.
pub(super) fn call(
    receiver: &Value,
    method: Method,
    arguments: Arguments<'_>,
    caller: &mut dyn Caller,
) -> Option<Outcome> {
    match method {
        Method::IsEmpty => return Some(Ok(is_empty(receiver).into())),
        Method::IsNotEmpty => return Some(Ok((!is_empty(receiver)).into())),
        Method::ToJsonString => {
            let value = [receiver.clone()];
            return Some(json::stringify(Arguments::new(&value)));
        }
        _ => {}
    }
    match receiver {
        Value::String(string) => text::call(string, method, arguments, caller),
        Value::Array(array) => list::call(array, method, arguments),
        Value::Object(object) => of_object(receiver, object, method, arguments),
        Value::Number(number) => of_number(*number, method, arguments, caller),
        Value::Bool(value) => match method {
            Method::ToBoolean => Some(Ok(receiver.clone())),
            Method::ToInt | Method::ToNumber => Some(Ok(f64::from(u8::from(*value)).into())),
            _ => None,
        },
        _ => None,
    }
}

/// Whether n8n adds a method of the name to the value.
pub(super) fn has(receiver: &Value, method: Method) -> bool {
    call(receiver, method, Arguments::new(&[]), &mut Nobody).is_some()
}

/// Where no function is called.
struct Nobody;

impl Caller for Nobody {
    fn call(&mut self, _: u32, _: &mut [Value]) -> Outcome {
        Err(Exception::kept())
    }

    fn clock(&self) -> Clock {
        Clock::utc(0.0)
    }
}

fn of_object(receiver: &Value, object: &Object, method: Method, arguments: Arguments<'_>) -> Option<Outcome> {
    let receiver = [receiver.clone()];
    Some(match method {
        Method::Compact => Ok(list::compact_object(object).into()),
        Method::HasField => arguments
            .text(0)
            .map(|name| object.get_text(&name).is_some().into()),
        Method::KeepFieldsContaining => containing(object, arguments, true),
        Method::Keys => object::keys(Arguments::new(&receiver)),
        Method::RemoveFieldsContaining => containing(object, arguments, false),
        Method::RemoveField => arguments.text(0).map(|name| {
            let others = object.iter().filter(|(other, _)| **other != name);
            let others = others.map(|(name, value)| (name.clone(), value.clone()));
            others.collect::<Object>().into()
        }),
        Method::UrlEncode => text::query(object),
        Method::Values => object::values(Arguments::new(&receiver)),
        _ => return None,
    })
}

/// The fields of which the value is text with a part in it, or all others.
fn containing(object: &Object, arguments: Arguments<'_>, keeps: bool) -> Outcome {
    let part = match arguments.get(0) {
        Value::String(part) if !part.is_empty() => part.to_utf8(),
        other => {
            let method = match keeps {
                true => Method::KeepFieldsContaining,
                false => Method::RemoveFieldsContaining,
            };
            let message = format!(
                "`.{}(…)` needs text to look for: it got {}",
                method.name(),
                other.shape()
            );
            return Err(Exception::new(Kind::Type, message));
        }
    };
    let contains = |value: &Value| matches!(value, Value::String(text) if text.to_utf8().contains(&*part));
    let kept = object.iter().filter(|&(_, value)| contains(value) == keeps);
    Ok(kept
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect::<Object>()
        .into())
}

fn of_number(
    value: f64,
    method: Method,
    arguments: Arguments<'_>,
    caller: &mut dyn Caller,
) -> Option<Outcome> {
    Some(match method {
        Method::Abs => Ok(value.abs().into()),
        Method::Ceil => Ok(value.ceil().into()),
        Method::Floor => Ok(value.floor().into()),
        Method::IsEven => rest_of_two(value, method).map(|rest| (rest == 0.0).into()),
        Method::IsInteger => Ok((value.is_finite() && value.fract() == 0.0).into()),
        Method::IsOdd => rest_of_two(value, method).map(|rest| (rest == 1.0).into()),
        Method::Round => rounded(value, arguments),
        Method::ToBoolean => Ok((value != 0.0).into()),
        Method::ToDateTime => number_to_date_time(value, arguments, caller),
        Method::ToFloat | Method::ToNumber => Ok(value.into()),
        Method::ToInt => Ok(value.round().into()),
        _ => return None,
    })
}

/// What is left of a whole number that is divided by two.
fn rest_of_two(value: f64, method: Method) -> Result<f64, Exception> {
    match value.is_finite() && value.fract() == 0.0 {
        true => Ok(value.abs() % 2.0),
        false => Err(Exception::new(
            Kind::Type,
            format!("`.{}()` needs a whole number", method.name()),
        )),
    }
}

/// To so many decimal places, as `toFixed` does.
fn rounded(value: f64, arguments: Arguments<'_>) -> Outcome {
    let fixed = match number::call(value, Method::ToFixed, arguments) {
        Some(fixed) => fixed?,
        None => Value::Undefined,
    };
    Ok(ops::to_number(&fixed)?.into())
}
