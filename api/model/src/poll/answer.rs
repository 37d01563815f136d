//! The elements of the list in an answer, told apart by their ids. Answers come from anyone: no part of them is built that is not
//! needed, and nothing here recurses over them without a bound.

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Number, Value};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt;

/// Elements of one answer.
const ELEMENTS_MAX: usize = 2_000;
const CURSOR_BYTES_MAX: usize = 2_000;
/// Bytes of the names of a table's columns as JSON, which each row has.
const NAMES_BYTES_MAX: usize = 16 << 10;
/// What says in a row of a table which it is.
const ROW_NUMBER: &str = "row_number";

/// What is wrong with an answer, to be read behind "the answer".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AnswerProblem(String);

/// Something in a list.
#[derive(Clone, Debug)]
pub struct Element<'a> {
    /// As it stands in the answer; of a row of a table, its cells by the names of their columns.
    pub json: Cow<'a, RawValue>,
    /// Its id as it stands there, if the node says where that is.
    pub id: Option<Cow<'a, RawValue>>,
    /// What tells it from others.
    pub identity: String,
}

/// What is in an answer.
#[derive(Clone, Debug)]
pub struct Found<'a> {
    /// In the answer's order.
    pub elements: Vec<Element<'a>>,
    /// What the next request says; `None`: what this one said.
    pub cursor: Option<String>,
}

pub(super) fn found<'a>(
    answer: &'a str,
    (items, id, is_table): (Option<&str>, Option<&str>, bool),
    cursor: Option<&str>,
) -> Result<Found<'a>, AnswerProblem> {
    let whole: &RawValue =
        serde_json::from_str(answer).map_err(|error| AnswerProblem(format!("is not valid JSON: {error}")))?;
    let place = match items {
        None => "it".to_owned(),
        Some(path) => format!("`{path}`"),
    };
    let list = match items {
        None => Some(whole),
        Some(path) => at(whole, path),
    };
    // Services leave out what is empty.
    let list = list.filter(|list| items.is_none() || list.get() != "null");
    let elements = match list {
        None => Vec::new(),
        Some(list) => elements(list).ok_or_else(|| {
            AnswerProblem(format!(
                "has no list where `items` says: {place} is not an array. Correct `items`"
            ))
        })?,
    };
    if elements.len() > ELEMENTS_MAX {
        return Err(AnswerProblem(format!(
            "has more than {ELEMENTS_MAX} elements. Ask for fewer, such as the newest, by `query` or by a `cursor`"
        )));
    }
    let numbered = (0..).zip(elements);
    let elements = match is_table {
        true => rows(numbered, id)?,
        false => numbered
            .map(|(number, json)| element(number, json, id))
            .collect::<Result<_, _>>()?,
    };
    Ok(Found {
        elements,
        cursor: cursor.and_then(|path| cursor_at(whole, path)),
    })
}

fn element<'a>(number: usize, json: &'a RawValue, id: Option<&str>) -> Result<Element<'a>, AnswerProblem> {
    let Some(path) = id else {
        let identity = canonical(json).ok_or_else(|| {
            AnswerProblem(format!(
                "can't be compared at element {number}, which is nested too deeply or contains invalid text. Say where the ids \
                 are by `id`"
            ))
        })?;
        return Ok(Element {
            json: Cow::Borrowed(json),
            id: None,
            identity,
        });
    };
    let id = at(json, path).filter(|id| id.get() != "null");
    let identity = id.and_then(canonical);
    match (id, identity) {
        (Some(id), Some(identity)) => Ok(Element {
            json: Cow::Borrowed(json),
            id: Some(Cow::Borrowed(id)),
            identity,
        }),
        _ => Err(AnswerProblem(format!(
            "has no `{path}` in element {number} of its list. Correct `id`, or leave it out: then the whole element is compared"
        ))),
    }
}

