//! Cron expressions of OnSchedule: five or six fields, each of numbers, names, ranges, steps and lists.

use std::ops::Range;

/// Field names with their bounds; the seconds are there only with six fields.
const FIELDS: [(&str, u32, u32); 6] = [
    ("second", 0, 59),
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of month", 1, 31),
    ("month", 1, 12),
    ("day of week", 0, 7),
];
const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Days of the months, in leap years.
const MONTH_DAYS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/// Characters of an expression.
const CHARS_MAX: usize = 200;

/// Whether no month has such a day, as in `0 0 30 2 *`: looking for it would go through thousands of years. Only what
/// can be read here is judged.
pub fn never_comes(cron: &str) -> bool {
    let fields: Vec<&str> = cron.split_whitespace().take(7).collect();
    let ([_, _, day, month, weekday] | [_, _, _, day, month, weekday]) = fields.as_slice() else {
        return false;
    };
    // Days of the week come in any month, and either of the two will do.
    if !["*", "?"].contains(weekday) {
        return false;
    }
    let first_day = day
        .split(',')
        .map(|part| part.split(['-', '/']).next().and_then(digits).unwrap_or(1))
        .min();
    let days = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let number = |text| number(text, "month", 1).filter(|month| (1..=12).contains(month));
        let (Some(from), Some(to)) = (number(from), number(to)) else {
            return 31;
        };
        let within = (1..)
            .zip(MONTH_DAYS)
            .filter(|(month, _)| (from..=to).contains(month));
        within.map(|(_, days)| days).max().unwrap_or(31)
    };
    let days_most = month.split(',').map(days).max();
    first_day
        .zip(days_most)
        .is_some_and(|(first, most): (u32, u32)| first > most)
}

/// What is wrong with a cron expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronProblem {
    /// What is wrong, to stand after the expression's name.
    pub message: String,
    /// The piece that is meant, in bytes; the whole expression if it is about no part of it.
    pub span: Range<usize>,
}

/// What is wrong with a cron expression.
pub fn cron_problem(cron: &str) -> Option<CronProblem> {
    let whole = |message: String| CronProblem {
        message,
        span: 0..cron.len(),
    };
    if cron.chars().count() > CHARS_MAX {
        return Some(whole(format!("has more than {CHARS_MAX} characters")));
    }
    let written: Vec<&str> = cron.split_whitespace().collect();
    let fields = match written.len() {
        5 => &FIELDS[1..],
        6 => &FIELDS[..],
        count => {
            return Some(whole(format!(
                "has {count} fields; it takes 5 (minute hour day month weekday), or 6 with seconds first"
            )));
        }
    };
    let wrong = written.iter().zip(fields).find_map(|(text, &(name, min, max))| {
        let bad = text.split(',').find(|part| !is_part(part, name, min, max))?;
        // A piece of the expression itself, so that its place is the distance between the two.
        let start = bad.as_ptr().addr().saturating_sub(cron.as_ptr().addr());
        Some(CronProblem {
            message: format!(
                "`{bad}` is not a valid {name}: use numbers from {min} to {max}, `*`, ranges `a-b`, steps `/n` \
                 and lists `a,b`"
            ),
            span: start..start + bad.len(),
        })
    });
    let never = || whole("never fires: none of these months has such a day".to_owned());
    wrong.or_else(|| never_comes(cron).then(never))
}

/// A number, or a name of a month or day.
fn number(text: &str, name: &str, min: u32) -> Option<u32> {
    let names: &[&str] = match name {
        "month" => &MONTHS,
        "day of week" => &DAYS,
        _ => &[],
    };
    let named = names.iter().position(|known| known.eq_ignore_ascii_case(text));
    named.map(|place| place as u32 + min).or_else(|| digits(text))
}

/// A number without a sign: `+1` as a day of the week has a meaning of its own for those who read schedules.
fn digits(text: &str) -> Option<u32> {
    let has_digits_only = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| has_digits_only)
}

fn is_part(part: &str, name: &str, min: u32, max: u32) -> bool {
    let (range, step) = part
        .split_once('/')
        .map_or((part, None), |(range, step)| (range, Some(step)));
    if step.is_some_and(|step| digits(step).is_none_or(|step| step == 0)) {
        return false;
    }
    let within = |text: &str| number(text, name, min).filter(|number| (min..=max).contains(number));
    match range.split_once('-') {
        _ if range == "*" || (range == "?" && name.starts_with("day")) => true,
        Some((from, to)) => matches!((within(from), within(to)), (Some(from), Some(to)) if from <= to),
        None => within(range).is_some(),
    }
}
