//! `toLocaleString` of numbers, for American English: what V8 gives without a locale on a server.

use super::arguments::Arguments;
use super::{Exception, Kind, Outcome};
use crate::number::decimal;
use crate::{Object, Value};

/// Decimal places when nobody says otherwise.
const PLACES_MAX: usize = 3;

pub(super) fn to_locale_string(number: f64, arguments: Arguments<'_>) -> Outcome {
    let english = match arguments.get(0) {
        Value::Undefined => true,
        Value::String(locale) => *locale == "en-US" || *locale == "en",
        _ => false,
    };
    if !english {
        let message = "`.toLocaleString(…)` knows no language but \"en-US\" here";
        return Err(Exception::new(Kind::Unsupported, message));
    }
    let (places_min, places_max, grouping) = match arguments.get(1) {
        Value::Undefined => (0, PLACES_MAX, true),
        Value::Object(options) => options_of(options)?,
        _ => return Err(unsupported("options that are not an object")),
    };
    if number.is_nan() {
        return Ok("NaN".into());
    }
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number.is_infinite() {
        return Ok(format!("{sign}∞").into());
    }
    let (whole, fraction) = rounded(number.abs(), places_max);
    let fraction = fraction.trim_end_matches('0');
    let fraction = format!("{fraction:0<places_min$}");
    let dot = if fraction.is_empty() { "" } else { "." };
    let whole = if grouping { grouped(&whole) } else { whole };
    Ok(format!("{sign}{whole}{dot}{fraction}").into())
}

fn unsupported(what: &str) -> Exception {
    let message = format!(
        "`.toLocaleString(…)` with {what} isn't supported: its options here are minimumFractionDigits, maximumFractionDigits and useGrouping"
    );
    Exception::new(Kind::Unsupported, message)
}

/// Decimal places at least and at most, and whether thousands are set apart.
fn options_of(options: &Object) -> Result<(usize, usize, bool), Exception> {
    let (mut least, mut most, mut grouping) = (None, None, true);
    for (name, value) in options.iter() {
        match (&*name.to_utf8(), value) {
            (_, Value::Undefined) => {}
            ("minimumFractionDigits", Value::Number(places)) => least = Some(places_of(*places)?),
            ("maximumFractionDigits", Value::Number(places)) => most = Some(places_of(*places)?),
            ("useGrouping", Value::Bool(on)) => grouping = *on,
            ("style", Value::String(style)) if *style == "decimal" => {}
            (name, _) => return Err(unsupported(&format!("this `{name}`"))),
        }
    }
    let places = match (least, most) {
        (Some(least), Some(most)) if least > most => {
            let message = "minimumFractionDigits is greater than maximumFractionDigits";
            return Err(Exception::new(Kind::Range, message));
        }
        (least, Some(most)) => (least.unwrap_or(0).min(most), most),
        (least, None) => (least.unwrap_or(0), PLACES_MAX.max(least.unwrap_or(0))),
    };
    Ok((places.0, places.1, grouping))
}

fn places_of(places: f64) -> Result<usize, Exception> {
    match (0.0..=20.0).contains(&places) {
        true => Ok(places as usize),
        false => Err(Exception::new(
            Kind::Range,
            "a number of decimal places is 0 to 20",
        )),
    }
}

/// Digits before and behind the point, of the shortest decimal text that means the number, rounded half up.
fn rounded(magnitude: f64, places: usize) -> (String, String) {
    let (digits, point) = decimal(magnitude);
    let point_at = point.max(0) as usize;
    let mut all = "0".repeat((-point).max(0) as usize) + &digits;
    if all.len() < point_at + places {
        all += &"0".repeat(point_at + places - all.len());
    }
    let kept = point_at + places;
    let up = all.as_bytes().get(kept).is_some_and(|digit| *digit >= b'5');
    let mut kept_digits = all.as_bytes()[..kept].to_vec();
    if up {
        let carried = kept_digits.iter_mut().rev().all(|digit| {
            let nine = *digit == b'9';
            *digit = if nine { b'0' } else { *digit + 1 };
            nine
        });
        if carried {
            kept_digits.insert(0, b'1');
        }
    }
    let text: String = kept_digits.into_iter().map(char::from).collect();
    let (whole, fraction) = text.split_at(text.len() - places);
    let whole = if whole.is_empty() { "0" } else { whole };
    (whole.to_owned(), fraction.to_owned())
}

fn grouped(whole: &str) -> String {
    let mut grouped = String::with_capacity(whole.len() * 4 / 3 + 1);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
