//! Walking an expression tree.

use super::{Element, Expression, Property};

impl Expression {
    /// Visits this expression and all within, outer ones first.
    pub(crate) fn visit_mut(&mut self, visit: &mut dyn FnMut(&mut Expression)) {
        visit(self);
        match self {
            Expression::Undefined
            | Expression::Null
            | Expression::Bool(_)
            | Expression::Number(_)
            | Expression::String(_)
            | Expression::Name(_)
            | Expression::Parameter { .. } => {}
            Expression::Array(elements) | Expression::Global(_, elements) => visit_elements(elements, visit),
            Expression::Object(properties) => {
                for property in properties {
                    match property {
                        Property::Named(_, value) | Property::Spread(value) => value.visit_mut(visit),
                        Property::Computed(key, value) => {
                            key.visit_mut(visit);
                            value.visit_mut(visit);
                        }
                    }
                }
            }
            Expression::Member(inner, _)
            | Expression::Optional(inner)
            | Expression::Chain(inner)
            | Expression::Unary(_, inner)
            | Expression::Attempt(inner)
            | Expression::Text(inner)
            | Expression::Lambda(inner) => inner.visit_mut(visit),
            Expression::Index(left, right)
            | Expression::Binary(_, left, right)
            | Expression::Logical(_, left, right)
            | Expression::Let(_, left, right) => {
                left.visit_mut(visit);
                right.visit_mut(visit);
            }
            Expression::Conditional(condition, then, otherwise) => {
                condition.visit_mut(visit);
                then.visit_mut(visit);
                otherwise.visit_mut(visit);
            }
            Expression::Template(_, inner) | Expression::Sequence(inner) => {
                inner.iter_mut().for_each(|inner| inner.visit_mut(visit));
            }
            Expression::Script(script) => {
                let arguments = script.arguments.iter_mut();
                arguments.for_each(|argument| argument.visit_mut(visit));
            }
            Expression::Method(call) => {
                call.receiver.visit_mut(visit);
                visit_elements(&mut call.arguments, visit);
            }
        }
    }
}

fn visit_elements(elements: &mut [Element], visit: &mut dyn FnMut(&mut Expression)) {
    for Element::Item(inner) | Element::Spread(inner) in elements {
        inner.visit_mut(visit);
    }
}
