//! Times as values: operators, JSON, what leaves a node, properties. What Luxon itself does is compared with it in
//! `luxon/`.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use heddle_values::date_time::{self, Clock};
use heddle_values::{Value, ops, parse_json};
use std::cmp::Ordering;

const NOON_MS: f64 = 1_795_262_400_000.0;

fn clock() -> Clock {
    Clock::utc(NOON_MS)
}

fn make(name: &str, arguments: &[Value]) -> Value {
    date_time::call_static(name, arguments, &clock())
        .unwrap()
        .unwrap()
}

fn iso(text: &str) -> Value {
    make("DateTime.fromISO", &[text.into()])
}

fn date(ms: f64) -> Value {
    make("new Date", &[ms.into()])
}

fn call(receiver: &Value, method: &str, arguments: &[Value]) -> Value {
    let Value::Temporal(temporal) = receiver else {
        panic!("{} is no time", receiver.shape())
    };
    date_time::call_method(temporal, method, arguments, &clock())
        .unwrap()
        .unwrap()
}

#[test]
fn now_and_today_are_those_of_the_clock() {
    assert_eq!(clock().now().to_json(), r#""2026-11-21T12:00:00.000Z""#);
    assert_eq!(clock().today().to_json(), r#""2026-11-21T00:00:00.000Z""#);
    assert_eq!(make("Date.now", &[]).to_json(), "1795262400000");
}

#[test]
fn leaves_a_node_as_text() {
    let values = Value::from(vec![
        iso("2026-11-21"),
        iso("nonsense"),
        date(0.0),
        date(f64::NAN),
        make("Duration.fromISO", &["P1DT2H".into()]),
    ]);
    let json = r#"["2026-11-21T00:00:00.000Z",null,"1970-01-01T00:00:00.000Z",null,"P1DT2H"]"#;
    assert_eq!(values.to_json(), json);
    assert!(!values.is_json());
    let left = values.into_json();
    assert!(left.is_json());
    assert!(left.deep_equal(&parse_json(json.as_bytes(), 9).unwrap()));
}

#[test]
fn are_texts_among_other_text() {
    assert_eq!(iso("2026-11-21").to_text().to_utf8(), "2026-11-21T00:00:00.000Z");
    assert_eq!(iso("nonsense").to_text().to_utf8(), "Invalid DateTime");
    assert_eq!(date(0.0).to_text().to_utf8(), "1970-01-01T00:00:00.000Z");
    assert_eq!(date(f64::NAN).to_text().to_utf8(), "Invalid Date");
}

#[test]
fn calculate_and_compare_by_milliseconds() {
    let (early, late) = (iso("2026-11-21"), iso("2026-11-22"));
    assert_eq!(ops::subtract(&late, &early).unwrap().to_json(), "86400000");
    assert_eq!(ops::less(&early, &late).unwrap().to_json(), "true");
    assert_eq!(ops::less(&date(1.0), &early).unwrap().to_json(), "true");
    assert_eq!(ops::equal(&early, &iso("2026-11-21")).unwrap().to_json(), "false");
    assert!(ops::strict_equal(&early, &early.clone()).truthy());
    assert!(early.deep_equal(&iso("2026-11-21")));
    assert_eq!(early.compare(&late), Ordering::Less);
    assert_eq!(ops::type_of(&early).to_json(), r#""object""#);
    assert!(iso("nonsense").truthy());
}

#[test]
fn plus_adds_what_javascript_adds() {
    let text = |value: &Value| {
        ops::add(value, &"!".into())
            .unwrap()
            .to_text()
            .to_utf8()
            .into_owned()
    };
    // A DateTime is its milliseconds there, a Date its text.
    assert_eq!(text(&iso("1970-01-01T00:00:01")), "1000!");
    assert_eq!(
        text(&date(0.0)),
        "Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time)!"
    );
    let template = ops::concat(&iso("2026-11-21"), &"!".into()).unwrap();
    assert_eq!(template.to_utf8(), "2026-11-21T00:00:00.000Z!");
}

#[test]
fn a_date_changes_for_all_who_hold_it() {
    let first = date(0.0);
    let second = first.clone();
    call(&first, "setDate", &[31.0.into()]);
    assert_eq!(
        call(&second, "toISOString", &[]).to_json(),
        r#""1970-01-31T00:00:00.000Z""#
    );
}

#[test]
fn n8n_methods() {
    let now = clock().now();
    let plus = call(&now, "plus", &[1.0.into(), "week".into()]);
    assert_eq!(plus.to_json(), r#""2026-11-28T12:00:00.000Z""#);
    let minus = call(&now, "minus", &["1".into(), "hours".into()]);
    assert_eq!(minus.to_json(), r#""2026-11-21T11:00:00.000Z""#);
    let format = call(&now, "format", &["dd/LL/yyyy".into()]);
    assert_eq!(format.to_json(), r#""21/11/2026""#);
    assert_eq!(call(&plus, "diffTo", &[now, "days".into()]).to_json(), "7");
    assert_eq!(
        call(&date(0.0), "format", &["dd.MM.yyyy".into()]).to_json(),
        r#""01.01.1970""#
    );
}

#[test]
fn unknown_names_are_told() {
    let now = clock().now();
    assert!(matches!(ops::get(&now, "nothing"), Ok(Value::Undefined)));
    assert!(ops::get(&now, "plus").unwrap_err().0.contains("inherited"));
    assert!(matches!(ops::has(&"plus".into(), &now), Ok(Value::Bool(true))));
    assert!(date_time::call_static("DateTime.nothing", &[], &clock()).is_none());
}

#[test]
fn errors_say_what_is_wanted() {
    let message = |name: &str, arguments: &[Value]| {
        let result = date_time::call_static(name, arguments, &clock()).unwrap();
        result.unwrap_err().0
    };
    assert!(message("DateTime.fromMillis", &["5".into()]).contains("numerical input"));
    assert!(message("Duration.fromObject", &[5.0.into()]).contains("expected to be an object"));
    let long = "y ".repeat(80);
    assert!(message("DateTime.fromFormat", &["1".into(), long.as_str().into()]).contains("more than 100"));
}

#[test]
fn extreme_times_are_no_trouble() {
    for ms in [8.64e15, -8.64e15, 8.65e15, f64::MAX, f64::MIN, f64::INFINITY] {
        for zone in ["utc", "Europe/Prague", "UTC-14"] {
            let options = parse_json(format!(r#"{{"zone":"{zone}"}}"#).as_bytes(), 9).unwrap();
            let made = make("DateTime.fromMillis", &[ms.into(), options]);
            let units = parse_json(br#"{"years":1e300,"days":-1e300,"hours":1e308}"#, 9).unwrap();
            assert_eq!(call(&made, "plus", &[units]).to_json(), "null");
            for unit in ["year", "week", "day"] {
                call(&call(&made, "endOf", &[unit.into()]), "startOf", &[unit.into()]);
            }
            let now = clock().now();
            call(&made, "diff", &[now, "months".into()]);
            call(&made, "toFormat", &["yyyy kkkk WW ooo ZZZZ fff".into()]);
            call(&made, "toRelative", &[]);
        }
    }
}
