//! Durations out of ISO 8601.

use super::read::milliseconds;
use super::scan::Scan;
use super::unit::{Field, Unit};

/// `P1Y2M3DT4H5M6.7S`, `-PT1H`, `P2W`
pub(super) fn iso_duration(text: &str) -> Option<Vec<(Unit, f64)>> {
    let mut scan = Scan(text);
    let negative = scan.one_of(&['-']).is_some();
    scan.one_of(&['P'])?;
    let sign = |amount: f64| {
        if negative && amount != 0.0 {
            -amount
        } else {
            amount
        }
    };
    let mut values = Vec::new();
    let parts = [
        ('Y', Unit::Years),
        ('M', Unit::Months),
        ('W', Unit::Weeks),
        ('D', Unit::Days),
    ];
    for (letter, unit) in parts {
        let amount = scan.attempt(|scan| amount(scan, letter));
        values.extend(amount.map(|amount| (unit, sign(amount))));
    }
    if scan.one_of(&['T']).is_some() {
        for (letter, unit) in [('H', Unit::Hours), ('M', Unit::Minutes)] {
            let amount = scan.attempt(|scan| amount(scan, letter));
            values.extend(amount.map(|amount| (unit, sign(amount))));
        }
        if let Some((seconds, fraction, minus)) = scan.attempt(seconds) {
            values.push((Unit::Seconds, sign(seconds)));
            if let Some(fraction) = fraction {
                let fraction = if minus || negative { -fraction } else { fraction };
                values.push((Unit::Milliseconds, fraction));
            }
        }
    }
    scan.is_at_end().then_some(values)
}

/// `10:24:00.000` as hours, minutes, seconds and milliseconds.
pub(super) fn iso_time(text: &str) -> Option<Vec<(Unit, f64)>> {
    let mut scan = Scan(text);
    scan.one_of(&['T']);
    let fields = super::read::clock(&mut scan)?;
    let values = fields.into_iter().filter(|(_, value)| !value.is_nan());
    let values = values.map(|(field, value)| {
        let unit = match field {
            Field::Hour => Unit::Hours,
            Field::Minute => Unit::Minutes,
            Field::Second => Unit::Seconds,
            _ => Unit::Milliseconds,
        };
        (unit, value)
    });
    let values = values.collect();
    scan.is_at_end().then_some(values)
}

/// `-1.5Y`
fn amount(scan: &mut Scan<'_>, letter: char) -> Option<f64> {
    let minus = scan.one_of(&['-']).is_some();
    let whole = scan.digits(1, 20)?;
    let fraction = scan.attempt(|scan| {
        scan.one_of(&['.'])?;
        scan.digits(1, 20)
    });
    scan.one_of(&[letter])?;
    let amount: f64 = format!("{whole}.{}", fraction.unwrap_or("0")).parse().ok()?;
    Some(if minus { -amount } else { amount })
}

/// Seconds, milliseconds, and whether there is a minus.
fn seconds(scan: &mut Scan<'_>) -> Option<(f64, Option<f64>, bool)> {
    let minus = scan.one_of(&['-']).is_some();
    let whole: f64 = scan.digits(1, 20)?.parse().ok()?;
    let fraction = scan.attempt(|scan| {
        scan.one_of(&['.', ','])?;
        scan.digits(1, 20)
    });
    scan.one_of(&['S'])?;
    let whole = if minus { -whole } else { whole };
    Some((whole, fraction.map(milliseconds), minus))
}
