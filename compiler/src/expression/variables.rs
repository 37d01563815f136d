//! Which variables an expression names: by the grammar, as [`super::references`] finds labels.

use super::references::global;
use super::scan::too_deep_at;
use super::syntax::without_parentheses;
use super::tree::{parsed, with_names, with_stack};
use oxc_allocator::Allocator;
use oxc_ast::{AstKind, ast};
use oxc_semantic::Semantic;
use std::collections::BTreeSet;

/// Levels of nesting that are parsed, as in [`mod@super::parse`].
const NESTING_MAX: usize = 256;

/// The `$vars` that an expression reads by names that are written out; none if it is not a valid one.
pub fn variables(source: &str) -> BTreeSet<String> {
    if !source.contains("$vars") || too_deep_at(source, NESTING_MAX).is_some() {
        return BTreeSet::new();
    }
    // As parsing for good does: an end like a statement's.
    let source = source.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    with_stack(source, || {
        let allocator = Allocator::default();
        let Ok(tree) = parsed(source, &allocator) else {
            return BTreeSet::new();
        };
        let Ok(semantic) = with_names(source, tree, &allocator) else {
            return BTreeSet::new();
        };
        let nodes = semantic.nodes().iter();
        nodes
            .filter_map(|node| variable(&semantic, node.kind()))
            .collect()
    })
}

fn variable(semantic: &Semantic<'_>, kind: AstKind<'_>) -> Option<String> {
    let is_vars = |object| global(semantic, object) == Some("$vars");
    match kind {
        AstKind::StaticMemberExpression(member) if is_vars(&member.object) => {
            Some(member.property.name.to_string())
        }
        AstKind::ComputedMemberExpression(member) if is_vars(&member.object) => {
            match without_parentheses(&member.expression) {
                ast::Expression::StringLiteral(text) if !text.lone_surrogates => Some(text.value.to_string()),
                ast::Expression::TemplateLiteral(template) => Some(template.single_quasi()?.to_string()),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::variables;

    fn named(source: &str) -> Vec<String> {
        variables(source).into_iter().collect()
    }

    #[test]
    fn variables_are_found_by_the_grammar_alone() {
        for source in [
            "$vars.A + 1;",
            "$vars?.A",
            r#"$vars["A"]"#,
            "($vars)[`A`]",
            "/x/.test($vars.A)",
        ] {
            assert_eq!(named(source), ["A"], "{source}");
        }
        assert_eq!(named("$vars.B ?? $vars.A ?? $vars.B"), ["A", "B"]);
        for source in [
            "'$vars.A'",
            "/* $vars.A */ 1",
            "$input.$vars.A",
            "[1].map($vars => $vars.A)",
            "$vars[$input.x]",
            "$vars.A +",
        ] {
            assert!(named(source).is_empty(), "{source}");
        }
    }
}
