//! File: lines, which are read part by part.

#![expect(clippy::unwrap_used, reason = "tests")]

#[expect(dead_code, reason = "other tests have more use for it")]
mod support;

use heddle_node_stdlib::node::Outcome;
use heddle_node_stdlib::nodes::lookup;
use heddle_values::{Object, Value};
use support::{Fake, value};

/// What is read of a file with this content, or why not.
fn read(content: &str, parameters: &str) -> String {
    let mut fake = Fake {
        ports: vec![Some(value(r#"{"$file": "f", "name": "data.jsonl"}"#))],
        ..Fake::default()
    };
    let Value::Object(parameters) = value(parameters) else {
        panic!("{parameters}")
    };
    let (run, resume) = lookup("File").unwrap();
    let request = match run(&parameters, &mut fake) {
        Ok(Outcome::Effect { request, .. }) => request,
        Ok(other) => panic!("{other:?}"),
        Err(failure) => return format!("{}: {}", failure.code, failure.message),
    };
    let Value::Object(request) = request else {
        panic!("{request:?}")
    };
    let number = |name: &str| match request.get(name) {
        Some(Value::Number(number)) => *number as usize,
        other => panic!("{name}: {other:?}"),
    };
    assert!(matches!(request.get("lines"), Some(Value::Bool(true))));
    let rest = &content[number("offset")..];
    // As the host reads: to the end of a line, unless nothing follows.
    let (text, next) = match rest.get(..number("limit")) {
        Some(cut) if cut.len() < rest.len() => {
            let text = &cut[..=cut.rfind('\n').unwrap()];
            (text, Value::Number((number("offset") + text.len()) as f64))
        }
        _ => (rest, Value::Null),
    };
    let asked = request.get("encoding").unwrap().to_text().to_string();
    let mut result = Object::from_iter([("text", Value::from(text)), ("next", next)]);
    // As the host tells what was not UTF-8.
    if asked != "auto" {
        result.insert("encoding", Value::from(asked));
    }
    match resume.unwrap()(&parameters, Value::Object(result), &mut fake) {
        Ok(Outcome::Emit(emission)) => emission.0[0].1.to_json(),
        Ok(other) => panic!("{other:?}"),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

#[test]
fn lines_are_read_from_where_the_last_ended() {
    let content = "\u{feff}one\r\n\nthree, für 3 €\nfour";
    let all = r#"{"items":["one","","three, für 3 €","four"],"next":null}"#;
    assert_eq!(read(content, r#"{"format": "lines"}"#), all);
    let part = |offset: usize| {
        let parameters = format!(r#"{{"format": "lines", "limit": 19, "offset": {offset}}}"#);
        read(content, &parameters)
    };
    assert_eq!(part(0), r#"{"items":["one",""],"next":9}"#);
    assert_eq!(part(9), r#"{"items":["three, für 3 €"],"next":27}"#);
    assert_eq!(part(27), r#"{"items":["four"],"next":null}"#);
    assert_eq!(part(content.len()), r#"{"items":[],"next":null}"#);
}

#[test]
fn each_line_may_be_json() {
    let json = |content: &str| read(content, r#"{"format": "jsonLines"}"#);
    assert_eq!(
        json("{\"a\":1}\n\n [2]\r\n"),
        r#"{"items":[{"a":1},[2]],"next":null}"#
    );
    assert_eq!(json(""), r#"{"items":[],"next":null}"#);
    let found = json("1\n{\"a\"\n");
    assert!(
        found.starts_with("PARSE: A line of the file is not valid JSON:"),
        "{found}"
    );
    let made = read("", r#"{"operation": "make", "content": "a", "format": "lines"}"#);
    assert!(
        made.starts_with("PARAMETER: Parameter `format` must be text, json or base64"),
        "{made}"
    );
}

#[test]
fn lines_in_another_encoding_have_their_places_in_what_was_read() {
    let json = |offset: usize, content: &str| {
        let parameters = format!(r#"{{"format": "jsonLines", "encoding": "utf-16le", "offset": {offset}}}"#);
        read(content, &parameters)
    };
    assert_eq!(json(0, "\u{feff}1\n2"), r#"{"items":[1,2],"next":null}"#);
    let found = json(2, "1\n2\n[}");
    assert!(
        found.starts_with("PARSE: A line of what was read, as UTF-8, is not valid JSON:"),
        "{found}"
    );
}
