//! JavaScript modules in patterns: their syntax, and what they ask for. Executing them is the engine's business, as
//! is everything that shows only then.

use crate::diagnostic::{Diagnostic, unsentenced};
use crate::expression::levels_at_most;
use oxc_allocator::Allocator;
use oxc_ast::ast::{ModuleExportName, Statement};
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType};
use std::ops::Range;

/// A module's source may have so many bytes.
const SOURCE_BYTES_MAX: usize = 64 << 10;
/// As for expressions, see `expression::parse`.
const STACK_PER_LEVEL_BYTES: usize = 6 * 1024;
const STACK_LEAST_BYTES: usize = 256 * 1024;

/// Reports what is wrong with a module; the diagnostics have no place yet.
pub(crate) fn check(source: &str) -> Vec<Diagnostic> {
    if source.len() > SOURCE_BYTES_MAX {
        let message = format!(
            "the code has {} KiB, more than the {} allowed",
            source.len() >> 10,
            SOURCE_BYTES_MAX >> 10
        );
        let help = "divide it among several nodes".to_owned();
        return vec![Diagnostic::error("too-large", message).with_help(help)];
    }
    let stack_bytes = STACK_LEAST_BYTES + levels_at_most(source) * STACK_PER_LEVEL_BYTES;
    stacker::maybe_grow(stack_bytes, stack_bytes, || parsed(source))
}

/// Whether the module may send requests. A name that is made up at run time goes unseen, and is then refused.
pub(crate) fn fetches(source: &str) -> bool {
    source.contains("fetch")
}

fn parsed(source: &str) -> Vec<Diagnostic> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, SourceType::mjs().with_jsx(false)).parse();
    if !parsed.diagnostics.is_empty() || parsed.panicked {
        let problems = parsed.diagnostics.iter().map(|error| {
            let label = error.labels.first();
            let start = label.map_or(source.len(), |label| label.offset() as usize);
            let end = start + label.map_or(0, |label| label.len() as usize);
            let message = format!("this is no JavaScript module: {}", unsentenced(&error.message));
            let help = error.help.as_deref().map(unsentenced);
            diagnostic(source, "syntax", message, start..end).with_help(help)
        });
        return problems.collect();
    }
    let mut found = Vec::new();
    let mut has_default = false;
    for statement in &parsed.program.body {
        match statement {
            Statement::ImportDeclaration(import) => {
                let help =
                    "only what is built in is there: fetch, URL, crypto, TextEncoder and the like".to_owned();
                let message = format!("`{}` can't be imported", import.source.value);
                let span = import.span();
                let range = span.start as usize..span.end as usize;
                found.push(diagnostic(source, "import", message, range).with_help(help));
            }
            Statement::ExportDefaultDeclaration(_) => has_default = true,
            Statement::ExportNamedDeclaration(export) => {
                has_default |= export
                    .specifiers
                    .iter()
                    .any(|specifier| is_default(&specifier.exported));
            }
            _ => {}
        }
    }
    if !has_default {
        let help = "write `export default ({input}) => …`".to_owned();
        let message = "the module has no default export";
        found.push(Diagnostic::error("no-default-export", message).with_help(help));
    }
    found
}

fn is_default(name: &ModuleExportName<'_>) -> bool {
    name.name() == "default"
}

/// An error at a place of the source, with line and column in its message.
fn diagnostic(source: &str, code: &'static str, message: String, span: Range<usize>) -> Diagnostic {
    let start = source.floor_char_boundary(span.start.min(source.len()));
    let end = source.ceil_char_boundary(span.end.clamp(start, source.len()));
    let before = source.get(..start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let message = format!("{message} (line {line}, column {column})");
    Diagnostic::error(code, message).with_excerpt(source, start..end)
}
