//! Values to JSON text, as JSON.stringify does.

use super::number::write_number;
use super::plain::{is_plain, plain_bytes};
use super::{Text, Value};

impl Value {
    /// The value as JSON text.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    /// The value as compact JSON, appended to `out`. What JSON cannot say is written as `null` or left out, as by
    /// `JSON.stringify`; lone surrogates are escaped.
    pub fn write_json(&self, out: &mut String) {
        Printer {
            out,
            indent: "",
            depth: 0,
        }
        .value(self);
    }

    /// The value as JSON with a line for each element and property, indented by `indent` for each level;
    /// compact when `indent` is empty. See [`json_indent`] for `JSON.stringify`'s third argument.
    pub fn write_json_pretty(&self, out: &mut String, indent: &str) {
        Printer {
            out,
            indent,
            depth: 0,
        }
        .value(self);
    }
}

/// What `JSON.stringify` indents by, given its third argument: up to ten spaces, or the first ten units of a
/// string.
pub fn json_indent(space: &Value) -> String {
    match space {
        Value::Number(count) => " ".repeat(count.clamp(0.0, 10.0) as usize),
        Value::String(text) => text.slice(0, 10).to_utf8().into_owned(),
        _ => String::new(),
    }
}

struct Printer<'a> {
    out: &'a mut String,
    indent: &'a str,
    depth: usize,
}

impl Printer<'_> {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Undefined | Value::Null | Value::Function(_) => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Number(number) if number.is_finite() => write_number(*number, self.out),
            Value::Number(_) => self.out.push_str("null"),
            Value::String(text) => write_string(text, self.out),
            Value::Temporal(temporal) => match temporal.to_json() {
                Some(text) => write_string(&text.into(), self.out),
                None => self.out.push_str("null"),
            },
            Value::Array(array) => self.list('[', ']', array.iter(), Self::value),
            Value::Object(object) => {
                let properties = object.iter().filter(|(_, value)| !value.is_left_out());
                self.list('{', '}', properties, |printer, (name, value)| {
                    write_string(name, printer.out);
                    printer
                        .out
                        .push_str(if printer.indent.is_empty() { ":" } else { ": " });
                    printer.value(value);
                });
            }
        }
    }

    fn list<T>(
        &mut self,
        open: char,
        close: char,
        items: impl Iterator<Item = T>,
        item: impl Fn(&mut Self, T),
    ) {
        self.out.push(open);
        self.depth += 1;
        let mut empty = true;
        for each in items {
            if !empty {
                self.out.push(',');
            }
            empty = false;
            self.line();
            item(self, each);
        }
        self.depth -= 1;
        if !empty {
            self.line();
        }
        self.out.push(close);
    }

    fn line(&mut self) {
        if self.indent.is_empty() {
            return;
        }
        self.out.push('\n');
        for _ in 0..self.depth {
            self.out.push_str(self.indent);
        }
    }
}

fn write_string(text: &Text, out: &mut String) {
    if let Some(text) = text.as_str().filter(|text| is_plain(text.as_bytes())) {
        out.reserve(text.len() + 2);
        out.push('"');
        out.push_str(text);
        out.push('"');
        return;
    }
    out.push('"');
    match text.as_str() {
        Some(text) => write_escaped(text, out),
        None => {
            for point in char::decode_utf16(text.units()) {
                match point {
                    Ok(character) => write_escaped(character.encode_utf8(&mut [0; 4]), out),
                    Err(lone) => write_unit(lone.unpaired_surrogate(), out),
                }
            }
        }
    }
    out.push('"');
}

fn write_escaped(text: &str, out: &mut String) {
    let mut rest = text;
    loop {
        let (plain, others) = rest.split_at(plain_bytes(rest.as_bytes()));
        out.push_str(plain);
        let Some(byte) = others.bytes().next() else { return };
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            _ => write_unit(byte.into(), out),
        }
        rest = &others[1..];
    }
}

fn write_unit(unit: u16, out: &mut String) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        out.push(char::from(b"0123456789abcdef"[usize::from(unit >> shift & 15)]));
    }
}
