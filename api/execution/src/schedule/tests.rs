//! When schedules are due: over changes of the clocks, pauses and restarts.

use super::{CatchUp, Schedule, ScheduleError};
use heddle_model::clock::Timestamp;
use std::time::Duration;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// The next times, in UTC to the second.
fn next(cron: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let schedule = Schedule::parse(cron, zone).unwrap();
    let mut time = at(after);
    let mut times = Vec::new();
    for _ in 0..count {
        time = schedule.next_after(time).unwrap();
        times.push(time.to_string().replace(".000Z", "Z"));
    }
    times
}

#[test]
fn five_fields_are_minutes_and_six_begin_with_seconds() {
    assert_eq!(
        next("*/20 9 * * *", "UTC", "2026-11-21T09:00:00Z", 3),
        [
            "2026-11-21T09:20:00Z",
            "2026-11-21T09:40:00Z",
            "2026-11-22T09:00:00Z"
        ]
    );
    assert_eq!(
        next("*/20 0 9 * * *", "UTC", "2026-11-21T09:00:00Z", 3),
        [
            "2026-11-21T09:00:20Z",
            "2026-11-21T09:00:40Z",
            "2026-11-22T09:00:00Z"
        ]
    );
    assert_eq!(
        next("0 9 * * MON-FRI", "Europe/Berlin", "2026-11-20T09:00:00Z", 2),
        ["2026-11-23T08:00:00Z", "2026-11-24T08:00:00Z"],
        "in the zone, over a week-end"
    );
    assert_eq!(
        next("5/25 10 * * *", "UTC", "2026-11-21T09:00:00Z", 3),
        [
            "2026-11-21T10:05:00Z",
            "2026-11-21T10:30:00Z",
            "2026-11-21T10:55:00Z"
        ],
        "a step from a number"
    );
}

#[test]
fn a_skipped_time_is_due_once_right_after_the_gap() {
    // Berlin's clocks go from 02:00 to 03:00 on the 29th of March 2026, at 01:00 UTC.
    let after_gap = ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"];
    assert_eq!(
        next("30 2 * * *", "Europe/Berlin", "2026-03-28T02:00:00Z", 2),
        after_gap
    );
    // Several skipped times are one moment.
    assert_eq!(
        next("0,15,30,45 2 * * *", "Europe/Berlin", "2026-03-28T02:00:00Z", 2),
        ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]
    );
    assert_eq!(
        next("* * 2 * * *", "Europe/Berlin", "2026-03-28T02:00:00Z", 2),
        ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]
    );
    // New York's from 02:00 to 03:00 on the 8th of March, at 07:00 UTC.
    assert_eq!(
        next("30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", 2),
        ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]
    );
    // Santiago has no midnight on the 6th of September.
    assert_eq!(
        next("0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", 2),
        ["2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"]
    );
    // Lord Howe skips half an hour only.
    assert_eq!(
        next("15,45 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", 3),
        [
            "2026-10-03T15:30:00Z",
            "2026-10-03T15:45:00Z",
            "2026-10-04T15:15:00Z"
        ]
    );
}

