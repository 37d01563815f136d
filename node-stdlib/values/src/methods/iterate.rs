//! Methods of arrays that call a function for the elements.
//!
//! The array can't change meanwhile, so there is no need to look at it again after each call.

use super::arguments::{Arguments, Function};
use super::{Exception, Kind, Outcome};
use crate::{Array, Value};

impl Function<'_> {
    /// `f(element, index, array)`
    fn of_element(&mut self, array: &Array, index: usize, element: &Value) -> Outcome {
        self.caller.call_element(self.function, element, index, array)
    }

    fn holds(&mut self, array: &Array, index: usize, element: &Value) -> Result<bool, Exception> {
        self.caller.holds(self.function, element, index, array)
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
        if function.holds(array, index, element)? {
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
            && stop(function.holds(array, index, element)?)
        {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

pub(super) fn reduce(
    array: &Array,
    function: Function<'_>,
    arguments: Arguments<'_>,
    backwards: bool,
) -> Outcome {
    let len = array.len();
    let mut steps = 0..len;
    let place = |step: usize| if backwards { len - 1 - step } else { step };
    // An initial value that is given as `undefined` is one.
    let mut value = match (arguments.len() > 1, arguments.get(1)) {
        (true, initial) => initial.clone(),
        (false, _) => match steps.next().and_then(|step| array.get(place(step))) {
            Some(first) => first.clone(),
            None => {
                let message = "Reduce of empty array with no initial value: give one as the second argument";
                return Err(Exception::new(Kind::Type, message));
            }
        },
    };
    for index in steps.map(place) {
        let Some(element) = array.get(index) else { break };
        // The last use of the value, so that what the function builds on it need not be a copy.
        let so_far = std::mem::take(&mut value);
        value = function
            .caller
            .call_step(function.function, so_far, element, index, array)?;
    }
    Ok(value)
}
