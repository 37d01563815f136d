//! JMESPath's functions.

use super::error::QueryError;
use super::evaluate::evaluated;
use super::parser::Node;
use crate::methods::{Exception, Kind, Outcome};
use crate::{Array, Object, Text, Value, ops, text_to_number};

/// What an argument may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Argument {
    Any,
    Number,
    String,
    Array,
    Object,
    /// An array whose elements are all numbers.
    Numbers,
    /// An array whose elements are all strings.
    Strings,
    /// An array of one of these.
    NumbersOrStrings,
    StringOrArray,
    Sized,
    /// `&expression`
    Expression,
}

impl Argument {
    fn takes(self, value: &Value) -> bool {
        let all = |holds: fn(&Value) -> bool| matches!(value, Value::Array(array) if array.iter().all(holds));
        let is_number = |value: &Value| matches!(value, Value::Number(_));
        let is_string = |value: &Value| matches!(value, Value::String(_));
        match self {
            Argument::Any => true,
            Argument::Number => is_number(value),
            Argument::String => is_string(value),
            Argument::Array => matches!(value, Value::Array(_)),
            Argument::Object => matches!(value, Value::Object(_)),
            Argument::Numbers => all(is_number),
            Argument::Strings => all(is_string),
            Argument::NumbersOrStrings => all(is_number) || all(is_string),
            Argument::StringOrArray => matches!(value, Value::String(_) | Value::Array(_)),
            Argument::Sized => matches!(value, Value::String(_) | Value::Array(_) | Value::Object(_)),
            Argument::Expression => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Argument::Any => "any value",
            Argument::Number => "a number",
            Argument::String => "a string",
            Argument::Array => "an array",
            Argument::Object => "an object",
            Argument::Numbers => "an array of numbers",
            Argument::Strings => "an array of strings",
            Argument::NumbersOrStrings => "an array of numbers or of strings",
            Argument::StringOrArray => "a string or an array",
            Argument::Sized => "a string, an array or an object",
            Argument::Expression => "an expression, as in `&name`",
        }
    }
}

/// The arguments of a function, and whether the last may be repeated.
fn signature(name: &str) -> Option<(&'static [Argument], bool)> {
    use Argument::{
        Any, Array, Expression, Number, Numbers, NumbersOrStrings, Object, Sized, String, StringOrArray,
        Strings,
    };
    Some(match name {
        "abs" | "ceil" | "floor" => (&[Number], false),
        "avg" | "sum" => (&[Numbers], false),
        "contains" => (&[StringOrArray, Any], false),
        "ends_with" | "starts_with" => (&[String, String], false),
        "join" => (&[String, Strings], false),
        "keys" | "values" => (&[Object], false),
        "length" => (&[Sized], false),
        "map" => (&[Expression, Array], false),
        "max" | "min" | "sort" => (&[NumbersOrStrings], false),
        "max_by" | "min_by" | "sort_by" => (&[Array, Expression], false),
        "merge" => (&[Object], true),
        "not_null" => (&[Any], true),
        "reverse" => (&[StringOrArray], false),
        "to_array" | "to_number" | "to_string" | "type" => (&[Any], false),
        _ => return None,
    })
}

fn failure(message: String) -> Exception {
    Exception::new(Kind::Type, message)
}

fn wrong_count(name: &str, given: usize) -> Option<String> {
    let (arguments, repeats) = signature(name)?;
    let least = arguments.len();
    (given < least || (given > least && !repeats)).then(|| {
        let more = if repeats { "at least " } else { "" };
        let plural = if least == 1 { "" } else { "s" };
        format!("`{name}()` takes {more}{least} argument{plural}, not {given}")
    })
}

