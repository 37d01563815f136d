//! ConvertFile: pieces that are cut anywhere, formats, errors, and what is written.

#![expect(clippy::unwrap_used, reason = "tests")]

#[expect(dead_code, reason = "other tests have more use for it")]
mod support;

use heddle_node_stdlib::failure::Failure;
use heddle_node_stdlib::node::{Outcome, Step};
use heddle_node_stdlib::nodes::lookup;
use heddle_values::{Object, Value};
use proptest::prelude::*;
use support::{Fake, value};

/// A host that has one file, and reads it in pieces of so many bytes.
struct Host<'a> {
    content: &'a str,
    piece: usize,
    /// In which the first piece is to be asked for.
    encoding: String,
    written: String,
    pieces_read: usize,
}

/// What the host says of every file, and the other pieces are to be asked for in.
const FOUND: &str = "windows-1252";

impl Host<'_> {
    fn answer(&mut self, request: &Value) -> Value {
        let Value::Object(request) = request else {
            panic!("{request:?}")
        };
        let text = |name: &str| request.get(name).unwrap().to_text().to_utf8().into_owned();
        let number = |name: &str| match request.get(name) {
            Some(Value::Number(number)) => *number as usize,
            other => panic!("{name}: {other:?}"),
        };
        match text("operation").as_str() {
            "read" => {
                self.pieces_read += 1;
                let expected = match number("offset") {
                    0 => self.encoding.as_str(),
                    _ => FOUND,
                };
                assert_eq!(text("encoding"), expected);
                let rest = &self.content[number("offset")..];
                let piece = &rest[..rest.ceil_char_boundary(self.piece)];
                let next = (piece.len() < rest.len()).then_some(number("offset") + piece.len());
                let next = next.map_or(Value::Null, |next| Value::Number(next as f64));
                let encoding = ("encoding", Value::from(FOUND));
                Object::from_iter([("text", Value::from(piece)), ("next", next), encoding]).into()
            }
            "write" => {
                assert_eq!(number("at"), self.written.len());
                self.written.push_str(&text("text"));
                Value::Null
            }
            "finish" => {
                assert_eq!(number("at"), self.written.len());
                let made = [("name", text("name")), ("type", text("type"))];
                Value::Object(
                    made.into_iter()
                        .map(|(name, text)| (name, Value::from(text)))
                        .collect(),
                )
            }
            other => panic!("{other}"),
        }
    }
}

/// What leaves the node, the text that it wrote, and in how many pieces it has read.
fn converted(parameters: &str, content: &str, piece: usize) -> Result<(String, String, usize), Failure> {
    let Value::Object(parameters) = value(parameters) else {
        panic!("{parameters}")
    };
    let encoding = parameters.get("encoding").map(Value::to_text);
    let mut host = Host {
        content,
        piece,
        encoding: encoding.map_or_else(|| "auto".to_owned(), |label| label.to_string()),
        written: String::new(),
        pieces_read: 0,
    };
    let mut fake = Fake {
        ports: vec![Some(value(
            r#"{"$file": "f", "name": "data.csv", "type": "text/plain"}"#,
        ))],
        functions: vec![|item, _| match item {
            Value::Object(item) => Ok(item.get("b").cloned().unwrap_or_default()),
            other => Ok(other.clone()),
        }],
        ..Fake::default()
    };
    let (run, _) = lookup("ConvertFile").unwrap();
    let mut outcome = run(&parameters, &mut fake)?;
    loop {
        outcome = match outcome {
            Outcome::Step {
                request,
                step: Step(step),
                ..
            } => step.resume(host.answer(&request), &mut fake)?,
            Outcome::Emit(emission) => {
                return Ok((emission.0[0].1.to_json(), host.written, host.pieces_read));
            }
            other => panic!("{other:?}"),
        };
    }
}

