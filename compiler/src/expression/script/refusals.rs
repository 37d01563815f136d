//! Constructs that no expression may contain, whether compiled or not.

use super::super::syntax::{called_method, is_target, range, without_parentheses};
use super::super::unsupported::Times;
use super::super::{Problem, names, unsupported};
use heddle_values::methods::Global;
use oxc_ast::AstKind;
use oxc_ast::ast;
use oxc_semantic::{NodeId, Semantic};
use oxc_span::Span;
use std::collections::HashSet;

/// What waits, and what loads other code.
pub(super) fn constructs(semantic: &Semantic<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut refuse = |span: Span, message: &str, help: &str| {
        problems.push(Problem {
            code: "unsupported",
            message: message.to_owned(),
            help: Some(help.to_owned()),
            span: range(span),
        });
    };
    const WAITING: &str = "an expression can't wait";
    for node in semantic.nodes().iter() {
        match node.kind() {
            AstKind::AwaitExpression(it) => refuse(it.span, WAITING, unsupported::WAITING_HELP),
            AstKind::ForOfStatement(it) if it.r#await => refuse(it.span, WAITING, unsupported::WAITING_HELP),
            AstKind::ArrowFunctionExpression(it) if it.r#async => {
                refuse(it.span, WAITING, unsupported::WAITING_HELP);
            }
            AstKind::Function(it) if it.r#async => refuse(it.span, WAITING, unsupported::WAITING_HELP),
            AstKind::ImportExpression(it) => {
                refuse(it.span, "nothing can be imported", "only built-ins are available");
            }
            AstKind::ImportMeta(it) => {
                refuse(
                    it.span,
                    "an expression is not a module",
                    "`$run` describes the run",
                );
            }
            AstKind::Decorator(it) => {
                refuse(
                    it.span,
                    "decorators are not supported",
                    "call the function instead",
                );
            }
            _ => {}
        }
    }
    if let Some(at) = semantic.source_text().find('\0') {
        refuse(
            Span::new(at as u32, at as u32 + 1),
            "the expression contains a NUL character",
            "write `\\0`",
        );
    }
    problems
}

/// Methods that are called and that nothing has: neither what is built in, nor the expression itself, nor data, which holds no
/// functions. Each with the place of the name.
pub(super) fn methods<'s>(semantic: &'s Semantic<'_>, times: &Times) -> Vec<(&'s str, Span)> {
    let made = names_made(semantic);
    let mut found = Vec::new();
    for node in semantic.nodes().iter() {
        let AstKind::CallExpression(call) = node.kind() else {
            continue;
        };
        let Some((name, span)) = called_method(call) else {
            continue;
        };
        let is_known = unsupported::may_be_method(name)
            || times.may_have(name)
            || unsupported::is_compiled_method(name)
            || is_compiled_function(call, name);
        if call.optional || is_known || made.contains(name) {
            continue;
        }
        found.push((name, span));
    }
    found
}

/// What is said of a method that nothing has.
pub(super) fn no_method(name: &str, span: Span) -> Problem {
    let (code, message, help) = match names::foreign_method(name) {
        Some((message, help)) => ("foreign-name", message, Some(help.to_owned())),
        None => (
            "unknown-method",
            format!("there is no method `.{name}(…)`"),
            unsupported::nearest_method(name),
        ),
    };
    Problem {
        code,
        message,
        help,
        span: range(span),
    }
}

/// Whether it is called like a compiled function such as `DateTime.fromISO`.
fn is_compiled_function(call: &ast::CallExpression<'_>, name: &str) -> bool {
    match without_parentheses(&call.callee) {
        ast::Expression::StaticMemberExpression(member) => match &member.object {
            ast::Expression::Identifier(object) => {
                Global::from_name(&format!("{}.{name}", object.name)).is_some()
            }
            _ => false,
        },
        _ => false,
    }
}

/// Names that the expression may give to properties.
fn names_made<'s>(semantic: &'s Semantic<'_>) -> HashSet<&'s str> {
    let nodes = semantic.nodes();
    let mut made = HashSet::new();
    for node in nodes.iter() {
        match node.kind() {
            AstKind::StringLiteral(text) => made.extend([text.value.as_str()]),
            AstKind::TemplateElement(text) => made.extend(text.value.cooked.as_deref()),
            // Keys of object literals and classes; names of members stand elsewhere.
            AstKind::IdentifierName(name)
                if !matches!(nodes.parent_kind(node.id()), AstKind::StaticMemberExpression(_)) =>
            {
                made.insert(name.name.as_str());
            }
            AstKind::StaticMemberExpression(member)
                if is_target(member.span, nodes.parent_kind(node.id())) =>
            {
                made.insert(member.property.name.as_str());
            }
            _ => {}
        }
    }
    made
}

/// Whether the node stands in a function that has `arguments`.
pub(super) fn is_in_function(semantic: &Semantic<'_>, node: NodeId) -> bool {
    let scoping = semantic.scoping();
    let scope = semantic.nodes().get_node(node).scope_id();
    scoping.scope_ancestors(scope).any(|scope| {
        let flags = scoping.scope_flags(scope);
        flags.is_function() && !flags.is_arrow()
    })
}
