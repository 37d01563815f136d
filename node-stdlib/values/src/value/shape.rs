//! The names that an object has, in their order. Objects of one kind share one shape.
//!
//! From [`INDEX_FROM`] names on it has a hash index: an open-addressing table with linear probing.

use crate::text::{Text, index_of_name};
use std::cell::RefCell;
use std::rc::Rc;

/// Different names, none of them like an integer; shared when cloned. What changes it copies first if it is shared.
#[derive(Clone, Debug, Default)]
pub struct Shape(Option<Rc<Names>>);

#[derive(Debug, Default)]
struct Names {
    list: Vec<Text>,
    index: Index,
    /// The shape with one name more that was made of this one last, so that objects which are added to in the same way
    /// share theirs too.
    next: RefCell<Option<Rc<Names>>>,
}

impl Clone for Names {
    fn clone(&self) -> Self {
        Names {
            list: self.list.clone(),
            index: self.index.clone(),
            next: RefCell::default(),
        }
    }
}

/// Longer ones than this have no `next`, since each has all names of those before it.
const NEXT_FROM_MAX: usize = 32;

/// Up to this many names are searched one by one, which is faster than hashing.
const INDEX_FROM: usize = 12;

impl Shape {
    /// Of these names; gives them back if they are more than a few, or not fit for a shape as they are.
    pub fn of_names(list: Vec<Text>) -> Result<Self, Vec<Text>> {
        if list.len() > INDEX_FROM || !are_plain(&list) {
            return Err(list);
        }
        Ok(Shape::of_plain_names(list))
    }

    /// Of different names, none like an integer.
    pub(crate) fn of_plain_names(list: Vec<Text>) -> Self {
        let mut index = Index::default();
        index.rebuild(&list);
        let next = RefCell::default();
        Shape((!list.is_empty()).then(|| Rc::new(Names { list, index, next })))
    }

    /// How many names there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.names().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names.
    #[inline]
    pub(crate) fn names(&self) -> &[Text] {
        self.0.as_ref().map_or(&[], |names| &names.list)
    }

    /// Where its names are; 1 if there are none.
    #[inline]
    pub(super) fn address(&self) -> usize {
        self.0.as_ref().map_or(1, |names| Rc::as_ptr(names).addr())
    }

    /// Where its names are, if other objects may have the same shape.
    pub(crate) fn shared_address(&self) -> Option<usize> {
        let names = self.0.as_ref().filter(|names| Rc::strong_count(names) > 1)?;
        Some(Rc::as_ptr(names).addr())
    }

    /// Whether the name at this place is this one.
    #[inline]
    pub(super) fn is_at(&self, place: usize, name: &Text) -> bool {
        let there = self.names().get(place);
        there
            .is_some_and(|there| there.is_same(name) || name.as_str().is_some_and(|name| there.is_name(name)))
    }

    /// The names by themselves.
    pub(super) fn into_names(self) -> impl Iterator<Item = Text> {
        let names = self.0.map(Rc::unwrap_or_clone);
        names.into_iter().flat_map(|names| names.list)
    }

    #[inline]
    pub(super) fn find(&self, name: Name<'_>) -> Option<usize> {
        let names = self.0.as_deref()?;
        if !names.index.slots.is_empty() {
            return names.index.find(&names.list, name);
        }
        match name {
            Name::Utf8(name) => names.list.iter().position(|key| key.is_name(name)),
            Name::Other(_) => names.list.iter().position(|key| name.is(key)),
        }
    }

    /// Adds a name that is none of them.
    pub(super) fn append(&mut self, name: Text) {
        let shared = self.0.get_or_insert_default();
        if let Some(names) = Rc::get_mut(shared) {
            names.push(name);
            return;
        }
        let known = shared.next.borrow().clone();
        let is_next = |next: &Rc<Names>| next.list.last().is_some_and(|last| *last == name);
        let next = known.filter(is_next).unwrap_or_else(|| {
            let mut names = Names::clone(shared);
            names.push(name);
            let next = Rc::new(names);
            if shared.list.len() < NEXT_FROM_MAX {
                shared.next.replace(Some(next.clone()));
            }
            next
        });
        *shared = next;
    }

    pub(super) fn remove(&mut self, place: usize) {
        if let Some(names) = &mut self.0 {
            let names = Rc::make_mut(names);
            names.next = RefCell::default();
            names.list.remove(place);
            names.index.rebuild(&names.list);
        }
    }
}

impl Names {
    fn push(&mut self, name: Text) {
        self.next = RefCell::default();
        self.list.push(name);
        self.index.append(&self.list);
    }
}

/// Whether these few are different names, none like an integer.
fn are_plain(names: &[Text]) -> bool {
    names.iter().enumerate().all(|(at, name)| {
        let name = Name::of(name);
        !name.is_index() && names.iter().take(at).all(|other| !name.is(other))
    })
}

/// A name to look for.
#[derive(Clone, Copy)]
pub(super) enum Name<'a> {
    Utf8(&'a str),
    /// With lone surrogates, so not integer-like.
    Other(&'a Text),
}

impl<'a> Name<'a> {
    pub(super) fn of(name: &'a Text) -> Self {
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

/// Positions in the list of names by hash. Empty while the list is short.
#[derive(Clone, Debug, Default)]
struct Index {
    /// A power of two of slots, at most half of them taken; [`FREE`] or a position.
    slots: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl Index {
    fn find(&self, names: &[Text], name: Name<'_>) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut slot = name.hash() as usize & mask;
        while self.slots[slot] != FREE {
            let at = self.slots[slot] as usize;
            if name.is(&names[at]) {
                return Some(at);
            }
            slot = (slot + 1) & mask;
        }
        None
    }

    /// Takes in the last name of the list.
    fn append(&mut self, names: &[Text]) {
        if names.len() <= INDEX_FROM {
            return;
        }
        if names.len() * 2 > self.slots.len() {
            self.rebuild(names);
        } else if let Some(name) = names.last() {
            self.place(Name::of(name), names.len() - 1);
        }
    }

    fn rebuild(&mut self, names: &[Text]) {
        self.slots.clear();
        if names.len() <= INDEX_FROM {
            return;
        }
        self.slots.resize((names.len() * 4).next_power_of_two(), FREE);
        for (at, name) in names.iter().enumerate() {
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
