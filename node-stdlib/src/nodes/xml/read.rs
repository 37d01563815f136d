//! Reading a document: quick-xml's events to values, and the rules of well-formedness that quick-xml leaves to its
//! user. A document type is passed over: no entity is expanded but those that XML itself defines.

use super::characters::{is_allowed, is_name, is_space};
use super::options::{Options, TEXT};
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, Object, Text, Value};
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use std::collections::HashMap;

/// What is wrong with a text, and at which byte.
pub(super) struct Wrong {
    pub code: &'static str,
    pub message: String,
    pub offset: usize,
}

impl Wrong {
    fn new(offset: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Wrong {
            code: code::PARSE,
            message: format!("is not valid XML: {message}"),
            offset,
        }
    }

    fn too_deep(offset: usize) -> Self {
        Wrong {
            code: code::DEPTH_LIMIT,
            message: format!("is nested more than {JSON_DEPTH_MAX} levels deep"),
            offset,
        }
    }
}

/// An object of the root element.
pub(super) fn parse(text: &str, options: &Options) -> Result<Value, Wrong> {
    if let Some((offset, character)) = text.char_indices().find(|(_, c)| !is_allowed(*c)) {
        let message = format!("the character U+{:04X} is not allowed", u32::from(character));
        return Err(Wrong::new(offset, message));
    }
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_comments = true;
    config.expand_empty_elements = true;
    let mut document = Document {
        options,
        open: Vec::new(),
        root: None,
        has_doctype: false,
    };
    loop {
        let offset = reader.buffer_position();
        let event = reader.read_event();
        let event = event.map_err(|error| Wrong::new(reader.error_position() as usize, sentence(&error)))?;
        if let Event::Eof = event {
            return document.finish(text.len());
        }
        document.take(event, offset as usize)?;
    }
}

/// What is read so far.
struct Document<'a> {
    options: &'a Options,
    open: Vec<Element>,
    root: Option<Object>,
    has_doctype: bool,
}

/// An element whose end has not come.
#[derive(Default)]
struct Element {
    name: String,
    /// Attributes and elements by name, in the order in which they came first.
    fields: Vec<(Text, Vec<Value>)>,
    /// Where a name is among the fields.
    places: HashMap<Text, usize>,
    has_elements: bool,
    text: String,
}

impl Document<'_> {
    fn take(&mut self, event: Event<'_>, offset: usize) -> Result<(), Wrong> {
        match event {
            Event::Start(start) => self.begin(&start, offset),
            Event::End(_) => self.end(offset),
            Event::Text(text) => {
                if text.contains("]]>") {
                    return Err(Wrong::new(offset, "`]]>` stands outside of a CDATA section"));
                }
                self.text(&text.xml10_content(), offset)
            }
            Event::GeneralRef(reference) => {
                let text = resolved(&reference, offset)?;
                self.inner_text(&text, offset)
            }
            Event::CData(data) => self.inner_text(&data.xml10_content(), offset),
            Event::Decl(_) if offset > 0 => Err(Wrong::new(
                offset,
                "the XML declaration may only stand at the very beginning",
            )),
            Event::Decl(declaration) => match declaration.version().as_deref() {
                Ok(version) if version.starts_with("1.") => Ok(()),
                _ => Err(Wrong::new(offset, "the XML declaration has no version 1.0")),
            },
            Event::PI(instruction) if !is_name(instruction.target()) => {
                Err(Wrong::new(offset, "a processing instruction begins with a name"))
            }
            Event::DocType(_) if self.has_doctype || self.root.is_some() || !self.open.is_empty() => Err(
                Wrong::new(offset, "a document type may only stand once, before the element"),
            ),
            Event::DocType(_) => {
                self.has_doctype = true;
                Ok(())
            }
            Event::PI(_) | Event::Comment(_) | Event::Empty(_) | Event::Eof => Ok(()),
        }
    }

    fn begin(&mut self, start: &BytesStart<'_>, offset: usize) -> Result<(), Wrong> {
        if self.open.len() >= JSON_DEPTH_MAX {
            return Err(Wrong::too_deep(offset));
        }
        if self.root.is_some() {
            return Err(Wrong::new(
                offset,
                "a document has one element that holds all others",
            ));
        }
        let name = start.name().into_inner();
        if !is_name(name) {
            return Err(Wrong::new(
                offset,
                format!("`{name}` is not a valid element name"),
            ));
        }
        let mut element = Element {
            name: name.to_owned(),
            ..Element::default()
        };
        attributes(start, offset, &self.options.attribute_prefix, &mut element)?;
        self.open.push(element);
        Ok(())
    }

    fn end(&mut self, offset: usize) -> Result<(), Wrong> {
        // quick-xml has seen to it that an element is open.
        let Some(element) = self.open.pop() else {
            return Ok(());
        };
        let (name, value) = element.close(self.options);
        if value.depth() > JSON_DEPTH_MAX {
            return Err(Wrong::too_deep(offset));
        }
        match self.open.last_mut() {
            Some(parent) => {
                parent.has_elements = true;
                parent.push(&name, value);
            }
            None => {
                let is_array = self.options.arrays.contains(&Text::from(name.as_str()));
                let value = if is_array { vec![value].into() } else { value };
                self.root = Some(Object::from_iter([(name.as_str(), value)]));
            }
        }
        Ok(())
    }

    /// Text that may be the space around the document's element.
    fn text(&mut self, text: &str, offset: usize) -> Result<(), Wrong> {
        match self.open.is_empty() && text.chars().all(is_space) {
            true => Ok(()),
            false => self.inner_text(text, offset),
        }
    }

    fn inner_text(&mut self, text: &str, offset: usize) -> Result<(), Wrong> {
        match self.open.last_mut() {
            Some(element) => {
                element.text.push_str(text);
                Ok(())
            }
            None => Err(Wrong::new(
                offset,
                "text stands outside of the document's element",
            )),
        }
    }

    fn finish(self, length: usize) -> Result<Value, Wrong> {
        if let Some(element) = self.open.last() {
            return Err(Wrong::new(
                length,
                format!("`<{}>` is never closed", element.name),
            ));
        }
        let root = self.root.ok_or_else(|| Wrong::new(length, "it has no element"))?;
        Ok(root.into())
    }
}