/// Whether all functions exist and have their number of arguments.
pub(super) fn check_names(node: &Node) -> Result<(), QueryError> {
    let all = |nodes: &[Node]| nodes.iter().try_for_each(check_names);
    match node {
        Node::Call {
            offset,
            name,
            arguments,
        } => {
            let wrong = match signature(name) {
                None => Some(format!("there is no function `{name}()`")),
                Some(_) => wrong_count(name, arguments.len()),
            };
            match wrong {
                Some(message) => Err(QueryError {
                    message,
                    offset: *offset,
                }),
                None => all(arguments),
            }
        }
        Node::Then(left, right)
        | Node::Or(left, right)
        | Node::And(left, right)
        | Node::Compare(_, left, right)
        | Node::If(left, right)
        | Node::Project(left, right) => check_names(left).and_then(|()| check_names(right)),
        Node::Not(node) | Node::Values(node) | Node::Flatten(node) | Node::Expression(node) => {
            check_names(node)
        }
        Node::List(elements) => all(elements),
        Node::Hash(fields) => fields.iter().try_for_each(|(_, field)| check_names(field)),
        Node::Current | Node::Field(_) | Node::Index(_) | Node::Slice { .. } | Node::Literal(_) => Ok(()),
    }
}

pub(super) fn call(name: &str, nodes: &[Node], value: &Value) -> Outcome {
    let Some((expected, _)) = signature(name) else {
        return Err(failure(format!("JMESPath has no function `{name}()`")));
    };
    if let Some(message) = wrong_count(name, nodes.len()) {
        return Err(failure(message));
    }
    let mut values = Vec::with_capacity(nodes.len());
    let mut expression = None;
    for (at, node) in nodes.iter().enumerate() {
        let expected = expected
            .get(at)
            .or(expected.last())
            .copied()
            .unwrap_or(Argument::Any);
        if let Node::Expression(inner) = node {
            if expected != Argument::Expression {
                return Err(failure(format!(
                    "`{name}()` takes {}, not an expression",
                    expected.name()
                )));
            }
            expression = Some(&**inner);
            continue;
        }
        let given = evaluated(value, node)?;
        if !expected.takes(&given) {
            let message = format!("`{name}()` takes {}, not {}", expected.name(), given.shape());
            return Err(failure(message));
        }
        values.push(given);
    }
    match (expression, values.as_slice()) {
        (Some(expression), [Value::Array(array)]) => with_expression(name, array, expression),
        _ => plain(name, &values),
    }
}

/// Functions of values.
fn plain(name: &str, values: &[Value]) -> Outcome {
    let (Some(first), second) = (values.first(), values.get(1)) else {
        return Ok(Value::Null);
    };
    Ok(match (name, first, second) {
        ("abs", Value::Number(number), _) => number.abs().into(),
        ("ceil", Value::Number(number), _) => number.ceil().into(),
        ("floor", Value::Number(number), _) => number.floor().into(),
        ("avg", Value::Array(array), _) => match array.len() {
            0 => Value::Null,
            len => (sum(array) / len as f64).into(),
        },
        ("sum", Value::Array(array), _) => sum(array).into(),
        ("contains", Value::String(text), Some(part)) => {
            let part = ops::to_string(part)?;
            text.to_utf8().contains(&*part.to_utf8()).into()
        }
        ("contains", Value::Array(array), Some(element)) => {
            array.iter().any(|other| other.strict_equal(element)).into()
        }
        ("contains", ..) => false.into(),
        ("ends_with", Value::String(text), Some(Value::String(part))) => {
            text.to_utf8().ends_with(&*part.to_utf8()).into()
        }
        ("starts_with", Value::String(text), Some(Value::String(part))) => {
            text.to_utf8().starts_with(&*part.to_utf8()).into()
        }
        ("join", Value::String(separator), Some(Value::Array(array))) => joined(separator, array)?,
        ("keys", Value::Object(object), _) => object
            .keys()
            .map(|name| Value::String(name.clone()))
            .collect::<Array>()
            .into(),
        ("values", Value::Object(object), _) => object.values().cloned().collect::<Array>().into(),
        ("length", Value::String(text), _) => (text.len() as f64).into(),
        ("length", Value::Array(array), _) => (array.len() as f64).into(),
        ("length", Value::Object(object), _) => (object.len() as f64).into(),
        ("max", Value::Array(array), _) => greatest(array.iter().map(|value| (value, value))),
        ("min", Value::Array(array), _) => least(array.iter().map(|value| (value, value))),
        ("sort", Value::Array(array), _) => {
            let mut sorted = array.to_vec();
            sorted.sort_by(Value::compare);
            sorted.into()
        }
        ("merge", ..) => merged(values).into(),
        ("not_null", ..) => {
            let mut known = values.iter().filter(|value| !value.is_nullish());
            known.next().cloned().unwrap_or(Value::Null)
        }
        ("reverse", Value::Array(array), _) => array.iter().rev().cloned().collect::<Array>().into(),
        ("reverse", Value::String(text), _) => {
            let mut units: Vec<u16> = text.units().collect();
            units.reverse();
            Text::from_units(&units).into()
        }
        ("to_array", Value::Array(_), _) => first.clone(),
        ("to_array", ..) => vec![first.clone()].into(),
        ("to_number", Value::Number(_), _) => first.clone(),
        ("to_number", Value::String(text), _) => match text_to_number(&text.to_utf8()) {
            number if number.is_nan() => Value::Null,
            number => number.into(),
        },
        ("to_number", ..) => Value::Null,
        ("to_string", Value::String(_), _) => first.clone(),
        ("to_string", ..) => {
            let mut json = String::new();
            first.write_json(&mut json);
            json.into()
        }
        ("type", ..) => type_of(first).into(),
        _ => Value::Null,
    })
}

