//! Archives, workbooks, PDF and pictures: any bytes, documents of a workbook that are packed as one, and rows that are written and read again.
//! Nothing panics, what is unpacked is no larger than was allowed, and what was written is there.

use super::alone;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_node_stdlib::failure::Failure;
use heddle_values::{Object, Value, parse_json};

/// Bytes of all files that an archive may have.
const BYTES_MAX: usize = 1 << 20;
/// Pixels of a picture that is decoded.
const PIXELS_MAX: f64 = 1e6;
/// What comes between the documents of a workbook.
const SEPARATOR: &str = "\n---\n";

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else {
        return;
    };
    match kind % 5 {
        4 => image(rest),
        3 => pdf(rest),
        0 => archive(rest),
        1 => documents(&String::from_utf8_lossy(rest)),
        _ => rows(rest),
    }
}

fn archive(bytes: &[u8]) {
    for node in ["Zip", "Xlsx", "ConvertFile"] {
        let mut host = Host::default();
        let file = host.add(bytes.to_vec());
        let parameters = match node {
            "Zip" => Object::from_iter([("maxBytes", Value::Number(BYTES_MAX as f64))]),
            "Xlsx" => Object::from_iter([("header", Value::from(false))]),
            _ => Object::from_iter([("from", Value::from("xlsx"))]),
        };
        match host.run(node, &parameters, file) {
            Ok(_) => {
                let unpacked: usize = host.files.iter().skip(1).map(Vec::len).sum();
                assert!(unpacked <= BYTES_MAX, "{unpacked} bytes were unpacked");
            }
            Err(failure) => assert!(!failure.message.is_empty() && failure.code != "INTERNAL"),
        }
    }
}

/// A file, or what a page shows.
fn pdf(bytes: &[u8]) {
    let page = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Kids[3 0 R]>>endobj 3 0 obj<</Contents 4 0 R\
        /Resources<</Font<</F 5 0 R>>/XObject<</X 4 0 R>>>>>>endobj 5 0 obj<</Subtype/Type0/ToUnicode 4 0 R>>endobj\
        4 0 obj<</Subtype/Form>>stream\n";
    for file in [bytes.to_vec(), [&page[..], bytes].concat()] {
        let mut host = Host::default();
        let file = host.add(file);
        if let Err(failure) = host.run("Pdf", &Object::new(), file) {
            assert!(
                ["PARSE", "FILE_LIMIT"].contains(&failure.code.as_ref()),
                "{failure:?}"
            );
        }
    }
}

/// A picture, or what a JPEG has before its size.
fn image(bytes: &[u8]) {
    for begin in [&b""[..], b"\xff\xd8", b"\xff\xd8\xff\xe1\xff\xffExif\0\0"] {
        let mut host = Host::default();
        let file = host.add([begin, bytes].concat());
        match host.run("Image", &Object::new(), file.clone()) {
            Ok(Value::Object(info)) => converted(&mut host, &info, file),
            Ok(other) => panic!("{other:?}"),
            Err(failure) => assert_eq!(failure.code, "PARSE", "{failure:?}"),
        }
    }
}

/// A picture in another size, if it has no more pixels than there is time for.
fn converted(host: &mut Host, info: &Object, file: Value) {
    let side = |name: &str| match info.get(name) {
        Some(Value::Number(side)) => *side,
        _ => f64::INFINITY,
    };
    if side("width") * side("height") > PIXELS_MAX {
        return;
    }
    let mut parameters = Object::from_iter([
        ("operation", Value::from("convert")),
        ("fit", Value::from("fill")),
        ("format", Value::from("webp")),
    ]);
    let (width, height) = (7.0, 5.0);
    parameters.insert("width", Value::Number(width));
    parameters.insert("height", Value::Number(height));
    match host.run("Image", &parameters, file) {
        Ok(made) => {
            let info = host.run("Image", &Object::new(), made);
            let Ok(Value::Object(info)) = info else {
                panic!("a picture that was made can't be read");
            };
            for (name, wanted) in [("width", width), ("height", height)] {
                assert!(matches!(info.get(name), Some(Value::Number(side)) if *side == wanted));
            }
        }
        Err(failure) => assert!(
            ["PARSE", "FILE_LIMIT"].contains(&failure.code.as_ref()),
            "{failure:?}"
        ),
    }
}

