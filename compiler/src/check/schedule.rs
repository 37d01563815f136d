//! Cron expressions of OnSchedule: five or six fields, each of numbers, names, ranges, steps and lists.

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

/// What is wrong with a cron expression.
pub(crate) fn problem(cron: &str) -> Option<String> {
    let written: Vec<&str> = cron.split_whitespace().collect();
    let fields = match written.len() {
        5 => &FIELDS[1..],
        6 => &FIELDS[..],
        count => {
            return Some(format!(
                "has {count} fields; it takes 5 (minute hour day month weekday), or 6 with seconds first"
            ));
        }
    };
    written.iter().zip(fields).find_map(|(text, &(name, min, max))| {
        let bad = text.split(',').find(|part| !is_part(part, name, min, max))?;
        Some(format!(
            "`{bad}` is no {name}: numbers from {min} to {max}, `*`, ranges `a-b`, steps `/n` and lists `a,b`"
        ))
    })
}

fn is_part(part: &str, name: &str, min: u32, max: u32) -> bool {
    let (range, step) = part
        .split_once('/')
        .map_or((part, None), |(range, step)| (range, Some(step)));
    if step.is_some_and(|step| !step.parse::<u32>().is_ok_and(|step| step > 0)) {
        return false;
    }
    let number = |text: &str| {
        let names: &[&str] = match name {
            "month" => &MONTHS,
            "day of week" => &DAYS,
            _ => &[],
        };
        let named = names.iter().position(|known| known.eq_ignore_ascii_case(text));
        let number = named
            .map(|place| place as u32 + min)
            .or_else(|| text.parse().ok())?;
        (min..=max).contains(&number).then_some(number)
    };
    match range.split_once('-') {
        _ if range == "*" || (range == "?" && name.starts_with("day")) => true,
        Some((from, to)) => matches!((number(from), number(to)), (Some(from), Some(to)) if from <= to),
        None => number(range).is_some(),
    }
}
