//! Whether code may give what is built in another meaning, which what is compiled of it would not have: in doubt it may.
//!
//! What code calls by names that it puts together when it executes (`list["proto" + "type"]`) is not seen.

use super::syntax::{called_method, is_target, without_parentheses};
use heddle_values::methods::Method;
use oxc_ast::{AstKind, ast};
use oxc_semantic::{AstNode, NodeId, Semantic};
use oxc_span::{GetSpan, Span};

/// Parts of names by which one gets at prototypes, and at properties that are not assigned to.
const WAYS: &[&str] = &["rototype", "__proto__", "__define", "defineProp"];
/// By this, everything has what made it.
const MAKER: &str = "constructor";
/// Names by which code does what can't be seen in it.
const HIDING: &[&str] = &["Function", "Reflect", "eval", "globalThis"];
/// Objects whose functions are compiled.
const HOLDERS: &[&str] = &["Array", "JSON", "Math", "Number", "Object", "String"];

pub(super) fn may_change(semantic: &Semantic<'_>) -> bool {
    let mut nodes = semantic.nodes().iter();
    nodes.any(|node| leads_to_built_ins(semantic, node)) || lets_go_of_a_global(semantic)
}

/// Whether a node has a name by which what is built in can be reached from any value.
fn leads_to_built_ins(semantic: &Semantic<'_>, node: &AstNode<'_>) -> bool {
    let is_way = |name: &str| name == MAKER || WAYS.iter().any(|way| name.contains(way));
    match node.kind() {
        AstKind::IdentifierName(name) => {
            is_way(&name.name) && !is_constructor(semantic.nodes().parent_kind(node.id()))
        }
        AstKind::IdentifierReference(name) => is_way(&name.name) || HIDING.contains(&name.name.as_str()),
        AstKind::StringLiteral(text) => is_way(&text.value),
        AstKind::TemplateElement(text) => text.value.cooked.as_deref().is_some_and(is_way),
        _ => false,
    }
}

/// `constructor() { … }` of a class.
fn is_constructor(node: AstKind<'_>) -> bool {
    matches!(node, AstKind::MethodDefinition(method) if method.kind == ast::MethodDefinitionKind::Constructor)
}

/// Whether a global name is assigned to, or its value has another name or is given to somebody, who could change it.
fn lets_go_of_a_global(semantic: &Semantic<'_>) -> bool {
    let scoping = semantic.scoping();
    for (name, references) in scoping.root_unresolved_references() {
        let is_holder = HOLDERS.contains(&name.as_str());
        let mut references = references.iter().map(|id| scoping.get_reference(*id));
        let changes = references.any(|reference| {
            reference.is_write() || (is_holder && !is_only_asked(semantic, reference.node_id()))
        });
        if changes {
            return true;
        }
    }
    false
}

/// Whether the value of a name is only called, compared or asked for something here.
fn is_only_asked(semantic: &Semantic<'_>, name: NodeId) -> bool {
    let nodes = semantic.nodes();
    let (span, outer) = around(semantic, name);
    let stays = |member: NodeId| {
        let (span, outer) = around(semantic, member);
        !is_target(span, nodes.kind(outer))
    };
    match nodes.kind(outer) {
        AstKind::StaticMemberExpression(_) => stays(outer),
        AstKind::ComputedMemberExpression(member) => {
            let key = without_parentheses(&member.expression);
            matches!(key, ast::Expression::StringLiteral(_)) && stays(outer)
        }
        AstKind::CallExpression(call) => call.callee.span() == span || is_callback(call, span),
        AstKind::NewExpression(new) => new.callee.span() == span,
        AstKind::UnaryExpression(_) | AstKind::BinaryExpression(_) => true,
        // `const { max, min } = Math`
        AstKind::VariableDeclarator(declarator) => match &declarator.id {
            ast::BindingPattern::ObjectPattern(pattern) => {
                pattern.rest.is_none() && !pattern.properties.iter().any(|property| property.computed)
            }
            _ => false,
        },
        _ => false,
    }
}

/// What a node stands in, whatever parentheses are around it, and its place with these.
fn around(semantic: &Semantic<'_>, node: NodeId) -> (Span, NodeId) {
    let nodes = semantic.nodes();
    let (mut inner, mut outer) = (node, nodes.parent_id(node));
    while let AstKind::ParenthesizedExpression(_) | AstKind::ChainExpression(_) = nodes.kind(outer) {
        (inner, outer) = (outer, nodes.parent_id(outer));
    }
    (nodes.kind(inner).span(), outer)
}

/// Whether the argument at this place is called, as in `list.map(Number)`.
fn is_callback(call: &ast::CallExpression<'_>, span: Span) -> bool {
    let position = match called_method(call) {
        Some(("from", _)) => Some(1),
        Some((name, _)) => Method::from_name(name)
            .and_then(Method::callback)
            .map(|callback| callback.position),
        None => None,
    };
    let argument = position.and_then(|position| call.arguments.get(position));
    argument.is_some_and(|argument| argument.span() == span)
}