/// The rows of a table, whose first has the names of its columns. Without an id, a row is compared by its cells, wherever it stands;
/// one without cells does not count.
fn rows<'a>(
    mut numbered: impl Iterator<Item = (usize, &'a RawValue)>,
    id: Option<&str>,
) -> Result<Vec<Element<'a>>, AnswerProblem> {
    let Some((_, head)) = numbered.next() else {
        return Ok(Vec::new());
    };
    let names: Vec<String> = cells(0, head)?.into_iter().map(name_of).collect();
    let names: Vec<Option<String>> = names.into_iter().map(written_name).collect();
    if names.iter().flatten().map(String::len).sum::<usize>() > NAMES_BYTES_MAX {
        return Err(AnswerProblem(format!(
            "has names of columns with more than {} KiB together",
            NAMES_BYTES_MAX >> 10
        )));
    }
    let mut elements = Vec::new();
    for (number, row) in numbered {
        let cells = cells(number, row)?;
        if cells.is_empty() {
            continue;
        }
        let unreadable = || AnswerProblem(format!("can't be read at element {number} of its list"));
        let json = named(&names, &cells, number + 1).ok_or_else(unreadable)?;
        elements.push(match id {
            None => Element {
                identity: element(number, row, None)?.identity,
                json: Cow::Owned(json),
                id: None,
            },
            Some(_) => {
                let Element { id, identity, .. } = element(number, &json, id)?;
                let id = id.map(|id| Cow::Owned(id.into_owned()));
                Element {
                    json: Cow::Owned(json),
                    id,
                    identity,
                }
            }
        });
    }
    Ok(elements)
}

fn cells(number: usize, row: &RawValue) -> Result<Vec<&RawValue>, AnswerProblem> {
    elements(row).ok_or_else(|| {
        AnswerProblem(format!(
            "has no list of cells in element {number} of its list. Correct `items`, or leave `table` out"
        ))
    })
}

/// What a column is called; empty if its first cell is neither text nor a number.
fn name_of(cell: &RawValue) -> String {
    text_or_number(cell).unwrap_or_default()
}

/// A text, or a number as one. Nothing is built of what is neither.
fn text_or_number(value: &RawValue) -> Option<String> {
    match value.get().starts_with('"') {
        true => serde_json::from_str(value.get()).ok(),
        false => number(value).map(|number| number.to_string()),
    }
}

/// The name of a column as rows have it; none of one that they don't have.
fn written_name(name: String) -> Option<String> {
    let is_one = !name.is_empty() && name != ROW_NUMBER;
    is_one.then(|| Value::from(name).to_string())
}

/// Cells by the names of their columns, as text: nothing is built of what a cell has.
fn named(names: &[Option<String>], cells: &[&RawValue], number: usize) -> Option<Box<RawValue>> {
    let mut text = format!("{{\"{ROW_NUMBER}\":{number}");
    for (place, name) in names.iter().enumerate() {
        let Some(name) = name else { continue };
        let cell = cells.get(place).map_or("\"\"", |cell| cell.get());
        text.push(',');
        text.push_str(name);
        text.push(':');
        text.push_str(cell);
    }
    text.push('}');
    RawValue::from_string(text).ok()
}

fn cursor_at(whole: &RawValue, path: &str) -> Option<String> {
    let text = text_or_number(at(whole, path)?)?;
    (!text.is_empty() && text.len() <= CURSOR_BYTES_MAX).then_some(text)
}

/// A value's hash that is the same in whichever order objects have their fields. The parser has a limit for depth. No value is built
/// for it, which would take a hundred times the memory of an answer that is made for that.
fn canonical(json: &RawValue) -> Option<String> {
    let mut hash = Sha256::new();
    match number(json) {
        // Ids may have more digits than are kept of such a number.
        Some(number) if number.is_f64() => hash.update(json.get()),
        _ => {
            let mut text = Vec::new();
            let mut read = serde_json::Deserializer::from_str(json.get());
            Canonical(&mut text).deserialize(&mut read).ok()?;
            hash.update(text);
        }
    }
    Some(hex::encode(hash.finalize()))
}

fn number(json: &RawValue) -> Option<Number> {
    let begins = json.get().as_bytes().first()?;
    let is_one = *begins == b'-' || begins.is_ascii_digit();
    is_one.then(|| serde_json::from_str(json.get()).ok()).flatten()
}

