//! Objects: properties in JavaScript's order (integer-like keys ascending, then by insertion).
//!
//! Integer-like keys live in an ordered map, the others in a list by insertion that gets a hash index once it is
//! longer than [`INDEX_FROM`]. The index is an open-addressing table with linear probing.

use super::{Facts, Value};
use crate::text::{Text, index_of_name};
use std::collections::BTreeMap;
use std::rc::Rc;

/// An object, shared when cloned. What changes it copies first if it is shared.
#[derive(Clone, Debug, Default)]
pub struct Object(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    integers: Integers,
    named: Vec<(Text, Value)>,
    index: Index,
    facts: Facts,
}

/// An object is copied because somebody is about to change it: there is room for properties that are added.
impl Clone for Inner {
    fn clone(&self) -> Self {
        let mut named = Vec::with_capacity(self.named.len() + ROOM);
        named.extend_from_slice(&self.named);
        Inner {
            integers: self.integers.clone(),
            named,
            index: self.index.clone(),
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

/// Up to this many names are searched one by one, which is faster than hashing.
const INDEX_FROM: usize = 12;

impl Object {
    /// An empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty object with room for some properties.
    pub fn with_capacity(properties: usize) -> Self {
        Object(Rc::new(Inner {
            named: Vec::with_capacity(properties),
            ..Inner::default()
        }))
    }

    /// Of properties in the order in which they were written. Of those with the same name the last one counts, in the
    /// place of the first.
    pub fn of_properties(properties: impl Iterator<Item = (Text, Value)>) -> Self {
        let named: Vec<(Text, Value)> = properties.collect();
        match named.len() <= INDEX_FROM && are_plain_names(&named) {
            true => Object::of_plain(named),
            false => named.into_iter().collect(),
        }
    }

    fn of_plain(named: Vec<(Text, Value)>) -> Self {
        let facts = Facts::of(named.iter().map(|(_, value)| value));
        Object(Rc::new(Inner {
            named,
            facts,
            ..Inner::default()
        }))
    }

    /// Another object with the same properties, which a clone is not.
    pub fn copy(&self) -> Self {
        Object(Rc::new((*self.0).clone()))
    }

    /// Number of properties.
    pub fn len(&self) -> usize {
        self.0.integers.get().map_or(0, BTreeMap::len) + self.0.named.len()
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
                let removed = inner.named.remove(at).1;
                inner.index.rebuild(&inner.named);
                removed
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
        self.0.properties().map(|(key, value)| (key, value))
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
        integers.into_iter().flatten().chain(inner.named)
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

/// Makes objects as [`Object::of_properties`] does.
///
/// Whether names can be an object's list as they are is looked up once for objects of one kind that follow each other and
/// share their names: it remembers the last list of each length.
#[derive(Default)]
pub struct ObjectMaker {
    plain: [Vec<Text>; INDEX_FROM + 1],
}

impl ObjectMaker {
    /// An object of these properties.
    pub fn object(&mut self, properties: impl Iterator<Item = (Text, Value)>) -> Object {
        let named: Vec<(Text, Value)> = properties.collect();
        match self.knows(&named) {
            true => Object::of_plain(named),
            false => named.into_iter().collect(),
        }
    }

    fn knows(&mut self, named: &[(Text, Value)]) -> bool {
        let Some(plain) = self.plain.get_mut(named.len()) else {
            return false;
        };
        let is_last = |plain: &[Text]| {
            plain
                .iter()
                .zip(named)
                .all(|(known, (name, _))| known.is_same(name))
        };
        if plain.len() == named.len() && is_last(plain) {
            return true;
        }
        let are_plain = are_plain_names(named);
        if are_plain {
            plain.clear();
            plain.extend(named.iter().map(|(name, _)| name.clone()));
        }
        are_plain
    }
}

/// Whether these few can be the list of an object as they are: different names, none like an integer.
fn are_plain_names(named: &[(Text, Value)]) -> bool {
    named.iter().enumerate().all(|(at, (name, _))| {
        let name = Name::of(name);
        !name.is_index() && named.iter().take(at).all(|(other, _)| !name.is(other))
    })
}

/// A name to look for.
#[derive(Clone, Copy)]
enum Name<'a> {
    Utf8(&'a str),
    /// With lone surrogates, so not integer-like.
    Other(&'a Text),
}

impl<'a> Name<'a> {
    fn of(name: &'a Text) -> Self {
        name.as_str().map_or(Name::Other(name), Name::Utf8)
    }

    fn is(self, key: &Text) -> bool {
        match self {
            Name::Utf8(name) => key.is_name(name),
            Name::Other(name) => key == name,
        }
    }

    fn is_index(self) -> bool {
        matches!(self, Name::Utf8(name) if index_of_name(name).is_some())
    }

    fn hash(self) -> u32 {
        match self {
            Name::Utf8(name) => hash(name.as_bytes()),
            // Rare: all of a length in one bucket will do.
            Name::Other(name) => hash(&name.len().to_le_bytes()),
        }
    }
}

/// Where a property is.
#[derive(Clone, Copy)]
enum Place {
    Integer(u32),
    Named(usize),
}

impl Inner {
    fn properties(&self) -> impl Iterator<Item = &(Text, Value)> {
        let integers = self.integers.get().map(BTreeMap::values);
        integers.into_iter().flatten().chain(&self.named)
    }

    fn values(&self) -> impl Iterator<Item = &Value> {
        self.properties().map(|(_, value)| value)
    }

    fn find(&self, name: Name<'_>) -> Option<Place> {
        if let Name::Utf8(text) = name
            && let Some(key) = index_of_name(text)
        {
            let integers = self.integers.get()?;
            return integers.contains_key(&key).then_some(Place::Integer(key));
        }
        if self.index.slots.is_empty() {
            let mut keys = self.named.iter().map(|(key, _)| key);
            let at = match name {
                Name::Utf8(name) => keys.position(|key| key.is_name(name)),
                Name::Other(_) => keys.position(|key| name.is(key)),
            };
            return at.map(Place::Named);
        }
        self.index.find(&self.named, name).map(Place::Named)
    }

    fn at(&self, place: Place) -> &Value {
        match place {
            Place::Integer(key) => {
                let found = self.integers.get().and_then(|integers| integers.get(&key));
                &found.expect("a place that was found").1
            }
            Place::Named(at) => &self.named[at].1,
        }
    }

    fn at_mut(&mut self, place: Place) -> &mut Value {
        match place {
            Place::Integer(key) => {
                let found = self.integers.get_mut().get_mut(&key);
                &mut found.expect("a place that was found").1
            }
            Place::Named(at) => &mut self.named[at].1,
        }
    }

    /// Adds a property that isn't there yet.
    fn append(&mut self, name: Text, value: Value) {
        match name.as_index() {
            Some(key) => {
                self.integers.get_mut().insert(key, (name, value));
            }
            None => {
                self.named.push((name, value));
                self.index.append(&self.named);
            }
        }
    }
}

/// Positions in the list of names by hash. Empty while the list is short.
#[derive(Clone, Debug, Default)]
struct Index {
    /// A power of two of slots, at most half of them taken; [`FREE`] or a position.
    slots: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl Index {
    fn find(&self, named: &[(Text, Value)], name: Name<'_>) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut slot = name.hash() as usize & mask;
        while self.slots[slot] != FREE {
            let at = self.slots[slot] as usize;
            if name.is(&named[at].0) {
                return Some(at);
            }
            slot = (slot + 1) & mask;
        }
        None
    }

    /// Takes in the last name of the list.
    fn append(&mut self, named: &[(Text, Value)]) {
        if named.len() <= INDEX_FROM {
            return;
        }
        if named.len() * 2 > self.slots.len() {
            self.rebuild(named);
        } else if let Some((name, _)) = named.last() {
            self.place(Name::of(name), named.len() - 1);
        }
    }

    fn rebuild(&mut self, named: &[(Text, Value)]) {
        self.slots.clear();
        if named.len() <= INDEX_FROM {
            return;
        }
        self.slots.resize((named.len() * 4).next_power_of_two(), FREE);
        for (at, (name, _)) in named.iter().enumerate() {
            self.place(Name::of(name), at);
        }
    }

    fn place(&mut self, name: Name<'_>, at: usize) {
        let mask = self.slots.len() - 1;
        let mut slot = name.hash() as usize & mask;
        while self.slots[slot] != FREE {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = u32::try_from(at).expect("an object has fewer than 2^32 properties");
    }
}

/// Multiplicative hash by words of eight bytes, in the manner of FxHash, with a final mix since the low bits are
/// used.
fn hash(bytes: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut state = bytes.len() as u64;
    for word in words {
        state = (state.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    state = (state.rotate_left(5) ^ u64::from_le_bytes(last)).wrapping_mul(FACTOR);
    (state >> 32) as u32 ^ (state >> 47) as u32
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
