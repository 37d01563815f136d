//! Methods of arrays (ECMAScript 2025, 23.1.3). Those that change their array in JavaScript give their result here.

use super::arguments::{Arguments, Function, relative, to_integer};
use super::{Caller, Exception, Kind, Method, Outcome, iterate, sort};
use crate::builder::TextBuilder;
use crate::{Array, Text, Value, ops};

/// More elements than this can't be asked for at once; far more than fit into the memory of a run.
pub(super) const LENGTH_MAX: usize = 1 << 26;

/// The method on an array; `None` when arrays don't have it.
pub(super) fn call(
    array: &Array,
    method: Method,
    arguments: Arguments<'_>,
    caller: &mut dyn Caller,
) -> Option<Outcome> {
    if let Some(callback) = method.callback()
        && callback.position == 0
    {
        return Some(called(array, method, arguments, caller));
    }
    Some(match method {
        // Nothing is looked for, so nothing is made of the arguments.
        Method::Includes if array.is_empty() => Ok(false.into()),
        Method::IndexOf | Method::LastIndexOf if array.is_empty() => Ok(position(None)),
        Method::At => at(array, arguments),
        Method::Concat => concat(array, arguments),
        Method::Fill => fill(array, arguments),
        Method::Flat => flat(array, arguments),
        Method::Includes => includes(array, arguments),
        Method::IndexOf => index_of(array, arguments),
        Method::Join => join(array, arguments),
        Method::LastIndexOf => last_index_of(array, arguments),
        Method::Pop => Ok(array.last().cloned().unwrap_or_default()),
        Method::Push | Method::Unshift => Ok(((array.len() + arguments.len()) as f64).into()),
        Method::Reverse | Method::ToReversed => Ok(array.iter().rev().cloned().collect::<Array>().into()),
        Method::Shift => Ok(array.first().cloned().unwrap_or_default()),
        Method::Slice => slice(array, arguments),
        Method::Splice => spliced(array, arguments).map(|(removed, _)| removed),
        Method::ToSpliced => spliced(array, arguments).map(|(_, rest)| rest),
        Method::ToLocaleString => {
            let message = "`.toLocaleString(…)` of an array isn't supported: call it on each element";
            Err(Exception::new(Kind::Unsupported, message))
        }
        Method::ToString => ops::to_string(&array.clone().into())
            .map(Value::String)
            .map_err(Exception::from),
        Method::ValueOf => Ok(array.clone().into()),
        Method::With => with(array, arguments),
        _ => return None,
    })
}

/// Methods that call a function.
fn called(array: &Array, method: Method, arguments: Arguments<'_>, caller: &mut dyn Caller) -> Outcome {
    if matches!(method, Method::Sort | Method::ToSorted) {
        return sort::sorted(array, arguments, caller);
    }
    let function = arguments.function(0)?;
    let function = Function { function, caller };
    match method {
        Method::Map => iterate::map(array, function),
        Method::Filter => iterate::filter(array, function),
        Method::FlatMap => iterate::flat_map(array, function),
        Method::ForEach => iterate::search(array, function, false, |_| false).map(|_| Value::Undefined),
        Method::Some => iterate::search(array, function, false, |found| found).map(|at| at.is_some().into()),
        Method::Every => {
            iterate::search(array, function, false, |found| !found).map(|at| at.is_none().into())
        }
        Method::Find => iterate::search(array, function, false, |found| found)
            .map(|at| at.and_then(|at| array.get(at).cloned()).unwrap_or_default()),
        Method::FindLast => iterate::search(array, function, true, |found| found)
            .map(|at| at.and_then(|at| array.get(at).cloned()).unwrap_or_default()),
        Method::FindIndex => iterate::search(array, function, false, |found| found).map(position),
        Method::FindLastIndex => iterate::search(array, function, true, |found| found).map(position),
        Method::Reduce => iterate::reduce(array, function, arguments, false),
        _ => iterate::reduce(array, function, arguments, true),
    }
}

/// An index, or -1.
fn position(at: Option<usize>) -> Value {
    Value::Number(at.map_or(-1.0, |at| at as f64))
}

fn at(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let index = arguments.integer(0)?;
    let from_start = if index < 0.0 {
        array.len() as f64 + index
    } else {
        index
    };
    // A negative number becomes 0 as a usize.
    let found = (from_start >= 0.0)
        .then(|| array.get(from_start as usize))
        .flatten();
    Ok(found.cloned().unwrap_or_default())
}

