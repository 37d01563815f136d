//! Where an expression names other nodes: by the grammar, so that no text in a string or a comment, and no name that the
//! expression itself has made, is taken for one.

use super::scan::too_deep_at;
use super::syntax::without_parentheses;
use super::tree::{parsed, with_names, with_stack};
use oxc_allocator::Allocator;
use oxc_ast::{AstKind, ast};
use oxc_semantic::Semantic;
use oxc_span::GetSpan;
use std::ops::Range;

/// Levels of nesting that are parsed, as in [`mod@super::parse`].
const NESTING_MAX: usize = 256;

/// A name of a node in an expression, by label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelReference {
    pub label: String,
    /// What another name replaces, in bytes of the source.
    pub span: Range<usize>,
    /// How it is written.
    pub form: ReferenceForm,
}

/// How a label is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReferenceForm {
    /// As a literal between these quotes.
    Quoted(char),
    /// After a dot.
    Dotted,
    /// After `?.`.
    OptionalDotted,
}

/// The labels in an expression; none if it is not a valid one.
pub(crate) fn label_references(source: &str) -> Vec<LabelReference> {
    if !source.contains('$') || too_deep_at(source, NESTING_MAX).is_some() {
        return Vec::new();
    }
    // As parsing for good does: an end like a statement's.
    let source = source.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    with_stack(source, || {
        let allocator = Allocator::default();
        let Ok(tree) = parsed(source, &allocator) else {
            return Vec::new();
        };
        let Ok(semantic) = with_names(source, tree, &allocator) else {
            return Vec::new();
        };
        let mut found: Vec<LabelReference> = semantic
            .nodes()
            .iter()
            .filter_map(|node| reference(source, &semantic, node.kind()))
            .collect();
        found.sort_by_key(|reference| reference.span.start);
        found
    })
}

fn reference(source: &str, semantic: &Semantic<'_>, kind: AstKind<'_>) -> Option<LabelReference> {
    match kind {
        AstKind::CallExpression(call) => {
            let name = global(semantic, &call.callee)?;
            if name != "$" && name != "$items" {
                return None;
            }
            if name == "$" && call.arguments.len() != 1 {
                return None;
            }
            literal(source, call.arguments.first()?.as_expression()?)
        }
        AstKind::ComputedMemberExpression(member) if is_node(semantic, &member.object) => {
            literal(source, &member.expression)
        }
        AstKind::StaticMemberExpression(member) if is_node(semantic, &member.object) => {
            let start = member.object.span().end as usize;
            let end = member.property.span.end as usize;
            Some(LabelReference {
                label: member.property.name.to_string(),
                span: start..end,
                form: match member.optional {
                    true => ReferenceForm::OptionalDotted,
                    false => ReferenceForm::Dotted,
                },
            })
        }
        _ => None,
    }
}

/// A name that the expression has not made itself.
pub(super) fn global<'n>(semantic: &Semantic<'_>, node: &'n ast::Expression<'_>) -> Option<&'n str> {
    let ast::Expression::Identifier(identifier) = without_parentheses(node) else {
        return None;
    };
    let reference = semantic.scoping().get_reference(identifier.reference_id.get()?);
    reference.symbol_id().is_none().then(|| identifier.name.as_str())
}

/// n8n's `$node`, also of `$item(0)`.
fn is_node(semantic: &Semantic<'_>, object: &ast::Expression<'_>) -> bool {
    match without_parentheses(object) {
        ast::Expression::StaticMemberExpression(member) if member.property.name == "$node" => {
            match without_parentheses(&member.object) {
                ast::Expression::CallExpression(call) => global(semantic, &call.callee) == Some("$item"),
                _ => false,
            }
        }
        _ => global(semantic, object) == Some("$node"),
    }
}

fn literal(source: &str, node: &ast::Expression<'_>) -> Option<LabelReference> {
    let node = without_parentheses(node);
    let label = match node {
        ast::Expression::StringLiteral(text) if !text.lone_surrogates => text.value.to_string(),
        ast::Expression::TemplateLiteral(template) => template.single_quasi()?.to_string(),
        _ => return None,
    };
    let span = node.span();
    let span = span.start as usize..span.end as usize;
    let quote = source.get(span.clone())?.chars().next()?;
    Some(LabelReference {
        label,
        span,
        form: ReferenceForm::Quoted(quote),
    })
}

#[cfg(test)]
mod tests {
    use super::label_references;

    fn labels(source: &str) -> Vec<(String, String)> {
        let found = label_references(source);
        found
            .into_iter()
            .map(|it| (it.label, source[it.span].to_owned()))
            .collect()
    }

    #[test]
    fn names_are_found_by_the_grammar_alone() {
        let one = |label: &str, written: &str| vec![(label.to_owned(), written.to_owned())];
        assert_eq!(labels(r#"$("A b").x"#), one("A b", "\"A b\""));
        assert_eq!(labels("$(('A')).x + 1;"), one("A", "'A'"));
        assert_eq!(labels("$(`A`).x"), one("A", "`A`"));
        assert_eq!(labels(r#"$items("A", 0)"#), one("A", "\"A\""));
        assert_eq!(labels(r#"$node["A"].json"#), one("A", "\"A\""));
        assert_eq!(labels("$node.A.json"), one("A", ".A"));
        assert_eq!(labels("$node?.A.json"), one("A", "?.A"));
        assert_eq!(labels(r#"$item(0).$node["A"].json"#), one("A", "\"A\""));
        for none in [
            r#"'$("A")'"#,
            r#"/* $("A") */ 1"#,
            r#"[1].map($ => $("A"))"#,
            r#"$nodes["A"].x"#,
            "$input.$node.A",
            r#"$("A" + "B")"#,
            r#"$("A""#,
            r#"x.$("A")"#,
        ] {
            assert!(labels(none).is_empty(), "{none}");
        }
    }
}