/// Sheet, texts, formats and list of sheets of a workbook.
fn documents(text: &str) {
    const RELATIONS: &str = "<R><Relationship Id='1' Type='x/worksheet' Target='s.xml'/>\
        <Relationship Id='2' Type='x/styles' Target='t.xml'/><Relationship Id='3' Type='x/sharedStrings' Target='u.xml'/></R>";
    const BOOK: &str = "<workbook><sheets><sheet name='S' r:id='1'/></sheets></workbook>";
    let mut given = text.splitn(4, SEPARATOR);
    let mut next = |default: &'static str| given.next().unwrap_or(default).to_owned();
    let parts = [
        ("xl/s.xml", next("<a/>")),
        ("xl/u.xml", next("<a/>")),
        ("xl/t.xml", next("<a/>")),
        ("xl/workbook.xml", next(BOOK)),
        ("xl/_rels/workbook.xml.rels", RELATIONS.to_owned()),
    ];
    let files = parts.map(|(path, content)| {
        let file = Object::from_iter([("path", Value::from(path)), ("content", Value::from(content))]);
        Value::Object(file)
    });
    let parameters = Object::from_iter([
        ("operation", Value::from("make")),
        ("files", Value::from(files.to_vec())),
    ]);
    let mut host = Host::default();
    let workbook = host.run("Zip", &parameters, Value::Null);
    let workbook = workbook.expect("an archive of texts can be made");
    let read = host.run("Xlsx", &Object::new(), workbook);
    if let Err(failure) = read {
        assert!(
            ["PARSE", "PARAMETER", "FILE_LIMIT"].contains(&failure.code.as_ref()),
            "{failure:?}"
        );
    }
}

/// Rows as JSON.
fn rows(json: &[u8]) {
    let Ok(rows) = parse_json(json, 20) else {
        return;
    };
    let mut host = Host::default();
    let write = Object::from_iter([
        ("operation", Value::from("write")),
        ("flatten", Value::from(true)),
    ]);
    let Ok(workbook) = host.run("Xlsx", &write, rows.clone()) else {
        return;
    };
    let read = host.run(
        "Xlsx",
        &Object::from_iter([("header", Value::from(false))]),
        workbook,
    );
    let (Ok(Value::Array(found)), Value::Array(rows)) = (read, rows) else {
        panic!("a workbook that was written can't be read");
    };
    // Rows without any value are left out, and the names of columns are one more.
    assert!(found.len() <= rows.len() + 1);
}

/// Keeps files by number, and nothing else.
#[derive(Default)]
struct Host {
    files: Vec<Vec<u8>>,
    sink: Vec<u8>,
}

impl Host {
    fn add(&mut self, content: Vec<u8>) -> Value {
        self.files.push(content);
        let id = (self.files.len() - 1).to_string();
        Value::Object(Object::from_iter([("$file", Value::from(id))]))
    }

    fn content(&self, file: Option<&Value>) -> &[u8] {
        let Some(Value::Object(file)) = file else {
            panic!("no file was asked for");
        };
        let id = file.get("$file").map(|id| id.to_text().to_utf8().into_owned());
        let number: Option<usize> = id.and_then(|id| id.parse().ok());
        number
            .and_then(|number| self.files.get(number))
            .expect("a file that is there")
    }

    fn answer(&mut self, request: &Value) -> Value {
        let Value::Object(request) = request else {
            panic!("a request is an object");
        };
        let text = |name: &str| {
            request
                .get(name)
                .map(|text| text.to_text().to_utf8().into_owned())
        };
        let number = |name: &str| match request.get(name) {
            Some(Value::Number(number)) => *number as usize,
            _ => 0,
        };
        let bytes = || {
            STANDARD
                .decode(text("base64").unwrap_or_default())
                .expect("base64")
        };
        match text("operation").as_deref() {
            Some("read") => {
                let content = self.content(request.get("file"));
                let rest = content.get(number("offset")..).unwrap_or_default();
                let part = STANDARD.encode(rest.get(..number("limit")).unwrap_or(rest));
                let size = Value::Number(content.len() as f64);
                Value::Object(Object::from_iter([("base64", Value::from(part)), ("size", size)]))
            }
            Some("write") => {
                assert_eq!(number("at"), self.sink.len());
                self.sink.extend(bytes());
                Value::Null
            }
            Some("finish") => {
                let content = std::mem::take(&mut self.sink);
                self.add(content)
            }
            Some("make") => self.add(bytes()),
            other => panic!("{other:?} is no operation on files"),
        }
    }

    fn run(&mut self, node: &str, parameters: &Object, input: Value) -> Result<Value, Failure> {
        alone::run(node, parameters, input, |request| self.answer(request))
    }
}
