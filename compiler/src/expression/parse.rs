//! From source text to the expression tree: it is parsed with JavaScript's grammar, then lowered to the compiled
//! subset, and if that is not possible, turned into a script for the engine.

use super::hoisting;
use super::lowering::{Lowering, PROBLEMS_MAX};
use super::scan::too_deep_at;
use super::script::script;
use super::secrets;
use super::tree::{parsed, with_names, with_stack};
use super::{Expression, ExpressionRoute, Names, Problem, Routed};
use crate::diagnostic::unsentenced;
use oxc_allocator::Allocator;
use oxc_diagnostics::OxcDiagnostic;
use std::ops::Range;

/// Levels of brackets, prefix operators and operators that bind to the right.
const NESTING_MAX: usize = 256;

/// Parses and checks one expression (the text between `{{` and `}}`). All problems at once.
pub fn parse(source: &str, names: &dyn Names) -> Result<Expression, Vec<Problem>> {
    route(source, names, ExpressionRoute::default()).map(|routed| routed.expression)
}

/// Parses and checks one expression, and says whether it is compiled or left to the engine.
pub fn route(source: &str, names: &dyn Names, route: ExpressionRoute) -> Result<Routed, Vec<Problem>> {
    // Many people end an expression like a statement; there is only one thing that it can mean.
    let source = source.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    if source.trim().is_empty() {
        let help = Some("write an expression between the braces, for example `{{ $input }}`".to_owned());
        return Err(vec![Problem {
            code: "syntax",
            message: "the braces are empty".to_owned(),
            help,
            span: 0..source.len(),
        }]);
    }
    if let Some(at) = too_deep_at(source, NESTING_MAX) {
        let at = source.floor_char_boundary(at);
        return Err(vec![Problem {
            code: "too-deep",
            message: format!("the expression nests more than {NESTING_MAX} levels"),
            help: Some("split it across several nodes".to_owned()),
            span: at..source.ceil_char_boundary(at + 1),
        }]);
    }
    with_stack(source, || parse_and_lower(source, names, route))
}

fn parse_and_lower(source: &str, names: &dyn Names, route: ExpressionRoute) -> Result<Routed, Vec<Problem>> {
    let allocator = Allocator::default();
    let tree = parsed(source, &allocator).map_err(|errors| {
        let problems: Vec<_> = errors
            .into_iter()
            .take(PROBLEMS_MAX)
            .map(|error| syntax_problem(source, error))
            .collect();
        match problems.is_empty() {
            true => vec![syntax_problem(source, OxcDiagnostic::error("Not an expression"))],
            false => problems,
        }
    })?;
    let (expression, mut reasons, mut problems) = Lowering::whole(&tree, names);
    if problems.iter().any(|problem| problem.code == "too-deep") {
        problems.retain(|problem| problem.code == "too-deep");
        return Err(problems);
    }
    let semantic = with_names(source, tree, &allocator).map_err(|errors| {
        let errors = errors.into_iter().take(PROBLEMS_MAX);
        errors
            .map(|error| syntax_problem(source, error))
            .collect::<Vec<_>>()
    })?;
    let altered = match names.definition_only() {
        true => Vec::new(),
        false => secrets::altered(source, &semantic),
    };
    if !altered.is_empty() {
        problems.extend(altered);
        return Err(problems);
    }
    if reasons.is_empty() && problems.is_empty() {
        reasons = hoisting::used_elsewhere(&semantic);
    }
    if !reasons.is_empty() || (problems.is_empty() && route == ExpressionRoute::EngineOnly) {
        let expression = script(source, &semantic, names, &reasons)?;
        return Ok(Routed { expression, reasons });
    }
    match problems.is_empty() {
        true => Ok(Routed { expression, reasons }),
        false => Err(problems),
    }
}

/// The parser's message as a problem.
fn syntax_problem(source: &str, error: OxcDiagnostic) -> Problem {
    let label = error.labels.first();
    let start = label.map_or(0, |label| label.offset() as usize).min(source.len());
    let end = label
        .map_or(source.len(), |label| start + label.len() as usize)
        .min(source.len());
    let span = widened(source, start..end.max(start));
    let rest = source[span.start..].trim_start();
    let help = if rest.starts_with(';') {
        Some("an expression has no `;`: remove it, and use a node for each step".to_owned())
    } else if starts_statement(source) {
        Some("an expression is one value, not a statement".to_owned())
    } else {
        error.help.as_deref().map(unsentenced)
    };
    let message = unsentenced(&error.message);
    Problem {
        code: "syntax",
        message: format!("this is not a JavaScript expression: {message}"),
        help,
        span,
    }
}

/// The span moved to character boundaries, so that it can be shown.
fn widened(source: &str, span: Range<usize>) -> Range<usize> {
    source.floor_char_boundary(span.start)..source.ceil_char_boundary(span.end)
}

fn starts_statement(source: &str) -> bool {
    let word = source
        .trim_start()
        .split(|c: char| !c.is_ascii_alphabetic())
        .next();
    matches!(
        word,
        Some("const" | "let" | "var" | "if" | "for" | "while" | "return" | "throw" | "try" | "switch")
    )
}
