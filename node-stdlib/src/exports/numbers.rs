//! Numbers that compiled code works on without a handle.

use super::calls::parameter_of;
use super::handles::{make, read};
use super::with_run;
use heddle_values::methods::{Global, function_of_number};
use heddle_values::{Value, number_power, number_remainder, ops};

/// ToNumber; a failure is kept by the run and reads as NaN.
fn number(of: &Value) -> f64 {
    match of {
        Value::Number(number) => *number,
        other => ops::to_number(other).unwrap_or_else(|error| {
            with_run(|run| run.expression_failed(&error.0));
            f64::NAN
        }),
    }
}

#[unsafe(export_name = "number_of")]
extern "C" fn number_of(of: i32) -> f64 {
    read(of, number)
}

#[unsafe(export_name = "input_number")]
extern "C" fn input_number() -> f64 {
    // A failure can't be kept while the value is read in place.
    match with_run(|run| run.with_input(plain)) {
        Some(number) => number,
        None => number(&with_run(|run| run.input())),
    }
}

#[unsafe(export_name = "item_number")]
extern "C" fn item_number() -> f64 {
    match with_run(|run| run.with_item(plain)) {
        Some(number) => number,
        None => number(&with_run(|run| run.item())),
    }
}

/// The number that a value is without a conversion.
fn plain(of: &Value) -> Option<f64> {
    match of {
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

#[unsafe(export_name = "from_number")]
extern "C" fn from_number(number: f64) -> i32 {
    make(Value::Number(number))
}

#[unsafe(export_name = "parameter_number")]
extern "C" fn parameter_number(up: i32, index: i32) -> f64 {
    parameter_of(up, index, number)
}

#[unsafe(export_name = "remainder_of")]
extern "C" fn remainder_of(a: f64, b: f64) -> f64 {
    number_remainder(a, b)
}

#[unsafe(export_name = "power_of")]
extern "C" fn power_of(base: f64, exponent: f64) -> f64 {
    number_power(base, exponent)
}

#[unsafe(export_name = "math")]
extern "C" fn math(global: i32, number: f64) -> f64 {
    Global::from_number(global as u32)
        .and_then(function_of_number)
        .map_or(f64::NAN, |function| function(number))
}
