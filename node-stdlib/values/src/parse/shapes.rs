//! Shapes of the objects that a text has had so far. Objects that follow each other are mostly of few kinds, whose names
//! come in one order: so a name need only be compared with the one that is expected.

use crate::plain::is_plain;
use crate::text::same_bytes;
use crate::{Shape, Text};
use std::cell::OnceCell;
use std::num::NonZeroUsize;
use std::rc::Rc;

/// So many are remembered.
const SHAPES_MAX: usize = 16;
/// Longer ones are not.
const NAMES_MAX: usize = 64;

/// The shapes, none of them empty.
#[derive(Default)]
pub(super) struct Shapes {
    known: Vec<Known>,
    /// The one that the last object began with.
    last: usize,
    /// The one that gives way next.
    oldest: usize,
}

struct Known {
    kind: Rc<Kind>,
    /// The one that the next object began with.
    next: usize,
}

struct Kind {
    shape: Shape,
    /// Its names, from the second object on that begins like this.
    spelled: OnceCell<Box<[Spelled]>>,
}

impl Kind {
    fn of(shape: Shape) -> Rc<Self> {
        let spelled = OnceCell::new();
        Rc::new(Kind { shape, spelled })
    }

    fn spell(&self) {
        self.spelled.get_or_init(|| {
            let names = self.shape.names().iter().enumerate();
            names.map(|(place, name)| Spelled::of(place, name)).collect()
        });
    }
}

/// What an object is like so far.
pub(super) struct Like(Rc<Kind>);

/// A name as it mostly stands in a text, with its quotes, the colon, and the bracket or comma before it.
struct Spelled {
    text: u128,
    /// Of the bytes that belong to it.
    mask: u128,
    length: usize,
}

impl Spelled {
    /// Longer names are spelled as no text is.
    const NONE: Spelled = Spelled {
        text: u128::MAX,
        mask: u128::MAX,
        length: 0,
    };

    fn of(place: usize, name: &Text) -> Self {
        let name = name.as_str().unwrap_or_default();
        let length = name.len() + b",\"\":".len();
        if length > size_of::<u128>() {
            return Spelled::NONE;
        }
        let before = if place == 0 { b"{\"" } else { b",\"" };
        let bytes = before.iter().chain(name.as_bytes()).chain(b"\":");
        let text = bytes.rev().fold(0, |text, byte| text << 8 | u128::from(*byte));
        Spelled {
            text,
            mask: u128::MAX >> (u128::BITS as usize - length * 8),
            length,
        }
    }
}

impl Like {
    /// The shape that it has if it goes on like this.
    pub fn shape(&self) -> &Shape {
        &self.0.shape
    }

    /// The position after the name at `place` and its colon, if the text goes on with exactly these after the bracket or comma
    /// that is here.
    #[inline]
    pub fn after_spelled(&self, place: usize, text: &[u8], at: usize) -> Option<NonZeroUsize> {
        let spelled = self.0.spelled.get()?.get(place)?;
        let there = u128::from_le_bytes(*text.get(at..)?.first_chunk()?);
        match (there ^ spelled.text) & spelled.mask {
            0 => NonZeroUsize::new(at + spelled.length),
            _ => None,
        }
    }
}

impl Shapes {
    /// What an object is like whose bracket is here, as far as can be told, and the position after its first name if that was
    /// found as it is mostly spelled.
    pub fn begin(&mut self, text: &[u8], at: usize) -> Option<(Like, Option<NonZeroUsize>)> {
        let expected = self.known.get(self.last)?.next;
        if let Some(known) = self.known.get(expected) {
            let like = Like(known.kind.clone());
            if let Some(after) = like.after_spelled(0, text, at) {
                self.follow(expected);
                return Some((like, Some(after)));
            }
        }
        self.begin_otherwise(text, at, expected)
    }

