//! Texts that nodes read, which one is said by the first byte: CSV, JSON, XML, YAML, Markdown, addresses and tokens, and files of records.
//! Nothing panics, what is refused is told why, JSON is read again as it was written, and of a file the same comes in pieces as of the whole.

use super::alone;
use heddle_node_stdlib::failure::Failure;
use heddle_values::{Object, Value};

/// Nodes that read a text, with what they are told besides.
const READERS: &[(&str, &[(&str, &str)])] = &[
    ("Csv", &[]),
    ("Csv", &[("delimiter", ";")]),
    ("Json", &[]),
    ("Xml", &[]),
    ("Yaml", &[]),
    ("Markdown", &[]),
    ("Url", &[]),
    ("Jwt", &[("operation", "decode")]),
];
/// What a file of records is read as, and written as.
const FILES: &[(&str, &str)] = &[
    ("csv", "list"),
    ("jsonLines", "list"),
    ("json", "list"),
    ("csv", "jsonLines"),
    ("jsonLines", "csv"),
    ("json", "csv"),
];
/// Longer than any input.
const WHOLE: usize = 1 << 20;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(rest);
    let place = usize::from(*kind) % (READERS.len() + FILES.len());
    match READERS.get(place) {
        Some((node, parameters)) => read(node, parameters, &text),
        None => records(FILES[place - READERS.len()], &text),
    }
}

fn read(node: &str, parameters: &[(&str, &str)], text: &str) {
    let parameters = Object::from_iter(
        parameters
            .iter()
            .map(|(name, value)| (*name, Value::from(*value))),
    );
    let Some(value) = told(by_itself(node, &parameters, Value::from(text))) else {
        return;
    };
    if !matches!(node, "Csv" | "Json" | "Xml" | "Yaml") {
        return;
    }
    let write = Object::from_iter([("operation", Value::from("stringify"))]);
    let written = told(by_itself(node, &write, value.clone()));
    if node == "Json" {
        let written = written.expect("what was read can be written");
        let again = by_itself(node, &Object::new(), written).expect("JSON that was written");
        assert_eq!(again.to_json(), value.to_json());
    }
}

/// A node that asks for nothing.
fn by_itself(node: &str, parameters: &Object, input: Value) -> Result<Value, Failure> {
    alone::run(node, parameters, input, |request| {
        panic!("{node} asks for {request:?}")
    })
}

fn told(result: Result<Value, Failure>) -> Option<Value> {
    if let Err(failure) = &result {
        assert!(
            !failure.message.is_empty() && failure.code != "INTERNAL",
            "{failure:?}"
        );
    }
    result.ok()
}

fn records((from, to): (&str, &str), content: &str) {
    let whole = converted((from, to), content, WHOLE);
    for piece in [1, 7] {
        let in_pieces = converted((from, to), content, piece);
        assert_eq!(in_pieces, whole, "{from} to {to}, in pieces of {piece} bytes");
    }
}

/// What leaves ConvertFile and what it wrote, of a file that is read in pieces of so many bytes, or of some more where a character would
/// be cut; or why it fails.
fn converted(
    (from, to): (&str, &str),
    content: &str,
    piece_bytes: usize,
) -> Result<(String, String), String> {
    let mut written = String::new();
    let parameters = Object::from_iter([("from", Value::from(from)), ("to", Value::from(to))]);
    let file = ["$file", "name", "type"].map(|name| (name, Value::from(name)));
    let input = Value::Object(Object::from_iter(file));
    let left = alone::run("ConvertFile", &parameters, input, |request| {
        let Value::Object(request) = request else {
            panic!("a request is an object");
        };
        let text = |name: &str| {
            let text = request.get(name).expect("a text");
            text.to_text().to_utf8().into_owned()
        };
        let number = |name: &str| match request.get(name) {
            Some(Value::Number(number)) => *number as usize,
            other => panic!("{name} is {other:?}"),
        };
        match text("operation").as_str() {
            "read" => {
                let rest = &content[number("offset")..];
                let piece = &rest[..rest.ceil_char_boundary(piece_bytes)];
                let next = match piece.len() < rest.len() {
                    true => Value::Number((number("offset") + piece.len()) as f64),
                    false => Value::Null,
                };
                Value::Object(Object::from_iter([("text", Value::from(piece)), ("next", next)]))
            }
            "write" => {
                assert_eq!(number("at"), written.len());
                written.push_str(&text("text"));
                Value::Null
            }
            "finish" => {
                assert_eq!(number("at"), written.len());
                Value::Null
            }
            other => panic!("{other} is no operation of ConvertFile"),
        }
    });
    match left {
        Ok(left) => Ok((left.to_json(), written)),
        Err(failure) => Err(format!("{}: {}", failure.code, failure.message)),
    }
}
