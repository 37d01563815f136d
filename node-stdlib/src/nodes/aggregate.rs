//! Aggregate: sums of a list, as a whole or by groups.

use super::parameters::{Selector, array, choice, given, items, mismatch, object, required};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::keys::{Key, key_of, write_key_of_list};
use heddle_values::{Object, Value};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

const OPERATIONS: &[&str] = &[
    "sum", "avg", "min", "max", "count", "first", "last", "collect", "distinct",
];

/// One field to compute.
struct Field<'a> {
    name: String,
    operation: &'a str,
    selector: Option<Value>,
}

/// A group: its key's fields, and for each field the values so far.
struct Group {
    keys: Vec<Value>,
    values: Vec<Vec<Value>>,
}

/// Aggregate
pub fn aggregate(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let fields = fields(parameters)?;
    let selectors = array(parameters, "groupBy")?.cloned();
    let of_keys: Option<Vec<Selector<'_>>> = selectors
        .as_ref()
        .map(|list| list.iter().map(Selector::of).collect());
    let of_fields = fields
        .iter()
        .map(|field| field.selector.as_ref().map(Selector::of));
    let of_fields: Vec<Option<Selector<'_>>> = of_fields.collect();
    let items = items(parameters, context)?;
    let new_group = |keys| Group {
        keys,
        values: fields.iter().map(|_| Vec::new()).collect(),
    };
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    if selectors.is_none() {
        groups.push(new_group(Vec::new()));
    }
    // Nearly all items are of a group that there is, so that what names it is made in place.
    let (mut keys, mut key) = (Vec::new(), String::new());
    for (index, item) in items.iter().enumerate() {
        let mut place = 0;
        if let Some(selectors) = &of_keys {
            keys.clear();
            for selector in selectors {
                keys.push(selector.select(item, index, context)?);
            }
            key.clear();
            write_key_of_list(&keys, &mut key);
            place = places.get(key.as_str()).copied().unwrap_or_else(|| {
                groups.push(new_group(keys.clone()));
                places.insert(key.clone(), groups.len() - 1);
                groups.len() - 1
            });
        }
        let Some(group) = groups.get_mut(place) else {
            continue;
        };
        for ((field, selector), values) in fields.iter().zip(&of_fields).zip(&mut group.values) {
            values.push(match selector {
                Some(selector) => selector.select(item, index, context)?,
                // What is only counted is not kept.
                None if field.operation == "count" => Value::Null,
                None => item.clone(),
            });
        }
    }
    let names: Vec<Option<String>> = selectors
        .iter()
        .flat_map(|list| list.iter().map(key_name))
        .collect();
    let mut rows = Vec::with_capacity(groups.len());
    for group in groups {
        let named = names
            .iter()
            .zip(group.keys)
            .filter_map(|(name, key)| Some((name.as_deref()?, key)));
        let mut row: Object = named.collect();
        for (field, values) in fields.iter().zip(group.values) {
            row.insert(field.name.as_str(), compute(field, values)?);
        }
        rows.push(Value::Object(row));
    }
    let result = match selectors {
        Some(_) => Value::from(rows),
        None => rows.pop().unwrap_or_default(),
    };
    Ok(Outcome::Emit(Emission::one(0, result)))
}

fn fields(parameters: &Object) -> Result<Vec<Field<'static>>, Failure> {
    required(parameters, "values", "an object of {op, value} by field name")?;
    let mut fields = Vec::new();
    for (name, value) in object(parameters, "values")?.into_iter().flat_map(Object::iter) {
        let Value::Object(field) = value else {
            return Err(mismatch(&format!("values.{name}"), "{op, value}", value));
        };
        let operation = choice(field, "op", OPERATIONS, "")?;
        if operation.is_empty() {
            return Err(mismatch(
                &format!("values.{name}.op"),
                &format!("one of {}", OPERATIONS.join(", ")),
                &Value::Undefined,
            ));
        }
        fields.push(Field {
            name: name.to_utf8().into_owned(),
            operation,
            selector: given(field, "value").cloned(),
        });
    }
    Ok(fields)
}

/// Name of a key's field: the last part of its path. An expression has none.
fn key_name(selector: &Value) -> Option<String> {
    let Value::String(path) = selector else {
        return None;
    };
    let path = path.to_utf8();
    let last = path.rsplit(['.', '[']).next().unwrap_or(&path);
    Some(last.trim_end_matches(']').trim_matches(['"', '\'']).to_owned())
}

fn compute(field: &Field<'_>, values: Vec<Value>) -> Result<Value, Failure> {
    let present = || values.iter().filter(|value| !value.is_nullish());
    Ok(match field.operation {
        "count" if field.selector.is_none() => Value::Number(values.len() as f64),
        "count" => Value::Number(present().count() as f64),
        "sum" => Value::Number(numbers(field, &values)?.iter().sum()),
        "avg" => {
            let numbers = numbers(field, &values)?;
            if numbers.is_empty() {
                Value::Null
            } else {
                Value::Number(numbers.iter().sum::<f64>() / numbers.len() as f64)
            }
        }
        "min" => extreme(present(), Ordering::Less),
        "max" => extreme(present(), Ordering::Greater),
        "first" => values.first().cloned().unwrap_or(Value::Null),
        "last" => values.last().cloned().unwrap_or(Value::Null),
        "distinct" => {
            let mut seen = BTreeSet::new();
            values
                .into_iter()
                .filter(|value| seen.insert(Key(key_of(value))))
                .collect::<Vec<_>>()
                .into()
        }
        _ => values.into(),
    })
}

fn numbers(field: &Field<'_>, values: &[Value]) -> Result<Vec<f64>, Failure> {
    let number = |(index, value): (usize, &Value)| match value {
        Value::Number(number) => Some(Ok(*number)),
        Value::Undefined | Value::Null => None,
        other => {
            let message = format!(
                "Parameter `values.{}`: {} needs numbers, but value {index} of the group is {}.",
                field.name,
                field.operation,
                other.shape()
            );
            Some(Err(Failure::new(code::PARAMETER, message)))
        }
    };
    values.iter().enumerate().filter_map(number).collect()
}

fn extreme<'a>(values: impl Iterator<Item = &'a Value>, wanted: Ordering) -> Value {
    let best = values.reduce(|best, value| {
        if value.compare(best) == wanted {
            value
        } else {
            best
        }
    });
    best.cloned().unwrap_or(Value::Null)
}
