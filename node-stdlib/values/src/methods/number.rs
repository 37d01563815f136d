//! Methods of numbers (ECMAScript 2025, 21.1.3).

use super::arguments::Arguments;
use super::{Exception, Kind, Method, Outcome};
use crate::number::decimal;
use crate::{Value, number_to_text};

/// The method on a number; `None` when numbers don't have it.
pub(super) fn call(number: f64, method: Method, arguments: Arguments<'_>) -> Option<Outcome> {
    Some(match method {
        Method::ToExponential => to_exponential(number, arguments),
        Method::ToFixed => to_fixed(number, arguments),
        Method::ToLocaleString => super::locale::to_locale_string(number, arguments),
        Method::ToPrecision => to_precision(number, arguments),
        Method::ToString => to_string(number, arguments),
        Method::ValueOf => Ok(number.into()),
        _ => return None,
    })
}

fn out_of_range(what: &str, least: u32, most: u32) -> Exception {
    let message = format!("{what} is {least} to {most}");
    Exception::new(Kind::Range, message)
}

fn to_fixed(number: f64, arguments: Arguments<'_>) -> Outcome {
    let places = arguments.integer(0)?;
    if !(0.0..=100.0).contains(&places) {
        return Err(out_of_range("the number of decimal places", 0, 100));
    }
    if number.is_nan() || number.abs() >= 1e21 {
        return Ok(number_to_text(number).into());
    }
    Ok(fixed(number, places as usize).into())
}

/// With so many decimal places, a tie being rounded away from 0. The number is below 1e21.
pub(super) fn fixed(number: f64, places: usize) -> String {
    let magnitude = number.abs();
    if let Some(scaled) = scaled(magnitude, places) {
        return point_before(scaled, places, number < 0.0);
    }
    // Exactly half of the last place is only possible where one further place is all that there is.
    let halves = magnitude * 2_f64.powi(places as i32 + 1);
    let digits = match halves.fract() == 0.0 {
        true => rounded_up(&format!("{magnitude:.*}", places + 1)),
        false => format!("{magnitude:.places$}"),
    };
    // A number that is not negative zero keeps its sign, even where nothing but zeros is left.
    if number < 0.0 {
        format!("-{digits}")
    } else {
        digits
    }
}

/// The number times a power of ten, rounded to a whole number, a tie upwards, exactly: a double is a whole number of 53
/// bits divided by a power of two. `None` where that has more than 64 bits, or is not worth it.
fn scaled(magnitude: f64, places: usize) -> Option<u64> {
    /// 10^19 is the largest power of ten that has 64 bits.
    const PLACES_MAX: u32 = 19;
    const MANTISSA_BITS: u32 = 52;
    let places = u32::try_from(places)
        .ok()
        .filter(|places| *places <= PLACES_MAX)?;
    let bits = magnitude.to_bits();
    let exponent = (bits >> MANTISSA_BITS) as u32;
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1) | 1 << MANTISSA_BITS;
    // Divided by 2^shift. Numbers from 2^52 on have no fraction; subnormal ones are rare.
    let shift = (1_023 + MANTISSA_BITS)
        .checked_sub(exponent)
        .filter(|shift| *shift > 0)?;
    if exponent == 0 {
        return (magnitude == 0.0).then_some(0);
    }
    let product = u128::from(mantissa) * u128::from(10_u64.pow(places));
    if shift >= u128::BITS {
        // The product has at most 117 bits: less than half.
        return Some(0);
    }
    let half = 1_u128 << (shift - 1);
    u64::try_from((product + half) >> shift).ok()
}

/// A whole number with a decimal point before its last digits.
fn point_before(digits: u64, places: usize, is_negative: bool) -> String {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(digits);
    let mut text = String::with_capacity(digits.len().max(places + 1) + 2);
    if is_negative {
        text.push('-');
    }
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(places));
    text.push_str(if whole.is_empty() { "0" } else { whole });
    if places > 0 {
        text.push('.');
        text.extend(std::iter::repeat_n('0', places - fraction.len()));
        text.push_str(fraction);
    }
    text
}

/// A decimal text without its last digit, rounded half up.
fn rounded_up(digits: &str) -> String {
    let (kept, last) = digits.split_at(digits.len() - 1);
    let kept = kept.strip_suffix('.').unwrap_or(kept);
    if last < "5" {
        return kept.to_owned();
    }
    let mut bytes = kept.as_bytes().to_vec();
    for byte in bytes.iter_mut().rev() {
        match byte {
            b'.' => {}
            b'9' => *byte = b'0',
            _ => {
                *byte += 1;
                return bytes.into_iter().map(char::from).collect();
            }
        }
    }
    std::iter::once('1')
        .chain(bytes.into_iter().map(char::from))
        .collect()
}

