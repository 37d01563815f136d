//! Objects: properties in JavaScript's order (integer-like keys ascending, then by insertion).

use super::{Text, Value};
use std::rc::Rc;

/// An object. `insert` and `remove` copy first if it is shared.
#[derive(Clone, Debug, Default)]
pub struct Object(Rc<Vec<(Text, Value)>>);

impl Object {
    /// An empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of properties.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The own property of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0
            .iter()
            .find(|(key, _)| key.to_utf8() == name)
            .map(|(_, value)| value)
    }

    /// Sets a property; an existing one keeps its place.
    pub fn insert(&mut self, name: impl Into<Text>, value: Value) {
        let name = name.into();
        let entries = Rc::make_mut(&mut self.0);
        match entries.iter_mut().find(|(key, _)| *key == name) {
            Some((_, slot)) => *slot = value,
            None => entries.push((name, value)),
        }
    }

    /// Removes a property and returns it.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(key, _)| key.to_utf8() == name)?;
        Some(Rc::make_mut(&mut self.0).remove(at).1)
    }

    /// Properties in JavaScript's order.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Value)> {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

impl<K: Into<Text>> FromIterator<(K, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(properties: I) -> Self {
        let mut object = Object::new();
        for (name, value) in properties {
            object.insert(name, value);
        }
        object
    }
}
