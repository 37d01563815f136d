//! Small queries on the parser's tree. Knows nothing about how it is used.

use oxc_ast::{AstKind, ast};
use oxc_span::{GetSpan, Span};
use oxc_syntax::operator::UnaryOperator;
use std::ops::Range;

/// The expression within any parentheses.
pub(super) fn without_parentheses<'a, 'b>(mut node: &'b ast::Expression<'a>) -> &'b ast::Expression<'a> {
    while let ast::Expression::ParenthesizedExpression(inner) = node {
        node = &inner.expression;
    }
    node
}

/// A member that is called: `object.name`.
pub(super) struct Callee<'c, 'a> {
    pub(super) object: &'c ast::Expression<'a>,
    /// `object?.name`
    pub(super) optional: bool,
    pub(super) name: &'c str,
    pub(super) name_span: Span,
}

/// The member that is called, if its name is written out.
pub(super) fn callee_of<'c, 'a>(callee: &'c ast::Expression<'a>) -> Option<Callee<'c, 'a>> {
    match callee {
        ast::Expression::StaticMemberExpression(member) => Some(Callee {
            object: &member.object,
            optional: member.optional,
            name: member.property.name.as_str(),
            name_span: member.property.span,
        }),
        ast::Expression::ComputedMemberExpression(member) => match without_parentheses(&member.expression) {
            ast::Expression::StringLiteral(name) => Some(Callee {
                object: &member.object,
                optional: member.optional,
                name: name.value.as_str(),
                name_span: name.span,
            }),
            _ => None,
        },
        _ => None,
    }
}

/// Whether it is `x.keys()` or `x.values()`: of an array an iterator, of an object n8n's array.
pub(super) fn gives_iterator(node: &ast::Expression<'_>) -> bool {
    let ast::Expression::CallExpression(call) = without_parentheses(node) else {
        return false;
    };
    let callee = callee_of(without_parentheses(&call.callee));
    call.arguments.is_empty() && callee.is_some_and(|callee| matches!(callee.name, "keys" | "values"))
}

/// Whether it is a call of `$`.
pub(super) fn is_node_call(call: &ast::CallExpression<'_>) -> bool {
    matches!(without_parentheses(&call.callee), ast::Expression::Identifier(callee) if callee.name == "$")
}

/// The method that is called by its name, and where the name stands.
pub(super) fn called_method<'c>(call: &'c ast::CallExpression<'_>) -> Option<(&'c str, Span)> {
    callee_of(without_parentheses(&call.callee)).map(|callee| (callee.name, callee.name_span))
}

/// Whether a node at this place is assigned to or deleted by its parent.
pub(super) fn is_target(span: Span, parent: AstKind<'_>) -> bool {
    match parent {
        AstKind::AssignmentExpression(assignment) => assignment.left.span() == span,
        AstKind::UpdateExpression(_)
        | AstKind::ArrayAssignmentTarget(_)
        | AstKind::ObjectAssignmentTarget(_)
        | AstKind::AssignmentTargetRest(_)
        | AstKind::AssignmentTargetPropertyIdentifier(_)
        | AstKind::AssignmentTargetPropertyProperty(_) => true,
        AstKind::AssignmentTargetWithDefault(target) => target.binding.span() == span,
        AstKind::UnaryExpression(unary) => unary.operator == UnaryOperator::Delete,
        AstKind::ForInStatement(statement) => statement.left.span() == span,
        AstKind::ForOfStatement(statement) => statement.left.span() == span,
        _ => false,
    }
}

/// The bytes of the source.
pub(super) fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}
