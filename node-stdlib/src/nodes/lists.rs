//! Nodes that work on one list: Filter, Sort, Limit, Unique, Flatten.

use super::parameters::{Selector, choice, given, holds, integer, items, mismatch, required};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::keys::{Key, key_of};
use heddle_values::{Object, Value};
use std::cmp::Ordering;
use std::collections::BTreeSet;

const COUNT_MAX: i64 = 1_000_000_000;

fn emit(items: Vec<Value>) -> NodeResult {
    Ok(Outcome::Emit(Emission::one(0, items.into())))
}

/// Filter: output 0 `out`, 1 `rejected`.
pub fn filter(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let condition = required(parameters, "condition", "a condition")?;
    let items = items(parameters, context)?;
    let (mut kept, mut rejected) = (Vec::new(), Vec::new());
    let (mut kept_from, mut rejected_from) = (Vec::new(), Vec::new());
    for (index, item) in items.iter().enumerate() {
        let (side, from) = if holds(condition, item, index, context)? {
            (&mut kept, &mut kept_from)
        } else {
            (&mut rejected, &mut rejected_from)
        };
        side.push(item.clone());
        from.push(index as u32);
    }
    context.pair(0, &items, kept_from);
    context.pair(1, &items, rejected_from);
    Ok(Outcome::Emit(Emission(vec![
        (0, kept.into()),
        (1, rejected.into()),
    ])))
}

/// Limit
pub fn limit(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    required(parameters, "count", "a whole number")?;
    let count = integer(parameters, "count", 0, COUNT_MAX)?.unwrap_or(0) as usize;
    let offset = integer(parameters, "offset", 0, COUNT_MAX)?.unwrap_or(0) as usize;
    let items = items(parameters, context)?;
    let kept: Vec<Value> = items.iter().skip(offset).take(count).cloned().collect();
    let from = (offset..).take(kept.len()).map(|index| index as u32);
    context.pair(0, &items, from.collect());
    emit(kept)
}

/// Flatten
pub fn flatten(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let depth = integer(parameters, "depth", 1, 1_000)?.unwrap_or(1);
    let items = items(parameters, context)?;
    let mut flat = items.clone().into_vec();
    let mut from: Vec<u32> = (0..).take(flat.len()).collect();
    for _ in 0..depth {
        if !flat.iter().any(|item| matches!(item, Value::Array(_))) {
            break;
        }
        let mut next = Vec::with_capacity(flat.len());
        let mut next_from = Vec::with_capacity(flat.len());
        for (item, origin) in flat.into_iter().zip(from) {
            match item {
                Value::Array(inner) => next.extend(inner.into_vec()),
                item => next.push(item),
            }
            next_from.resize(next.len(), origin);
        }
        (flat, from) = (next, next_from);
    }
    context.pair(0, &items, from);
    emit(flat)
}

/// Unique
pub fn unique(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let items = items(parameters, context)?;
    let by = given(parameters, "by").map(Selector::of);
    let mut seen = BTreeSet::new();
    let (mut kept, mut from) = (Vec::new(), Vec::new());
    for (index, item) in items.iter().enumerate() {
        let key = match &by {
            Some(selector) => key_of(&selector.select(item, index, context)?),
            None => key_of(item),
        };
        if seen.insert(Key(key)) {
            kept.push(item.clone());
            from.push(index as u32);
        }
    }
    context.pair(0, &items, from);
    emit(kept)
}

/// Sort
pub fn sort(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let by = required(
        parameters,
        "by",
        "a list of {value, order}, or an expression with `$a` and `$b`",
    )?;
    let items = items(parameters, context)?;
    let sorted = match by {
        Value::Function(function) => {
            let numbered: Vec<Numbered> = items.iter().cloned().zip(0..).collect();
            merge_sort(numbered, &mut |(a, _), (b, _)| {
                compare_by(*function, a, b, context)
            })?
        }
        Value::Array(criteria) => {
            let criteria: Result<Vec<_>, Failure> = criteria.iter().enumerate().map(criterion).collect();
            sort_by_values(&items, &criteria?, context)?
        }
        other => {
            return Err(mismatch(
                "by",
                "a list of {value, order}, or an expression with `$a` and `$b`",
                other,
            ));
        }
    };
    let (sorted, from) = sorted.into_iter().unzip();
    context.pair(0, &items, from);
    emit(sorted)
}

