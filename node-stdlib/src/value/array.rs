//! Arrays.

use super::Value;
use std::ops::Deref;
use std::rc::Rc;

/// An array. Reads as a slice; `push` and `make_mut` copy first if it is shared.
#[derive(Clone, Debug, Default)]
pub struct Array(Rc<Vec<Value>>);

impl Array {
    /// The elements for changing.
    pub fn make_mut(&mut self) -> &mut Vec<Value> {
        Rc::make_mut(&mut self.0)
    }

    /// Appends an element.
    pub fn push(&mut self, value: Value) {
        self.make_mut().push(value);
    }
}

impl Deref for Array {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl From<Vec<Value>> for Array {
    fn from(values: Vec<Value>) -> Self {
        Array(Rc::new(values))
    }
}

impl FromIterator<Value> for Array {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        Array(Rc::new(values.into_iter().collect()))
    }
}
