//! Dates, date-times and durations in expressions. What the methods themselves give is compared with Luxon in
//! `node-stdlib/tests/luxon`.

use crate::{Sandbox, assert_as_in_javascript, output_of, same};
use serde_json::{Value, json};

/// Runs start at the beginning of 1970.
fn evaluate(sandbox: &Sandbox, source: &str) -> Value {
    let input = json!({"at": "2026-03-28T12:00:00+01:00", "zone": "Europe/Prague", "n": 2});
    let outcome = sandbox.evaluate(source, &input).unwrap();
    assert!(outcome.error.is_none(), "{source}: {:?}", outcome.error);
    output_of(&outcome)
}

#[test]
fn now_is_when_the_run_has_started() {
    let sandbox = Sandbox::new();
    let start = json!("1970-01-01T00:00:00.000Z");
    for source in [
        "$now",
        "$today",
        "DateTime.now()",
        "$now.toISO()",
        "new Date()",
        "new Date",
    ] {
        assert_eq!(evaluate(&sandbox, source), start, "{source}");
    }
    assert_eq!(evaluate(&sandbox, "Date.now() + $now.toMillis()"), json!(0));
    assert_eq!(
        evaluate(&sandbox, "$now.minus({ days: 1 }).format('yyyy-MM-dd')"),
        json!("1969-12-31")
    );
    assert_eq!(
        evaluate(&sandbox, "$today.plus(1, 'week').weekdayLong"),
        json!("Thursday")
    );
    assert_eq!(
        evaluate(&sandbox, "Date()"),
        json!("Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time)")
    );
}

#[test]
fn date_times_are_made_and_calculated_with() {
    let sandbox = Sandbox::new();
    let cases = [
        (
            "DateTime.fromISO($input.at, { zone: $input.zone }).plus({ days: 1 }).toISO()",
            json!("2026-03-29T12:00:00.000+02:00"),
        ),
        (
            "DateTime.fromISO($input.at).setZone('America/New_York').toFormat('ccc HH:mm ZZ')",
            json!("Sat 07:00 -04:00"),
        ),
        (
            "DateTime.fromFormat('21/11/2026 9:05 pm', 'dd/MM/yyyy h:mm a').hour",
            json!(21.0),
        ),
        (
            "DateTime.fromISO($input.at).diff(DateTime.fromISO('2026-01-01'), ['months', 'days']).toObject()",
            json!({"months": 2.0, "days": 27.458_333_333_333_332}),
        ),
        ("Duration.fromISO('PT1H30M').as('minutes')", json!(90.0)),
        (
            "DateTime.fromISO($input.at).toLocaleString(DateTime.DATE_HUGE)",
            json!("Saturday, March 28, 2026"),
        ),
        (
            "DateTime.fromISO($input.at).toLocaleString({ month: 'long', day: 'numeric' })",
            json!("March 28"),
        ),
        ("DateTime.fromISO('no').isValid", json!(false)),
        ("DateTime.fromISO('no')", Value::Null),
        ("`at ${DateTime.fromISO('no')}`", json!("at Invalid DateTime")),
        ("DateTime.fromISO($input.at) < $now", json!(false)),
        ("DateTime.fromISO($input.at) - $now", json!(1_774_695_600_000.0)),
        ("typeof $now", json!("object")),
        ("$now.trim?.()", Value::Null),
        (
            "['2026-03-01', '2026-01-01'].map(x => DateTime.fromISO(x)).sort((a, b) => a - b)[0].monthShort",
            json!("Jan"),
        ),
        (
            "DateTime.max(...[1, 3, 2].map(n => DateTime.fromMillis(n))).toMillis()",
            json!(3.0),
        ),
        (
            "{ at: $now, list: [new Date(0), Duration.fromObject({ hours: $input.n })] }",
            json!({"at": "1970-01-01T00:00:00.000Z", "list": ["1970-01-01T00:00:00.000Z", "PT2H"]}),
        ),
    ];
    for (source, expected) in cases {
        let value = evaluate(&sandbox, source);
        assert!(same(&value, &expected), "{source}: {value}");
    }
}

#[test]
fn dates_are_those_of_javascript() {
    assert_as_in_javascript(
        &json!({"at": "2026-03-28T12:00:00Z", "ms": 1_774_695_600_000_i64, "bad": "soon"}),
        &[
            "new Date($input.at).getTime() - new Date($input.ms)",
            "new Date($input.at)",
            "new Date(2026, 0, 31, 12)",
            "new Date($input.bad)",
            "new Date($input.bad).toISOString()",
            "new Date(new Date($input.ms).setDate(new Date($input.ms).getDate() + 16)).toISOString()",
            "new Date($input.at).toISOString().length",
            "[new Date($input.at)].map(d => [d.setMonth(0), d])",
            "new Date('{ 1 2').getTime() + new Date('1, 2').getTime()",
            "['[1, 2]', '1, 2}', '1/2/2003]', '{\"a\": [1, 2]}'].map(text => new Date(text).getTime())",
            "new Date($input.at) + ''",
            "`${new Date($input.at)}`",
            "new Date($input.at) > $input.ms",
            "new Date($input.at) == $input.ms",
            "Date.parse('28 March 2026 10:00 GMT+0200')",
            "Date.UTC(2026, 1)",
            "(new Date($input.at)).toLocaleDateString('en-GB', { day: '2-digit', month: 'short', year: 'numeric' })",
            "new Date($input.at).getNothing",
        ],
    );
}

#[test]
fn what_is_wrong_is_said() {
    let sandbox = Sandbox::new();
    let message = |source: &str| {
        let outcome = sandbox.evaluate(source, &json!({"a": "x"})).unwrap();
        outcome.error.unwrap().message
    };
    assert!(message("$now.plus({ fortnights: 1 })").starts_with("Invalid unit fortnights"));
    assert!(message("$now.trim()").starts_with("`.trim` is not a function of the date-time 1970-01-01"));
    assert!(message("DateTime.fromMillis($input.a)").starts_with("fromMillis requires a numerical input"));
    assert!(message("$now.setLocale('fr').toISO()").starts_with("The locale `fr` is not supported"));
    let refused = |source: &str| sandbox.evaluate(source, &json!({})).unwrap_err();
    assert_eq!(
        refused("DateTime.fromNothing(1)"),
        "there is no method `.fromNothing(…)`"
    );
}
