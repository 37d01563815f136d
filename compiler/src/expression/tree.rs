//! JavaScript's own grammar: from source text to the parser's tree, and to its names and scopes.

use oxc_allocator::Allocator;
use oxc_ast::ast;
use oxc_ast::builder::AstBuilder;
use oxc_diagnostics::OxcDiagnostic;
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::{Semantic, SemanticBuilder};
use oxc_span::{GetSpan, SourceType};

/// Stack for the parser: what each byte that can open a level takes at most (the worst measured, optimised as
/// all dependencies are, is 2 KiB), and what it needs in any case.
const STACK_PER_LEVEL_BYTES: usize = 6 * 1024;
const STACK_LEAST_BYTES: usize = 256 * 1024;
/// Stack for each level when names are looked for in the parsed tree, where chains such as `a.b.c` are levels too.
const NAMES_STACK_PER_LEVEL_BYTES: usize = 2 * 1024;

/// What `work` gives, with the stack that parsing the source may take.
pub(super) fn with_stack<T>(source: &str, work: impl FnOnce() -> T) -> T {
    let stack_bytes = STACK_LEAST_BYTES + levels_at_most(source) * STACK_PER_LEVEL_BYTES;
    stacker::maybe_grow(stack_bytes, stack_bytes, work)
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
pub(super) fn with_names<'a>(
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
    let stack_bytes = names_stack(source);
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

/// The tree of a module; none if it is not valid.
pub(super) fn program<'a>(source: &'a str, allocator: &'a Allocator) -> Option<&'a ast::Program<'a>> {
    let options = ParseOptions {
        parse_regular_expression: true,
        ..ParseOptions::default()
    };
    let parser = Parser::new(allocator, source, SourceType::mjs().with_jsx(false));
    let parsed = parser.with_options(options).parse();
    let is_valid = parsed.diagnostics.is_empty() && !parsed.panicked;
    is_valid.then(|| &*allocator.alloc(parsed.program))
}

/// A module's names and scopes; none if it is not valid.
pub(super) fn with_program_names<'a>(source: &str, program: &'a ast::Program<'a>) -> Option<Semantic<'a>> {
    let built = stacker::maybe_grow(names_stack(source), names_stack(source), || {
        SemanticBuilder::new()
            .with_build_nodes(true)
            .with_check_syntax_error(true)
            .build(program)
    });
    built.diagnostics.is_empty().then_some(built.semantic)
}

/// Stack for finding names.
fn names_stack(source: &str) -> usize {
    let levels = levels_at_most(source) + source.bytes().filter(|byte| *byte == b'.').count();
    STACK_LEAST_BYTES + levels * NAMES_STACK_PER_LEVEL_BYTES
}

/// How many levels the parser can recurse at most, whatever the text means: each takes at least one byte that is
/// neither part of a word nor in any text between words.
pub(crate) fn levels_at_most(source: &str) -> usize {
    let no_level = |byte: u8| byte.is_ascii_alphanumeric() || b"_$.,;'\")]}".contains(&byte);
    source.bytes().filter(|byte| !no_level(*byte)).count()
}
