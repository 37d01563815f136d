//! `DateTime`, `Duration` and `Interval` in code: what they give, compared with Luxon, and what can't be done with them.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod beside;
#[path = "../../tests/shared/luxon.rs"]
mod luxon;
#[path = "../../tests/shared/needs.rs"]
mod needs;
#[path = "../../tests/shared/node.rs"]
mod node;
mod support;

use heddle_javascript::protocol::{SourceKind, Status};
use heddle_javascript::wire::{Text, TimeKind, Writer};
use serde_json::{Value, json};
use support::{Guest, body, read, run};

#[test]
fn date_times_are_those_of_luxon() {
    let cases = include_str!("cases/date_times.txt");
    let Some(differences) = beside::differences(cases, Some(luxon::folder())) else {
        return;
    };
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn what_needs_no_comparison() {
    for (code, expected) in [
        ("DateTime.now().toISO()", json!("2023-11-14T22:13:20.000Z")),
        (
            "{at: DateTime.now(), takes: Duration.fromObject({hours: 2}), none: DateTime.invalid('x')}",
            json!({"at": "2023-11-14T22:13:20.000Z", "takes": "PT2H", "none": null}),
        ),
        (
            "DateTime.now().plus(1, 'day').format('yyyy-MM-dd') + DateTime.now().endOfMonth().day",
            json!("2023-11-1530"),
        ),
        (
            "DateTime.now().setZone('America/New_York').zone",
            json!("America/New_York"),
        ),
        (
            "[typeof DateTime, DateTime.name, Object.keys(globalThis).includes('DateTime')]",
            json!(["function", "DateTime", false]),
        ),
    ] {
        assert_eq!(body(&format!("return {code}")), expected, "{code}");
    }
}

#[test]
fn luxon_is_imported_by_its_name() {
    for source in [
        "import { DateTime, Duration as Span } from 'luxon';
        export default () => [DateTime === globalThis.DateTime, Span.name];",
        "import * as luxon from 'luxon';
        export default () => [luxon.DateTime === DateTime, luxon.Duration.name];",
        "const { DateTime: Time, Duration } = require('luxon');
        export default () => [Time === DateTime, Duration.name];",
        "export default async () => {
            const luxon = await import('luxon');
            return [luxon.DateTime === DateTime, luxon.Duration.name];
        };",
    ] {
        assert_eq!(
            run(source, Value::Null),
            Ok(json!([true, "Duration"])),
            "{source}"
        );
    }
    for name in ["fs", "luxon/x", "./luxon", "constructor"] {
        let found = thrown(&format!("require('{name}')"));
        assert!(found.contains(&format!("Cannot find module '{name}'")), "{found}");
    }
}

