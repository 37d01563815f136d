//! Changes to JSON that keep most of a graph as it was: what editors, importers and attackers get wrong. And changes to bytes.

use arbitrary::{Result, Unstructured};
use heddle_catalogue::{NodeType, node_types};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// What stands in graphs.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| types().chain(OTHERS.iter().copied()).collect());

/// Node types, but for those of services, which are hundreds and become the same few.
pub fn types() -> impl Iterator<Item = &'static str> {
    let is_own = |it: &&NodeType| it.operation.is_none() && it.trigger.is_none();
    node_types().iter().filter(is_own).map(|it| it.name)
}

/// What is no node type.
const OTHERS: &[&str] = &[
    "in",
    "out",
    "next",
    "item",
    "done",
    "true",
    "false",
    "error",
    "default",
    "branch",
    "continue",
    "n0",
    "n1",
    "n2",
    "n1/n0",
    "",
    "__proto__",
    "\u{0}",
    "\u{1f600}",
];

const EXPRESSIONS: &[&str] = &[
    "{{ $input }}",
    "{{ $input.a.b.c }}",
    "{{ $nodes[\"n1\"].x }}",
    "{{ $(\"Node 1\").item }}",
    "{{ $item }}",
    "{{ $error.code }}",
    "{{ [...$input, ...$input] }}",
    "{{ `${$input}`.length }}",
    "{{ 1 / 0 }}",
    "{{",
    "}}",
    "{{ }}",
    "{{ a }} {{",
    "{{ $secrets.X }}",
    "{{ $random() + $uuid() }}",
    "{{ ({}) }}",
    "{{ \"\\ud800\" }}",
    "a {{ $trigger }} b {{ $run }}",
    "{{ ((((((((1)))))))) }}",
    "{{ -\"x\" ** 2 }}",
    "{{ /a+/.test($input) }}",
];

const NUMBERS: &[f64] = &[
    0.0,
    -1.0,
    1.0,
    0.5,
    2.0,
    1e3,
    4_294_967_296.0,
    9_007_199_254_740_993.0,
    -1e308,
    1e-320,
];

/// Makes some changes to a value, as many as the bytes last for.
pub fn mutate(value: &mut Value, u: &mut Unstructured<'_>) -> Result<()> {
    let mut changes = 0;
    while !u.is_empty() && changes < 24 {
        let donor = value.clone();
        change(descend(value, u)?, &donor, u)?;
        changes += 1;
    }
    Ok(())
}

fn descend<'v>(value: &'v mut Value, u: &mut Unstructured<'_>) -> Result<&'v mut Value> {
    let len = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    // Rarely stops near the root, where a change destroys most.
    if len == 0 || u.ratio(1, 6)? {
        return Ok(value);
    }
    let index = u.choose_index(len)?;
    match value {
        Value::Array(items) => descend(&mut items[index], u),
        Value::Object(fields) => match fields.values_mut().nth(index) {
            Some(inner) => descend(inner, u),
            None => unreachable!("the index is below the number of fields"),
        },
        _ => unreachable!("only arrays and objects have an inside"),
    }
}

fn change(target: &mut Value, donor: &Value, u: &mut Unstructured<'_>) -> Result<()> {
    match u.int_in_range(0..=9)? {
        0 => *target = scalar(u)?,
        1 => *target = Value::from(*u.choose(WORDS.as_slice())?),
        2 | 3 => *target = Value::from(*u.choose(EXPRESSIONS)?),
        4 => *target = descend(&mut donor.clone(), u)?.clone(),
        5 => remove(target, u)?,
        6 => duplicate(target, u)?,
        7 => rename(target, u)?,
        8 => *target = nested(u.int_in_range(1..=200)?),
        _ => {
            let text: &str = u.arbitrary()?;
            *target = Value::from(text);
        }
    }
    Ok(())
}

fn scalar(u: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match u.int_in_range(0..=6)? {
        0 => Value::Null,
        1 => Value::Bool(u.arbitrary()?),
        2 => json!([]),
        3 => json!({}),
        4 => json!(u.arbitrary::<i64>()?),
        _ => json!(u.choose(NUMBERS)?),
    })
}

fn remove(target: &mut Value, u: &mut Unstructured<'_>) -> Result<()> {
    match target {
        Value::Array(items) if !items.is_empty() => drop(items.remove(u.choose_index(items.len())?)),
        Value::Object(fields) if !fields.is_empty() => {
            let name = fields
                .keys()
                .nth(u.choose_index(fields.len())?)
                .cloned()
                .unwrap_or_default();
            fields.shift_remove(&name);
        }
        other => *other = Value::Null,
    }
    Ok(())
}

fn duplicate(target: &mut Value, u: &mut Unstructured<'_>) -> Result<()> {
    match target {
        Value::Array(items) if !items.is_empty() => {
            let copy = items[u.choose_index(items.len())?].clone();
            items.push(copy);
        }
        Value::Object(fields) if !fields.is_empty() => {
            let copy = fields
                .values()
                .nth(u.choose_index(fields.len())?)
                .cloned()
                .unwrap_or_default();
            fields.insert((*u.choose(WORDS.as_slice())?).to_owned(), copy);
        }
        other => *other = json!([other.clone(), other.clone()]),
    }
    Ok(())
}

fn rename(target: &mut Value, u: &mut Unstructured<'_>) -> Result<()> {
    if let Value::Object(fields) = target
        && !fields.is_empty()
    {
        let name = fields
            .keys()
            .nth(u.choose_index(fields.len())?)
            .cloned()
            .unwrap_or_default();
        let value = fields.shift_remove(&name).unwrap_or_default();
        fields.insert((*u.choose(WORDS.as_slice())?).to_owned(), value);
    }
    Ok(())
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Null, |inner, _| json!([inner]))
}

/// Bytes of which some are replaced, inserted and removed, as long as there is input.
pub fn changed_bytes(mut bytes: Vec<u8>, u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    while !u.is_empty() && !bytes.is_empty() {
        let at = u.choose_index(bytes.len())?;
        match u.int_in_range(0..=7)? {
            0 => drop(bytes.remove(at)),
            1 => bytes.insert(at, u.arbitrary()?),
            2 => bytes.truncate(at),
            3 => bytes[at] ^= 1 << u.int_in_range(0..=7)?,
            _ => bytes[at] = u.arbitrary()?,
        }
    }
    Ok(bytes)
}
