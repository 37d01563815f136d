//! JavaScript's operators on values.
//!
//! Source: ECMAScript 2025, sections 7.1 (conversion), 7.2 (comparison) and 13 (operators). Knows nothing of
//! handles and of how an expression was compiled.

mod convert;
mod inherited;
mod property;

pub use convert::{append_string, append_text, to_number, to_property_key, to_string};
pub use inherited::is_inherited;
pub use property::{get, get_index, has, push_spread, set_spread};

use super::number::{power as number_power, remainder as number_remainder, to_int32};
use super::{Text, TypeError, Value};
use convert::{Hint, to_primitive};
use std::cmp::Ordering;

/// Result of an operator.
pub type Evaluated = Result<Value, TypeError>;

/// `a + b`: concatenation if one of them becomes a string, else addition.
#[inline]
pub fn add(a: &Value, b: &Value) -> Evaluated {
    if let (Value::Number(a), Value::Number(b)) = (a, b) {
        return Ok(Value::Number(a + b));
    }
    let (a, b) = (to_primitive(a, Hint::Default)?, to_primitive(b, Hint::Default)?);
    if matches!(&*a, Value::String(_)) || matches!(&*b, Value::String(_)) {
        return Ok(Value::String(to_string(&a)?.concat(&to_string(&b)?)));
    }
    Ok(Value::Number(to_number(&a)? + to_number(&b)?))
}

/// `a - b`
#[inline]
pub fn subtract(a: &Value, b: &Value) -> Evaluated {
    numeric(a, b, |a, b| a - b)
}

/// `a * b`
#[inline]
pub fn multiply(a: &Value, b: &Value) -> Evaluated {
    numeric(a, b, |a, b| a * b)
}

/// `a / b`
#[inline]
pub fn divide(a: &Value, b: &Value) -> Evaluated {
    numeric(a, b, |a, b| a / b)
}

/// `a % b`, with the sign of `a`.
#[inline]
pub fn remainder(a: &Value, b: &Value) -> Evaluated {
    numeric(a, b, number_remainder)
}

/// `a ** b`
pub fn power(a: &Value, b: &Value) -> Evaluated {
    numeric(a, b, number_power)
}

/// `-a`
pub fn negate(a: &Value) -> Evaluated {
    Ok(Value::Number(-to_number(a)?))
}

/// `+a`
pub fn plus(a: &Value) -> Evaluated {
    Ok(Value::Number(to_number(a)?))
}

/// `!a`
pub fn not(a: &Value) -> Value {
    Value::Bool(!a.truthy())
}

/// `~a`
pub fn bit_not(a: &Value) -> Evaluated {
    Ok(Value::Number((!to_int32(to_number(a)?)).into()))
}

/// `a & b`
pub fn bit_and(a: &Value, b: &Value) -> Evaluated {
    bitwise(a, b, |a, b| a & b)
}

/// `a | b`
pub fn bit_or(a: &Value, b: &Value) -> Evaluated {
    bitwise(a, b, |a, b| a | b)
}

/// `a ^ b`
pub fn bit_xor(a: &Value, b: &Value) -> Evaluated {
    bitwise(a, b, |a, b| a ^ b)
}

/// `a << b`
pub fn shift_left(a: &Value, b: &Value) -> Evaluated {
    bitwise(a, b, |a, b| a.wrapping_shl(b.cast_unsigned()))
}

/// `a >> b`
pub fn shift_right(a: &Value, b: &Value) -> Evaluated {
    bitwise(a, b, |a, b| a.wrapping_shr(b.cast_unsigned()))
}

/// `a >>> b`
pub fn shift_right_unsigned(a: &Value, b: &Value) -> Evaluated {
    numeric(a, b, |a, b| {
        to_int32(a)
            .cast_unsigned()
            .wrapping_shr(to_int32(b).cast_unsigned())
            .into()
    })
}

/// `a < b`
#[inline]
pub fn less(a: &Value, b: &Value) -> Evaluated {
    relation(a, b, Ordering::is_lt)
}

