//! English names of months and weekdays.

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const MONTHS_SHORT: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// From Monday.
pub(super) const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

pub(super) const WEEKDAYS_SHORT: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The name of a number from 1; nothing for others.
pub(super) fn name(names: &[&'static str], number: f64) -> &'static str {
    let index = number as usize;
    names.get(index.wrapping_sub(1)).copied().unwrap_or_default()
}

/// The first letter of a name.
pub(super) fn narrow(name: &str) -> &str {
    name.get(..1).unwrap_or_default()
}
