//! Arrays.

use super::{Facts, Value};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// An array, shared when cloned. Reads as a slice; `push` and `make_mut` copy first if it is shared.
#[derive(Clone, Debug, Default)]
pub struct Array(Rc<Inner>);

#[derive(Clone, Debug, Default)]
struct Inner {
    values: Vec<Value>,
    facts: Facts,
}

impl Array {
    /// Of elements of which these facts are known.
    pub(crate) fn of_facts(values: Vec<Value>, facts: Facts) -> Self {
        debug_assert_eq!(Facts::of(&values), facts);
        Array(Rc::new(Inner { values, facts }))
    }

    /// The elements for changing. What is known about them is renewed when the guard is dropped, which takes time
    /// in proportion to their number: use `push` to append.
    pub fn make_mut(&mut self) -> ArrayMut<'_> {
        ArrayMut(Rc::make_mut(&mut self.0))
    }

    /// Appends an element.
    pub fn push(&mut self, value: Value) {
        let inner = Rc::make_mut(&mut self.0);
        inner.facts.add(&value);
        inner.values.push(value);
    }

    /// Another array with the same elements, which a clone is not.
    pub fn copy(&self) -> Self {
        Array(Rc::new((*self.0).clone()))
    }

    /// The elements by themselves, without copying them if nobody else holds the array.
    pub fn into_vec(self) -> Vec<Value> {
        Rc::try_unwrap(self.0)
            .unwrap_or_else(|shared| (*shared).clone())
            .values
    }

    /// Whether both are the same array, not merely equal ones.
    pub fn is_same(&self, other: &Array) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Where the array is, if it may be held elsewhere too.
    pub(crate) fn shared_address(&self) -> Option<usize> {
        (Rc::strong_count(&self.0) > 1).then(|| Rc::as_ptr(&self.0).addr())
    }

    pub(super) fn facts(&self) -> Facts {
        self.0.facts
    }
}

/// Elements of an array that are being changed.
pub struct ArrayMut<'a>(&'a mut Inner);

impl Deref for ArrayMut<'_> {
    type Target = Vec<Value>;

    fn deref(&self) -> &Vec<Value> {
        &self.0.values
    }
}

impl DerefMut for ArrayMut<'_> {
    fn deref_mut(&mut self) -> &mut Vec<Value> {
        &mut self.0.values
    }
}

impl Drop for ArrayMut<'_> {
    fn drop(&mut self) {
        self.0.facts = Facts::of(&self.0.values);
    }
}

impl Deref for Array {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0.values
    }
}

impl From<Vec<Value>> for Array {
    fn from(values: Vec<Value>) -> Self {
        let facts = Facts::of(&values);
        Array::of_facts(values, facts)
    }
}

impl FromIterator<Value> for Array {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        Array::from(values.into_iter().collect::<Vec<_>>())
    }
}

impl<'a> IntoIterator for &'a Array {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
