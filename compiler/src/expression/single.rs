//! Whether every object in a value is in one place only, as in what is read from JSON.
//!
//! What an expression gives may be handed on as a copy only if nobody can tell: if an object in it were there twice,
//! changing it in one place would show in the other.

use super::code::FILE_MARK;
use super::lowering::{STACK_GROWTH_BYTES, STACK_LEFT_BYTES};
use super::{Element, Expression, Name, Property};
use heddle_values::methods::{Global, Method};
use std::collections::HashMap;

/// Places of one value at most. Where each list has the one before twice, they double at each step.
const PARTS_MAX: usize = 300;
/// Steps of a path at most: each of those places has a path, and names may stand for very long ones.
const STEPS_MAX: usize = 32;

/// What objects of a value are parts of, each of them at most once for each time that it is listed.
type Parts = Vec<Place>;

/// The start of a path, and the path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    root: Root,
    path: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Root {
    Input,
    Item,
    /// The element that a function is called with.
    Element,
}

impl Place {
    /// What has this name in it; none if the path would be too long.
    fn within(mut self, name: String) -> Option<Place> {
        self.path.push(name);
        (self.path.len() <= STEPS_MAX).then_some(self)
    }

    /// Whether another one is part of it.
    fn has(&self, other: &Place) -> bool {
        self.root == other.root && other.path.starts_with(&self.path)
    }
}

/// All of these, unless they are too many.
fn joined(mut parts: Parts, more: Parts) -> Option<Parts> {
    parts.extend(more);
    (parts.len() <= PARTS_MAX).then_some(parts)
}

/// Whether no two places have anything in common. `input` and `item` may.
fn are_apart(parts: &[Place]) -> bool {
    let roots = |root| parts.iter().any(|place| place.root == root);
    // In their order, what has others in it is followed by one of these.
    let mut sorted: Vec<&Place> = parts.iter().collect();
    sorted.sort_unstable();
    let mut pairs = sorted.iter().zip(sorted.iter().skip(1));
    if roots(Root::Input) && roots(Root::Item) {
        return false;
    }
    !pairs.any(|(one, next)| one.has(next))
}

/// What a name stands for in a function.
struct Named {
    /// The place that it is, if it is one.
    place: Option<Place>,
    parts: Option<Parts>,
}

#[derive(Default)]
struct Function {
    names: HashMap<u32, Named>,
}

/// What names stand for, as far as it is known.
pub(super) struct Origins {
    /// Functions around, the innermost last. The first is the node's own, which is called once.
    functions: Vec<Function>,
    /// So many names of the node's own function have been looked at.
    known: usize,
}

impl Default for Origins {
    fn default() -> Self {
        Origins {
            functions: vec![Function::default()],
            known: 0,
        }
    }
}

impl Origins {
    /// Whether every object in `value` is certainly in one place only, with the values of the names in front of it, which are those of
    /// the call before and perhaps more; all that these are made of are `input`, `item` and constants.
    pub(super) fn is_single(&mut self, declared: &[(u32, Expression)], value: &Expression) -> bool {
        for (name, value) in declared.iter().skip(self.known) {
            self.declare(*name, value);
        }
        self.known = declared.len();
        self.of(value).is_some_and(|parts| are_apart(&parts))
    }

    fn declare(&mut self, index: u32, value: &Expression) {
        let named = Named {
            place: self.place(value),
            parts: self.of(value),
        };
        if let Some(function) = self.functions.last_mut() {
            function.names.insert(index, named);
        }
    }

    /// The name's value in the innermost function.
    fn named(&self, index: u32) -> Option<&Named> {
        self.functions.last()?.names.get(&index)
    }

    /// The place that an expression reads, if it is one.
    fn place(&self, value: &Expression) -> Option<Place> {
        let at = |root| {
            Some(Place {
                root,
                path: Vec::new(),
            })
        };
        match value {
            Expression::Name(Name::Input) => at(Root::Input),
            Expression::Name(Name::Item) => at(Root::Item),
            Expression::Parameter { up: 0, index } => match self.named(*index) {
                Some(named) => named.place.clone(),
                None if *index == 0 && self.functions.len() > 1 => at(Root::Element),
                None => None,
            },
            Expression::Member(object, name) => {
                let place = self.nested(|origins| origins.place(object))?;
                place.within(name.clone())
            }
            Expression::Index(object, key) => match **key {
                Expression::Number(at) => {
                    let place = self.nested(|origins| origins.place(object))?;
                    place.within(at.to_string())
                }
                _ => None,
            },
            // What is taken apart has its elements in the same places.
            Expression::Array(elements) => match elements.as_slice() {
                [Element::Spread(inner)] => self.nested(|origins| origins.place(inner)),
                _ => None,
            },
            Expression::Optional(inner) | Expression::Chain(inner) => {
                self.nested(|origins| origins.place(inner))
            }
            _ => None,
        }
    }

