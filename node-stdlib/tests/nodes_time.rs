//! DateTime: time zones, month ends, formats and errors. Expected values are the calendar's and Luxon's.

mod support;

use support::run;

/// Parameters without their braces, and the result.
fn check(cases: &[(&str, &str)]) {
    for (parameters, expected) in cases {
        let expected = match expected.contains(": ") && expected.starts_with("PA") {
            true => (*expected).to_owned(),
            false => format!("{{\"0\":{expected}}}"),
        };
        assert_eq!(
            run("DateTime", &format!("{{{parameters}}}"), "null"),
            expected,
            "{parameters}"
        );
    }
}

#[test]
fn date_times_are_read_in_every_usual_form() {
    check(&[
        (r#""operation": "now""#, r#""2026-09-21T14:13:20.000Z""#),
        (
            r#""operation": "format", "value": 0"#,
            r#""1970-01-01T00:00:00.000Z""#,
        ),
        (
            r#""operation": "format", "value": "2026-07-01", "timezone": "Europe/Prague""#,
            r#""2026-07-01T00:00:00.000+02:00""#,
        ),
        (
            r#""operation": "format", "value": "2026-07""#,
            r#""2026-07-01T00:00:00.000Z""#,
        ),
        (
            r#""operation": "format", "value": "2026-07-01T10:00:00.5+05:30""#,
            r#""2026-07-01T04:30:00.500Z""#,
        ),
        (
            r#""operation": "format", "value": "Wed, 01 Jul 2026 10:00:00 GMT""#,
            r#""2026-07-01T10:00:00.000Z""#,
        ),
        (
            r#""operation": "parse", "value": 1790000000, "format": "unix""#,
            r#""2026-09-21T14:13:20.000Z""#,
        ),
        (
            r#""operation": "parse", "value": "1 jul 2026, 3:05 pm", "format": "d LLL yyyy, h:mm a", "timezone": "Europe/Prague""#,
            r#""2026-07-01T15:05:00.000+02:00""#,
        ),
        (
            r#""operation": "parse", "value": "01/07/26 at 12:00 -0300", "format": "dd/MM/yy 'at' HH:mm ZZZ""#,
            r#""2026-07-01T15:00:00.000Z""#,
        ),
    ]);
}

#[test]
fn no_clock_fills_in_what_a_text_leaves_out() {
    check(&[
        (
            r#""operation": "format", "value": "2026-W27-3""#,
            r#""2026-07-01T00:00:00.000Z""#,
        ),
        (
            r#""operation": "format", "value": "2026-07-01 10:00:00 +02:00""#,
            r#""2026-07-01T08:00:00.000Z""#,
        ),
        (
            r#""operation": "parse", "value": "10:24", "format": "HH:mm", "timezone": "America/New_York""#,
            r#""1970-01-01T10:24:00.000-05:00""#,
        ),
        // It comes twice, and the first is summer time still.
        (
            r#""operation": "format", "value": "2026-10-25T02:30:00", "timezone": "Europe/Berlin""#,
            r#""2026-10-25T02:30:00.000+02:00""#,
        ),
        // It does not come at all.
        (
            r#""operation": "format", "value": "2026-03-29T02:30:00", "timezone": "Europe/Berlin""#,
            r#""2026-03-29T03:30:00.000+02:00""#,
        ),
    ]);
    let time = run("DateTime", r#"{"operation": "format", "value": "10:24"}"#, "null");
    assert!(time.starts_with("PARSE: There is no date-time"), "{time}");
}

#[test]
fn date_times_are_written_in_formats() {
    let at = r#""operation": "format", "value": "2026-03-05T16:07:08.009Z", "timezone": "America/New_York""#;
    let formats = [
        ("rfc2822", r#""Thu, 05 Mar 2026 11:07:08 -0500""#),
        ("http", r#""Thu, 05 Mar 2026 16:07:08 GMT""#),
        ("unix", "1772726828"),
        ("unixMs", "1772726828009"),
        (
            "cccc EEE ccc c d dd M MM LLL LLLL yy yyyy",
            r#""Thursday Thu Thu 4 5 05 3 03 Mar March 26 2026""#,
        ),
        (
            "H HH h hh m mm s ss S SSS a",
            r#""11 11 11 11 7 07 8 08 9 009 AM""#,
        ),
        (
            "Z ZZ ZZZ z q W o",
            r#""-5 -05:00 -0500 America/New_York 1 10 64""#,
        ),
        ("'day' dd''", r#""day 05""#),
    ];
    for (format, expected) in formats {
        check(&[(&format!("{at}, \"format\": \"{format}\""), expected)]);
    }
}

#[test]
fn calculation_follows_the_calendar_over_dst_and_month_ends() {
    let berlin = |rest: &str| format!("\"timezone\": \"Europe/Berlin\", {rest}");
    let cases = [
        // The night in which clocks go forward is an hour shorter.
        (
            r#""operation": "add", "value": "2026-03-28T12:00:00", "duration": {"days": 1}"#,
            r#""2026-03-29T12:00:00.000+02:00""#,
        ),
        (
            r#""operation": "add", "value": "2026-03-28T12:00:00", "duration": "PT24H""#,
            r#""2026-03-29T13:00:00.000+02:00""#,
        ),
        (
            r#""operation": "add", "value": "2026-03-28T02:30:00", "duration": 1, "unit": "day""#,
            r#""2026-03-29T03:30:00.000+02:00""#,
        ),
        (
            r#""operation": "add", "value": "2026-01-31", "duration": {"months": 1}"#,
            r#""2026-02-28T00:00:00.000+01:00""#,
        ),
        (
            r#""operation": "subtract", "value": "2028-02-29", "duration": {"year": 1}"#,
            r#""2027-02-28T00:00:00.000+01:00""#,
        ),
        (
            r#""operation": "add", "value": "2026-01-01", "duration": "P1W1DT1.5S""#,
            r#""2026-01-09T00:00:01.500+01:00""#,
        ),
        (
            r#""operation": "diff", "value": "2026-03-30", "other": "2026-03-29", "unit": "hours""#,
            "23",
        ),
        (
            r#""operation": "diff", "value": "2026-03-30", "other": "2026-03-29", "unit": "days""#,
            "1",
        ),
        (
            r#""operation": "diff", "value": "2026-01-01", "other": "2026-03-01", "unit": "months""#,
            "-2",
        ),
        (
            r#""operation": "diff", "value": "2026-02-15", "other": "2026-02-01", "unit": "month""#,
            "0.5",
        ),
        (
            r#""operation": "startOf", "value": "2026-03-29T12:00:00", "unit": "week""#,
            r#""2026-03-23T00:00:00.000+01:00""#,
        ),
        (
            r#""operation": "startOf", "value": "2026-08-29", "unit": "quarters""#,
            r#""2026-07-01T00:00:00.000+02:00""#,
        ),
        (
            r#""operation": "endOf", "value": "2026-03-29T12:00:00", "unit": "day""#,
            r#""2026-03-29T23:59:59.999+02:00""#,
        ),
        (
            r#""operation": "endOf", "value": "2028-02-10", "unit": "month""#,
            r#""2028-02-29T23:59:59.999+01:00""#,
        ),
        // 02:30 comes twice when clocks go back: the second one stays in its own hour.
        (
            r#""operation": "startOf", "value": "2026-10-25T01:30:00Z", "unit": "hour""#,
            r#""2026-10-25T02:00:00.000+01:00""#,
        ),
        (
            r#""operation": "endOf", "value": "2026-10-25T00:30:00Z", "unit": "hour""#,
            r#""2026-10-25T02:59:59.999+02:00""#,
        ),
    ];
    for (parameters, expected) in cases {
        check(&[(&berlin(parameters), expected)]);
    }
}

#[test]
fn what_can_not_be_read_is_said() {
    let cases = [
        (
            r#"{"operation": "format", "value": "soon"}"#,
            "PARSE: There is no date-time in the string \"soon\"; expected ISO 8601",
        ),
        (
            r#"{"operation": "parse", "value": "2026-13-01", "format": "yyyy-MM-dd"}"#,
            "PARSE: There is no date-time in the string \"2026-13-01\"; expected a day and a time that exist",
        ),
        (
            r#"{"operation": "parse", "value": "2026/13", "format": "yyyy-MM"}"#,
            "PARSE: There is no date-time in the string \"2026/13\"; expected `yyyy-MM`, which it does not follow from character 5 on",
        ),
        (
            r#"{"operation": "now", "timezone": "Europe/Atlantis"}"#,
            "PARAMETER: Parameter `timezone` takes an IANA",
        ),
        (
            r#"{"operation": "now", "format": "yyyy bb"}"#,
            "PARAMETER: Parameter `format`: there is no token `bb`",
        ),
        (
            r#"{"operation": "now", "format": "'x"}"#,
            "PARAMETER: Parameter `format`: a quote",
        ),
        (
            r#"{"operation": "startOf", "value": 0}"#,
            "PARAMETER: Parameter `unit`",
        ),
        (
            r#"{"operation": "add", "value": 0, "duration": {"months": 0.5}}"#,
            "PARAMETER: Parameter `duration`: years",
        ),
        (
            r#"{"operation": "add", "value": 0, "duration": {"years": 1e9}}"#,
            "PARAMETER: The date-time is outside",
        ),
        (
            r#"{"operation": "format", "value": 1e300}"#,
            "PARAMETER: The date-time is outside",
        ),
        (
            r#"{"operation": "diff", "value": 0}"#,
            "PARAMETER: Parameter `other`",
        ),
        (
            r#"{"operation": "format"}"#,
            "PARAMETER: This node works on a date-time",
        ),
    ];
    for (parameters, expected) in cases {
        let failure = run("DateTime", parameters, "null");
        assert!(failure.starts_with(expected), "{parameters}: {failure}");
    }
}
