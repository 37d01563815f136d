//! Objects: properties in JavaScript's order (integer-like keys ascending, then by insertion).
//!
//! Integer-like keys live in an ordered map, the others in a list by insertion. Their names are a [`Shape`], which objects
//! of one kind share.

use super::shape::{Name, Shape};
use super::{Facts, Value};
use crate::text::{Text, index_of_name};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// An object, shared when cloned. What changes it copies first if it is shared.
#[derive(Clone, Debug, Default)]
pub struct Object(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    integers: Integers,
    shape: Shape,
    /// Of the shape's names, in their order.
    values: Vec<Value>,
    facts: Facts,
}

/// An object is copied because somebody is about to change it: there is room for properties that are added.
impl Clone for Inner {
    fn clone(&self) -> Self {
        let mut values = Vec::with_capacity(self.values.len() + ROOM);
        values.extend_from_slice(&self.values);
        Inner {
            integers: self.integers.clone(),
            shape: self.shape.clone(),
            values,
            facts: self.facts,
        }
    }
}

/// Properties that may be added to a copy before its list has to grow.
const ROOM: usize = 2;

/// Properties with integer-like keys, which few objects have.
#[derive(Clone, Debug, Default)]
struct Integers(Option<BTreeMap<u32, (Text, Value)>>);

impl Integers {
    fn get(&self) -> Option<&BTreeMap<u32, (Text, Value)>> {
        self.0.as_ref()
    }

    fn get_mut(&mut self) -> &mut BTreeMap<u32, (Text, Value)> {
        self.0.get_or_insert_default()
    }
}

impl Object {
    /// An empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty object with room for some properties.
    pub fn with_capacity(properties: usize) -> Self {
        Object(Rc::new(Inner {
            values: Vec::with_capacity(properties),
            ..Inner::default()
        }))
    }

    /// Of properties in the order in which they were written. Of those with the same name the last one counts, in the
    /// place of the first.
    pub fn of_properties(properties: impl Iterator<Item = (Text, Value)>) -> Self {
        let (names, values): (Vec<Text>, Vec<Value>) = properties.unzip();
        match Shape::of_names(names) {
            Ok(shape) => Object::of_shape(shape, values),
            Err(names) => names.into_iter().zip(values).collect(),
        }
    }

    /// Of a shape and as many values as it has names; of further ones only so many count.
    pub fn of_shape(shape: Shape, mut values: Vec<Value>) -> Self {
        if values.len() != shape.len() {
            values.resize(shape.len(), Value::Undefined);
        }
        let facts = Facts::of(&values);
        Object::of_shape_and_facts(shape, values, facts)
    }

    /// Of a shape and as many values as it has names, of which these facts are known.
    pub(crate) fn of_shape_and_facts(shape: Shape, values: Vec<Value>, facts: Facts) -> Self {
        debug_assert_eq!((values.len(), Facts::of(&values)), (shape.len(), facts));
        Object(Rc::new(Inner {
            integers: Integers::default(),
            shape,
            values,
            facts,
        }))
    }

    /// The shape, unless there are names besides.
    pub(crate) fn shape(&self) -> Option<&Shape> {
        self.0.integers.get().is_none().then_some(&self.0.shape)
    }

    /// The shape and the values of its names, unless there are names besides.
    pub(crate) fn plain(&self) -> Option<(&Shape, &[Value])> {
        self.shape().map(|shape| (shape, self.0.values.as_slice()))
    }

    /// Another object with the same properties, which a clone is not.
    pub fn copy(&self) -> Self {
        Object(Rc::new((*self.0).clone()))
    }

    /// Number of properties.
    pub fn len(&self) -> usize {
        self.0.integers.get().map_or(0, BTreeMap::len) + self.0.values.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The own property of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.find(Name::Utf8(name)).map(|place| self.0.at(place))
    }

    /// The own property of this name, which may have lone surrogates.
    pub fn get_text(&self, name: &Text) -> Option<&Value> {
        self.0.find(Name::of(name)).map(|place| self.0.at(place))
    }

    /// The own property of this name, looked for first where objects had it before, which is remembered.
    #[inline]
    pub fn get_near(&self, name: &Text, near: &Near) -> Option<&Value> {
        if self.0.shape.address() == near.address.get() {
            return self.0.values.get(near.place.get());
        }
        self.get_otherwise(name, near)
    }

    #[inline(never)]
    fn get_otherwise(&self, name: &Text, near: &Near) -> Option<&Value> {
        let at = near.place.get();
        let found = match self.0.shape.is_at(at, name) {
            true => Place::Named(at),
            false => self.0.find(Name::of(name))?,
        };
        if let Place::Named(at) = found {
            near.place.set(at);
            near.address.set(self.0.shape.address());
            near.shape.replace(self.0.shape.clone());
        }
        Some(self.0.at(found))
    }

    /// Whether one of the names is like this.
    pub fn has_name(&self, is: impl Fn(&Text) -> bool) -> bool {
        let is_among = |integers: &BTreeMap<u32, (Text, Value)>| integers.values().any(|(name, _)| is(name));
        self.0.shape.names().iter().any(&is) || self.0.integers.get().is_some_and(is_among)
    }

    /// Whether there is an own property of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets a property; an existing one keeps its place.
    pub fn insert(&mut self, name: impl Into<Text>, value: Value) {
        let name = name.into();
        let inner = Rc::make_mut(&mut self.0);
        inner.facts.add(&value);
        match inner.find(Name::of(&name)) {
            Some(place) => *inner.at_mut(place) = value,
            None => inner.append(name, value),
        }
    }

