//! Numbers of cells: which of them are dates and times, and what these are.

use heddle_values::Value;
use heddle_values::date_time::date_of_day;

/// What the format of a cell makes of its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shown {
    #[default]
    Number,
    /// Days and parts of them: a date, a time, or both.
    Time,
}

/// Formats that are not written down (ECMA-376 part 1, 18.8.30), and those that Excel has in eastern Asia.
pub(super) fn built_in(id: u32) -> Shown {
    match id {
        14..=22 | 27..=36 | 45..=47 | 50..=58 => Shown::Time,
        _ => Shown::Number,
    }
}

/// A format that is written down: one with days, months, years, hours, minutes or seconds outside of quotes and brackets.
pub(super) fn custom(format: &str) -> Shown {
    // Of several, the first is that of positive numbers.
    let (mut quote, mut bracket, mut is_skipped) = (false, None, false);
    for character in format.chars() {
        if std::mem::take(&mut is_skipped) {
            continue;
        }
        match (character, quote, &mut bracket) {
            ('"', _, None) => quote = !quote,
            (_, true, _) => {}
            (']', _, Some(inner)) => {
                // Hours and the like that do not begin again after 24 are in brackets; so are colours and conditions.
                let inner: &String = inner;
                if !inner.is_empty()
                    && inner
                        .chars()
                        .all(|c| matches!(c, 'h' | 'H' | 'm' | 'M' | 's' | 'S'))
                {
                    return Shown::Time;
                }
                bracket = None;
            }
            (character, _, Some(inner)) => inner.push(character),
            ('[', ..) => bracket = Some(String::new()),
            // The next one is itself, a space of its width, or repeated.
            ('\\' | '_' | '*', ..) => is_skipped = true,
            (';', ..) => break,
            ('d' | 'D' | 'm' | 'M' | 'y' | 'Y' | 'h' | 'H' | 's' | 'S', ..) => return Shown::Time,
            _ => {}
        }
    }
    Shown::Number
}

/// Days since 1900 (or 1904) as ISO 8601: a date, a time, or both. Numbers that are no day of Excel's stay numbers.
pub(super) fn time(days: f64, since_1904: bool) -> Value {
    const DAY_MS: f64 = 86_400_000.0;
    // The day before 10000-01-01.
    if !(0.0..2_958_466.0).contains(&days) {
        return Value::Number(days);
    }
    let ms = (days * DAY_MS).round();
    let (mut day, ms) = ((ms / DAY_MS).floor() as i64, (ms % DAY_MS) as i64);
    let clock = {
        let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
        match ms % 1_000 {
            0 => format!("{hours:02}:{minutes:02}:{seconds:02}"),
            rest => format!("{hours:02}:{minutes:02}:{seconds:02}.{rest:03}"),
        }
    };
    if day == 0 && !since_1904 {
        return Value::from(clock);
    }
    // From 1970-01-01. Excel has a 29th of February 1900, as Lotus 1-2-3 had; days before it count from one later.
    day = match since_1904 {
        true => day - 24_107,
        false if day < 60 => day - 25_568,
        false => day - 25_569,
    };
    let (year, month, day_of_month) = date_of_day(day as f64);
    let date = format!("{year:04}-{month:02}-{day_of_month:02}");
    Value::from(match ms {
        0 => date,
        _ => format!("{date}T{clock}"),
    })
}
