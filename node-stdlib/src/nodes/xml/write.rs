//! Writing a document: the inverse of reading one.

use super::characters::{is_allowed, is_name, is_space};
use super::options::{Options, TEXT};
use crate::failure::Failure;
use crate::nodes::parameters;
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, Object, Text, Value};

/// The document of an object with one field, its root element.
pub(super) fn stringify(value: &Value, options: &Options) -> Result<String, Failure> {
    let Value::Object(document) = value else {
        return Err(parameters::mismatch(
            "value",
            "an object with the root element",
            value,
        ));
    };
    if value.deeper_than(JSON_DEPTH_MAX) {
        let message = format!("Parameter `value` is nested more than {JSON_DEPTH_MAX} levels deep.");
        return Err(Failure::new(code::DEPTH_LIMIT, message));
    }
    let mut roots = document.iter();
    let (Some((name, root)), None) = (roots.next(), roots.next()) else {
        let takes = "an object with one field, the root element";
        return Err(parameters::mismatch("value", takes, value));
    };
    let root = match root {
        Value::Array(elements) => match &**elements {
            [root] => root,
            _ => return Err(wrong(name, "is the root element, of which there is one")),
        },
        root => root,
    };
    let mut writer = Writer {
        options,
        out: String::new(),
    };
    if options.declaration {
        writer.out.push_str(r#"<?xml version="1.0" encoding="UTF-8"?>"#);
        writer.out.push_str(if options.indent > 0 { "\n" } else { "" });
    }
    writer.element(name, root, 0)?;
    Ok(writer.out)
}

struct Writer<'a> {
    options: &'a Options,
    out: String,
}

/// What calls itself for each level keeps little on the stack, which is small: all else is in functions of their own.
impl Writer<'_> {
    fn element(&mut self, name: &Text, value: &Value, depth: usize) -> Result<(), Failure> {
        let tag = name.to_utf8();
        if !is_name(&tag) {
            return Err(wrong(name, "is not a valid XML name"));
        }
        self.out.extend(["<", &tag]);
        let written = match value {
            Value::Array(_) => return Err(wrong(name, "is an array within an array, which XML can't say")),
            Value::Object(fields) => self.fields(fields, depth)?,
            other => self.value(other, name)?,
        };
        match written {
            true => self.out.extend(["</", &tag, ">"]),
            false => self.out.push_str("/>"),
        }
        Ok(())
    }

    /// Attributes, text and elements; whether anything came after the attributes.
    fn fields(&mut self, fields: &Object, depth: usize) -> Result<bool, Failure> {
        let elements = self.elements(fields);
        let has_text = self.begin(fields)?;
        if elements.is_empty() {
            return Ok(has_text);
        }
        if !has_text {
            self.out.push('>');
        }
        // Beside text, space would be text as well.
        let indented = self.options.indent > 0 && !has_text;
        for (name, value) in elements {
            if indented {
                self.line(depth + 1);
            }
            self.element(name, value, depth + 1)?;
        }
        if indented {
            self.line(depth);
        }
        Ok(true)
    }

    /// The fields that are elements, those of lists one by one.
    #[inline(never)]
    fn elements<'f>(&self, fields: &'f Object) -> Vec<(&'f Text, &'f Value)> {
        let mut elements = Vec::new();
        for (name, value) in fields.iter() {
            if *name == TEXT || self.attribute(name).is_some() {
                continue;
            }
            match value {
                Value::Array(values) => elements.extend(values.iter().map(|value| (name, value))),
                value => elements.push((name, value)),
            }
        }
        elements
    }

    /// Attributes and text; whether there is text.
    #[inline(never)]
    fn begin(&mut self, fields: &Object) -> Result<bool, Failure> {
        for (name, value) in fields.iter() {
            if let Some(attribute) = self.attribute(name) {
                self.write_attribute(name, &attribute, value)?;
            }
        }
        let key = Text::from(TEXT);
        let text = fields.get_text(&key).map(Value::to_text).unwrap_or_default();
        self.open_with(&text, &key)
    }

    /// An element of text; whether there is any.
    #[inline(never)]
    fn value(&mut self, value: &Value, name: &Text) -> Result<bool, Failure> {
        self.open_with(&value.to_text(), name)
    }

    fn line(&mut self, depth: usize) {
        let spaces = depth.saturating_mul(self.options.indent);
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', spaces));
    }

    /// The name of the attribute that a field is. Without a prefix there are none.
    fn attribute(&self, name: &Text) -> Option<String> {
        let prefix = self.options.attribute_prefix.as_str();
        if prefix.is_empty() || *name == TEXT {
            return None;
        }
        name.to_utf8().strip_prefix(prefix).map(str::to_owned)
    }

    fn write_attribute(&mut self, field: &Text, name: &str, value: &Value) -> Result<(), Failure> {
        if !is_name(name) {
            return Err(wrong(field, "is not a valid XML name"));
        }
        if matches!(value, Value::Array(_) | Value::Object(_)) {
            return Err(wrong(field, "is an attribute, which takes text"));
        }
        self.out.extend([" ", name, "=\""]);
        self.escaped(&value.to_text(), field, true)?;
        self.out.push('"');
        Ok(())
    }

    /// Ends the tag and writes text, if there is any.
    fn open_with(&mut self, text: &Text, field: &Text) -> Result<bool, Failure> {
        if text.is_empty() {
            return Ok(false);
        }
        self.out.push('>');
        self.escaped(text, field, false)?;
        Ok(true)
    }

    fn escaped(&mut self, text: &Text, field: &Text, in_attribute: bool) -> Result<(), Failure> {
        for character in text.to_utf8().chars() {
            match character {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' if in_attribute => self.out.push_str("&quot;"),
                // As they are, these would be read as spaces or line feeds.
                '\r' => self.out.push_str("&#13;"),
                '\n' | '\t' if in_attribute && is_space(character) => {
                    let number = u32::from(character).to_string();
                    self.out.extend(["&#", &number, ";"]);
                }
                allowed if is_allowed(allowed) => self.out.push(allowed),
                other => {
                    let message = format!(
                        "has the character U+{:04X}, which XML can't say",
                        u32::from(other)
                    );
                    return Err(wrong(field, &message));
                }
            }
        }
        Ok(())
    }
}

#[cold]
#[inline(never)]
fn wrong(name: &Text, what: &str) -> Failure {
    Failure::new(
        code::PARAMETER,
        format!("The field `{name}` of the value {what}."),
    )
}