#[test]
fn a_repeated_time_is_due_once() {
    // Berlin has 02:00 to 03:00 twice on the 25th of October 2026, first from 00:00 UTC.
    assert_eq!(
        next("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
        ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
    );
    assert_eq!(
        next("*/30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 3),
        [
            "2026-10-25T00:00:00Z",
            "2026-10-25T00:30:00Z",
            "2026-10-26T01:00:00Z"
        ]
    );
    assert_eq!(
        next("30 1-3 * * *", "Europe/Berlin", "2026-10-25T00:40:00Z", 2),
        ["2026-10-25T02:30:00Z", "2026-10-26T00:30:00Z"],
        "asked in the first of the two hours"
    );
    assert_eq!(
        next("30 1-3 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", 1),
        ["2026-10-25T02:30:00Z"],
        "asked in the second of the two hours"
    );
    // New York has 01:00 to 02:00 twice on the 1st of November.
    assert_eq!(
        next("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", 2),
        ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]
    );
}

#[test]
fn every_hour_means_the_passing_of_time() {
    assert_eq!(
        next("*/30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 4),
        [
            "2026-10-25T00:30:00Z",
            "2026-10-25T01:00:00Z",
            "2026-10-25T01:30:00Z",
            "2026-10-25T02:00:00Z"
        ]
    );
    assert_eq!(
        next("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:15:00Z", 3),
        [
            "2026-03-29T00:30:00Z",
            "2026-03-29T01:00:00Z",
            "2026-03-29T01:30:00Z"
        ]
    );
    assert_eq!(
        next("15 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", 2),
        ["2026-03-29T01:15:00Z", "2026-03-29T02:15:00Z"]
    );
}

#[test]
fn times_grow_over_every_change_of_the_clock() {
    for zone in [
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "Asia/Tehran",
    ] {
        for cron in ["*/10 0-5 * * *", "30 2 * * *", "0 */2 * * *", "7 * * * *"] {
            let schedule = Schedule::parse(cron, zone).unwrap();
            let mut time = at("2026-01-01T00:00:00Z");
            while time < at("2026-12-31T00:00:00Z") {
                let next = schedule.next_after(time).unwrap();
                assert!(next > time, "{cron} {zone}: {next} after {time}");
                assert!(
                    next < time.plus(Duration::from_secs(26 * 60 * 60)),
                    "{cron} {zone}: {next} after {time}"
                );
                time = next;
            }
        }
    }
}

#[test]
fn mistakes_are_told() {
    for cron in [
        "",
        "* * * *",
        "* * * * * * *",
        "61 * * * *",
        "0 25 * * *",
        "often",
        "@daily",
        "0 0 0 0 0 * *",
        "* * * * 8",
        // For the parser, days of the month that are Mondays as well.
        "0 0 30 2 +1",
        "0 0 +1 * *",
        // Lists without times.
        ", * * * *",
        "* * 1,,2 * *",
        "0 , * * * *",
    ] {
        let mistake = Schedule::parse(cron, "UTC").unwrap_err();
        assert!(matches!(mistake, ScheduleError::Cron(_)), "{cron}");
    }
    assert_eq!(
        Schedule::parse("0 9 * * *", "Mars/Olympus").unwrap_err(),
        ScheduleError::Zone
    );
}

/// Days of the month with the least number that they ask for.
const DAYS: [(&str, u32); 14] = [
    ("1", 1),
    ("28", 28),
    ("29", 29),
    ("30", 30),
    ("31", 31),
    ("28,31", 28),
    ("30-31", 30),
    ("30/1", 30),
    ("29W", 29),
    ("30W", 30),
    ("31W", 31),
    ("30,31W", 30),
    ("L", 1),
    ("LW", 1),
];
/// Months with the number of their last day, in leap years.
const MONTHS: [(&str, u32); 8] = [
    ("2", 29),
    ("FEB", 29),
    ("4", 30),
    ("2,4", 30),
    ("4,6,9,11", 30),
    ("2-3", 31),
    ("*", 31),
    ("12", 31),
];

#[test]
fn what_never_comes_has_no_next_time_and_all_else_has_one() {
    // Eight years without a leap day are the longest.
    let within = Duration::from_secs((8 * 366 + 1) * 24 * 60 * 60);
    for (day, least) in DAYS {
        for (month, last) in MONTHS {
            for zone in ["UTC", "Europe/Berlin"] {
                for after in ["2026-11-21T09:00:00Z", "2096-03-01T00:00:00Z"] {
                    for hours in ["0 0", "7 *"] {
                        let cron = format!("{hours} {day} {month} *");
                        let schedule = Schedule::parse(&cron, zone).unwrap();
                        let next = schedule.next_after(at(after));
                        assert_eq!(next.is_none(), least > last, "{cron} {zone}: {next:?}");
                        assert!(
                            next.is_none_or(|next| next < at(after).plus(within)),
                            "{cron} {zone}: {next:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn what_comes_once_in_decades_is_found() {
    // February has five Mondays when the leap day is one: the next but one is 40 years later, since 2100 has none.
    assert_eq!(
        next("0 0 * 2 1#5", "UTC", "2026-11-21T09:00:00Z", 3),
        [
            "2044-02-29T00:00:00Z",
            "2072-02-29T00:00:00Z",
            "2112-02-29T00:00:00Z"
        ]
    );
    assert_eq!(
        next("0 0 29 2 *", "UTC", "2095-01-01T00:00:00Z", 2),
        ["2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"]
    );
    // The 29th of February 2048 is a Saturday, and its workday is the 28th.
    assert_eq!(
        next("0 0 29W 2 *", "UTC", "2045-01-01T00:00:00Z", 1),
        ["2048-02-28T00:00:00Z"]
    );
}

/// What runs at `now`, when 09:00 was the next time of a schedule of every ten minutes.
fn due(now: &str, catch_up: CatchUp) -> (Vec<String>, String) {
    let schedule = Schedule::parse("*/10 * * * *", "UTC").unwrap();
    let due = schedule.due(at("2026-11-21T09:00:00Z"), at(now), catch_up, 4);
    let minutes = |time: &Timestamp| time.to_string()[8..16].to_owned();
    (
        due.times.iter().map(minutes).collect(),
        minutes(&due.next.unwrap()),
    )
}

#[test]
fn a_time_on_time_runs_whatever_is_to_be_caught_up() {
    for catch_up in [CatchUp::One, CatchUp::None, CatchUp::All] {
        assert_eq!(
            due("2026-11-21T08:59:59.999Z", catch_up),
            (vec![], "21T09:00".into())
        );
        assert_eq!(
            due("2026-11-21T09:00:00Z", catch_up),
            (vec!["21T09:00".into()], "21T09:10".into())
        );
        assert_eq!(
            due("2026-11-21T09:00:10Z", catch_up),
            (vec!["21T09:00".into()], "21T09:10".into())
        );
    }
}

#[test]
fn missed_times_are_caught_up_as_the_node_says() {
    let half_past = "2026-11-21T09:35:00Z";
    assert_eq!(
        due(half_past, CatchUp::One),
        (vec!["21T09:30".into()], "21T09:40".into())
    );
    assert_eq!(due(half_past, CatchUp::None), (vec![], "21T09:40".into()));
    let each = ["21T09:00", "21T09:10", "21T09:20", "21T09:30"]
        .map(String::from)
        .to_vec();
    assert_eq!(due(half_past, CatchUp::All), (each.clone(), "21T09:40".into()));
    // More than can be taken at once: the rest waits for the next look.
    assert_eq!(
        due("2026-11-21T12:00:00Z", CatchUp::All),
        (each, "21T09:40".into())
    );
    // One that has just come stands for those before it.
    assert_eq!(
        due("2026-11-21T09:40:03Z", CatchUp::One),
        (vec!["21T09:40".into()], "21T09:50".into())
    );
}

#[test]
fn what_is_an_hour_late_is_not_caught_up() {
    let schedule = Schedule::parse("0 9 * * *", "UTC").unwrap();
    let first = at("2026-11-21T09:00:00Z");
    let late = |now: &str| schedule.due(first, at(now), CatchUp::One, 4).times.len();
    assert_eq!(late("2026-11-21T09:59:59.999Z"), 1);
    assert_eq!(late("2026-11-21T10:00:00Z"), 0);
    assert_eq!(late("2026-12-24T10:00:00Z"), 0);
    assert_eq!(
        late("2026-12-24T09:30:00Z"),
        1,
        "of many missed days, the last is half an hour late"
    );
    assert_eq!(
        schedule
            .due(first, at("2026-11-21T10:00:00Z"), CatchUp::One, 4)
            .next,
        Some(at("2026-11-22T09:00:00Z"))
    );
}
