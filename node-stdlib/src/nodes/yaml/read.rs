//! Reading: the parser's events to values, on a stack of our own.

use super::scalar;
use heddle_contract::abi::code;
use heddle_values::{Array, JSON_DEPTH_MAX, Object, Text, Value};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use std::collections::{HashMap, HashSet};

/// How much aliases may repeat, in values and bytes of text, so that a few lines can't stand for gigabytes.
const ALIASED_MAX: usize = 8 << 20;

/// What the parser says of its own limit.
const TOO_MANY_BRACKETS: &str = "recursion limit exceeded";

/// What is wrong with a text, and where.
pub(super) struct Wrong {
    pub code: &'static str,
    pub message: String,
    pub line: usize,
    pub column: usize,
}

impl Wrong {
    fn new(code: &'static str, mark: &Marker, message: impl Into<String>) -> Self {
        Wrong {
            code,
            message: message.into(),
            line: mark.line(),
            column: mark.col() + 1,
        }
    }

    fn no_yaml(mark: &Marker, message: impl AsRef<str>) -> Self {
        Wrong::new(
            code::PARSE,
            mark,
            format!("is not valid YAML: {}", message.as_ref()),
        )
    }

    fn too_deep(mark: &Marker) -> Self {
        let message = format!("is nested more than {JSON_DEPTH_MAX} levels deep");
        Wrong::new(code::DEPTH_LIMIT, mark, message)
    }
}

/// The documents of a text; unless `all` are wanted, it may have one only.
pub(super) fn documents(text: &str, all: bool) -> Result<Vec<Value>, Wrong> {
    let mut documents = Vec::new();
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| match error.info() {
            TOO_MANY_BRACKETS => {
                let message = "has brackets nested more than 255 levels deep";
                Wrong::new(code::DEPTH_LIMIT, error.marker(), message)
            }
            other => Wrong::no_yaml(error.marker(), other),
        })?;
        let mark = &span.start;
        match event {
            Event::DocumentStart(_) if !all && !documents.is_empty() => {
                let message = "has a second document (set `all` to get an array of them)";
                return Err(Wrong::new(code::PARSE, mark, message));
            }
            Event::DocumentStart(_) => builder = Builder::default(),
            Event::DocumentEnd => documents.push(std::mem::take(&mut builder.root)),
            event => builder.take(event, mark)?,
        }
    }
    Ok(documents)
}

/// A document as far as it is read.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    /// Values that aliases may name, with their weight.
    anchors: HashMap<usize, (Value, usize)>,
    aliased: usize,
    root: Value,
}

/// A collection whose end has not come.
struct Open {
    anchor: usize,
    /// Values and bytes of text in it.
    weight: usize,
    kind: Kind,
}

enum Kind {
    Sequence(Array),
    Mapping {
        object: Object,
        key: Option<Key>,
        /// Fields that came by `<<`, which the mapping's own replace.
        merged: HashSet<Text>,
    },
}

enum Key {
    Name(Text),
    /// `<<`: what follows decides whether it merges.
    Merge,
}

/// The merge key as text.
const MERGE: &str = "<<";
const MERGE_TAG: &str = "tag:yaml.org,2002:merge";
const MERGE_TAKES: &str = "`<<` takes a mapping or a sequence of mappings";

impl Builder {
    fn take(&mut self, event: Event<'_>, mark: &Marker) -> Result<(), Wrong> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain && tag.is_none();
                let may_merge = is_plain || tag.as_deref().map(full_name).as_deref() == Some(MERGE_TAG);
                if may_merge && text == MERGE && self.awaits_key() {
                    self.anchor(anchor, &MERGE.into(), 1 + MERGE.len());
                    return self.key(Key::Merge, mark);
                }
                let value = typed(&text, is_plain, tag.as_deref(), mark)?;
                self.complete(value, 1 + text.len(), anchor, mark)
            }
            Event::Alias(anchor) => self.alias(anchor, mark),
            Event::SequenceStart(anchor, tag) => {
                collection_tag(tag.as_deref(), &["seq", "omap", "pairs"], "a sequence", mark)?;
                self.begin(anchor, Kind::Sequence(Array::default()), mark)
            }
            Event::MappingStart(anchor, tag) => {
                collection_tag(tag.as_deref(), &["map", "set"], "a mapping", mark)?;
                let kind = Kind::Mapping {
                    object: Object::new(),
                    key: None,
                    merged: HashSet::new(),
                };
                self.begin(anchor, kind, mark)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(mark),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, kind: Kind, mark: &Marker) -> Result<(), Wrong> {
        if self.awaits_key() {
            return Err(Wrong::no_yaml(
                mark,
                "a key that is a sequence or a mapping can't be the name of a field",
            ));
        }
        if self.open.len() >= JSON_DEPTH_MAX {
            return Err(Wrong::too_deep(mark));
        }
        self.open.push(Open {
            anchor,
            weight: 1,
            kind,
        });
        Ok(())
    }

    fn end(&mut self, mark: &Marker) -> Result<(), Wrong> {
        let Some(Open { anchor, weight, kind }) = self.open.pop() else {
            return Ok(());
        };
        let value = match kind {
            Kind::Sequence(array) => array.into(),
            Kind::Mapping { object, .. } => object.into(),
        };
        self.complete(value, weight, anchor, mark)
    }

