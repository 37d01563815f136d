//! Texts that are dates and times in ISO 8601, as the numbers that workbooks have for them.

use heddle_values::date_time::{day_of_date, days_in_month};

const DAY_MS: f64 = 86_400_000.0;

/// How such a number is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Date,
    DateTime,
    Clock,
}

/// Days since 1900, of `2026-11-26`, `2026-11-26T04:30:12` (with or without parts of seconds and a zone, whose clock it is then)
/// and `04:30:12`. `None`: of anything else, and of days that workbooks do not have.
pub(super) fn moment(text: &str) -> Option<(f64, Moment)> {
    const BYTES: std::ops::RangeInclusive<usize> = 8..=40;
    if !BYTES.contains(&text.len()) || !text.is_ascii() || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Some((date, time)) = text.split_once('T') {
        let ms = clock(without_zone(time)?)?;
        return Some((day(date)? + ms / DAY_MS, Moment::DateTime));
    }
    match text.as_bytes().get(2) {
        // Hours and minutes alone may be a ratio as well.
        Some(b':') => Some((clock(text)? / DAY_MS, Moment::Clock)),
        _ => Some((day(text)?, Moment::Date)),
    }
}

fn digits(text: &str, count: usize) -> Option<i64> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

fn without_zone(time: &str) -> Option<&str> {
    if let Some(time) = time.strip_suffix('Z') {
        return Some(time);
    }
    match time.split_once(['+', '-']) {
        None => Some(time),
        Some((time, zone)) => {
            let (hours, minutes) = zone.split_once(':')?;
            (digits(hours, 2)? < 24 && digits(minutes, 2)? < 60).then_some(time)
        }
    }
}

/// Milliseconds since midnight.
fn clock(text: &str) -> Option<f64> {
    let (whole, fraction) = match text.split_once('.') {
        Some((_, fraction)) if fraction.is_empty() || fraction.len() > 9 => return None,
        Some((whole, fraction)) => (whole, fraction),
        None => (text, "0"),
    };
    let mut parts = whole.split(':');
    let (hours, minutes) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let seconds = parts.next().map_or(Some(0), |seconds| digits(seconds, 2))?;
    if parts.next().is_some() || hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    digits(fraction, fraction.len())?;
    let mut ms = (hours * 3_600 + minutes * 60 + seconds) * 1_000;
    for (place, weight) in [(0, 100), (1, 10), (2, 1)] {
        let digit = fraction
            .as_bytes()
            .get(place)
            .map_or(0, |digit| i64::from(digit - b'0'));
        ms += digit * weight;
    }
    Some(ms as f64)
}

/// Days since 1900. Workbooks have a 29th of February 1900, as Lotus 1-2-3 had; days before it count from one later.
fn day(text: &str) -> Option<f64> {
    let mut parts = text.split('-');
    let (year, month, day) = (
        digits(parts.next()?, 4)?,
        digits(parts.next()?, 2)?,
        digits(parts.next()?, 2)?,
    );
    let [year, month, day] = [year, month, day].map(|part| part as f64);
    let is_month = (1.0..=12.0).contains(&month);
    if parts.next().is_some() || year < 1900.0 || !is_month || day < 1.0 || day > days_in_month(year, month) {
        return None;
    }
    let number = day_of_date(year, month, day) + 25_569.0;
    Some(if number <= 60.0 { number - 1.0 } else { number })
}
