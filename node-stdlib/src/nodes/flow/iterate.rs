//! ForEach and Loop: what their bodies run on. The run loop does the iterating.

use super::super::parameters::{integer, items, required};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_values::{Array, Object, Value};

/// Output by which both loops leave.
const DONE_PORT: u32 = 1;
/// What counts of iterations and elements are bounded by.
const COUNT_MAX: u32 = 1_000_000;
const CONCURRENCY_MAX: u32 = 1_000;

/// ForEach: an iteration for each element, or for each slice of `batchSize` elements.
pub fn for_each(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let items = items(parameters, context)?;
    let concurrency = count(parameters, "concurrency", CONCURRENCY_MAX)?.unwrap_or(1);
    let items = match count(parameters, "batchSize", COUNT_MAX)? {
        None => items.into_vec(),
        Some(size) => items.chunks(size as usize).map(slice).collect(),
    };
    Ok(Outcome::Iterate { items, concurrency })
}

/// Loop: repeats while the condition holds. One that is a constant is decided here.
pub fn loop_node(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    required(parameters, "maxIterations", "a whole number")?;
    let iterations_max = count(parameters, "maxIterations", COUNT_MAX)?.unwrap_or(1);
    let condition = match required(parameters, "condition", "a condition")? {
        Value::Function(function) => Some(*function),
        constant if constant.truthy() => None,
        _ => return Ok(Outcome::Emit(Emission::one(DONE_PORT, context.input()))),
    };
    Ok(Outcome::Repeat {
        condition,
        iterations_max,
    })
}

fn count(parameters: &Object, name: &str, max: u32) -> Result<Option<u32>, Failure> {
    let count = integer(parameters, name, 1, i64::from(max))?;
    Ok(count.and_then(|count| u32::try_from(count).ok()))
}

fn slice(elements: &[Value]) -> Value {
    Value::Array(Array::from(elements.to_vec()))
}