    /// With enough stack for one level more.
    fn nested<T>(&self, work: impl FnOnce(&Self) -> T) -> T {
        stacker::maybe_grow(STACK_LEFT_BYTES, STACK_GROWTH_BYTES, || work(self))
    }

    /// What the objects of a value are parts of; none if that is not certain.
    fn of(&mut self, value: &Expression) -> Option<Parts> {
        stacker::maybe_grow(STACK_LEFT_BYTES, STACK_GROWTH_BYTES, || self.parts(value))
    }

    fn parts(&mut self, value: &Expression) -> Option<Parts> {
        let (base, beginning) = beginning(value);
        if let Some(place) = self.place(beginning) {
            return Some(vec![place]);
        }
        if !std::ptr::eq(base, value) {
            // Something in it, or all of it. What is asked of null fails.
            return self.of(base);
        }
        match value {
            Expression::Undefined
            | Expression::Null
            | Expression::Bool(_)
            | Expression::Number(_)
            | Expression::String(_)
            | Expression::Template(..)
            | Expression::Text(_)
            | Expression::Unary(..)
            | Expression::Binary(..) => Some(Vec::new()),
            Expression::Member(inner, _)
            | Expression::Index(inner, _)
            | Expression::Optional(inner)
            | Expression::Chain(inner) => self.of(inner),
            Expression::Logical(_, left, right) | Expression::Conditional(_, left, right) => {
                let parts = self.of(left)?;
                joined(parts, self.of(right)?)
            }
            Expression::Sequence(values) => self.of(values.last()?),
            Expression::Let(index, value, body) => {
                self.declare(*index, value);
                self.of(body)
            }
            Expression::Parameter { up, index } => self.parameter(*up, *index),
            Expression::Array(elements) => self.array(elements),
            Expression::Object(properties) => self.object(properties),
            Expression::Method(call) => self.method(&call.receiver, call.method, &call.arguments),
            Expression::Global(global, arguments) => self.global(*global, arguments),
            Expression::Name(_) | Expression::Lambda(_) | Expression::Script(_) | Expression::Attempt(_) => {
                None
            }
        }
    }

    /// A parameter that is not a place: the position of an element, or a name's value.
    fn parameter(&self, up: u32, index: u32) -> Option<Parts> {
        let at = self.functions.len().checked_sub(up as usize + 1)?;
        let function = self.functions.get(at)?;
        match function.names.get(&index) {
            // In a function within, it would be there as often as that is called.
            Some(named) => {
                let parts = named.parts.as_ref();
                parts.filter(|parts| up == 0 || parts.is_empty()).cloned()
            }
            None => (at > 0 && index == 1).then(Vec::new),
        }
    }

    fn array(&mut self, elements: &[Element]) -> Option<Parts> {
        let mut parts = Vec::new();
        for element in elements {
            let (Element::Item(value) | Element::Spread(value)) = element;
            parts = joined(parts, self.of(value)?)?;
        }
        Some(parts)
    }

    fn object(&mut self, properties: &[Property]) -> Option<Parts> {
        let mut parts = Vec::new();
        for property in properties {
            match property {
                Property::Named(name, value) if name != FILE_MARK => {
                    parts = joined(parts, self.of(value)?)?;
                }
                Property::Spread(value) => parts = joined(parts, self.of(value)?)?,
                Property::Named(..) | Property::Computed(..) => return None,
            }
        }
        Some(parts)
    }

    fn method(&mut self, receiver: &Expression, method: Method, arguments: &[Element]) -> Option<Parts> {
        if gives_plain(method) {
            return Some(Vec::new());
        }
        match method {
            Method::At
            | Method::Filter
            | Method::Find
            | Method::FindLast
            | Method::Flat
            | Method::Pop
            | Method::Reverse
            | Method::Shift
            | Method::Slice
            | Method::Sort
            | Method::ToReversed
            | Method::ToSorted => self.of(receiver),
            Method::Concat => {
                let parts = self.of(receiver)?;
                joined(parts, self.array(arguments)?)
            }
            Method::Map | Method::FlatMap => {
                let [Element::Item(Expression::Lambda(body)), ..] = arguments else {
                    return None;
                };
                let receiver = self.of(receiver)?;
                self.functions.push(Function::default());
                let made = self.of(body);
                self.functions.pop();
                let made = made?;
                let of_element = made.iter().all(|place| place.root == Root::Element);
                match made.is_empty() {
                    true => Some(made),
                    false => (of_element && are_apart(&made)).then_some(receiver),
                }
            }
            _ => None,
        }
    }