/// An item and its place in the list.
type Numbered = (Value, u32);

/// What `$a` compared with `$b` gives, as Array.prototype.sort reads it: NaN and anything else count as equal.
fn compare_by(
    function: u32,
    first: &Value,
    second: &Value,
    context: &mut dyn Context,
) -> Result<Ordering, Failure> {
    match context.call_pair(function, first, second)? {
        Value::Number(number) => Ok(number.partial_cmp(&0.0).unwrap_or(Ordering::Equal)),
        Value::Bool(greater) => Ok(if greater {
            Ordering::Greater
        } else {
            Ordering::Equal
        }),
        other => {
            let message = format!(
                "Parameter `by` compares `$a` with `$b` and must give a number, but it gave {}.",
                other.shape()
            );
            Err(Failure::new(code::PARAMETER, message))
        }
    }
}

fn criterion((index, value): (usize, &Value)) -> Result<(Value, bool), Failure> {
    let Value::Object(criterion) = value else {
        return Err(mismatch(&format!("by[{index}]"), "{value, order}", value));
    };
    let selector = required(criterion, "value", "a dotted path or an expression")?.clone();
    let descending = choice(criterion, "order", &["asc", "desc"], "asc")? == "desc";
    Ok((selector, descending))
}

fn sort_by_values(
    items: &[Value],
    criteria: &[(Value, bool)],
    context: &mut dyn Context,
) -> Result<Vec<Numbered>, Failure> {
    let selectors: Vec<Selector<'_>> = criteria
        .iter()
        .map(|(selector, _)| Selector::of(selector))
        .collect();
    // Those of an item one after the other.
    let mut keys = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        for selector in &selectors {
            keys.push(selector.select(item, index, context)?);
        }
    }
    let keys_of = |index: u32| {
        let first = index as usize * criteria.len();
        keys.get(first..).unwrap_or_default()
    };
    // Places are moved instead of what is sorted.
    let mut order: Vec<u32> = (0..).take(items.len()).collect();
    order.sort_by(|left, right| {
        let pairs = keys_of(*left).iter().zip(keys_of(*right)).zip(criteria);
        let mut orders =
            pairs.map(|((left, right), (_, descending))| compare_values(left, right, *descending));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    let sorted = order.into_iter();
    Ok(sorted
        .filter_map(|index| Some((items.get(index as usize)?.clone(), index)))
        .collect())
}

/// [`Value::compare`], but null and missing values stay last when the direction is turned round.
fn compare_values(left: &Value, right: &Value, descending: bool) -> Ordering {
    match (descending, left.is_nullish() || right.is_nullish()) {
        (true, false) => right.compare(left),
        _ => left.compare(right),
    }
}

/// A stable merge sort, bottom up. The standard library's may panic when a comparison contradicts itself, and a
/// user's comparison may.
fn merge_sort(
    items: Vec<Numbered>,
    compare: &mut dyn FnMut(&Numbered, &Numbered) -> Result<Ordering, Failure>,
) -> Result<Vec<Numbered>, Failure> {
    let mut runs: Vec<Vec<Numbered>> = items.into_iter().map(|item| vec![item]).collect();
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pending = runs.into_iter();
        while let Some(left) = pending.next() {
            merged.push(match pending.next() {
                Some(right) => merge(left, right, compare)?,
                None => left,
            });
        }
        runs = merged;
    }
    Ok(runs.pop().unwrap_or_default())
}

fn merge(
    left: Vec<Numbered>,
    right: Vec<Numbered>,
    compare: &mut dyn FnMut(&Numbered, &Numbered) -> Result<Ordering, Failure>,
) -> Result<Vec<Numbered>, Failure> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(first), Some(second)) = (left.peek(), right.peek()) {
        let from_left = compare(first, second)? != Ordering::Greater;
        merged.extend(if from_left { left.next() } else { right.next() });
    }
    merged.extend(left);
    merged.extend(right);
    Ok(merged)
}
