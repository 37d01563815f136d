//! `Math`. What ECMAScript leaves to the implementation (`sin`, `exp`, `pow`, …) is that of Rust's libm, which may
//! differ from a browser's in the last digit.

use super::arguments::Arguments;
use super::{Exception, Global, Outcome};
use crate::number::{power, to_int32};
use crate::{Value, ops};

/// The function of `Math`; `None` when it is none.
pub(super) fn call(global: Global, arguments: Arguments<'_>) -> Option<Outcome> {
    if let Some(function) = function_of_number(global) {
        return Some(arguments.number(0).map(|number| function(number).into()));
    }
    Some(match global {
        Global::MathAtan2 => binary(arguments, f64::atan2),
        Global::MathPow => binary(arguments, power),
        Global::MathImul => binary(arguments, |a, b| to_int32(a).wrapping_mul(to_int32(b)).into()),
        Global::MathHypot => hypot(arguments),
        Global::MathMax => extreme(arguments, f64::NEG_INFINITY, |a, b| {
            a > b || (a == b && b.is_sign_negative())
        }),
        Global::MathMin => extreme(arguments, f64::INFINITY, |a, b| {
            a < b || (a == b && a.is_sign_negative())
        }),
        _ => return None,
    })
}

/// The function of one number that this is.
pub fn function_of_number(global: Global) -> Option<fn(f64) -> f64> {
    Some(match global {
        Global::MathAbs => f64::abs,
        Global::MathAcos => f64::acos,
        Global::MathAcosh => acosh,
        Global::MathAsin => f64::asin,
        Global::MathAsinh => asinh,
        Global::MathAtan => f64::atan,
        Global::MathAtanh => f64::atanh,
        Global::MathCbrt => f64::cbrt,
        Global::MathCeil => f64::ceil,
        Global::MathClz32 => |number| to_int32(number).leading_zeros().into(),
        Global::MathCos => f64::cos,
        Global::MathCosh => f64::cosh,
        Global::MathExp => f64::exp,
        Global::MathExpm1 => f64::exp_m1,
        Global::MathFloor => f64::floor,
        Global::MathFround => |number| f64::from(number as f32),
        Global::MathLog => f64::ln,
        Global::MathLog10 => f64::log10,
        Global::MathLog1p => f64::ln_1p,
        Global::MathLog2 => f64::log2,
        Global::MathRound => round,
        Global::MathSign => |number| {
            if number == 0.0 || number.is_nan() {
                number
            } else {
                number.signum()
            }
        },
        Global::MathSin => f64::sin,
        Global::MathSinh => f64::sinh,
        Global::MathSqrt => f64::sqrt,
        Global::MathTan => f64::tan,
        Global::MathTanh => f64::tanh,
        Global::MathTrunc => f64::trunc,
        _ => return None,
    })
}

/// To the nearest integer, halves upwards; what is rounded to 0 from below is -0.
fn round(number: f64) -> f64 {
    let below = number.floor();
    let rounded = if number - below >= 0.5 { below + 1.0 } else { below };
    rounded.copysign(number)
}

/// From here on the square's 1 is lost, and beyond the square itself.
const LARGE: f64 = 268_435_456.0;

fn acosh(number: f64) -> f64 {
    if number > LARGE {
        return number.ln() + std::f64::consts::LN_2;
    }
    number.acosh()
}

fn asinh(number: f64) -> f64 {
    if number.abs() > LARGE {
        return (number.abs().ln() + std::f64::consts::LN_2).copysign(number);
    }
    number.asinh()
}

fn binary(arguments: Arguments<'_>, function: fn(f64, f64) -> f64) -> Outcome {
    Ok(function(arguments.number(0)?, arguments.number(1)?).into())
}

fn numbers(arguments: Arguments<'_>) -> Result<Vec<f64>, Exception> {
    let numbers = arguments.all().iter().map(ops::to_number);
    Ok(numbers.collect::<Result<_, _>>()?)
}

/// The one that wins over all others; NaN if there is one.
fn extreme(arguments: Arguments<'_>, start: f64, wins: fn(f64, f64) -> bool) -> Outcome {
    let best = numbers(arguments)?.into_iter().fold(start, |best, number| {
        if best.is_nan() || !(number.is_nan() || wins(number, best)) {
            best
        } else {
            number
        }
    });
    Ok(Value::Number(best))
}

/// Scaled by the largest, so that squares don't overflow, and with Kahan's compensation, as V8 does.
fn hypot(arguments: Arguments<'_>) -> Outcome {
    let numbers = numbers(arguments)?;
    if numbers.iter().any(|number| number.is_infinite()) {
        return Ok(f64::INFINITY.into());
    }
    let largest = numbers
        .iter()
        .fold(0.0, |largest: f64, number| match number.is_nan() {
            true => f64::NAN,
            false if largest.is_nan() => largest,
            false => largest.max(number.abs()),
        });
    if largest == 0.0 || largest.is_nan() {
        return Ok(largest.into());
    }
    let (mut sum, mut compensation) = (0.0, 0.0);
    for number in numbers {
        let scaled = number.abs() / largest;
        let summand = scaled * scaled - compensation;
        let preliminary = sum + summand;
        compensation = (preliminary - sum) - summand;
        sum = preliminary;
    }
    Ok((sum.sqrt() * largest).into())
}
