//! Equality and order of values.

use super::Value;
use std::cmp::Ordering;
use std::rc::Rc;

impl Value {
    /// Same type and same content, objects by properties in any order. NaN is the same as NaN here.
    pub fn deep_equal(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Value::Array(a), Value::Array(b)) => {
                a.is_same(b) || (a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.deep_equal(y)))
            }
            (Value::Object(a), Value::Object(b)) => {
                a.is_same(b)
                    || (a.len() == b.len()
                        && a.iter()
                            .all(|(name, x)| b.get_text(name).is_some_and(|y| x.deep_equal(y))))
            }
            (Value::Temporal(a), Value::Temporal(b)) => a.deep_equal(b),
            _ => self.strict_equal(other),
        }
    }

    /// JavaScript's `===`: arrays and objects only equal themselves.
    pub fn strict_equal(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Undefined, Value::Undefined) | (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Number(a), Value::Number(b)) => a == b,
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => a.is_same(b),
            (Value::Object(a), Value::Object(b)) => a.is_same(b),
            (Value::Function(a), Value::Function(b)) => a == b,
            (Value::Temporal(a), Value::Temporal(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// A total order of all values for Sort, Unique and Aggregate: by kind (numbers, strings, booleans, arrays and
    /// objects, times, functions, null, undefined), and within a kind numbers by size with NaN last, strings by UTF-16 code
    /// units, false before true, arrays and objects by their JSON.
    pub fn compare(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => {
                a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
            }
            (Value::String(a), Value::String(b)) => a.cmp(b),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Function(a), Value::Function(b)) => a.cmp(b),
            (Value::Array(_) | Value::Object(_), Value::Array(_) | Value::Object(_)) => {
                self.to_text().cmp(&other.to_text())
            }
            (Value::Temporal(a), Value::Temporal(b)) => a.compare(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::Array(_) | Value::Object(_) => 3,
            Value::Temporal(_) => 4,
            Value::Function(_) => 5,
            Value::Null => 6,
            Value::Undefined => 7,
        }
    }
}
