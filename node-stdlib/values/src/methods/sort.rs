//! Sorting of arrays: stable, whatever the function that compares says.
//!
//! Fewer than [`RUN_MIN`] elements are sorted as V8 does (a run as found, then binary insertion), and comparisons are
//! always asked as "is the later one less": so even functions that don't give an order, such as `(a, b) => a > b`,
//! have the effect that people know.

use super::arguments::Arguments;
use super::{Caller, Exception, Outcome};
use crate::{Array, Text, Value, ops};

const RUN_MIN: usize = 64;

/// Whether the first is less than the second.
type Less<'l, T> = dyn FnMut(&T, &T) -> Result<bool, Exception> + 'l;

pub(super) fn sorted(array: &Array, arguments: Arguments<'_>, caller: &mut dyn Caller) -> Outcome {
    let function = match arguments.defined(0) {
        Some(_) => Some(arguments.function(0)?),
        None => None,
    };
    // `undefined` is greater than all else, and never compared.
    let defined = |value: &&Value| !matches!(value, Value::Undefined);
    let mut values: Vec<Value> = array.iter().filter(defined).cloned().collect();
    match function {
        Some(function) => {
            sort(&mut values, &mut |a, b| {
                let order = caller.call_pair(function, a, b)?;
                Ok(ops::to_number(&order)? < 0.0)
            })?;
        }
        // One by itself is not compared, so nothing is made of it.
        None if values.len() > 1 => values = by_text(values)?,
        None => {}
    }
    values.resize(array.len(), Value::Undefined);
    Ok(values.into())
}

/// In the order of their texts.
fn by_text(values: Vec<Value>) -> Result<Vec<Value>, Exception> {
    let mut texts = Vec::with_capacity(values.len());
    for value in values {
        texts.push((ops::to_string(&value)?, value));
    }
    texts.sort_by(|(a, _): &(Text, Value), (b, _)| a.cmp(b));
    Ok(texts.into_iter().map(|(_, value)| value).collect())
}

/// Runs of some length, then merges of neighbours.
fn sort<T: Clone>(values: &mut [T], less: &mut Less<'_, T>) -> Result<(), Exception> {
    let run = run_length(values.len());
    for chunk in values.chunks_mut(run) {
        sort_run(chunk, less)?;
    }
    let mut width = run;
    while width < values.len() {
        for pair in values.chunks_mut(width * 2) {
            merge(pair, width, less)?;
        }
        width *= 2;
    }
    Ok(())
}

/// All of it when it is short, else such that their number is near a power of two.
fn run_length(mut len: usize) -> usize {
    let mut odd = 0;
    while len >= RUN_MIN {
        odd |= len & 1;
        len >>= 1;
    }
    (len + odd).max(1)
}

/// Binary insertion into the run that is already there.
fn sort_run<T: Clone>(values: &mut [T], less: &mut Less<'_, T>) -> Result<(), Exception> {
    for at in found_run(values, less)?..values.len() {
        let (mut low, mut high) = (0, at);
        while low < high {
            let middle = low + (high - low) / 2;
            if less(&values[at], &values[middle])? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        values[low..=at].rotate_right(1);
    }
    Ok(())
}

/// Length of the ascending run at the start; a strictly descending one is turned round.
fn found_run<T>(values: &mut [T], less: &mut Less<'_, T>) -> Result<usize, Exception> {
    let [first, second, ..] = &*values else {
        return Ok(values.len());
    };
    let descends = less(second, first)?;
    let mut length = 2;
    while length < values.len() && less(&values[length], &values[length - 1])? == descends {
        length += 1;
    }
    if descends {
        values[..length].reverse();
    }
    Ok(length)
}

/// Merges two sorted neighbours; of equal elements those on the left come first.
fn merge<T: Clone>(values: &mut [T], middle: usize, less: &mut Less<'_, T>) -> Result<(), Exception> {
    if middle >= values.len() || !less(&values[middle], &values[middle - 1])? {
        return Ok(());
    }
    let left = values[..middle].to_vec();
    let (mut from_left, mut from_right) = (0, middle);
    for at in 0..values.len() {
        if from_left == left.len() {
            break;
        }
        if from_right < values.len() && less(&values[from_right], &left[from_left])? {
            values.swap(at, from_right);
            from_right += 1;
        } else {
            values[at] = left[from_left].clone();
            from_left += 1;
        }
    }
    Ok(())
}
