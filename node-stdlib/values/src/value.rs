//! A JavaScript value. What is built of values, arrays and objects, is part of it.

mod array;
mod object;
mod shape;

pub use array::{Array, ArrayMut};
pub use object::{Near, Object, ObjectMaker};
pub use shape::Shape;

use crate::date_time::{DateTime, Duration, Temporal};
use crate::number::number_to_text;
use crate::text::Text;
use std::rc::Rc;

/// A JavaScript value of the kinds that can travel in a pattern, and functions, which stay within one node.
// The tag has four bytes, so that a value is copied by words: with one byte the rest would be 15 of them.
#[derive(Clone, Debug, Default)]
#[repr(u32)]
pub enum Value {
    /// `undefined`: what is missing. Never part of what leaves a node (see [`Value::into_json`]).
    #[default]
    Undefined,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, NaN and infinities included (which are `null` once they leave a node).
    Number(f64),
    /// A string.
    String(Text),
    /// An array.
    Array(Array),
    /// An object.
    Object(Object),
    /// A compiled function of the pattern, by its index: a parameter that is evaluated for each item.
    Function(u32),
    /// A time: Luxon's `DateTime` or `Duration`, or JavaScript's `Date`; a text once it leaves a node.
    Temporal(Rc<Temporal>),
}

impl Value {
    /// The value as an edge carries it: `undefined` and functions inside objects are left out, in arrays and by
    /// themselves they are `null`, as are NaN and infinities. Free for a value that already is JSON.
    pub fn into_json(self) -> Value {
        if self.is_json() {
            return self;
        }
        match self {
            Value::Array(array) => array
                .into_vec()
                .into_iter()
                .map(Value::into_json)
                .collect::<Vec<_>>()
                .into(),
            Value::Object(object) => {
                let properties = object.into_properties().filter(|(_, value)| !value.is_left_out());
                Value::Object(
                    properties
                        .map(|(name, value)| (name, value.into_json()))
                        .collect(),
                )
            }
            Value::Temporal(temporal) => temporal.to_json().map_or(Value::Null, Value::from),
            _ => Value::Null,
        }
    }

    /// The value with every time in it as the text that it leaves a node as; all else stays as it is. Free for a
    /// value that already is JSON.
    pub fn with_times_as_text(self) -> Value {
        if self.is_json() {
            return self;
        }
        match self {
            Value::Temporal(_) => self.into_json(),
            Value::Array(array) => array
                .into_vec()
                .into_iter()
                .map(Value::with_times_as_text)
                .collect::<Vec<_>>()
                .into(),
            Value::Object(object) => Value::Object(object.with_times_as_text()),
            other => other,
        }
    }

    /// Whether the value is known to hold nothing that JSON can't say, at any depth.
    pub fn is_json(&self) -> bool {
        match self {
            Value::Undefined | Value::Function(_) | Value::Temporal(_) => false,
            Value::Null | Value::Bool(_) | Value::String(_) => true,
            Value::Number(number) => number.is_finite(),
            Value::Array(array) => !array.facts().unclean,
            Value::Object(object) => !object.facts().unclean,
        }
    }

    /// How many arrays and objects are nested in one another: 0 for what is neither, 1 for `[]`. Constant time; an
    /// upper bound after a property was replaced.
    pub fn depth(&self) -> usize {
        match self {
            Value::Array(array) => array.facts().inner_depth as usize + 1,
            Value::Object(object) => object.facts().inner_depth as usize + 1,
            _ => 0,
        }
    }

    /// Whether the value is nested more than `levels` deep, exactly. Looks inside only where [`Value::depth`] says so.
    pub fn deeper_than(&self, levels: usize) -> bool {
        if self.depth() <= levels {
            return false;
        }
        let Some(inside) = levels.checked_sub(1) else {
            return true;
        };
        match self {
            Value::Array(array) => array.iter().any(|value| value.deeper_than(inside)),
            Value::Object(object) => object.values().any(|value| value.deeper_than(inside)),
            _ => false,
        }
    }

    /// JavaScript's ToBoolean.
    pub fn truthy(&self) -> bool {
        match self {
            Value::Undefined | Value::Null => false,
            Value::Bool(value) => *value,
            Value::Number(number) => *number != 0.0 && !number.is_nan(),
            Value::String(text) => !text.is_empty(),
            Value::Array(_) | Value::Object(_) | Value::Function(_) | Value::Temporal(_) => true,
        }
    }