    fn global(&mut self, global: Global, arguments: &[Element]) -> Option<Parts> {
        match (global, arguments) {
            (
                Global::Boolean
                | Global::IsFinite
                | Global::IsNaN
                | Global::JSONStringify
                | Global::MathAbs
                | Global::MathCeil
                | Global::MathFloor
                | Global::MathMax
                | Global::MathMin
                | Global::MathRound
                | Global::MathSign
                | Global::MathSqrt
                | Global::MathTrunc
                | Global::Number
                | Global::ObjectKeys
                | Global::ParseFloat
                | Global::ParseInt
                | Global::String,
                _,
            ) => Some(Vec::new()),
            (Global::ObjectEntries | Global::ObjectValues | Global::ArrayFrom, [Element::Item(value)]) => {
                self.of(value)
            }
            _ => None,
        }
    }
}

/// What a chain of members begins with, and the longest beginning of the chain that may be a place: up to a member whose name is
/// computed.
fn beginning(value: &Expression) -> (&Expression, &Expression) {
    let (mut base, mut beginning) = (value, value);
    loop {
        match base {
            Expression::Index(object, key) => {
                if !matches!(**key, Expression::Number(_)) {
                    beginning = object;
                }
                base = object;
            }
            Expression::Member(object, _) | Expression::Optional(object) | Expression::Chain(object) => {
                base = object;
            }
            _ => return (base, beginning),
        }
    }
}

/// Methods that give a text, a number or the like, or a new array of these.
fn gives_plain(method: Method) -> bool {
    matches!(
        method,
        Method::CharAt
            | Method::CharCodeAt
            | Method::CodePointAt
            | Method::EndsWith
            | Method::Every
            | Method::FindIndex
            | Method::FindLastIndex
            | Method::HasOwnProperty
            | Method::Includes
            | Method::IndexOf
            | Method::Join
            | Method::LastIndexOf
            | Method::PadEnd
            | Method::PadStart
            | Method::Repeat
            | Method::Replace
            | Method::ReplaceAll
            | Method::Some
            | Method::Split
            | Method::StartsWith
            | Method::Substr
            | Method::Substring
            | Method::ToFixed
            | Method::ToLowerCase
            | Method::ToPrecision
            | Method::ToString
            | Method::ToUpperCase
            | Method::Trim
            | Method::TrimEnd
            | Method::TrimStart
    )
}

#[cfg(test)]
mod tests {
    use super::{Element, Expression, Name, Origins, STEPS_MAX};

    /// A path of `input`.
    fn path(names: &str) -> Expression {
        let names = names.split('.');
        names.fold(Expression::Name(Name::Input), |object, name| {
            Expression::Member(Box::new(object), name.to_owned())
        })
    }

    fn is_single(paths: &[&str]) -> bool {
        let items = paths.iter().map(|names| Element::Item(path(names)));
        Origins::default().is_single(&[], &Expression::Array(items.collect()))
    }

    #[test]
    fn what_is_part_of_another_is_found_wherever_they_stand() {
        assert!(is_single(&["a.b", "ab", "a.c", "a+b", "b"]));
        for paths in [
            ["a.b", "c", "a"],
            ["a", "a.b.c", "b"],
            ["a.b.c", "a.c", "a.b"],
            ["c", "x", "x"],
        ] {
            assert!(!is_single(&paths), "{paths:?}");
        }
    }

    #[test]
    fn of_a_very_long_path_it_is_only_known_what_it_begins_with() {
        let long = |steps: usize, last: &str| "a.".repeat(steps - 1) + last;
        let (one, other) = (long(STEPS_MAX, "x"), long(STEPS_MAX, "y"));
        assert!(is_single(&[&one, &other]));
        let (one, other) = (long(STEPS_MAX + 1, "x"), long(STEPS_MAX + 1, "y"));
        assert!(is_single(&[&one]));
        assert!(!is_single(&[&one, &other]));
    }
}