fn concat(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let mut all = array.to_vec();
    for argument in arguments.all() {
        match argument {
            Value::Array(more) => all.extend_from_slice(more),
            one => all.push(one.clone()),
        }
    }
    Ok(all.into())
}

fn fill(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let start = arguments.position(1, array.len(), 0)?;
    let end = arguments.position(2, array.len(), array.len())?;
    let mut filled = array.to_vec();
    if let Some(range) = filled.get_mut(start..end) {
        range.fill(arguments.get(0).clone());
    }
    Ok(filled.into())
}

fn flat(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let depth = match arguments.defined(0) {
        Some(_) => arguments.integer(0)?,
        None => 1.0,
    };
    let mut flat = Vec::new();
    flatten(array, depth, &mut flat);
    Ok(flat.into())
}

fn flatten(array: &Array, depth: f64, into: &mut Vec<Value>) {
    for element in array {
        match element {
            Value::Array(inner) if depth >= 1.0 => flatten(inner, depth - 1.0, into),
            other => into.push(other.clone()),
        }
    }
}

/// SameValueZero: as `===`, but NaN is NaN.
fn includes(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let start = arguments.position(1, array.len(), 0)?;
    let wanted = arguments.get(0);
    let is_nan = |value: &Value| matches!(value, Value::Number(number) if number.is_nan());
    let found = array
        .iter()
        .skip(start)
        .any(|element| element.strict_equal(wanted) || (is_nan(element) && is_nan(wanted)));
    Ok(found.into())
}

fn index_of(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let start = arguments.position(1, array.len(), 0)?;
    let mut rest = array.iter().enumerate().skip(start);
    let found = rest.find(|(_, element)| element.strict_equal(arguments.get(0)));
    Ok(position(found.map(|(at, _)| at)))
}

fn last_index_of(array: &Array, arguments: Arguments<'_>) -> Outcome {
    // Here an argument that is `undefined` is 0.
    let end = match arguments.len() {
        0 | 1 => array.len(),
        _ => {
            let last = arguments.integer(1)?;
            let last = if last < 0.0 {
                array.len() as f64 + last
            } else {
                last
            };
            (last + 1.0).clamp(0.0, array.len() as f64) as usize
        }
    };
    let found = array
        .iter()
        .take(end)
        .rposition(|element| element.strict_equal(arguments.get(0)));
    Ok(position(found))
}

fn join(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let separator = match arguments.defined(0) {
        Some(separator) => ops::to_string(separator)?,
        None => Text::from(","),
    };
    let mut joined = TextBuilder::default();
    for (at, element) in array.iter().enumerate() {
        if at > 0 {
            joined.push(&separator);
        }
        match element {
            Value::Undefined | Value::Null => {}
            Value::String(text) => joined.push(text),
            other => joined.push(&ops::to_string(other)?),
        }
    }
    Ok(joined.finish().into())
}

fn slice(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let start = arguments.position(0, array.len(), 0)?;
    let end = arguments.position(1, array.len(), array.len())?;
    Ok(array.get(start..end).unwrap_or_default().to_vec().into())
}

/// What is removed, and the array without it and with what takes its place.
fn spliced(array: &Array, arguments: Arguments<'_>) -> Result<(Value, Value), Exception> {
    let start = relative(arguments.integer(0)?, array.len());
    let count = match arguments.len() {
        0 => 0,
        1 => array.len() - start,
        _ => arguments.clamped(1, array.len() - start)?,
    };
    let mut rest = array.to_vec();
    let instead = arguments.all().iter().skip(2).cloned();
    let removed: Vec<Value> = rest.splice(start..start + count, instead).collect();
    Ok((removed.into(), rest.into()))
}

fn with(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let index = to_integer(arguments.number(0)?);
    let from_start = if index < 0.0 {
        array.len() as f64 + index
    } else {
        index
    };
    let mut changed = array.to_vec();
    match changed.get_mut(from_start as usize) {
        Some(element) if from_start >= 0.0 => *element = arguments.get(1).clone(),
        _ => {
            let message = format!(
                "There is no index {index} in {}",
                Value::from(array.clone()).shape()
            );
            return Err(Exception::new(Kind::Range, message));
        }
    }
    Ok(changed.into())
}
