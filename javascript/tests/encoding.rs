//! `TextDecoder` in code: its encodings, and texts that come in parts.

#[expect(dead_code, reason = "other tests have more use for it")]
mod support;

use serde_json::{Value, json};
use support::{body, run};

/// What a decoder gives for each part and at the end.
fn decoded(label: &str, options: &str, parts: &[&[u8]]) -> Value {
    body(&format!(
        "const decoder = new TextDecoder('{label}', {options});
        const texts = {parts:?}.map((part) => decoder.decode(new Uint8Array(part), {{stream: true}}));
        return [...texts, decoder.decode()];"
    ))
}

#[test]
fn letters_that_are_divided_between_parts_are_whole() {
    let parts: &[&[u8]] = &[&[0xe2, 0x82], &[0xac]];
    assert_eq!(decoded("utf-8", "{}", parts), json!(["", "€", ""]));
    let parts: &[&[u8]] = &[&[0x41, 0xf0], &[0x9f], &[0x98], &[0x80, 0x42]];
    assert_eq!(decoded("utf-8", "{}", parts), json!(["A", "", "", "😀B", ""]));
    // A surrogate pair, byte by byte.
    let parts: &[&[u8]] = &[&[0x3d], &[0xd8], &[0x00], &[0xde]];
    assert_eq!(decoded("utf-16le", "{}", parts), json!(["", "", "", "😀", ""]));
    let parts: &[&[u8]] = &[&[0xd8], &[0x3d], &[0xde], &[0x00]];
    assert_eq!(decoded("utf-16be", "{}", parts), json!(["", "", "", "😀", ""]));
}

#[test]
fn what_can_not_become_a_letter_is_replaced_at_once() {
    let parts: &[&[u8]] = &[&[0xe0, 0x80], &[0xed, 0xa0], &[0xf5], &[0xe2, 0x82]];
    let expected = json!(["\u{fffd}\u{fffd}", "\u{fffd}\u{fffd}", "\u{fffd}", "", "\u{fffd}"]);
    assert_eq!(decoded("utf-8", "{}", parts), expected);
    let parts: &[&[u8]] = &[&[0x00, 0xd8, 0x41]];
    assert_eq!(decoded("utf-16le", "{}", parts), json!(["", "\u{fffd}"]));
}

#[test]
fn the_mark_at_the_beginning_is_left_out_once() {
    let parts: &[&[u8]] = &[&[0xef], &[0xbb, 0xbf, 0x61], &[0xef, 0xbb, 0xbf]];
    assert_eq!(decoded("utf-8", "{}", parts), json!(["", "a", "\u{feff}", ""]));
    let kept = json!(["", "\u{feff}a", "\u{feff}", ""]);
    assert_eq!(decoded("utf-8", "{ignoreBOM: true}", parts), kept);
    // A decoder that has come to an end begins anew.
    let twice = "const decoder = new TextDecoder();
        return [1, 2].map(() => decoder.decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61])));";
    assert_eq!(body(twice), json!(["a", "a"]));
}

#[test]
fn encodings_have_the_labels_of_the_standard() {
    for (code, expected) in [
        (
            "['latin1', 'ascii', 'ISO-8859-1', ' cp1252\\n', 'l2', 'iso8859-15', 'cp1250', 'x-cp1251', 'utf-16', 'unicodefffe', 'utf8']
                .map((label) => new TextDecoder(label).encoding)",
            json!([
                "windows-1252",
                "windows-1252",
                "windows-1252",
                "windows-1252",
                "iso-8859-2",
                "iso-8859-15",
                "windows-1250",
                "windows-1251",
                "utf-16le",
                "utf-16be",
                "utf-8"
            ]),
        ),
        (
            "new TextDecoder('latin1').decode(new Uint8Array([0x80, 0x81, 0x93, 0xa0, 0xe4, 0xff]))",
            json!("€\u{81}“\u{a0}äÿ"),
        ),
        (
            "new TextDecoder('iso-8859-2').decode(new Uint8Array([0x80, 0xb1, 0xe6, 0xff]))",
            json!("\u{80}ąć˙"),
        ),
        (
            "new TextDecoder('iso-8859-15').decode(new Uint8Array([0xa3, 0xa4, 0xbe, 0xbf]))",
            json!("£€Ÿ¿"),
        ),
        (
            "new TextDecoder('windows-1250').decode(new Uint8Array([0x80, 0x9c, 0xb9, 0xbf]))",
            json!("€śąż"),
        ),
        (
            "new TextDecoder('windows-1251').decode(new Uint8Array([0xcf, 0xf0, 0xe8, 0xb8]))",
            json!("Приё"),
        ),
        (
            "new TextDecoder('utf-16be').decode(new Uint8Array([0xfe, 0xff, 0x20, 0xac]))",
            json!("€"),
        ),
        (
            "new TextDecoder('windows-1252').decode(new Uint8Array(100000).fill(0xe4)).length",
            json!(100_000),
        ),
    ] {
        assert_eq!(body(&format!("return {code}")), expected, "{code}");
    }
}

#[test]
fn unknown_labels_and_wrong_bytes_are_errors() {
    for (code, name, message) in [
        (
            "new TextDecoder('koi8-r')",
            "RangeError",
            "The encoding \"koi8-r\" is not supported: there are utf-8, utf-16le",
        ),
        ("new TextDecoder('constructor')", "RangeError", "is not supported"),
        (
            "new TextDecoder('utf-8', {fatal: true}).decode(new Uint8Array([0xff]))",
            "TypeError",
            "was not valid",
        ),
        (
            "new TextDecoder('utf-16le', {fatal: true}).decode(new Uint8Array([0x41, 0x00, 0x42]))",
            "TypeError",
            "was not valid",
        ),
        (
            "new TextDecoder('utf-16be', {fatal: true}).decode(new Uint8Array([0xdc, 0x00]))",
            "TypeError",
            "was not valid",
        ),
    ] {
        let failure = run(&format!("export default () => {code}"), Value::Null).unwrap_err();
        assert_eq!(failure["name"], name, "{code}");
        let found = failure["message"].as_str().unwrap();
        assert!(found.contains(message), "{code}: {found}");
    }
    // What begins a letter is none when nothing follows.
    let code = "const decoder = new TextDecoder('utf-8', {fatal: true});
        const first = decoder.decode(new Uint8Array([0xe2, 0x82]), {stream: true});
        try { decoder.decode(); } catch (error) { return [first, error.name, decoder.decode(new Uint8Array([0x61]))]; }";
    assert_eq!(body(code), json!(["", "TypeError", "a"]));
}