    /// Whether the value is `null` or `undefined`.
    pub fn is_nullish(&self) -> bool {
        matches!(self, Value::Undefined | Value::Null)
    }

    /// The text of the value among other text: strings as they are, nothing for null, undefined and functions, JSON
    /// for arrays and objects, ISO 8601 for times.
    pub fn to_text(&self) -> Text {
        match self {
            Value::Undefined | Value::Null | Value::Function(_) => Text::default(),
            Value::Bool(value) => Text::from(if *value { "true" } else { "false" }),
            Value::Number(number) => number_to_text(*number).into(),
            Value::String(text) => text.clone(),
            Value::Array(_) | Value::Object(_) => self.to_json().into(),
            Value::Temporal(temporal) => temporal.to_text().into(),
        }
    }

    /// `null`, `boolean`, `number`, `string`, `array`, `object`, `undefined` or `function`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined => "undefined",
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) | Value::Temporal(_) => "object",
            Value::Function(_) => "function",
        }
    }

    /// A short description for messages: `the string "abc…"`, `an array of 3`, `an object with id, name, …`.
    pub fn shape(&self) -> String {
        const UNITS_SHOWN: usize = 40;
        const NAMES_SHOWN: usize = 5;
        let shortened = |text: &Text| match text.len() > UNITS_SHOWN {
            true => format!("{}…", text.slice(0, UNITS_SHOWN)),
            false => text.to_string(),
        };
        match self {
            Value::Undefined => "undefined".into(),
            Value::Null => "null".into(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => format!("the number {}", number_to_text(*number)),
            Value::String(text) if text.is_empty() => "an empty string".into(),
            Value::String(text) => format!("the string \"{}\"", shortened(text)),
            Value::Array(array) if array.is_empty() => "an empty array".into(),
            Value::Array(array) => format!("an array of {}", array.len()),
            Value::Object(object) if object.is_empty() => "an empty object".into(),
            Value::Object(object) => {
                let mut names: Vec<_> = object.keys().take(NAMES_SHOWN).map(shortened).collect();
                if object.len() > NAMES_SHOWN {
                    names.push("…".into());
                }
                format!("an object with {}", names.join(", "))
            }
            Value::Function(_) => "a function".into(),
            Value::Temporal(temporal) => temporal.shape(),
        }
    }

    /// Whether JSON.stringify leaves out a property of this value.
    pub(crate) fn is_left_out(&self) -> bool {
        matches!(self, Value::Undefined | Value::Function(_))
    }
}

/// What a container knows about what it holds; that of an empty one by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Something inside may be nothing that JSON can say.
    pub unclean: bool,
    /// The largest [`Value::depth`] of what is inside, at most that.
    inner_depth: u32,
}

impl Facts {
    #[inline]
    fn of<'a>(values: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut facts = Facts::default();
        for value in values {
            facts.add(value);
        }
        facts
    }

    #[inline]
    pub fn add(&mut self, value: &Value) {
        let inner = match value {
            Value::Null | Value::Bool(_) | Value::String(_) => return,
            Value::Number(number) => return self.unclean |= !number.is_finite(),
            Value::Undefined | Value::Function(_) | Value::Temporal(_) => return self.unclean = true,
            Value::Array(array) => array.facts(),
            Value::Object(object) => object.facts(),
        };
        self.unclean |= inner.unclean;
        self.inner_depth = self.inner_depth.max(inner.inner_depth.saturating_add(1));
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text.into())
    }
}

impl From<Text> for Value {
    fn from(text: Text) -> Self {
        Value::String(text)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<Vec<Value>> for Value {
    fn from(values: Vec<Value>) -> Self {
        Value::Array(values.into())
    }
}

impl From<Array> for Value {
    fn from(array: Array) -> Self {
        Value::Array(array)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Value::Object(object)
    }
}

impl From<Temporal> for Value {
    fn from(temporal: Temporal) -> Self {
        Value::Temporal(Rc::new(temporal))
    }
}

impl From<DateTime> for Value {
    fn from(date_time: DateTime) -> Self {
        Temporal::DateTime(date_time).into()
    }
}

impl From<Duration> for Value {
    fn from(duration: Duration) -> Self {
        Temporal::Duration(duration).into()
    }
}
