//! From source text to the expression tree: JavaScript's grammar first, then what of it is compiled, then, should
//! that not be all, a script for the engine.

use super::lower::{Lowering, PROBLEMS_MAX};
use super::scan::too_deep_at;
use super::script::script;
use super::{Expression, ExpressionRoute, Names, Problem, Routed};
use crate::diagnostic::unsentenced;
use oxc_allocator::Allocator;
use oxc_ast::ast;
use oxc_ast::builder::AstBuilder;
use oxc_diagnostics::OxcDiagnostic;
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::{Semantic, SemanticBuilder};
use oxc_span::{GetSpan, SourceType};
use std::ops::Range;

/// Levels of brackets, prefix operators and operators that bind to the right.
const NESTING_MAX: usize = 256;

/// Stack for the parser: what each byte that can open a level takes at most (the worst measured, optimised as
/// all dependencies are, is 2 KiB), and what it needs in any case.
const STACK_PER_LEVEL_BYTES: usize = 6 * 1024;
const STACK_LEAST_BYTES: usize = 256 * 1024;
/// The same for finding names in the parsed tree, where chains such as `a.b.c` are levels too.
const NAMES_STACK_PER_LEVEL_BYTES: usize = 2 * 1024;

/// Parses and checks one expression (the text between `{{` and `}}`). All problems at once.
pub fn parse(source: &str, names: &dyn Names) -> Result<Expression, Vec<Problem>> {
    route(source, names, ExpressionRoute::default()).map(|routed| routed.expression)
}

/// The same, with the way that the expression goes.
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
            help: Some("divide it among several nodes".to_owned()),
            span: at..source.ceil_char_boundary(at + 1),
        }]);
    }
    let stack_bytes = STACK_LEAST_BYTES + levels_at_most(source) * STACK_PER_LEVEL_BYTES;
    stacker::maybe_grow(stack_bytes, stack_bytes, || parse_and_lower(source, names, route))
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
    let (expression, reasons, mut problems) = Lowering::whole(&tree, names);
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
    if !reasons.is_empty() || (problems.is_empty() && route == ExpressionRoute::EngineOnly) {
        let expression = script(source, &semantic, names, &reasons)?;
        return Ok(Routed { expression, reasons });
    }
    match problems.is_empty() {
        true => Ok(Routed { expression, reasons }),
        false => Err(problems),
    }
}

/// The tree of an expression.
pub(super) fn parsed<'a>(
    source: &'a str,
    allocator: &'a Allocator,
) -> Result<ast::Expression<'a>, Vec<OxcDiagnostic>> {
    // A module's grammar, so that `await` is recognised and refused for what it is.
    let parser = Parser::new(allocator, source, SourceType::mjs().with_jsx(false));
    let options = ParseOptions {
        parse_regular_expression: true,
        ..ParseOptions::default()
    };
    parser
        .with_options(options)
        .parse_expression()
        .map_err(Into::into)
}

/// The tree with its names and scopes; fails with the errors that show only there, such as a name declared twice.
fn with_names<'a>(
    source: &'a str,
    tree: ast::Expression<'a>,
    allocator: &'a Allocator,
) -> Result<Semantic<'a>, Vec<OxcDiagnostic>> {
    let builder = AstBuilder::new(allocator);
    let span = tree.span();
    let statement = ast::Statement::new_expression_statement(span, tree, &builder);
    let program = ast::Program::new(
        span,
        SourceType::mjs().with_jsx(false),
        source,
        [],
        None,
        [],
        [statement],
        &builder,
    );
    let program = allocator.alloc(program);
    let levels = levels_at_most(source) + source.bytes().filter(|byte| *byte == b'.').count();
    let stack_bytes = STACK_LEAST_BYTES + levels * NAMES_STACK_PER_LEVEL_BYTES;
    let built = stacker::maybe_grow(stack_bytes, stack_bytes, || {
        SemanticBuilder::new()
            .with_build_nodes(true)
            .with_check_syntax_error(true)
            .build(program)
    });
    match built.diagnostics.is_empty() {
        true => Ok(built.semantic),
        false => Err(built.diagnostics.into()),
    }
}

/// How many levels the parser can recurse at most, whatever the text means: each takes at least one byte that is
/// neither part of a word nor in any text between words.
pub(crate) fn levels_at_most(source: &str) -> usize {
    let no_level = |byte: u8| byte.is_ascii_alphanumeric() || b"_$.,;'\")]}".contains(&byte);
    source.bytes().filter(|byte| !no_level(*byte)).count()
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