    /// Removes a property and returns it. Takes time in proportion to the number of properties.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let place = self.0.find(Name::Utf8(name))?;
        let inner = Rc::make_mut(&mut self.0);
        let removed = match place {
            Place::Integer(key) => inner.integers.get_mut().remove(&key)?.1,
            Place::Named(at) => {
                inner.shape.remove(at);
                inner.values.remove(at)
            }
        };
        inner.facts = Facts::of(inner.values());
        Some(removed)
    }

    /// Changes a property where it is, without copying its value if nobody else holds it; a missing one begins as
    /// `undefined`.
    pub fn update(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        let inner = Rc::make_mut(&mut self.0);
        if inner.find(Name::Utf8(name)).is_none() {
            inner.append(name.into(), Value::Undefined);
        }
        if let Some(place) = inner.find(Name::Utf8(name)) {
            change(inner.at_mut(place));
        }
        inner.facts = Facts::of(inner.values());
    }

    /// Properties in JavaScript's order.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Value)> {
        self.0.properties()
    }

    /// Names in JavaScript's order.
    pub fn keys(&self) -> impl Iterator<Item = &Text> {
        self.iter().map(|(key, _)| key)
    }

    /// Values in JavaScript's order.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.0.values()
    }

    /// The properties by themselves, without copying them if nobody else holds the object.
    pub fn into_properties(self) -> impl Iterator<Item = (Text, Value)> {
        let inner = Rc::try_unwrap(self.0).unwrap_or_else(|shared| (*shared).clone());
        let integers = inner.integers.0.map(|integers| integers.into_values());
        let named = inner.shape.into_names().zip(inner.values);
        integers.into_iter().flatten().chain(named)
    }

    /// See [`Value::with_times_as_text`].
    pub fn with_times_as_text(self) -> Self {
        match self.facts().unclean {
            true => self
                .into_properties()
                .map(|(name, value)| (name, value.with_times_as_text()))
                .collect(),
            false => self,
        }
    }

    /// Whether both are the same object, not merely equal ones.
    pub fn is_same(&self, other: &Object) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Where the object is, if it may be held elsewhere too.
    pub(crate) fn shared_address(&self) -> Option<usize> {
        (Rc::strong_count(&self.0) > 1).then(|| Rc::as_ptr(&self.0).addr())
    }

    pub(super) fn facts(&self) -> Facts {
        self.0.facts
    }
}

/// Where objects have had a name.
#[derive(Default)]
pub struct Near {
    /// Of the shape's names; 0 before the first object.
    address: Cell<usize>,
    place: Cell<usize>,
    /// Held, so that no other shape comes to be at its address.
    shape: RefCell<Shape>,
}

/// Makes objects as [`Object::of_properties`] does.
///
/// Objects of one kind that follow each other and share their names get one shape: it remembers the last.
#[derive(Default)]
pub struct ObjectMaker {
    last: Shape,
}

impl ObjectMaker {
    /// An object of these properties.
    pub fn object(&mut self, mut properties: impl Iterator<Item = (Text, Value)>) -> Object {
        let mut values = Vec::with_capacity(self.last.len());
        let mut other = None;
        for (name, value) in properties.by_ref() {
            if !self.last.is_at(values.len(), &name) {
                other = Some((name, value));
                break;
            }
            values.push(value);
        }
        if other.is_none() && values.len() == self.last.len() {
            return Object::of_shape(self.last.clone(), values);
        }
        let before = self.last.names().iter().cloned().zip(values);
        let object = Object::of_properties(before.chain(other).chain(properties));
        if let Some(shape) = object.shape() {
            self.last = shape.clone();
        }
        object
    }
}

/// Where a property is.
#[derive(Clone, Copy)]
enum Place {
    Integer(u32),
    Named(usize),
}

impl Inner {
    fn properties(&self) -> impl Iterator<Item = (&Text, &Value)> {
        let integers = self.integers.get().map(BTreeMap::values);
        let integers = integers.into_iter().flatten().map(|(name, value)| (name, value));
        integers.chain(self.shape.names().iter().zip(&self.values))
    }

    fn values(&self) -> impl Iterator<Item = &Value> {
        let integers = self.integers.get().map(BTreeMap::values);
        let integers = integers.into_iter().flatten().map(|(_, value)| value);
        integers.chain(&self.values)
    }

    fn find(&self, name: Name<'_>) -> Option<Place> {
        if let Name::Utf8(text) = name
            && let Some(key) = index_of_name(text)
        {
            let integers = self.integers.get()?;
            return integers.contains_key(&key).then_some(Place::Integer(key));
        }
        self.shape.find(name).map(Place::Named)
    }

    fn at(&self, place: Place) -> &Value {
        match place {
            Place::Integer(key) => {
                let found = self.integers.get().and_then(|integers| integers.get(&key));
                &found.expect("a place that was found").1
            }
            Place::Named(at) => &self.values[at],
        }
    }

    fn at_mut(&mut self, place: Place) -> &mut Value {
        match place {
            Place::Integer(key) => {
                let found = self.integers.get_mut().get_mut(&key);
                &mut found.expect("a place that was found").1
            }
            Place::Named(at) => &mut self.values[at],
        }
    }

    /// Adds a property that isn't there yet.
    fn append(&mut self, name: Text, value: Value) {
        match name.as_index() {
            Some(key) => {
                self.integers.get_mut().insert(key, (name, value));
            }
            None => {
                self.shape.append(name);
                self.values.push(value);
            }
        }
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
