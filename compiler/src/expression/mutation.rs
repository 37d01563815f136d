//! Methods that change what they are called on, such as `sort` and `push`.
//!
//! Values do not change here, so such a method gives its result and leaves its receiver as it was. That is what
//! JavaScript does as long as nobody looks at the receiver again: when it was made by the expression itself for this
//! call, or when it is part of a name's value that the expression reads only once. Every expression has values of its
//! own, so what another one sees does not matter.

use super::{Element, Expression, Name};
use heddle_values::methods::{Global, Method};
use oxc_span::Span;

/// A method that changes a receiver that may be seen elsewhere.
pub(super) struct Change {
    pub(super) what: String,
    pub(super) span: Span,
    /// Where the receiver may be, if all that is known, and not in a function, which may be called twice.
    pub(super) places: Option<Vec<Place>>,
}

/// Places that are changed and places that are read, each with each, beyond which everything counts as seen.
const COMPARED_MAX: usize = 250_000;

/// The changes whose effect the expression may see elsewhere; in doubt, it does.
pub(super) fn seen<'c>(changes: &'c [Change], expression: &mut Expression) -> Vec<&'c Change> {
    if changes.is_empty() {
        return Vec::new();
    }
    let mut read = Vec::new();
    collect(expression, &mut read);
    let changed = changes.iter().filter_map(|change| change.places.as_ref());
    let changed: usize = changed.map(Vec::len).sum();
    let are_few = changed.saturating_mul(read.len()) <= COMPARED_MAX;
    let changes = changes.iter();
    changes
        .filter(|change| !are_few || change.is_seen(&read))
        .collect()
}

impl Change {
    fn is_seen(&self, read: &[Place]) -> bool {
        let Some(changed) = &self.places else {
            return true;
        };
        // The change itself reads it once.
        let seen = |place: &Place| read.iter().filter(|other| place.meets(other)).count() > 1;
        changed.iter().any(seen)
    }
}

/// A name and the path from its value, as far as it is fixed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    name: Name,
    path: Vec<String>,
}

impl Place {
    /// The place that an expression reads, when it is one.
    fn of(expression: &Expression) -> Option<Place> {
        match expression {
            Expression::Name(name) => Some(Place {
                name: name.clone(),
                path: Vec::new(),
            }),
            Expression::Member(object, name) => {
                let mut place = Place::of(object)?;
                place.path.push(name.clone());
                Some(place)
            }
            // Which element it is does not matter: the array itself stands for all of them.
            Expression::Index(object, _) | Expression::Optional(object) | Expression::Chain(object) => {
                Place::of(object)
            }
            Expression::Global(
                Global::ItemFirst | Global::ItemLast | Global::ItemsAll | Global::ItemField,
                arguments,
            ) => match arguments.first() {
                Some(Element::Item(value)) => Place::of(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether one place is part of the other. Values of different names may share parts.
    fn meets(&self, other: &Place) -> bool {
        let none_apart = self.path.iter().zip(&other.path).all(|(a, b)| a == b);
        self.name != other.name || none_apart
    }
}

/// The places that a value may come from; none when it is made by the expression, `None` when that is not known.
pub(super) fn places_of(expression: &Expression) -> Option<Vec<Place>> {
    if is_fresh(expression) {
        return Some(Vec::new());
    }
    match expression {
        Expression::Logical(_, left, right) | Expression::Conditional(_, left, right) => {
            let mut places = places_of(left)?;
            places.extend(places_of(right)?);
            Some(places)
        }
        Expression::Chain(inner) | Expression::Optional(inner) if Place::of(inner).is_none() => {
            places_of(inner)
        }
        _ => Place::of(expression).map(|place| vec![place]),
    }
}

/// Whether the value is made anew, so that nobody else has it.
fn is_fresh(expression: &Expression) -> bool {
    match expression {
        Expression::Array(_) | Expression::Object(_) => true,
        Expression::Global(global, _) => matches!(
            global,
            Global::ArrayFrom
                | Global::ArrayOf
                | Global::JSONParse
                | Global::ObjectAssign
                | Global::ObjectEntries
                | Global::ObjectFromEntries
                | Global::ObjectKeys
                | Global::ObjectValues
                | Global::StructuredClone
        ),
        // What sorts or fills a receiver that nobody sees gives that receiver.
        Expression::Method(call) => matches!(
            call.method,
            Method::Chunk
                | Method::Compact
                | Method::Concat
                | Method::Fill
                | Method::Filter
                | Method::Flat
                | Method::FlatMap
                | Method::Keys
                | Method::Map
                | Method::Pluck
                | Method::RemoveDuplicates
                | Method::Reverse
                | Method::Slice
                | Method::Sort
                | Method::Splice
                | Method::Split
                | Method::ToReversed
                | Method::ToSorted
                | Method::ToSpliced
                | Method::Unique
                | Method::Values
                | Method::With
        ),
        Expression::Optional(inner) | Expression::Chain(inner) => is_fresh(inner),
        Expression::Member(object, _) | Expression::Index(object, _) => is_fresh_within(object),
        _ => false,
    }
}

/// Whether all that is inside the value is made anew, too.
fn is_fresh_within(expression: &Expression) -> bool {
    match expression {
        Expression::Global(global, _) => matches!(global, Global::JSONParse | Global::StructuredClone),
        Expression::Optional(inner)
        | Expression::Chain(inner)
        | Expression::Member(inner, _)
        | Expression::Index(inner, _) => is_fresh_within(inner),
        _ => false,
    }
}

/// Every place that is read, as long as it reaches.
fn collect(expression: &mut Expression, places: &mut Vec<Place>) {
    let mut covered = 0;
    expression.visit_mut(&mut |inner| {
        if covered > 0 {
            covered -= 1;
            return;
        }
        let Some(place) = Place::of(inner) else {
            return;
        };
        if is_scalar(&place.name) {
            return;
        }
        places.push(place);
        // The parts of the path come next.
        covered = steps(inner);
    });
}

/// Expressions inside a path that are parts of it: all but the keys.
fn steps(expression: &Expression) -> usize {
    match expression {
        Expression::Member(object, _)
        | Expression::Index(object, _)
        | Expression::Optional(object)
        | Expression::Chain(object) => 1 + steps(object),
        Expression::Global(_, arguments) => match arguments.first() {
            Some(Element::Item(value)) => 1 + steps(value),
            _ => 0,
        },
        _ => 0,
    }
}

fn is_scalar(name: &Name) -> bool {
    matches!(name, Name::Index | Name::Random | Name::Uuid | Name::Secret(_))
}

/// The first argument, which `Object.assign` changes.
pub(super) fn changed_argument(global: Global, arguments: &[Element]) -> Option<&Expression> {
    match arguments.first() {
        Some(Element::Item(first)) if global == Global::ObjectAssign => Some(first),
        _ => None,
    }
}