impl Element {
    /// Adds an attribute or an element.
    fn push(&mut self, name: &str, value: Value) {
        let name = Text::from(name);
        match self
            .places
            .get(&name)
            .and_then(|place| self.fields.get_mut(*place))
        {
            Some((_, values)) => values.push(value),
            None => {
                self.places.insert(name.clone(), self.fields.len());
                self.fields.push((name, vec![value]));
            }
        }
    }

    fn close(mut self, options: &Options) -> (String, Value) {
        let blank = self.text.chars().all(is_space);
        let text = match options.trim {
            true => self.text.trim_matches(is_space),
            false if blank && self.has_elements => "",
            false => self.text.as_str(),
        }
        .to_owned();
        if self.fields.is_empty() {
            return (self.name, text.into());
        }
        if !text.is_empty() {
            self.push(TEXT, text.into());
        }
        let mut object = Object::with_capacity(self.fields.len());
        for (name, mut values) in self.fields {
            let value = match values.len() {
                1 if !options.arrays.contains(&name) => values.remove(0),
                _ => values.into(),
            };
            object.insert(name, value);
        }
        (self.name, object.into())
    }
}

fn attributes(
    start: &BytesStart<'_>,
    offset: usize,
    prefix: &str,
    element: &mut Element,
) -> Result<(), Wrong> {
    let raw = start.attributes_raw();
    if let Some(at) = missing_space(raw) {
        let at = offset + 1 + start.name().into_inner().len() + at;
        return Err(Wrong::new(at, "a space is missing before an attribute"));
    }
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| Wrong::new(offset, sentence(&error)))?;
        let name = attribute.key.into_inner();
        if !is_name(name) {
            return Err(Wrong::new(
                offset,
                format!("`{name}` is not a valid attribute name"),
            ));
        }
        if attribute.value.contains('<') {
            return Err(Wrong::new(
                offset,
                format!("`<` stands in the attribute `{name}`"),
            ));
        }
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|error| {
                Wrong::new(offset, format!("the attribute `{name}` has {}", sentence(&error)))
            })?;
        if let Some(character) = value.chars().find(|c| !is_allowed(*c)) {
            return Err(forbidden(character, offset));
        }
        element.push(&format!("{prefix}{name}"), value.as_ref().into());
    }
    Ok(())
}

/// Where in the text of a tag behind its name an attribute follows another one, or the name, without a space.
fn missing_space(raw: &str) -> Option<usize> {
    let mut quote = None;
    let mut after_value = false;
    for (at, character) in raw.char_indices() {
        match quote {
            Some(open) if character == open => (quote, after_value) = (None, true),
            Some(_) => {}
            None if after_value && !is_space(character) => return Some(at),
            None => {
                quote = matches!(character, '"' | '\'').then_some(character);
                after_value = false;
            }
        }
    }
    None
}

fn resolved(reference: &BytesRef<'_>, offset: usize) -> Result<String, Wrong> {
    match reference.resolve_char_ref() {
        Ok(Some(character)) if is_allowed(character) => Ok(character.into()),
        Ok(Some(character)) => Err(forbidden(character, offset)),
        Ok(None) => {
            let name: &str = reference;
            let known = resolve_predefined_entity(name).map(str::to_owned);
            known.ok_or_else(|| {
                let message = format!("`&{name};` is unknown: entities of a document type are not expanded");
                Wrong::new(offset, message)
            })
        }
        Err(error) => Err(Wrong::new(offset, sentence(&error))),
    }
}

fn forbidden(character: char, offset: usize) -> Wrong {
    let message = format!("the character U+{:04X} is not allowed", u32::from(character));
    Wrong::new(offset, message)
}

/// What quick-xml says, as part of a sentence.
fn sentence(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    let text = [
        "syntax error: ",
        "ill-formed document: ",
        "error while parsing attribute: ",
    ]
    .iter()
    .fold(text.as_str(), |text, prefix| {
        text.strip_prefix(prefix).unwrap_or(text)
    });
    text.trim_end_matches('.').to_owned()
}