/// `a <= b`
#[inline]
pub fn less_equal(a: &Value, b: &Value) -> Evaluated {
    relation(a, b, Ordering::is_le)
}

/// `a > b`
#[inline]
pub fn greater(a: &Value, b: &Value) -> Evaluated {
    relation(a, b, Ordering::is_gt)
}

/// `a >= b`
#[inline]
pub fn greater_equal(a: &Value, b: &Value) -> Evaluated {
    relation(a, b, Ordering::is_ge)
}

/// `a == b`
pub fn equal(a: &Value, b: &Value) -> Evaluated {
    loosely_equal(a, b).map(Value::Bool)
}

/// `a != b`
pub fn not_equal(a: &Value, b: &Value) -> Evaluated {
    loosely_equal(a, b).map(|equal| Value::Bool(!equal))
}

/// `a === b`
pub fn strict_equal(a: &Value, b: &Value) -> Value {
    Value::Bool(a.strict_equal(b))
}

/// `a !== b`
pub fn strict_not_equal(a: &Value, b: &Value) -> Value {
    Value::Bool(!a.strict_equal(b))
}

/// `typeof a`
pub fn type_of(a: &Value) -> Value {
    Value::from(match a {
        Value::Null | Value::Array(_) => "object",
        _ => a.type_name(),
    })
}

/// Concatenation of two values' strings, as in a template literal.
pub fn concat(a: &Value, b: &Value) -> Result<Text, TypeError> {
    if let (Value::String(a), Value::String(b)) = (a, b) {
        return Ok(a.concat(b));
    }
    Ok(to_string(a)?.concat(&to_string(b)?))
}

#[inline]
fn numeric(a: &Value, b: &Value, operation: impl Fn(f64, f64) -> f64) -> Evaluated {
    if let (Value::Number(a), Value::Number(b)) = (a, b) {
        return Ok(Value::Number(operation(*a, *b)));
    }
    let a = to_number(a)?;
    Ok(Value::Number(operation(a, to_number(b)?)))
}

fn bitwise(a: &Value, b: &Value, operation: impl Fn(i32, i32) -> i32) -> Evaluated {
    numeric(a, b, |a, b| operation(to_int32(a), to_int32(b)).into())
}

/// Strings by code units, everything else as numbers; false for NaN.
#[inline]
fn relation(a: &Value, b: &Value, holds: impl Fn(Ordering) -> bool) -> Evaluated {
    let ordering = match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.partial_cmp(b),
        _ => ordering(a, b)?,
    };
    Ok(Value::Bool(ordering.is_some_and(holds)))
}

fn ordering(a: &Value, b: &Value) -> Result<Option<Ordering>, TypeError> {
    let (a, b) = (to_primitive(a, Hint::Number)?, to_primitive(b, Hint::Number)?);
    Ok(match (&*a, &*b) {
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (a, b) => to_number(a)?.partial_cmp(&to_number(b)?),
    })
}

/// IsLooselyEqual.
fn loosely_equal(a: &Value, b: &Value) -> Result<bool, TypeError> {
    use Value::{Array, Bool, Function, Null, Number, Object, String, Temporal, Undefined};
    match (a, b) {
        (Undefined | Null, Undefined | Null) => Ok(true),
        (Undefined | Null, _) | (_, Undefined | Null) => Ok(false),
        (Number(_) | Bool(_) | String(_), Number(_) | Bool(_) | String(_)) => match (a, b) {
            (String(a), String(b)) => Ok(a == b),
            _ => Ok(to_number(a)? == to_number(b)?),
        },
        (
            Array(_) | Object(_) | Function(_) | Temporal(_),
            Array(_) | Object(_) | Function(_) | Temporal(_),
        ) => Ok(a.strict_equal(b)),
        (Array(_) | Object(_) | Function(_) | Temporal(_), _) => {
            loosely_equal(&*to_primitive(a, Hint::Default)?, b)
        }
        (_, Array(_) | Object(_) | Function(_) | Temporal(_)) => {
            loosely_equal(a, &*to_primitive(b, Hint::Default)?)
        }
    }
}