/// Writes a value behind a text, with the fields of objects in the order of their names.
struct Canonical<'t>(&'t mut Vec<u8>);

impl Canonical<'_> {
    fn scalar(self, scalar: impl Serialize) {
        // Neither what is written nor where can fail.
        let _ = serde_json::to_writer(self.0, &scalar);
    }
}

impl<'de> DeserializeSeed<'de> for Canonical<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, read: D) -> Result<(), D::Error> {
        read.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Canonical<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.scalar(());
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.scalar(value);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.scalar(value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.scalar(value);
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.scalar(value);
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.scalar(value);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        self.0.push(b'[');
        while elements.next_element_seed(Canonical(&mut *self.0))?.is_some() {
            self.0.push(b',');
        }
        self.0.push(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        self.0.push(b'{');
        let begin = self.0.len();
        // Of each field, where its name ends among the names, and where it does in the text.
        let (mut names, mut ends) = (String::new(), Vec::new());
        while let Some(name) = fields.next_key::<Cow<'_, str>>()? {
            names.push_str(&name);
            Canonical(&mut *self.0).scalar(&*name);
            fields.next_value_seed(Canonical(&mut *self.0))?;
            self.0.push(b',');
            ends.push((names.len(), self.0.len()));
        }
        let text = self.0.split_off(begin);
        let (mut name_begin, mut field_begin) = (0, begin);
        let mut sorted = Vec::with_capacity(ends.len());
        for (name_end, field_end) in ends {
            let name = names.get(name_begin..name_end).unwrap_or_default();
            let field = field_begin - begin..field_end - begin;
            sorted.push((name, text.get(field).unwrap_or_default()));
            (name_begin, field_begin) = (name_end, field_end);
        }
        // Of several fields of one name, the last one counts: it comes first, and the others are left out.
        sorted.reverse();
        sorted.sort_by_key(|(name, _)| *name);
        sorted.dedup_by_key(|(name, _)| *name);
        for (_, field) in sorted {
            self.0.extend_from_slice(field);
        }
        self.0.push(b'}');
        Ok(())
    }
}

/// What stands at a dotted path: names of fields and numbers of elements; negative ones count from the end.
fn at<'a>(value: &'a RawValue, path: &str) -> Option<&'a RawValue> {
    path.split('.')
        .try_fold(value, |value, name| match value.get().as_bytes().first() {
            Some(b'{') => field(value, name),
            Some(b'[') => {
                let elements = elements(value)?;
                let number: isize = name.parse().ok()?;
                let place = match number < 0 {
                    true => elements.len().checked_sub(number.unsigned_abs())?,
                    false => number.unsigned_abs(),
                };
                elements.get(place).copied()
            }
            _ => None,
        })
}

/// A field of an object; the last of those that are called so, as elsewhere.
fn field<'a>(object: &'a RawValue, name: &str) -> Option<&'a RawValue> {
    struct Named<'n>(&'n str);

    impl<'de> Visitor<'de> for Named<'_> {
        type Value = Option<&'de RawValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
            let mut found = None;
            while let Some(name) = fields.next_key::<Cow<'_, str>>()? {
                match name == self.0 {
                    true => found = Some(fields.next_value()?),
                    false => {
                        fields.next_value::<IgnoredAny>()?;
                    }
                }
            }
            Ok(found)
        }
    }

    let mut read = serde_json::Deserializer::from_str(object.get());
    read.deserialize_map(Named(name)).ok().flatten()
}

/// The elements of an array; none of what is not an array.
fn elements(array: &RawValue) -> Option<Vec<&RawValue>> {
    struct Elements;

    impl<'de> Visitor<'de> for Elements {
        type Value = Vec<&'de RawValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
            let mut found = Vec::new();
            // One more than are allowed, by which that is told.
            while found.len() <= ELEMENTS_MAX
                && let Some(element) = elements.next_element()?
            {
                found.push(element);
            }
            while elements.next_element::<IgnoredAny>()?.is_some() {}
            Ok(found)
        }
    }

    let mut read = serde_json::Deserializer::from_str(array.get());
    read.deserialize_seq(Elements).ok()
}
