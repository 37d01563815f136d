//! YAML as the JSON that it stands for, in which most OpenAPI documents are written. They are foreign: depth and what aliases
//! repeat are bounded, and values are built on a stack of its own.

use super::size::{VALUES_MAX, too_many_values};
use crate::read::Refused;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};
use std::collections::{HashMap, HashSet};

/// As deep as JSON is read.
const DEPTH_MAX: usize = 120;
/// About what a value takes besides its text, in bytes.
const VALUE_BYTES: usize = 64;
/// What aliases may repeat and anchors keep for each byte of the text, and in any text: without a bound, a few lines stand for
/// gigabytes.
const COPIED_FACTOR: usize = 20;
const COPIED_BYTES: usize = 1 << 20;
/// What the parser says of its own limit.
const TOO_MANY_BRACKETS: &str = "recursion limit exceeded";
/// The merge key of YAML 1.1, which many files use.
const MERGE: &str = "<<";
/// Characters of a name that a message shows.
const SHOWN_MAX: usize = 60;

/// The value of a text's only document.
pub(super) fn read(text: &str) -> Result<Value, Refused> {
    let mut building = Building {
        copied_max: text
            .len()
            .saturating_mul(COPIED_FACTOR)
            .saturating_add(COPIED_BYTES),
        ..Building::default()
    };
    let mut is_begun = false;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| match error.info() {
            TOO_MANY_BRACKETS => too_deep(error.marker()),
            other => wrong(error.marker(), other),
        })?;
        match event {
            Event::DocumentStart(_) if is_begun => {
                return Err(wrong(&span.start, "a second document begins"));
            }
            Event::DocumentStart(_) => is_begun = true,
            event => building.take(event, &span.start)?,
        }
    }
    Ok(building.root)
}

fn wrong(mark: &Marker, why: &str) -> Refused {
    let (line, column) = (mark.line(), mark.col() + 1);
    Refused(format!(
        "its YAML can't be read, in line {line}, column {column}: {why}"
    ))
}

/// A value that is whole.
#[derive(Clone)]
struct Built {
    value: Value,
    /// About what it takes.
    bytes: usize,
    /// Lists and mappings within each other.
    depth: usize,
    /// It and those within.
    values: usize,
}

/// A document as far as it is read.
#[derive(Default)]
struct Building {
    open: Vec<Open>,
    /// Values that aliases may name.
    anchors: HashMap<usize, Built>,
    copied: usize,
    copied_max: usize,
    values: usize,
    root: Value,
}

/// A collection whose end has not come.
struct Open {
    anchor: usize,
    bytes: usize,
    depth: usize,
    values: usize,
    kind: Kind,
}

enum Kind {
    List(Vec<Value>),
    Mapping {
        fields: Map<String, Value>,
        key: Option<Key>,
        /// Fields that came by the merge key, which the mapping's own replace.
        merged: HashSet<String>,
    },
}

enum Key {
    Name(String),
    Merge,
}

