//! JSON values with JavaScript's meaning.
//!
//! Values are immutable and shared by reference counts, so passing one along an edge costs nothing; building
//! mutates only what nobody else holds (`Rc::make_mut`). Knows nothing of nodes, expressions or the run.

mod array;
mod number;
mod object;
mod parse;
mod print;
mod text;

pub use array::Array;
pub use number::{number_to_text, text_to_number};
pub use object::Object;
pub use parse::{ParseError, parse_json};
pub use text::Text;

/// A JavaScript value of the kinds that can travel in a pattern, and functions, which stay within one node.
#[derive(Clone, Debug, Default)]
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
}

/// Types of values as patterns and messages name them.
impl Value {
    /// The value as an edge carries it: `undefined` inside objects is left out, in arrays and by itself it is
    /// `null`, as are NaN, infinities and functions. Free for a value that already is JSON.
    pub fn into_json(self) -> Value {
        self
    }

    /// JavaScript's ToBoolean.
    pub fn truthy(&self) -> bool {
        false
    }

    /// The text of the value among other text: strings as they are, nothing for null and undefined, JSON for
    /// arrays and objects.
    pub fn to_text(&self) -> Text {
        Text::from("")
    }

    /// `null`, `boolean`, `number`, `string`, `array`, `object`, `undefined` or `function`.
    pub fn type_name(&self) -> &'static str {
        ""
    }

    /// A short description for messages: `the string "abc…"`, `an array of 3`, `an object with id, name, …`.
    pub fn shape(&self) -> String {
        String::new()
    }

    /// The value at a dotted path such as `customer.address.0.city` (brackets with an index are read too).
    pub fn at_path(&self, path: &str) -> Option<&Value> {
        let _ = path;
        None
    }

    /// Same type and same content, objects by properties in any order.
    pub fn deep_equal(&self, other: &Value) -> bool {
        let _ = other;
        false
    }

    /// JavaScript's `===`.
    pub fn strict_equal(&self, other: &Value) -> bool {
        let _ = other;
        false
    }

    /// An order of all values for Sort, Unique and Aggregate: numbers by size, strings by UTF-16 code units,
    /// then by kind (numbers, strings, booleans, arrays and objects by their JSON, null and undefined last).
    pub fn compare(&self, other: &Value) -> std::cmp::Ordering {
        let _ = other;
        std::cmp::Ordering::Equal
    }

    /// The value as JSON text.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
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
