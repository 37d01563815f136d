//! Determines whether an expression may change its input values. If not, it does not matter when they are read.

use super::super::syntax::{called_method, is_target, without_parentheses};
use heddle_values::methods::Method;
use oxc_ast::AstKind;
use oxc_ast::ast;
use oxc_semantic::Semantic;
use oxc_span::{GetSpan, Span};

/// Methods that change what they are called on.
const CHANGING: &[&str] = &[
    "add",
    "append",
    "clear",
    "copyWithin",
    "delete",
    "fill",
    "pop",
    "push",
    "reverse",
    "set",
    "shift",
    "sort",
    "splice",
    "unshift",
];

/// Functions that change their first argument.
const CHANGING_FIRST: &[&str] = &[
    "assign",
    "defineProperties",
    "defineProperty",
    "deleteProperty",
    "freeze",
    "setPrototypeOf",
];

/// Methods whose result nobody else has.
const MAKING: &[&str] = &[
    "concat",
    "entries",
    "filter",
    "flat",
    "flatMap",
    "from",
    "fromEntries",
    "groupBy",
    "keys",
    "map",
    "match",
    "matchAll",
    "of",
    "parse",
    "slice",
    "split",
    "toReversed",
    "toSorted",
    "toSpliced",
    "values",
    "with",
];

/// Names by which code does what can't be seen in it.
const HIDING_NAMES: &[&str] = &["Function", "Proxy", "Reflect", "eval"];
const HIDING_MEMBERS: &[&str] = &["__defineGetter__", "__defineSetter__", "__proto__", "constructor"];

/// Methods of functions by which these get any value as their `this`.
const GIVING_THIS: &[&str] = &["apply", "bind", "call"];

/// Whether a value that came from outside may be another one after the evaluation. In doubt it may.
pub(super) fn may_change_values(semantic: &Semantic<'_>) -> bool {
    let nodes = semantic.nodes();
    let this_is_given = nodes.iter().any(|node| gives_this(node.kind()));
    nodes.iter().any(|node| match node.kind() {
        AstKind::IdentifierReference(name) => HIDING_NAMES.contains(&name.name.as_str()),
        AstKind::StaticMemberExpression(member) => {
            let name = member.property.name.as_str();
            let is_own = !this_is_given
                && matches!(
                    without_parentheses(&member.object),
                    ast::Expression::ThisExpression(_)
                );
            let parent = nodes.parent_kind(node.id());
            HIDING_MEMBERS.contains(&name)
                || (!is_own && is_target(member.span, parent))
                || (is_changing(name) && !changes_own(member.span, parent))
        }
        AstKind::ComputedMemberExpression(member) => {
            let parent = nodes.parent_kind(node.id());
            match without_parentheses(&member.expression) {
                ast::Expression::StringLiteral(name) => {
                    let name = name.value.as_str();
                    changes_or_hides(name) || is_target(member.span, parent)
                }
                ast::Expression::NumericLiteral(_) => is_target(member.span, parent),
                // `list[index]` is read; what is called or assigned to may be anything.
                _ => is_target(member.span, parent) || is_called(member.span, parent),
            }
        }
        // `{ push }` of a list or of a prototype, which then is called without its name.
        AstKind::BindingProperty(property) => key_name(&property.key).is_some_and(changes_or_hides),
        AstKind::AssignmentTargetPropertyIdentifier(property) => changes_or_hides(&property.binding.name),
        AstKind::AssignmentTargetPropertyProperty(property) => {
            key_name(&property.name).is_some_and(changes_or_hides)
        }
        AstKind::PrivateFieldExpression(_) | AstKind::Super(_) => true,
        _ => false,
    })
}

/// Whether a function may get as its `this` what it has not made.
fn gives_this(kind: AstKind<'_>) -> bool {
    match kind {
        AstKind::StaticMemberExpression(member) => GIVING_THIS.contains(&member.property.name.as_str()),
        // `list.forEach(function () { … }, this)`
        AstKind::CallExpression(call) if call.arguments.len() > 1 => {
            let method = called_method(call).and_then(|(name, _)| Method::from_name(name));
            let callback = method.and_then(Method::callback);
            callback.is_some_and(|callback| callback.position == 0)
        }
        _ => false,
    }
}

/// Whether what has this name may change or hide something, wherever it is called.
fn changes_or_hides(name: &str) -> bool {
    is_changing(name) || HIDING_MEMBERS.contains(&name)
}

/// The name of a property that is written out.
fn key_name<'k>(key: &'k ast::PropertyKey<'_>) -> Option<&'k str> {
    match key {
        ast::PropertyKey::StaticIdentifier(name) => Some(name.name.as_str()),
        ast::PropertyKey::StringLiteral(name) => Some(name.value.as_str()),
        _ => None,
    }
}

fn is_changing(name: &str) -> bool {
    CHANGING.contains(&name) || CHANGING_FIRST.contains(&name)
}

fn is_called(span: Span, parent: AstKind<'_>) -> bool {
    matches!(parent, AstKind::CallExpression(call) if call.callee.span() == span)
}

/// Whether a member of this name is called so that it changes only what the expression has made for it.
fn changes_own(span: Span, parent: AstKind<'_>) -> bool {
    let AstKind::CallExpression(call) = parent else {
        return false;
    };
    let ast::Expression::StaticMemberExpression(member) = &call.callee else {
        return false;
    };
    if member.span != span {
        return false;
    }
    match CHANGING_FIRST.contains(&member.property.name.as_str()) {
        true => {
            let first = call.arguments.first().and_then(ast::Argument::as_expression);
            first.is_some_and(is_made)
        }
        false => is_made(&member.object),
    }
}

/// Whether the value is made by the expression, and nothing else has it.
fn is_made(expression: &ast::Expression<'_>) -> bool {
    match without_parentheses(expression) {
        ast::Expression::ArrayExpression(_)
        | ast::Expression::ObjectExpression(_)
        | ast::Expression::NewExpression(_) => true,
        ast::Expression::CallExpression(call) => match called_method(call) {
            Some((name, _)) if MAKING.contains(&name) => true,
            // They give what they have changed.
            Some((name, _)) if CHANGING.contains(&name) => match without_parentheses(&call.callee) {
                ast::Expression::StaticMemberExpression(member) => is_made(&member.object),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}