/// Functions that evaluate an expression for each element.
fn with_expression(name: &str, array: &Array, expression: &Node) -> Outcome {
    let keys = array.iter().map(|element| evaluated(element, expression));
    let keys: Vec<Value> = keys.collect::<Result<_, _>>()?;
    if name == "map" {
        return Ok(keys.into());
    }
    if !Argument::NumbersOrStrings.takes(&keys.clone().into()) {
        let message = format!("the expression of `{name}()` must give numbers for all elements, or strings");
        return Err(failure(message));
    }
    let pairs = keys.iter().zip(array.iter());
    Ok(match name {
        "max_by" => greatest(pairs),
        "min_by" => least(pairs),
        _ => {
            let mut pairs: Vec<_> = pairs.collect();
            pairs.sort_by(|(a, _), (b, _)| a.compare(b));
            pairs
                .into_iter()
                .map(|(_, element)| element.clone())
                .collect::<Array>()
                .into()
        }
    })
}

/// The element with the greatest key, the first of equal ones.
fn greatest<'v>(pairs: impl Iterator<Item = (&'v Value, &'v Value)>) -> Value {
    let best = pairs.reduce(|best, next| match next.0.compare(best.0).is_gt() {
        true => next,
        false => best,
    });
    best.map_or(Value::Null, |(_, value)| value.clone())
}

/// The element with the least key, the first of equal ones.
fn least<'v>(pairs: impl Iterator<Item = (&'v Value, &'v Value)>) -> Value {
    let best = pairs.reduce(|best, next| match next.0.compare(best.0).is_lt() {
        true => next,
        false => best,
    });
    best.map_or(Value::Null, |(_, value)| value.clone())
}

fn sum(array: &Array) -> f64 {
    let numbers = array.iter().map(|value| match value {
        Value::Number(number) => *number,
        _ => f64::NAN,
    });
    numbers.fold(0.0, |sum, number| sum + number)
}

fn joined(separator: &Text, array: &Array) -> Outcome {
    let mut joined = Text::default();
    for (at, element) in array.iter().enumerate() {
        if at > 0 {
            joined = joined.concat(separator);
        }
        joined = joined.concat(&ops::to_string(element)?);
    }
    Ok(joined.into())
}

fn merged(values: &[Value]) -> Object {
    let mut merged = Object::new();
    for value in values {
        if let Value::Object(object) = value {
            object
                .iter()
                .for_each(|(name, value)| merged.insert(name.clone(), value.clone()));
        }
    }
    merged
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Bool(_) => "boolean",
        _ => "null",
    }
}
