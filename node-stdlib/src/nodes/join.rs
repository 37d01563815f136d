//! Nodes that bring two lists together by keys: Join and Compare.

use super::parameters::{choice, mismatch, required, select};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::keys::{Key, key_of};
use heddle_values::{Array, Object, Value};
use std::collections::BTreeMap;

/// Items of one side with their keys; `None` where the key is null or missing, which equals nothing.
type Keyed = Vec<(Option<String>, Value, Value)>;

/// Join
pub fn join(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let left = keyed(parameters, "leftKey", 0, "left", context)?;
    let right = keyed(parameters, "rightKey", 1, "right", context)?;
    let kind = choice(parameters, "type", &["inner", "left", "right", "full"], "inner")?;
    let (keep_left, keep_right) = (matches!(kind, "left" | "full"), matches!(kind, "right" | "full"));
    let by_key = index(&right);
    let mut matched = vec![false; right.len()];
    let mut rows = Vec::new();
    for (key, _, item) in &left {
        let partners = key.as_ref().and_then(|key| by_key.get(&Key(key.as_str())));
        for place in partners.into_iter().flatten() {
            if let (Some((_, _, partner)), Some(seen)) = (right.get(*place), matched.get_mut(*place)) {
                *seen = true;
                rows.push(merged(item, partner)?);
            }
        }
        if partners.is_none() && keep_left {
            rows.push(item.clone());
        }
    }
    if keep_right {
        let alone = right.iter().zip(&matched).filter(|(_, seen)| !**seen);
        rows.extend(alone.map(|((_, _, item), _)| item.clone()));
    }
    Ok(Outcome::Emit(Emission::one(0, rows.into())))
}

/// Compare: outputs 0 `added`, 1 `removed`, 2 `changed`, 3 `same`. Of several items with one key on one side, the
/// last counts.
pub fn compare(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let left = keyed(parameters, "key", 0, "left", context)?;
    let right = keyed(parameters, "key", 1, "right", context)?;
    let before = last_by_key(&left, "left")?;
    let after = last_by_key(&right, "right")?;
    let (mut added, mut removed, mut changed, mut same) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (place, (key, value, item)) in right.iter().enumerate() {
        let Some(key) = key.as_deref().filter(|key| after.get(&Key(*key)) == Some(&place)) else {
            continue;
        };
        match before.get(&Key(key)).and_then(|place| left.get(*place)) {
            None => added.push(item.clone()),
            Some((_, _, old)) if old.deep_equal(item) => same.push(item.clone()),
            Some((_, _, old)) => {
                let facts = [
                    ("key", value.clone()),
                    ("before", old.clone()),
                    ("after", item.clone()),
                ];
                changed.push(Value::Object(Object::from_iter(facts)));
            }
        }
    }
    for (place, (key, _, item)) in left.iter().enumerate() {
        let key = key
            .as_deref()
            .filter(|key| before.get(&Key(*key)) == Some(&place));
        if key.is_some_and(|key| !after.contains_key(&Key(key))) {
            removed.push(item.clone());
        }
    }
    let ports = [added, removed, changed, same];
    let emission = (0..)
        .zip(ports)
        .map(|(port, items)| (port, items.into()))
        .collect();
    Ok(Outcome::Emit(Emission(emission)))
}

fn keyed(
    parameters: &Object,
    parameter: &str,
    port: usize,
    side: &str,
    context: &mut dyn Context,
) -> Result<Keyed, Failure> {
    let selector = required(
        parameters,
        parameter,
        "a dotted path or an expression with `$item`",
    )?
    .clone();
    let items = match context.input_port(port) {
        Some(Value::Array(items)) => items,
        // A side whose edges are all dead has nothing.
        None => Array::default(),
        Some(other) => return Err(mismatch_of_side(side, &other)),
    };
    let mut keyed = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let value = select(&selector, item, index, context)?;
        keyed.push(((!value.is_nullish()).then(|| key_of(&value)), value, item.clone()));
    }
    Ok(keyed)
}

fn mismatch_of_side(side: &str, value: &Value) -> Failure {
    Failure::new(
        code::PARAMETER,
        format!("The input `{side}` takes a list, but it is {}.", value.shape()),
    )
}

fn index(items: &Keyed) -> BTreeMap<Key<&str>, Vec<usize>> {
    let mut places: BTreeMap<Key<&str>, Vec<usize>> = BTreeMap::new();
    for (place, (key, _, _)) in items.iter().enumerate() {
        if let Some(key) = key {
            places.entry(Key(key)).or_default().push(place);
        }
    }
    places
}

fn last_by_key<'a>(items: &'a Keyed, side: &str) -> Result<BTreeMap<Key<&'a str>, usize>, Failure> {
    let mut places = BTreeMap::new();
    for (place, (key, _, item)) in items.iter().enumerate() {
        let Some(key) = key else {
            let what = format!("a key for every item, which item {place} of `{side}` does not have");
            return Err(mismatch("key", &what, item));
        };
        places.insert(Key(key.as_str()), place);
    }
    Ok(places)
}

fn merged(left: &Value, right: &Value) -> Result<Value, Failure> {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let mut row = left.clone();
            for (name, value) in right.iter() {
                row.insert(name.clone(), value.clone());
            }
            Ok(Value::Object(row))
        }
        (Value::Object(_), other) | (other, _) => {
            let message = format!("Join makes rows of objects, but an item is {}.", other.shape());
            Err(Failure::new(code::PARAMETER, message))
        }
    }
}
