//! Methods of arrays that call a function for the elements.
//!
//! The array can't change meanwhile, so there is no need to look at it again after each call.

use super::arguments::{Arguments, Function};
use super::{Exception, Kind, Outcome};
use crate::{Array, Value};

impl Function<'_> {
    /// `f(element, index, array)`
    fn of_element(&mut self, array: &Array, index: usize, element: &Value) -> Outcome {
        self.call(&mut [element.clone(), (index as f64).into(), array.clone().into()])
    }
}

pub(super) fn map(array: &Array, mut function: Function<'_>) -> Outcome {
    let mut mapped = Vec::with_capacity(array.len());
    for (index, element) in array.iter().enumerate() {
        mapped.push(function.of_element(array, index, element)?);
    }
    Ok(mapped.into())
}

pub(super) fn filter(array: &Array, mut function: Function<'_>) -> Outcome {
    let mut kept = Vec::new();
    for (index, element) in array.iter().enumerate() {
        if function.of_element(array, index, element)?.truthy() {
            kept.push(element.clone());
        }
    }
    Ok(kept.into())
}

pub(super) fn flat_map(array: &Array, mut function: Function<'_>) -> Outcome {
    let mut mapped = Vec::with_capacity(array.len());
    for (index, element) in array.iter().enumerate() {
        match function.of_element(array, index, element)? {
            Value::Array(inner) => mapped.extend_from_slice(&inner),
            other => mapped.push(other),
        }
    }
    Ok(mapped.into())
}

/// Index of the first or last element for which `stop` holds, given whether the function's value is truthy.
pub(super) fn search(
    array: &Array,
    mut function: Function<'_>,
    backwards: bool,
    stop: fn(bool) -> bool,
) -> Result<Option<usize>, Exception> {
    let len = array.len();
    for step in 0..len {
        let index = if backwards { len - 1 - step } else { step };
        if let Some(element) = array.get(index)
            && stop(function.of_element(array, index, element)?.truthy())
        {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

pub(super) fn reduce(
    array: &Array,
    mut function: Function<'_>,
    arguments: Arguments<'_>,
    backwards: bool,
) -> Outcome {
    let mut elements: Vec<(usize, &Value)> = array.iter().enumerate().collect();
    if backwards {
        elements.reverse();
    }
    let mut elements = elements.into_iter();
    // An initial value that is given as `undefined` is one.
    let mut value = match (arguments.len() > 1, arguments.get(1)) {
        (true, initial) => initial.clone(),
        (false, _) => match elements.next() {
            Some((_, first)) => first.clone(),
            None => {
                let message = "Reduce of empty array with no initial value: give one as the second argument";
                return Err(Exception::new(Kind::Type, message));
            }
        },
    };
    for (index, element) in elements {
        // The last use of the value, so that what the function builds on it need not be a copy.
        let so_far = std::mem::take(&mut value);
        value = function.call(&mut [
            so_far,
            element.clone(),
            (index as f64).into(),
            array.clone().into(),
        ])?;
    }
    Ok(value)
}