impl Building {
    fn take(&mut self, event: Event<'_>, mark: &Marker) -> Result<(), Refused> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if !self.awaits_key() {
                    self.count(1, mark)?;
                }
                let is_plain = style == ScalarStyle::Plain && tag.is_none();
                let is_typed = match tag.as_deref() {
                    Some(tag) => matches!(tag.suffix.as_str(), "int" | "float" | "bool" | "null"),
                    None => is_plain,
                };
                // A key is its text, whatever that would be as a value: `200` is the name of a response.
                let value = match is_typed && !self.awaits_key() {
                    true => resolved(&text),
                    false => Value::from(&*text),
                };
                let bytes = VALUE_BYTES + text.len();
                let built = Built {
                    value,
                    bytes,
                    depth: 0,
                    values: 1,
                };
                self.complete(built, anchor, is_plain, mark)
            }
            Event::Alias(anchor) => {
                let Some(built) = self.anchors.get(&anchor) else {
                    return Err(wrong(mark, "an alias stands within the value that it names"));
                };
                let (bytes, values) = (built.bytes, built.values);
                self.copy(bytes, mark)?;
                self.count(values, mark)?;
                let built = self.anchors.get(&anchor).cloned();
                built.map_or(Ok(()), |built| self.complete(built, 0, false, mark))
            }
            Event::SequenceStart(anchor, _) => self.begin(anchor, Kind::List(Vec::new()), mark),
            Event::MappingStart(anchor, _) => {
                let kind = Kind::Mapping {
                    fields: Map::new(),
                    key: None,
                    merged: HashSet::new(),
                };
                self.begin(anchor, kind, mark)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(mark),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, kind: Kind, mark: &Marker) -> Result<(), Refused> {
        if self.awaits_key() {
            return Err(no_name(mark));
        }
        if self.open.len() >= DEPTH_MAX {
            return Err(too_deep(mark));
        }
        self.count(1, mark)?;
        self.open.push(Open {
            anchor,
            bytes: VALUE_BYTES,
            depth: 0,
            values: 1,
            kind,
        });
        Ok(())
    }

    fn end(&mut self, mark: &Marker) -> Result<(), Refused> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let built = Built {
            value: match open.kind {
                Kind::List(list) => Value::Array(list),
                Kind::Mapping { fields, .. } => Value::Object(fields),
            },
            bytes: open.bytes,
            depth: open.depth + 1,
            values: open.values,
        };
        self.complete(built, open.anchor, false, mark)
    }

    /// Counts what is there once more.
    fn copy(&mut self, bytes: usize, mark: &Marker) -> Result<(), Refused> {
        self.copied = self.copied.saturating_add(bytes);
        match self.copied > self.copied_max {
            true => Err(wrong(
                mark,
                "its aliases repeat too much: use fewer of them, or convert it to JSON",
            )),
            false => Ok(()),
        }
    }

    /// Counts values, before they are made.
    fn count(&mut self, values: usize, mark: &Marker) -> Result<(), Refused> {
        self.values = self.values.saturating_add(values);
        match self.values > VALUES_MAX {
            true => Err(wrong(mark, &too_many_values())),
            false => Ok(()),
        }
    }

    /// A value is there: a key, a field, an element or the document.
    fn complete(
        &mut self,
        built: Built,
        anchor: usize,
        may_merge: bool,
        mark: &Marker,
    ) -> Result<(), Refused> {
        if self.open.len() + built.depth > DEPTH_MAX {
            return Err(too_deep(mark));
        }
        if anchor > 0 {
            self.copy(built.bytes, mark)?;
            self.count(built.values, mark)?;
            self.anchors.insert(anchor, built.clone());
        }
        if self.awaits_key() {
            return match built.value {
                Value::Array(_) | Value::Object(_) => Err(no_name(mark)),
                Value::String(name) => self.key(name, may_merge, mark),
                other => self.key(other.to_string(), false, mark),
            };
        }
        let Some(open) = self.open.last_mut() else {
            self.root = built.value;
            return Ok(());
        };
        open.bytes = open.bytes.saturating_add(built.bytes);
        open.depth = open.depth.max(built.depth);
        open.values = open.values.saturating_add(built.values);
        match &mut open.kind {
            Kind::List(list) => list.push(built.value),
            Kind::Mapping { fields, key, merged } => match key.take() {
                Some(Key::Name(name)) => {
                    merged.remove(&name);
                    fields.insert(name, built.value);
                }
                Some(Key::Merge) => merge(fields, merged, built.value, mark)?,
                None => {}
            },
        }
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        let last = self.open.last().map(|open| &open.kind);
        matches!(last, Some(Kind::Mapping { key: None, .. }))
    }

    fn key(&mut self, name: String, may_merge: bool, mark: &Marker) -> Result<(), Refused> {
        let Some(Open { bytes, kind, .. }) = self.open.last_mut() else {
            return Ok(());
        };
        let Kind::Mapping { fields, key, merged } = kind else {
            return Ok(());
        };
        if may_merge && name == MERGE {
            *key = Some(Key::Merge);
            return Ok(());
        }
        if fields.contains_key(&name) && !merged.contains(&name) {
            let shown = name.chars().filter(|c| !c.is_control()).take(SHOWN_MAX);
            let shown: String = shown.collect();
            return Err(wrong(mark, &format!("the key `{shown}` is used twice")));
        }
        *bytes = bytes.saturating_add(name.len());
        *key = Some(Key::Name(name));
        Ok(())
    }
}

fn too_deep(mark: &Marker) -> Refused {
    wrong(mark, &format!("it is nested more than {DEPTH_MAX} levels deep"))
}

fn no_name(mark: &Marker) -> Refused {
    wrong(mark, "a list or a mapping can't be a key")
}

/// Adds the fields that are not there yet.
fn merge(
    fields: &mut Map<String, Value>,
    merged: &mut HashSet<String>,
    value: Value,
    mark: &Marker,
) -> Result<(), Refused> {
    let sources = match value {
        Value::Array(sources) => sources,
        one => vec![one],
    };
    for source in sources {
        let Value::Object(source) = source else {
            return Err(wrong(mark, "`<<` takes a mapping, or a list of them"));
        };
        for (name, value) in source {
            if !fields.contains_key(&name) {
                merged.insert(name.clone());
                fields.insert(name, value);
            }
        }
    }
    Ok(())
}

/// The value of a plain scalar, by the core schema of YAML 1.2.
fn resolved(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::from(text), Value::Number),
    }
}

/// `None`: the text is not a number. Infinities are not, as JSON has none.
fn number(text: &str) -> Option<Number> {
    let hexadecimal = text.strip_prefix("0x").map(|digits| (digits, 16));
    let other = hexadecimal.or_else(|| text.strip_prefix("0o").map(|digits| (digits, 8)));
    if let Some((digits, radix)) = other {
        return u64::from_str_radix(digits, radix).ok().map(Number::from);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_decimal = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') || !unsigned.bytes().all(is_decimal) {
        return None;
    }
    let signed = text.parse::<i64>().map(Number::from).ok();
    let whole = signed.or_else(|| text.parse::<u64>().map(Number::from).ok());
    whole.or_else(|| Number::from_f64(text.parse::<f64>().ok()?))
}
