//! `Intl`, `toLocaleString` and `localeCompare` in code: what they give, compared with Node.js, and what is refused.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod beside;
#[path = "../../tests/shared/needs.rs"]
mod needs;
#[path = "../../tests/shared/node.rs"]
mod node;
#[expect(dead_code, reason = "other tests have more use for it")]
mod support;

use serde_json::{Value, json};
use support::{body, run};

#[test]
fn texts_for_people_are_those_of_node() {
    let Some(differences) = beside::differences(include_str!("cases/intl.txt"), None) else {
        return;
    };
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn texts_in_other_languages_are_those_of_node() {
    // One list after the other: a run has only so much fuel.
    for cases in [
        include_str!("cases/language_dates.txt"),
        include_str!("cases/languages.txt"),
    ] {
        let Some(differences) = beside::differences(cases, None) else {
            return;
        };
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
}

#[test]
fn what_needs_no_comparison() {
    for (code, expected) in [
        ("new Date(0).toLocaleString()", json!("1/1/1970, 12:00:00 AM")),
        ("(1234.5).toLocaleString()", json!("1,234.5")),
        (
            "(1234.5).toLocaleString('de-DE', {style: 'currency', currency: 'EUR'})",
            json!("1.234,50\u{a0}€"),
        ),
        (
            "['ä', 'b', 'a', 'z', 'Z', 'é'].sort((a, b) => a.localeCompare(b)).join('')",
            json!("aäbézZ"),
        ),
        ("Intl.DateTimeFormat().resolvedOptions().timeZone", json!("UTC")),
        (
            "new Date(0).toLocaleDateString('de-DE', {weekday: 'long', day: 'numeric', month: 'long', year: 'numeric'})",
            json!("Donnerstag, 1. Januar 1970"),
        ),
        (
            "new Date(0).toLocaleDateString('pl', {month: 'long'}) + new Date(0).toLocaleDateString('pl', {day: 'numeric', month: 'long'})",
            json!("styczeń1 stycznia"),
        ),
        (
            "new Intl.DateTimeFormat('de', {dateStyle: 'long', timeStyle: 'short', timeZone: 'Europe/Berlin'}).format(0)",
            json!("1. Januar 1970 um 01:00"),
        ),
        (
            "[-2, 1].map((days) => new Intl.RelativeTimeFormat('de', {numeric: 'auto'}).format(days, 'day'))",
            json!(["vorgestern", "morgen"]),
        ),
        (
            "[1, 2, 5, 22].map((count) => new Intl.PluralRules('pl').select(count))",
            json!(["one", "few", "many", "few"]),
        ),
        ("(1234567.5).toLocaleString('en-IN')", json!("12,34,567.5")),
        (
            "Intl.NumberFormat.supportedLocalesOf(['de', 'xx', 'en-GB'])",
            json!(["de", "en-GB"]),
        ),
    ] {
        assert_eq!(body(&format!("return {code}")), expected, "{code}");
    }
}

#[test]
fn what_is_not_there_is_an_error_and_no_other_language() {
    for (code, message) in [
        (
            "new Date(0).toLocaleDateString('ko')",
            "The locale `ko` isn't available for dates: there are en, en-US, en-GB",
        ),
        (
            "new Date(0).toLocaleDateString('de-DE', {year: 'numeric', era: 'short'})",
            "era: short isn't available for dates in `de-DE`",
        ),
        (
            "new Intl.DateTimeFormat('fr', {year: 'numeric', weekday: 'long'})",
            "This part of a date isn't available for dates in `fr`",
        ),
        (
            "new Intl.DateTimeFormat('it', {hour: 'numeric'})",
            "A part of a time isn't available",
        ),
        (
            "new Intl.DateTimeFormat('sv', {weekday: 'long', hour: 'numeric', minute: 'numeric'})",
            "A time with a part of a date isn't available",
        ),
        (
            "new Intl.DateTimeFormat('de', {month: 'nonsense'})",
            "month: nonsense isn't available",
        ),
        (
            "new Intl.DateTimeFormat('de', {dateStyle: 'long', timeStyle: 'full'})",
            "timeStyle: full isn't available",
        ),
        (
            "new Intl.DateTimeFormat('en-CA', {month: 'long'})",
            "This part of a date isn't available for dates in `en-CA`",
        ),
        (
            "new Intl.RelativeTimeFormat('ko')",
            "The locale `ko` isn't available for relative times",
        ),
        (
            "new Date(0).toLocaleTimeString('en-CA')",
            "A time isn't available",
        ),
        (
            "new Date(0).toLocaleString(['ko', 'en'])",
            "The locale `ko` isn't available",
        ),
        ("new Intl.NumberFormat('ko')", "isn't available for numbers"),
        (
            "new Intl.NumberFormat('en', {roundingMode: 'floor'})",
            "roundingMode",
        ),
        (
            "new Date(0).toLocaleString('en-US-u-ca-buddhist')",
            "`-u-ca-buddhist` isn't available",
        ),
        (
            "'i'.toLocaleUpperCase('tr')",
            "isn't available for changing the case",
        ),
        (
            "new Intl.PluralRules('en', {maximumFractionDigits: 0})",
            "isn't available for plurals",
        ),
        (
            "new Intl.NumberFormat('de', {style: 'currency', currency: 'JPY'})",
            "The symbol of JPY isn't available in `de`",
        ),
        (
            "new Intl.NumberFormat('de', {notation: 'compact'})",
            "in English only",
        ),
        (
            "new Intl.NumberFormat('en', {style: 'unit', unit: 'liter'})",
            "Value unit out of range",
        ),
        ("'a'.localeCompare('b', 'sv')", "isn't available for sorting"),
        ("new Intl.PluralRules('ko')", "isn't available for plurals"),
        (
            "new Intl.DateTimeFormat('en', {era: 'long'})",
            "Option era of toLocaleString",
        ),
        (
            "new Intl.DateTimeFormat('en', {calendar: 'buddhist'})",
            "Value buddhist",
        ),
        (
            "new Intl.DateTimeFormat('no locale')",
            "Incorrect locale information",
        ),
        (
            "new Intl.DateTimeFormat('en', {timeZone: 'No/Where'})",
            "Invalid time zone",
        ),
        (
            "new Intl.NumberFormat('en', {minimumIntegerDigits: 1e9})",
            "is 1 to 21",
        ),
        (
            "'x'.repeat(2000000).localeCompare('x'.repeat(2000000) + 'y')",
            "too long to be compared",
        ),
        (
            "Intl.DateTimeFormat.prototype.formatToParts.call({})",
            "", // Whatever it says, it is an error.
        ),
    ] {
        let source = format!("export default () => {{ return {code}; }}");
        let failure = run(&source, Value::Null).unwrap_err();
        let found = failure["message"].as_str().unwrap();
        assert!(found.contains(message), "{code}: {found}");
    }
}
