//! A host that keeps files in memory, for nodes that read and write them in pieces.

use crate::support::{Fake, value};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_node_stdlib::failure::Failure;
use heddle_node_stdlib::node::{Outcome, Step};
use heddle_node_stdlib::nodes::lookup;
use heddle_values::{Object, Value};

/// Bytes of base64.
pub fn decoded(text: &str) -> Vec<u8> {
    STANDARD.decode(text).unwrap()
}

/// A host that keeps files by number.
#[derive(Default)]
pub struct Host {
    pub files: Vec<Vec<u8>>,
    sink: Vec<u8>,
    pub effects: usize,
}

impl Host {
    /// Keeps a file; the value that refers to it.
    pub fn add(&mut self, name: &str, content: Vec<u8>) -> Value {
        self.files.push(content);
        let id = (self.files.len() - 1).to_string();
        let value = [("$file", id), ("name", name.to_owned())];
        Value::Object(
            value
                .into_iter()
                .map(|(key, text)| (key, Value::from(text)))
                .collect(),
        )
    }

    pub fn content(&self, file: &Value) -> &[u8] {
        let Value::Object(file) = file else {
            panic!("{file:?}")
        };
        let id: usize = file.get("$file").unwrap().to_text().to_utf8().parse().unwrap();
        &self.files[id]
    }

    fn answer(&mut self, request: &Value) -> Value {
        self.effects += 1;
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
                let content = self.content(request.get("file").unwrap());
                let rest = &content[number("offset")..];
                let part = STANDARD.encode(&rest[..rest.len().min(number("limit"))]);
                let size = Value::Number(content.len() as f64);
                Object::from_iter([("base64", Value::from(part)), ("size", size)]).into()
            }
            "write" => {
                assert_eq!(number("at"), self.sink.len());
                match request.get("text") {
                    Some(written) => self.sink.extend(written.to_text().to_utf8().bytes()),
                    None => self.sink.extend(decoded(&text("base64"))),
                }
                Value::Null
            }
            "finish" => {
                assert_eq!(number("at"), self.sink.len());
                let content = std::mem::take(&mut self.sink);
                self.add(&text("name"), content)
            }
            "make" => self.add(&text("name"), decoded(&text("base64"))),
            other => panic!("{other}"),
        }
    }

    /// What leaves a node that reads and writes files.
    pub fn run(&mut self, node: &str, parameters: &str, input: Value) -> Result<Value, Failure> {
        let mut fake = Fake {
            ports: vec![Some(input)],
            ..Fake::default()
        };
        let Value::Object(parameters) = value(parameters) else {
            panic!("{parameters}")
        };
        let (run, _) = lookup(node).unwrap();
        let mut outcome = run(&parameters, &mut fake)?;
        loop {
            outcome = match outcome {
                Outcome::Step {
                    request,
                    step: Step(step),
                    ..
                } => step.resume(self.answer(&request), &mut fake)?,
                Outcome::Emit(emission) => return Ok(emission.0[0].1.clone()),
                other => panic!("{other:?}"),
            };
        }
    }
}