fn to_precision(number: f64, arguments: Arguments<'_>) -> Outcome {
    if arguments.defined(0).is_none() {
        return Ok(number_to_text(number).into());
    }
    let precision = arguments.integer(0)?;
    if !number.is_finite() {
        return Ok(number_to_text(number).into());
    }
    if !(1.0..=100.0).contains(&precision) {
        return Err(out_of_range("the precision", 1, 100));
    }
    let precision = precision as usize;
    let sign = if number < 0.0 { "-" } else { "" };
    let (digits, exponent) = significant(number.abs(), precision);
    let text = if exponent < -6 || exponent >= precision as i32 {
        scientific(&digits, exponent)
    } else if exponent >= 0 {
        let (whole, fraction) = digits.split_at(exponent as usize + 1);
        match fraction {
            "" => whole.to_owned(),
            fraction => format!("{whole}.{fraction}"),
        }
    } else {
        format!("0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1))
    };
    Ok(format!("{sign}{text}").into())
}

fn to_exponential(number: f64, arguments: Arguments<'_>) -> Outcome {
    let places = arguments.integer(0)?;
    if !number.is_finite() {
        return Ok(number_to_text(number).into());
    }
    if !(0.0..=100.0).contains(&places) {
        return Err(out_of_range("the number of decimal places", 0, 100));
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let (digits, exponent) = match arguments.defined(0) {
        Some(_) => significant(number.abs(), places as usize + 1),
        // As many as tell it from every other number: those that it is written with. Rust's are as few, but of two that are
        // equally near it may take the other one.
        None => match decimal(number.abs()) {
            (digits, _) if digits.is_empty() => ("0".to_owned(), 0),
            (digits, point) => (digits, point - 1),
        },
    };
    Ok(format!("{sign}{}", scientific(&digits, exponent)).into())
}

fn scientific(digits: &str, exponent: i32) -> String {
    let (first, rest) = digits.split_at(1);
    let dot = if rest.is_empty() { "" } else { "." };
    format!("{first}{dot}{rest}e{exponent:+}")
}

/// The first digits of a number, and the exponent of ten of the first of them; a tie is rounded up.
fn significant(magnitude: f64, precision: usize) -> (String, i32) {
    /// What a double has at most.
    const DIGITS_MAX: usize = 770;
    let (exact, exponent) = parts(&format!("{magnitude:.DIGITS_MAX$e}"));
    let (kept, rest) = exact.split_at(precision);
    let tie = rest.starts_with('5') && rest[1..].bytes().all(|digit| digit == b'0');
    if !tie {
        return parts(&format!("{magnitude:.*e}", precision - 1));
    }
    let up = rounded_up(&format!("{kept}5"));
    match up.len() > precision {
        true => (up[..precision].to_owned(), exponent + 1),
        false => (up, exponent),
    }
}

/// Digits and exponent of Rust's scientific notation.
fn parts(scientific: &str) -> (String, i32) {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (digits.replace('.', ""), exponent.parse().unwrap_or(0))
}

fn to_string(number: f64, arguments: Arguments<'_>) -> Outcome {
    let radix = match arguments.defined(0) {
        Some(_) => arguments.integer(0)?,
        None => 10.0,
    };
    if !(2.0..=36.0).contains(&radix) {
        return Err(out_of_range("the radix", 2, 36));
    }
    if radix == 10.0 || !number.is_finite() {
        return Ok(number_to_text(number).into());
    }
    Ok(Value::from(in_radix(number, radix)))
}

/// As many digits as tell the number from its neighbours, as V8 writes them.
fn in_radix(number: f64, radix: f64) -> String {
    let digit = |digit: f64| char::from_digit(digit as u32, radix as u32).unwrap_or('0');
    let magnitude = number.abs();
    let mut whole = magnitude.floor();
    let mut fraction = magnitude - whole;
    // Half the distance to the next number: what lies within it need not be written.
    let mut delta = (0.5 * (magnitude.next_up() - magnitude)).max(f64::from_bits(1));
    let mut fraction_digits: Vec<f64> = Vec::new();
    if fraction >= delta {
        loop {
            fraction *= radix;
            delta *= radix;
            let next = fraction.trunc();
            fraction_digits.push(next);
            fraction -= next;
            let up = fraction > 0.5 || (fraction == 0.5 && next % 2.0 == 1.0);
            if up && fraction + delta > 1.0 {
                carry(&mut fraction_digits, &mut whole, radix);
                break;
            }
            if fraction < delta {
                break;
            }
        }
    }
    let mut digits: Vec<char> = Vec::new();
    // Digits that a double does not hold.
    while whole / radix >= 9_007_199_254_740_992.0 {
        whole /= radix;
        digits.push('0');
    }
    loop {
        let rest = whole % radix;
        digits.push(digit(rest));
        whole = (whole - rest) / radix;
        if whole <= 0.0 {
            break;
        }
    }
    let sign = (number < 0.0).then_some('-');
    let dot = (!fraction_digits.is_empty()).then_some('.');
    let fraction = fraction_digits.into_iter().map(digit);
    sign.into_iter()
        .chain(digits.into_iter().rev())
        .chain(dot)
        .chain(fraction)
        .collect()
}

/// Adds 1 to the last digit.
fn carry(fraction: &mut Vec<f64>, whole: &mut f64, radix: f64) {
    while let Some(last) = fraction.pop() {
        if last + 1.0 < radix {
            fraction.push(last + 1.0);
            return;
        }
    }
    *whole += 1.0;
}