fn list(parameters: &str, content: &str, piece: usize) -> String {
    match converted(parameters, content, piece) {
        Ok((list, _, _)) => list,
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

fn written(parameters: &str, content: &str) -> String {
    converted(parameters, content, 3).unwrap().1
}

#[test]
fn records_are_the_same_however_the_file_is_cut() {
    let files = [
        (
            "csv",
            "\u{feff}a,b\r\n1,\"x, \"\"y\"\"\nz\"\r\n\r\n2,ü€𝄞",
            r#"[{"a":"1","b":"x, \"y\"\nz"},{"a":"2","b":"ü€𝄞"}]"#,
        ),
        (
            "jsonLines",
            "{\"a\": 1}\r\n\n [2, \"ü\"] \nnull",
            r#"[{"a":1},[2,"ü"],null]"#,
        ),
        (
            "json",
            " [ {\"a]\": \"}\\\"\"} ,1, \"x,y\",\n[[],{}] , true]\n",
            r#"[{"a]":"}\""},1,"x,y",[[],{}],true]"#,
        ),
        ("json", "[]", "[]"),
        ("jsonLines", "", "[]"),
        ("csv", "", "[]"),
    ];
    for (from, content, expected) in files {
        for piece in 1..40 {
            let parameters = format!(r#"{{"from": "{from}"}}"#);
            assert_eq!(
                list(&parameters, content, piece),
                expected,
                "{from} in pieces of {piece}"
            );
        }
    }
}

#[test]
fn a_file_is_asked_for_in_the_encoding_of_the_node_and_then_in_that_which_was_found() {
    for parameters in ["{}", r#"{"encoding": "auto"}"#, r#"{"encoding": "latin1"}"#] {
        assert_eq!(list(parameters, "a\n1\n2\n", 3), r#"[{"a":"1"},{"a":"2"}]"#);
    }
    assert!(list(r#"{"encoding": []}"#, "a\n", 3).starts_with("PARAMETER: Parameter `encoding` takes text"));
}

#[test]
fn records_are_taken_changed_and_written() {
    let content = "a,b\n1,x\n2,\n3,z\n";
    let taken = converted(
        r#"{"condition": {"$function": 0}, "record": {"$function": 0}, "to": "jsonLines"}"#,
        content,
        5,
    );
    let (file, text, _) = taken.unwrap();
    assert_eq!(text, "\"x\"\n\"z\"\n");
    assert_eq!(file, r#"{"name":"data.jsonl","type":"application/x-ndjson"}"#);
    assert_eq!(
        written(r#"{"to": "json"}"#, "a\n1\n2\n"),
        "[\n{\"a\":\"1\"},\n{\"a\":\"2\"}\n]\n"
    );
    assert_eq!(written(r#"{"to": "json", "limit": 0}"#, "a\n1\n"), "[]\n");
    assert_eq!(
        written(
            r#"{"to": "csv", "from": "jsonLines"}"#,
            "{\"a\":1,\"b\":\"x, y\"}\n{\"b\":null}\n"
        ),
        "a,b\n1,\"x, y\"\n,\n"
    );
    assert_eq!(
        written(
            r#"{"to": "csv", "columns": ["b"], "header": false, "from": "jsonLines"}"#,
            "{\"a\":1,\"b\":2}"
        ),
        "2\n"
    );
    // Nothing is a file as well.
    assert_eq!(written(r#"{"to": "jsonLines"}"#, "a,b\n"), "");
}

#[test]
fn the_rest_of_a_file_is_not_read() {
    let content = "a\n".to_owned() + &"1\n".repeat(1_000);
    let (list, _, pieces) = converted(r#"{"limit": 2}"#, &content, 10).unwrap();
    assert_eq!(list, r#"[{"a":"1"},{"a":"1"}]"#);
    assert_eq!(pieces, 1);
}

#[test]
fn what_is_no_record_is_told_with_its_place() {
    for (parameters, content, expected) in [
        ("{}", "a\n1\n1,2\n", "PARSE: The row in line 3 has 2 cells"),
        (
            r#"{"from": "jsonLines"}"#,
            "1\n{\n",
            "PARSE: Line 2 of the file is not valid JSON:",
        ),
        (
            r#"{"from": "json"}"#,
            "[1, tru]",
            "PARSE: Element 1 of the file's array is not valid JSON:",
        ),
        (
            r#"{"from": "json"}"#,
            "{}",
            "PARSE: `{` at byte 0 of the file: the file is not a JSON array",
        ),
        (
            r#"{"from": "json"}"#,
            "[1 2]",
            "PARSE: `2` at byte 3 of the file: a comma or `]`",
        ),
        (
            r#"{"from": "json"}"#,
            "[1,]",
            "PARSE: `]` at byte 3 of the file: an element",
        ),
        (
            r#"{"from": "json"}"#,
            "[1] x",
            "PARSE: `x` at byte 4 of the file: nothing was expected",
        ),
        (
            r#"{"from": "json"}"#,
            "[{\"a\": ",
            "PARSE: The file ends within its JSON array, after 0 elements.",
        ),
        (r#"{"from": "json"}"#, "", "PARSE: The file is empty"),
        (
            r#"{"to": "csv", "from": "jsonLines"}"#,
            "{\"a\":1}\n{\"b\":1}",
            "PARAMETER: Record 1 has the field `b`",
        ),
        (
            r#"{"to": "csv", "from": "jsonLines"}"#,
            "7",
            "PARAMETER: Record 0 must be an object or an array",
        ),
        (
            r#"{"value": {"$file": "f", "name": "x", "type": "y/z"}}"#,
            "",
            "PARAMETER: The file's name",
        ),
        (
            r#"{"value": 7}"#,
            "",
            "PARAMETER: Parameter `value` takes a file, or a list of records",
        ),
    ] {
        for piece in [1, 4, 100] {
            let failure = list(parameters, content, piece);
            assert!(
                failure.starts_with(expected),
                "{content:?} in pieces of {piece}: {failure}"
            );
        }
    }
}

#[test]
fn one_record_may_be_so_large_and_no_larger() {
    let large = "x".repeat(5 << 20);
    for (from, content) in [
        ("csv", format!("a\n\"{large}")),
        ("jsonLines", format!("\"{large}\"")),
        ("json", format!("[\"{large}\"]")),
    ] {
        let failure = list(&format!(r#"{{"from": "{from}"}}"#), &content, 1 << 20);
        assert!(
            failure.starts_with("PARSE: ") && failure.contains("4 MiB"),
            "{from}: {failure}"
        );
    }
}

#[test]
fn a_list_is_written_as_a_file_in_parts() {
    let item = format!("\"{}\"", "ü".repeat(400_000));
    let list = format!("[{item}, {item}, {item}]");
    let parameters = format!(r#"{{"value": {list}, "to": "jsonLines", "name": "a.jsonl"}}"#);
    let (file, text, pieces) = converted(&parameters, "", 1).unwrap();
    assert_eq!(pieces, 0);
    assert_eq!(text, format!("{item}\n").repeat(3));
    assert_eq!(file, r#"{"name":"a.jsonl","type":"application/x-ndjson"}"#);
}

#[test]
fn what_is_written_is_handed_on_once_in_pieces_that_overlap_records() {
    // What comes of a piece is more than is written at once, and its rest waits for the next piece.
    let line = format!("\"{}\"\n", "ü€".repeat(60_001));
    let content = line.repeat(12);
    let parameters = r#"{"from": "jsonLines", "to": "jsonLines"}"#;
    for piece in [700_000, 1 << 20, 3 << 20] {
        let (_, text, pieces) = converted(parameters, &content, piece).unwrap();
        assert!(text == content, "in pieces of {piece}");
        assert!(pieces > 1);
    }
}

proptest! {
    /// Whatever a file holds: the same comes of it in pieces as of the whole, and nothing panics.
    #[test]
    fn mutated_files_give_the_same_in_pieces(
        content in r#"[\[\]{},:"\\0-9a-c\nü ]{0,60}"#,
        piece in 1_usize..12,
        from in prop::sample::select(vec!["csv", "jsonLines", "json"]),
    ) {
        let parameters = format!(r#"{{"from": "{from}"}}"#);
        prop_assert_eq!(list(&parameters, &content, piece), list(&parameters, &content, 1_000));
    }
}