    #[inline(never)]
    fn begin_otherwise(
        &mut self,
        text: &[u8],
        at: usize,
        expected: usize,
    ) -> Option<(Like, Option<NonZeroUsize>)> {
        let inside = text.get(at + 1..)?;
        let space = inside.iter().take_while(|byte| b" \t\n\r".contains(byte));
        let at = at + 1 + space.count();
        if text.get(at) != Some(&b'"') {
            return None;
        }
        let fits = |known: &Known| after_name(known.kind.shape.names(), 0, text, at + 1).is_some();
        let found = match self.known.get(expected).is_some_and(fits) {
            true => expected,
            false => self.known.iter().position(fits)?,
        };
        self.follow(found);
        let kind = self.known.get(found)?.kind.clone();
        kind.spell();
        Some((Like(kind), None))
    }

    /// An object begins like this one.
    #[inline]
    fn follow(&mut self, found: usize) {
        if let Some(last) = self.known.get_mut(self.last) {
            last.next = found;
        }
        self.last = found;
    }

    /// The position after the name that begins here, after its quote, if it is the one at `place` of what the object is like,
    /// or of something else that has been like it so far, which it is then.
    pub fn goes_on(&self, like: &mut Like, place: usize, text: &[u8], at: usize) -> Option<NonZeroUsize> {
        let names = like.shape().names();
        after_name(names, place, text, at).or_else(|| self.goes_on_otherwise(like, place, text, at))
    }

    #[cold]
    fn goes_on_otherwise(
        &self,
        like: &mut Like,
        place: usize,
        text: &[u8],
        at: usize,
    ) -> Option<NonZeroUsize> {
        let begin = like.shape().names().get(..place)?;
        let (other, after) = self.known.iter().find_map(|known| {
            let names = known.kind.shape.names();
            let after = after_name(names, place, text, at)?;
            names.starts_with(begin).then_some((known, after))
        })?;
        other.kind.spell();
        *like = Like(other.kind.clone());
        Some(after)
    }

    /// The shape of an object that ends after so many names of this one.
    #[inline]
    pub fn end(&mut self, like: &Like, count: usize) -> Option<Shape> {
        let shape = like.shape();
        if shape.len() == count {
            return Some(shape.clone());
        }
        self.shorter(shape, count)
    }

    #[cold]
    fn shorter(&mut self, like: &Shape, count: usize) -> Option<Shape> {
        let names = like.names().get(..count)?;
        let mut known = self.known.iter().map(|known| &known.kind.shape);
        if let Some(known) = known.find(|shape| shape.names() == names) {
            return Some(known.clone());
        }
        let shape = Shape::of_plain_names(names.to_vec());
        self.keep(Some(&shape));
        Some(shape)
    }

    /// Remembers the shape of an object that was like no other.
    pub fn keep(&mut self, shape: Option<&Shape>) {
        let is_plain = |name: &Text| name.as_str().is_some_and(|name| is_plain(name.as_bytes()));
        let is_fit = |shape: &&Shape| {
            // With an escape, a name does not stand in the text as it is.
            (1..=NAMES_MAX).contains(&shape.len()) && shape.names().iter().all(is_plain)
        };
        let Some(shape) = shape.filter(is_fit) else {
            return;
        };
        let known = Known {
            kind: Kind::of(shape.clone()),
            next: 0,
        };
        match self.known.get_mut(self.oldest) {
            Some(oldest) => *oldest = known,
            None => self.known.push(known),
        }
        self.last = self.oldest;
        self.oldest = (self.oldest + 1) % SHAPES_MAX;
    }
}

/// The position after the name at `place` and its closing quote, if the text goes on with them.
#[inline]
fn after_name(names: &[Text], place: usize, text: &[u8], at: usize) -> Option<NonZeroUsize> {
    let name = names.get(place)?.as_str()?.as_bytes();
    let end = at + name.len();
    if text.get(end) != Some(&b'"') || !same_bytes(text.get(at..end)?, name) {
        return None;
    }
    NonZeroUsize::new(end + 1)
}
