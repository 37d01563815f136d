//! What n8n adds to arrays.

use super::emptiness::is_empty;
use crate::keys::key_of;
use crate::methods::arguments::Arguments;
use crate::methods::{Exception, Global, Kind, Method, Outcome, math};
use crate::{Array, Object, Text, Value, ops, text_to_number};
use std::collections::BTreeMap;

pub(super) fn call(array: &Array, method: Method, arguments: Arguments<'_>) -> Option<Outcome> {
    Some(match method {
        Method::Append => Ok(array
            .iter()
            .chain(arguments.all())
            .cloned()
            .collect::<Array>()
            .into()),
        Method::Average => Ok(match array.len() {
            0 => 0.0.into(),
            len => (sum(array) / len as f64).into(),
        }),
        Method::Chunk => chunk(array, arguments),
        Method::Compact => Ok(compact(array).into()),
        Method::Difference => known_in(array, arguments, method, false),
        Method::First => Ok(array.first().cloned().unwrap_or_default()),
        Method::Intersection => known_in(array, arguments, method, true),
        Method::Keys | Method::Values => {
            let name = method.name();
            let message = format!("`.{name}()` of an array isn't supported: write `[...list.{name}()]`");
            Err(Exception::new(Kind::Unsupported, message))
        }
        Method::Last => Ok(array.last().cloned().unwrap_or_default()),
        Method::Max => extreme(array, Global::MathMax),
        Method::Merge => merge(array, arguments),
        Method::Min => extreme(array, Global::MathMin),
        Method::Pluck => pluck(array, arguments),
        Method::RemoveDuplicates | Method::Unique => unique(array, arguments),
        Method::RenameKeys => rename(array, arguments),
        Method::SmartJoin => smart_join(array, arguments),
        Method::Sum => Ok(sum(array).into()),
        Method::Union => union(array, arguments),
        _ => return None,
    })
}

/// Text counts as the number that it says.
fn to_number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => *number,
        Value::String(text) => text_to_number(&text.to_utf8()),
        _ => f64::NAN,
    }
}

fn sum(array: &Array) -> f64 {
    array.iter().map(to_number).fold(0.0, |sum, number| sum + number)
}

fn extreme(array: &Array, function: Global) -> Outcome {
    let numbers: Vec<Value> = array.iter().map(|value| to_number(value).into()).collect();
    math::call(function, Arguments::new(&numbers)).unwrap_or(Ok(Value::Undefined))
}

fn chunk(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let size = arguments.integer(0)?;
    if size < 1.0 {
        return Err(Exception::new(
            Kind::Type,
            "`.chunk(…)` needs a size of at least 1",
        ));
    }
    let chunks = array
        .chunks(size as usize)
        .map(|chunk| Value::from(chunk.to_vec()));
    Ok(chunks.collect::<Array>().into())
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty() || *text == "nil",
        other => is_empty(other),
    }
}

fn compact(array: &Array) -> Array {
    let kept = array.iter().filter(|value| !is_nothing(value));
    kept.map(compact_value).collect()
}

/// Without fields that hold nothing, at any depth.
pub(super) fn compact_object(object: &Object) -> Object {
    let kept = object.iter().filter(|(_, value)| !is_nothing(value));
    kept.map(|(name, value)| (name.clone(), compact_value(value)))
        .collect()
}

fn compact_value(value: &Value) -> Value {
    match value {
        Value::Array(array) => compact(array).into(),
        Value::Object(object) => compact_object(object).into(),
        other => other.clone(),
    }
}

fn names(arguments: Arguments<'_>) -> Result<Vec<Text>, Exception> {
    (0..arguments.len()).map(|at| arguments.text(at)).collect()
}

/// The values of these fields of each element, in the order in which it has them: one as it is, several as a list. An element without
/// any of them is left out. A name that comes twice gives its value twice, and what is no text names nothing, both as in n8n.
fn pluck(array: &Array, arguments: Arguments<'_>) -> Outcome {
    if arguments.len() == 0 {
        return Ok(array.clone().into());
    }
    let mut wanted: BTreeMap<&Text, usize> = BTreeMap::new();
    for name in arguments.all() {
        if let Value::String(name) = name {
            *wanted.entry(name).or_default() += 1;
        }
    }
    let plucked = array.iter().filter_map(|element| {
        let mut values = wanted_of(element, &wanted);
        match values.len() {
            0 | 1 => values.pop(),
            _ => Some(values.into()),
        }
    });
    Ok(plucked.collect::<Array>().into())
}

/// The values of these fields, each as often as it is wanted.
fn wanted_of(element: &Value, wanted: &BTreeMap<&Text, usize>) -> Vec<Value> {
    let mut values = Vec::new();
    let mut take = |value: &Value, times: usize| values.extend(std::iter::repeat_n(value.clone(), times));
    match element {
        Value::Object(object) if wanted.len() == 1 => {
            for (name, times) in wanted {
                if let Some(value) = object.get_text(name) {
                    take(value, *times);
                }
            }
        }
        Value::Object(object) => {
            for (name, value) in object.iter() {
                take(value, wanted.get(name).copied().unwrap_or_default());
            }
        }
        // What names an element of a list is its place.
        Value::Array(list) => {
            let place = |(name, times): (&&Text, &usize)| {
                let name = name.to_utf8();
                let place: usize = name.parse().ok()?;
                (place.to_string() == *name).then_some((place, *times))
            };
            let mut places: Vec<(usize, usize)> = wanted.iter().filter_map(place).collect();
            places.sort_unstable();
            for (place, times) in places {
                if let Some(value) = list.get(place) {
                    take(value, times);
                }
            }
        }
        _ => {}
    }
    values
}

