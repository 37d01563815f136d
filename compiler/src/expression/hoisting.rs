//! Names that JavaScript knows before their declaration, or beyond the block that it stands in. Compiled code knows a name from
//! its declaration on and as far as the block reaches, so all else is the engine's.

use super::Reason;
use super::syntax::range;
use oxc_ast::{AstKind, ast};
use oxc_semantic::{Reference, Semantic, SymbolId};
use oxc_span::{GetSpan, Span};

/// Ancestors of a name in a pattern that are looked at; what is further within counts as before its declaration.
const ANCESTORS_MAX: usize = 64;

/// Names that are read where they have no value yet or where compiled code would not find them, or that are declared twice; in
/// the order of the source.
pub(super) fn used_elsewhere(semantic: &Semantic<'_>) -> Vec<Reason> {
    let scoping = semantic.scoping();
    let mut found = Vec::new();
    let mut note = |what: &str, span: Span| {
        found.push(Reason {
            what: what.to_owned(),
            span: range(span),
        });
    };
    for symbol in scoping.symbol_ids() {
        if !scoping.symbol_redeclarations(symbol).is_empty() {
            note("a name declared twice", scoping.symbol_span(symbol));
        }
        let block = block_of_var(semantic, symbol);
        for reference in scoping.get_resolved_references(symbol) {
            let span = semantic.reference_span(reference);
            if is_early(semantic, symbol, reference) {
                note("a name within or before its own declaration", span);
            } else if block.is_some_and(|block| !block.contains_inclusive(span)) {
                note("a `var` beyond its block", span);
            }
        }
    }
    found.sort_by_key(|reason| (reason.span.start, reason.span.end));
    found
}

/// The block that a `var` stands in, beyond which JavaScript knows its name all the same.
pub(super) fn block_of_var(semantic: &Semantic<'_>, symbol: SymbolId) -> Option<Span> {
    let nodes = semantic.nodes();
    let declaration = nodes.parent_id(semantic.scoping().symbol_declaration(symbol));
    match nodes.kind(declaration) {
        AstKind::VariableDeclaration(it) if it.kind == ast::VariableDeclarationKind::Var => {}
        _ => return None,
    }
    match nodes.parent_kind(declaration) {
        AstKind::FunctionBody(_) | AstKind::Program(_) => None,
        around => Some(around.span()),
    }
}

/// Whether a name is read before or within its declaration, where it has no value yet. Other names of the same pattern have one.
fn is_early(semantic: &Semantic<'_>, symbol: SymbolId, reference: &Reference) -> bool {
    let (scoping, nodes) = (semantic.scoping(), semantic.nodes());
    let (name, place) = (scoping.symbol_span(symbol), semantic.reference_span(reference));
    let declaration = scoping.symbol_declaration(symbol);
    let kind = nodes.kind(declaration);
    let in_value = match kind {
        _ if place.start < name.start => true,
        _ if !kind.span().contains_inclusive(place) => return false,
        AstKind::VariableDeclarator(declarator) => declarator
            .init
            .as_ref()
            .is_some_and(|value| contains(value, place)),
        AstKind::FormalParameter(parameter) => parameter
            .initializer
            .as_deref()
            .is_some_and(|value| contains(value, place)),
        // A function's own name.
        _ => true,
    };
    if in_value {
        return true;
    }
    for id in nodes.ancestor_ids(reference.node_id()).take(ANCESTORS_MAX) {
        if id == declaration {
            return false;
        }
        // `{ a = a }`
        if let AstKind::AssignmentPattern(pattern) = nodes.kind(id)
            && pattern.left.span().contains_inclusive(name)
            && contains(&pattern.right, place)
        {
            return true;
        }
    }
    true
}

fn contains(value: &ast::Expression<'_>, place: Span) -> bool {
    value.span().contains_inclusive(place)
}
