//! The things in an answer, each told from others by its id. Answers come from anyone: no part of them is built that is not
//! needed, and nothing here recurses over them without a bound.

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt;

/// Things of one answer.
const THINGS_MAX: usize = 2_000;
const CURSOR_BYTES_MAX: usize = 2_000;
/// Bytes of the names of a table's columns, which each row has.
const NAMES_BYTES_MAX: usize = 16 << 10;
/// What says in a row of a table which it is.
const ROW_NUMBER: &str = "row_number";

/// What is wrong with an answer, to be read behind "the answer".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AnswerProblem(String);

/// Something in a list.
#[derive(Clone, Debug)]
pub struct Thing<'a> {
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
    pub things: Vec<Thing<'a>>,
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
    if elements.len() > THINGS_MAX {
        return Err(AnswerProblem(format!(
            "has more than {THINGS_MAX} things. Ask for fewer, such as the newest, by `query` or by a `cursor`"
        )));
    }
    let numbered = (0..).zip(elements);
    let things = match is_table {
        true => rows(numbered, id)?,
        false => numbered
            .map(|(number, json)| thing(number, json, id))
            .collect::<Result<_, _>>()?,
    };
    Ok(Found {
        things,
        cursor: cursor.and_then(|path| cursor_at(whole, path)),
    })
}

fn thing<'a>(number: usize, json: &'a RawValue, id: Option<&str>) -> Result<Thing<'a>, AnswerProblem> {
    let Some(path) = id else {
        let identity = canonical(json).ok_or_else(|| {
            AnswerProblem(format!(
                "can't be compared at element {number}, which is nested too deeply or contains invalid text. Say where the ids \
                 are by `id`"
            ))
        })?;
        return Ok(Thing {
            json: Cow::Borrowed(json),
            id: None,
            identity,
        });
    };
    let id = at(json, path).filter(|id| id.get() != "null");
    let identity = id.and_then(canonical);
    match (id, identity) {
        (Some(id), Some(identity)) => Ok(Thing {
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
/// one without cells is none.
fn rows<'a>(
    mut numbered: impl Iterator<Item = (usize, &'a RawValue)>,
    id: Option<&str>,
) -> Result<Vec<Thing<'a>>, AnswerProblem> {
    let Some((_, head)) = numbered.next() else {
        return Ok(Vec::new());
    };
    let names: Vec<String> = cells(0, head)?.into_iter().map(name_of).collect();
    if names.iter().map(String::len).sum::<usize>() > NAMES_BYTES_MAX {
        return Err(AnswerProblem(format!(
            "has names of columns with more than {} KiB together",
            NAMES_BYTES_MAX >> 10
        )));
    }
    let mut things = Vec::new();
    for (number, row) in numbered {
        let cells = cells(number, row)?;
        if cells.is_empty() {
            continue;
        }
        let unreadable = || AnswerProblem(format!("can't be read at element {number} of its list"));
        let json = named(&names, &cells, number + 1).ok_or_else(unreadable)?;
        things.push(match id {
            None => Thing {
                identity: thing(number, row, None)?.identity,
                json: Cow::Owned(json),
                id: None,
            },
            Some(_) => {
                let Thing { id, identity, .. } = thing(number, &json, id)?;
                let id = id.map(|id| Cow::Owned(id.into_owned()));
                Thing {
                    json: Cow::Owned(json),
                    id,
                    identity,
                }
            }
        });
    }
    Ok(things)
}

fn cells(number: usize, row: &RawValue) -> Result<Vec<&RawValue>, AnswerProblem> {
    elements(row).ok_or_else(|| {
        AnswerProblem(format!(
            "has no list of cells in element {number} of its list. Correct `items`, or leave `table` out"
        ))
    })
}

/// What a column is called; empty if its first cell is no text or number.
fn name_of(cell: &RawValue) -> String {
    match serde_json::from_str(cell.get()) {
        Ok(Value::String(name)) => name,
        Ok(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// Cells by the names of their columns, as text: nothing is built of what a cell has.
fn named(names: &[String], cells: &[&RawValue], number: usize) -> Option<Box<RawValue>> {
    let mut text = format!("{{\"{ROW_NUMBER}\":{number}");
    for (place, name) in names.iter().enumerate() {
        if name.is_empty() || name == ROW_NUMBER {
            continue;
        }
        let cell = cells.get(place).map_or("\"\"", |cell| cell.get());
        text.push(',');
        text.push_str(&Value::from(name.as_str()).to_string());
        text.push(':');
        text.push_str(cell);
    }
    text.push('}');
    RawValue::from_string(text).ok()
}

fn cursor_at(whole: &RawValue, path: &str) -> Option<String> {
    let value: Value = serde_json::from_str(at(whole, path)?.get()).ok()?;
    let text = match value {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty() && text.len() <= CURSOR_BYTES_MAX).then_some(text)
}

/// A value's hash that is the same in whichever order objects have their fields. The parser has a limit for depth.
fn canonical(json: &RawValue) -> Option<String> {
    let value: Value = serde_json::from_str(json.get()).ok()?;
    let mut hash = Sha256::new();
    match &value {
        // Ids may have more digits than are kept of such a number.
        Value::Number(number) if number.is_f64() => hash.update(json.get()),
        value => feed(value, &mut hash),
    }
    Some(hex::encode(hash.finalize()))
}

fn feed(value: &Value, hash: &mut Sha256) {
    match value {
        Value::Array(elements) => {
            hash.update(b"[");
            for element in elements {
                feed(element, hash);
                hash.update(b",");
            }
            hash.update(b"]");
        }
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(name, _)| name.as_str());
            hash.update(b"{");
            for (name, field) in sorted {
                hash.update(Value::from(name.as_str()).to_string());
                feed(field, hash);
                hash.update(b",");
            }
            hash.update(b"}");
        }
        scalar => hash.update(scalar.to_string()),
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

/// The elements of an array; none of what is no array.
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
            while found.len() <= THINGS_MAX
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