    fn alias(&mut self, anchor: usize, mark: &Marker) -> Result<(), Wrong> {
        let Some((value, weight)) = self.anchors.get(&anchor).cloned() else {
            return Err(Wrong::no_yaml(
                mark,
                "an alias stands within the value that it names",
            ));
        };
        self.aliased = self.aliased.saturating_add(weight);
        if self.aliased > ALIASED_MAX {
            let message = format!(
                "has aliases that repeat more than {} MiB (write less of it by aliases)",
                ALIASED_MAX >> 20
            );
            return Err(Wrong::new(code::PARSE, mark, message));
        }
        // Who writes an alias there means to merge.
        if self.has_merge_key() && sources(&value).is_none() {
            return Err(Wrong::no_yaml(mark, MERGE_TAKES));
        }
        self.complete(value, weight, 0, mark)
    }

    fn anchor(&mut self, anchor: usize, value: &Value, weight: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, (value.clone(), weight));
        }
    }

    /// A value is there: a key, a field, an element or the document.
    fn complete(&mut self, value: Value, weight: usize, anchor: usize, mark: &Marker) -> Result<(), Wrong> {
        if value.depth() + self.open.len() > JSON_DEPTH_MAX {
            return Err(Wrong::too_deep(mark));
        }
        self.anchor(anchor, &value, weight);
        if self.awaits_key() {
            return match value {
                Value::Array(_) | Value::Object(_) => Err(Wrong::no_yaml(
                    mark,
                    "a key that is a sequence or a mapping can't be the name of a field",
                )),
                scalar => self.key(Key::Name(scalar.to_text()), mark),
            };
        }
        if self.has_merge_key() && sources(&value).is_none() {
            let is_mapping = |value: &Value| matches!(value, Value::Object(_));
            if matches!(&value, Value::Array(values) if values.iter().any(is_mapping)) {
                return Err(Wrong::no_yaml(mark, MERGE_TAKES));
            }
            self.key(Key::Name(MERGE.into()), mark)?;
        }
        let Some(open) = self.open.last_mut() else {
            self.root = value;
            return Ok(());
        };
        open.weight = open.weight.saturating_add(weight);
        match &mut open.kind {
            Kind::Sequence(array) => array.push(value),
            Kind::Mapping { object, key, merged } => match key.take() {
                Some(Key::Name(name)) => {
                    merged.remove(&name);
                    object.insert(name, value);
                }
                _ => sources(&value)
                    .into_iter()
                    .flatten()
                    .for_each(|source| merge(object, merged, source)),
            },
        }
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        let last = self.open.last().map(|open| &open.kind);
        matches!(last, Some(Kind::Mapping { key: None, .. }))
    }

    fn has_merge_key(&self) -> bool {
        let last = self.open.last().map(|open| &open.kind);
        matches!(
            last,
            Some(Kind::Mapping {
                key: Some(Key::Merge),
                ..
            })
        )
    }

    fn key(&mut self, new: Key, mark: &Marker) -> Result<(), Wrong> {
        let Some(Open { weight, kind, .. }) = self.open.last_mut() else {
            return Ok(());
        };
        let Kind::Mapping { object, key, merged } = kind else {
            return Ok(());
        };
        if let Key::Name(name) = &new {
            if object.get_text(name).is_some() && !merged.contains(name) {
                return Err(Wrong::no_yaml(mark, format!("the key `{name}` is used twice")));
            }
            *weight = weight.saturating_add(name.len());
        }
        *key = Some(new);
        Ok(())
    }
}

/// The mappings that a value of `<<` merges; `None` where it is something else.
fn sources(value: &Value) -> Option<Vec<&Object>> {
    match value {
        Value::Object(source) => Some(vec![source]),
        Value::Array(values) => values
            .iter()
            .map(|value| match value {
                Value::Object(source) => Some(source),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// Adds the fields that are not there yet.
fn merge(object: &mut Object, merged: &mut HashSet<Text>, source: &Object) {
    for (name, value) in source.iter() {
        if object.get_text(name).is_none() {
            object.insert(name.clone(), value.clone());
            merged.insert(name.clone());
        }
    }
}

fn typed(text: &str, is_plain: bool, tag: Option<&Tag>, mark: &Marker) -> Result<Value, Wrong> {
    match tag.map(full_name) {
        None if is_plain => Ok(scalar::resolved(text)),
        None => Ok(text.into()),
        Some(tag) => match tag.strip_prefix(CORE) {
            Some(own) => scalar::tagged(own, text)
                .map_err(|name| Wrong::no_yaml(mark, format!("the tag `!!{own}` takes {name}"))),
            // What a tag of somebody's own means is not known: its text is what there is.
            None => Ok(text.into()),
        },
    }
}

fn collection_tag(tag: Option<&Tag>, allowed: &[&str], what: &str, mark: &Marker) -> Result<(), Wrong> {
    let Some(tag) = tag.map(full_name) else {
        return Ok(());
    };
    match tag.strip_prefix(CORE) {
        Some(own) if !allowed.contains(&own) => Err(Wrong::no_yaml(
            mark,
            format!("the tag `!!{own}` stands at {what}"),
        )),
        _ => Ok(()),
    }
}

const CORE: &str = "tag:yaml.org,2002:";

fn full_name(tag: &Tag) -> String {
    format!("{}{}", tag.handle, tag.suffix)
}
