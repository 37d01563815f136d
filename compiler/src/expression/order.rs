//! Functions by which code sorts, as far as all ways of sorting give the same by them.

use super::exact::{fails, text};
use super::lowering::{STACK_GROWTH_BYTES, STACK_LEFT_BYTES};
use super::{Binary, Expression, Logical, Unary};

/// A function by which elements are sorted, if all ways of sorting give the same by it: by differences of the same number
/// of both elements, of which none is NaN, or by which of two texts or numbers is less, and further ones where they are
/// equal. What it is given otherwise fails.
pub(super) fn order_in_code(order: &Expression) -> Option<Expression> {
    match order {
        Expression::Logical(Logical::Or, first, second) => {
            let (first, second) = stacker::maybe_grow(STACK_LEFT_BYTES, STACK_GROWTH_BYTES, || {
                Some((order_in_code(first)?, order_in_code(second)?))
            })?;
            Some(Expression::Logical(
                Logical::Or,
                Box::new(first),
                Box::new(second),
            ))
        }
        Expression::Binary(Binary::Subtract, left, right) if is_mirrored(left, right) => {
            let is_zero = binary(Binary::StrictEqual, order.clone(), Expression::Number(0.0));
            let checked = conditional(is_zero, Expression::Number(0.0), fails());
            Some(Expression::Logical(
                Logical::Or,
                Box::new(order.clone()),
                Box::new(checked),
            ))
        }
        Expression::Conditional(test, then, otherwise) => by_less(test, then, otherwise),
        _ => None,
    }
}

/// `a.x < b.x ? -1 : 1`, `a.x < b.x ? -1 : a.x > b.x ? 1 : 0` and the like.
fn by_less(test: &Expression, then: &Expression, otherwise: &Expression) -> Option<Expression> {
    let (operator, left, right) = comparison(test)?;
    if !is_mirrored(left, right) {
        return None;
    }
    let sign = constant_sign(then)?;
    let (opposite, equal) = match otherwise {
        Expression::Conditional(test, then, equal) => {
            let (second, other_left, other_right) = comparison(test)?;
            let is_opposite = match second == operator {
                true => (other_left, other_right) == (right, left),
                false => (other_left, other_right) == (left, right),
            };
            let is_zero = **equal == Expression::Number(0.0);
            (
                constant_sign(then).filter(|_| is_opposite && is_zero)?,
                Expression::Number(0.0),
            )
        }
        // Two that are equal have no order.
        other => (constant_sign(other)?, fails()),
    };
    if sign == opposite {
        return None;
    }
    let type_of = |value: &Expression| Expression::Unary(Unary::TypeOf, Box::new(value.clone()));
    let are_alike = binary(Binary::StrictEqual, type_of(left), type_of(right));
    let is_plain = binary(Binary::StrictNotEqual, type_of(left), text("object"));
    let are_equal = binary(Binary::StrictEqual, left.clone(), right.clone());
    let is_after = binary(operator, right.clone(), left.clone());
    // What is neither less nor more nor equal is NaN.
    let last = conditional(are_equal, equal, fails());
    let ordered = conditional(
        test.clone(),
        Expression::Number(sign),
        conditional(is_after, Expression::Number(opposite), last),
    );
    let is_ordered = Expression::Logical(Logical::And, Box::new(are_alike), Box::new(is_plain));
    Some(conditional(is_ordered, ordered, fails()))
}

/// The two that `<` or `>` compares.
fn comparison(test: &Expression) -> Option<(Binary, &Expression, &Expression)> {
    match test {
        Expression::Binary(operator @ (Binary::Less | Binary::Greater), left, right) => {
            Some((*operator, left, right))
        }
        _ => None,
    }
}

/// 1 or -1 for a number that is written out and is not 0.
fn constant_sign(value: &Expression) -> Option<f64> {
    match value {
        Expression::Number(number) if *number > 0.0 => Some(1.0),
        Expression::Unary(Unary::Negate, inner) => match **inner {
            Expression::Number(number) if number > 0.0 => Some(-1.0),
            _ => None,
        },
        _ => None,
    }
}

fn binary(operator: Binary, left: Expression, right: Expression) -> Expression {
    Expression::Binary(operator, Box::new(left), Box::new(right))
}

fn conditional(test: Expression, then: Expression, otherwise: Expression) -> Expression {
    Expression::Conditional(Box::new(test), Box::new(then), Box::new(otherwise))
}

/// Whether both are the same of one parameter each.
fn is_mirrored(left: &Expression, right: &Expression) -> bool {
    let (mut mirrored, mut is_simple) = (left.clone(), true);
    let mut parameters = [false; 2];
    mirrored.visit_mut(&mut |inner| match inner {
        Expression::Lambda(_) | Expression::Let(..) => is_simple = false,
        Expression::Parameter { up: 0, index } => match *index {
            0 => {
                parameters[0] = true;
                *index = 1;
            }
            1 => {
                parameters[1] = true;
                *index = 0;
            }
            _ => is_simple = false,
        },
        _ => {}
    });
    is_simple && parameters != [true, true] && mirrored == *right
}
