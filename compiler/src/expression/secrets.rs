//! Where an expression works on a secret's value, which it never has.

use super::Problem;
use super::references::global;
use super::syntax::without_parentheses;
use oxc_ast::{AstKind, ast};
use oxc_semantic::Semantic;
use oxc_span::{GetSpan, Span};

/// What leaves a reference in its text as it is.
const HARMLESS: [&str; 3] = ["concat", "toString", "valueOf"];

/// Properties and methods of `$secrets.NAME`: a reference stands there, so they would not be those of the secret.
pub(super) fn altered(source: &str, semantic: &Semantic<'_>) -> Vec<Problem> {
    if !source.contains("$secrets") {
        return Vec::new();
    }
    let nodes = semantic.nodes().iter();
    let mut found: Vec<Problem> = nodes
        .filter_map(|node| problem(source, semantic, node.kind()))
        .collect();
    found.sort_by_key(|problem| problem.span.start);
    found
}

fn problem(source: &str, semantic: &Semantic<'_>, kind: AstKind<'_>) -> Option<Problem> {
    let (object, property): (_, Span) = match kind {
        AstKind::StaticMemberExpression(member) if HARMLESS.contains(&member.property.name.as_str()) => {
            return None;
        }
        AstKind::StaticMemberExpression(member) => (&member.object, member.property.span),
        AstKind::ComputedMemberExpression(member) => (&member.object, member.expression.span()),
        _ => return None,
    };
    if !is_secret(semantic, object) {
        return None;
    }
    let text = |span: Span| source.get(span.start as usize..span.end as usize).unwrap_or("");
    let secret = text(without_parentheses(object).span());
    Some(Problem {
        code: "secret",
        message: format!(
            "`{secret}` is a reference, which is replaced with the secret when a request is sent: `{}` would be that of the \
             reference",
            text(property)
        ),
        help: Some("store the secret in the form in which it is needed, and use it as it is".to_owned()),
        span: property.start as usize..property.end as usize,
    })
}

/// Whether it is `$secrets.NAME`.
fn is_secret(semantic: &Semantic<'_>, expression: &ast::Expression<'_>) -> bool {
    let of = |object| global(semantic, object) == Some("$secrets");
    match without_parentheses(expression) {
        ast::Expression::StaticMemberExpression(member) => of(&member.object),
        ast::Expression::ComputedMemberExpression(member) => of(&member.object),
        _ => false,
    }
}