/// The message of what code throws.
fn thrown(code: &str) -> String {
    let source = format!("export default () => {{ return {code}; }}");
    let failure = run(&source, Value::Null).unwrap_err();
    failure["message"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_not_there_is_said() {
    for (code, message) in [
        (
            "DateTime.fromISO('2024-05-06', {locale: 'de'}).toFormat('MMMM')",
            "The locale `de` is not supported",
        ),
        (
            "DateTime.utc(2024).minus({days: 2}).toRelative({locale: 'es'})",
            "The locale `es` is not supported",
        ),
        (
            "DateTime.utc(2024).startOf('week', {useLocaleWeeks: true})",
            "The option `useLocaleWeeks` of date-times is not supported",
        ),
        (
            "Duration.fromObject({hours: 1}).toHuman({listStyle: 'long'})",
            "The option `listStyle` of toHuman is not supported",
        ),
        (
            "DateTime.now().setLocale('de')",
            "The locale `de` is not supported",
        ),
        (
            "DateTime.now().toLocaleString({}, {locale: 'fr'})",
            "The locale `fr` is not supported",
        ),
        (
            "DateTime.now().toLocaleString({era: 'long'})",
            "Option era of toLocaleString",
        ),
        ("new DateTime()", "not by `new`"),
        ("new Interval()", "not by `new`"),
        (
            "DateTime.prototype.plus.call({}, 1)",
            "was called on something else",
        ),
        (
            "Duration.prototype.as.call(DateTime.now(), 'days')",
            "`.as` is not a function of this time",
        ),
        ("DateTime.now().plus({fortnights: 1})", "Invalid unit fortnights"),
        (
            "DateTime.now().plus({days: Infinity})",
            "expected a number, not the number Infinity",
        ),
    ] {
        assert!(thrown(code).contains(message), "{code}: {}", thrown(code));
    }
}

#[test]
fn arguments_are_bounded() {
    for (code, message) in [
        ("DateTime.fromISO('1'.repeat(100000))", "The text is too long"),
        (
            "DateTime.now().toFormat('y'.repeat(100000))",
            "The text is too long",
        ),
        (
            "DateTime.fromFormat('a', \"'\".repeat(60000))",
            "more than 100 tokens",
        ),
        (
            "DateTime.now().diff(DateTime.now(), Array.from({length: 200000}, () => 'days'))",
            "too many values",
        ),
        (
            "Interval.fromISO('2026-01-01/2026-01-02').splitBy({milliseconds: -1})",
            "that isn't positive",
        ),
        (
            "DateTime.now().plus({get days() { throw new Error('mine'); }})",
            "mine",
        ),
        (
            "DateTime.now().plus(new Proxy({}, {ownKeys() { throw new Error('proxied'); }}))",
            "proxied",
        ),
    ] {
        assert!(thrown(code).contains(message), "{code}: {}", thrown(code));
    }
    for (code, expected) in [
        (
            "DateTime.now().toFormat('ffff'.repeat(16000)).length",
            json!(64_000),
        ),
        ("DateTime.fromISO('1'.repeat(60000)).isValid", json!(false)),
        ("Duration.fromISO('P' + '1Y'.repeat(20000)).isValid", json!(false)),
        ("DateTime.now().plus({years: 1e300}).isValid", json!(false)),
        (
            "(() => { const o = {}; o.zone = o; return DateTime.now().setZone(o).isValid; })()",
            json!(false),
        ),
    ] {
        assert_eq!(body(&format!("return {code}")), expected, "{code}");
    }
}

#[test]
fn splitting_an_interval_without_end_is_stopped() {
    let code = "Interval.fromISO('2026-01-01/2036-01-01').splitBy({milliseconds: 1})";
    let source = format!("export default () => {code}.length");
    let limits = support::Limits::default();
    let (_, outcome) = support::run_with(&source, Value::Null, limits, |kind, _| panic!("asked for {kind}"));
    // By its own limit, or by that of the run.
    match outcome {
        Ok(Ok(value)) => panic!("{value}"),
        Ok(Err(failure)) => assert!(failure["message"].as_str().unwrap().contains("at most 100000")),
        Err(_) => {}
    }
}

#[test]
fn what_code_changes_is_its_own_affair() {
    let mut guest = Guest::new();
    let spoil = guest.load(
        SourceKind::Module,
        "export default () => {
            DateTime.prototype.plus = () => 'spoilt';
            Object.getPrototypeOf(DateTime.utc(2000).zone).equals = null;
            Date.prototype.toLocaleString = null;
            Array.prototype.map = () => 'spoilt';
            globalThis.DateTime = 1;
            globalThis.Intl = 2;
            return typeof DateTime;
        }",
    );
    let (status, value) = guest.call(spoil, 0, json!([{}])).unwrap();
    assert_eq!((status, value), (Status::Done, json!("number")));
    let expression = guest.load(
        SourceKind::Expression,
        "() => [
            DateTime.utc(2000).plus({days: 1}).toISODate(),
            [DateTime, DateTime.prototype, Duration.prototype, Interval, Intl, Intl.NumberFormat.prototype,
                Object.getPrototypeOf(DateTime.utc(2000).zone)].every(Object.isFrozen),
            typeof new Date(0).toLocaleString(),
        ]",
    );
    let (status, value) = guest.call(expression, 0, json!([])).unwrap();
    assert_eq!(
        (status, value),
        (Status::Done, json!(["2000-01-02", true, "string"]))
    );
    for change in ["DateTime.prototype.x = 1", "Intl.x = 1", "DateTime = 1"] {
        let function = guest.load(
            SourceKind::Expression,
            &format!("() => {{ 'use strict'; {change}; }}"),
        );
        let (status, _) = guest.call(function, 0, json!([])).unwrap();
        assert_eq!(status, Status::Failed, "{change}");
    }
}

/// Calls an expression with times, as a run hands them over.
fn called_with_times(source: &str, times: &[(TimeKind, f64, &str)]) -> Value {
    let mut guest = Guest::new();
    let function = guest.load(SourceKind::Expression, source);
    let mut writer = Writer::default();
    writer.array(times.len() as u32 + 1);
    for (kind, ms, text) in times {
        writer.time(*kind, *ms, text);
    }
    writer.text(Text::Utf8("last"));
    let (status, answer) = guest.call_raw(function, 0, &writer.finish()).unwrap();
    assert_eq!(status, Status::Done, "{}", read(&answer));
    read(&answer)
}

#[test]
fn times_of_the_pattern_are_handed_over_with_their_zones() {
    let found = called_with_times(
        "(a, b, c, d) => [a.toISO(), a.zoneName, a instanceof DateTime, b.as('minutes'), `${c}`, c.isValid, a - 1, d]",
        &[
            (
                TimeKind::DateTime,
                1_700_000_000_000.0,
                "2023-11-14T23:13:20.000+01:00[Europe/Berlin]",
            ),
            (TimeKind::Duration, 7_200_000.0, "PT2H"),
            (TimeKind::DateTime, f64::NAN, "Invalid DateTime"),
        ],
    );
    let expected = json!([
        "2023-11-14T23:13:20.000+01:00",
        "Europe/Berlin",
        true,
        120,
        "Invalid DateTime",
        false,
        1_699_999_999_999_i64,
        "last"
    ]);
    assert_eq!(found, expected);
    // What leaves is text.
    let found = called_with_times(
        "(a) => ({a, list: [a]})",
        &[(TimeKind::DateTime, 0.0, "1970-01-01T05:30:00.000+05:30[UTC+5:30]")],
    );
    let text = "1970-01-01T05:30:00.000+05:30";
    assert_eq!(found, json!({"a": text, "list": [text]}));
    // A zone that nobody knows: the moment is the same.
    let found = called_with_times("a => a.toISO()", &[(TimeKind::DateTime, 0.0, "x[No/Where]")]);
    assert_eq!(found, json!("1970-01-01T00:00:00.000Z"));
}