fn picked(object: &Object, names: &[Text]) -> Object {
    let fields = names
        .iter()
        .filter_map(|name| Some((name.clone(), object.get_text(name)?.clone())));
    fields.collect()
}

/// Values that have come.
#[derive(Default)]
struct Known(BTreeMap<String, Vec<Value>>);

impl Known {
    fn of(values: &[Value]) -> Known {
        let mut known = Known::default();
        for value in values {
            known.add(value.clone());
        }
        known
    }

    fn contains(&self, value: &Value) -> bool {
        let alike = self.0.get(&key_of(value));
        alike.is_some_and(|alike| alike.iter().any(|other| other.deep_equal(value)))
    }

    /// Whether it is the first with its content.
    fn add(&mut self, value: Value) -> bool {
        let alike = self.0.entry(key_of(&value)).or_default();
        let is_first = !alike.iter().any(|other| other.deep_equal(&value));
        if is_first {
            alike.push(value);
        }
        is_first
    }
}

/// The first of those that have the same content, as far as the named fields go.
fn unique(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let names = names(arguments)?;
    let mut known = Known::default();
    let kept = array.iter().filter(|element| {
        let compared: Value = match element {
            Value::Object(object) if !names.is_empty() => picked(object, &names).into(),
            other => (*other).clone(),
        };
        known.add(compared)
    });
    Ok(kept.cloned().collect::<Array>().into())
}

/// The other array that a method is given.
fn other(arguments: Arguments<'_>, method: Method) -> Result<&Array, Exception> {
    match arguments.get(0) {
        Value::Array(other) => Ok(other),
        value => {
            let message = format!("`.{}(…)` needs an array: it got {}", method.name(), value.shape());
            Err(Exception::new(Kind::Type, message))
        }
    }
}

/// The elements that another array has, or those that it has not; each once.
fn known_in(array: &Array, arguments: Arguments<'_>, method: Method, keeps: bool) -> Outcome {
    let known = Known::of(other(arguments, method)?);
    let kept = array.iter().filter(|element| known.contains(element) == keeps);
    unique(&kept.cloned().collect::<Array>(), Arguments::new(&[]))
}

/// The elements of both arrays, each once.
fn union(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let other = other(arguments, Method::Union)?;
    let all = array.iter().chain(other.iter()).cloned();
    unique(&all.collect::<Array>(), Arguments::new(&[]))
}

/// One object of all objects, of which the first has a field; with another array, of what has fields at the same places.
fn merge(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let mut merged = Object::new();
    if arguments.defined(0).is_none() {
        let objects = array.iter().filter_map(|element| match element {
            Value::Object(object) => Some(object),
            _ => None,
        });
        for (name, value) in objects.flat_map(Object::iter) {
            if merged.get_text(name).is_none() {
                merged.insert(name.clone(), value.clone());
            }
        }
        return Ok(merged.into());
    }
    for (own, other) in array.iter().zip(other(arguments, Method::Merge)?.iter()) {
        let (Some(own), Some(other)) = (fields(own), fields(other)) else {
            continue;
        };
        let others = other.iter().filter(|(name, _)| own.get_text(name).is_none());
        for (name, value) in own.iter().chain(others) {
            merged.insert(name.clone(), value.clone());
        }
    }
    Ok(merged.into())
}

/// What JavaScript calls an object has: `null` no fields, and an array its elements by their places.
fn fields(value: &Value) -> Option<Object> {
    match value {
        Value::Null => Some(Object::new()),
        Value::Object(object) => Some(object.clone()),
        Value::Array(elements) => {
            let elements = elements.iter().enumerate();
            Some(
                elements
                    .map(|(at, element)| (Text::from(at.to_string()), element.clone()))
                    .collect(),
            )
        }
        _ => None,
    }
}

/// Objects with other names for some fields: pairs of the old and the new name.
fn rename(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let names = names(arguments)?;
    let (pairs, rest) = names.as_chunks::<2>();
    if pairs.is_empty() || !rest.is_empty() {
        let message = "`.renameKeys(…)` needs pairs of names: the old one and the new one";
        return Err(Exception::new(Kind::Type, message));
    }
    let renamed = array.iter().map(|element| match element {
        Value::Object(object) => {
            let mut object = object.clone();
            for [old, new] in pairs {
                if let Some(value) = object.remove(&old.to_utf8()) {
                    object.insert(new.clone(), value);
                }
            }
            object.into()
        }
        other => other.clone(),
    });
    Ok(renamed.collect::<Array>().into())
}

/// An object of which each element gives a field: its name stands in one field, its value in another.
fn smart_join(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let (Value::String(name), Value::String(value)) = (arguments.get(0), arguments.get(1)) else {
        let message =
            "`.smartJoin(…)` needs the names of two fields: that of the name, and that of the value";
        return Err(Exception::new(Kind::Type, message));
    };
    let mut joined = Object::new();
    for element in array {
        if let Value::Object(object) = element
            && let (Some(name), Some(value)) = (object.get_text(name), object.get_text(value))
        {
            joined.insert(ops::to_string(name)?, value.clone());
        }
    }
    Ok(joined.into())
}
