//! JavaScript modules in patterns: their syntax and the rights they need. Executing them, and finding errors that only
//! show then, is up to the engine.

use crate::diagnostic::{Diagnostic, unsentenced};
use crate::expression::{Cost, cost, levels_at_most};
use crate::findings::{Findings, LISTED_MAX};
use oxc_allocator::Allocator;
use oxc_ast::ast::{ImportDeclaration, ImportDeclarationSpecifier, ModuleExportName, Statement};
use oxc_parser::{Parser, ParserReturn};
use oxc_span::{GetSpan, SourceType};
use std::ops::Range;

/// A module's source may have so many bytes.
const SOURCE_BYTES_MAX: usize = 64 << 10;
/// What the engine has of Luxon, and nothing else that can be imported (`javascript/engine/src/luxon.mjs`).
const LUXON: &[&str] = &["DateTime", "Duration", "Interval"];
/// As for expressions, see `expression::parse`.
const STACK_PER_LEVEL_BYTES: usize = 6 * 1024;
const STACK_LEAST_BYTES: usize = 256 * 1024;

/// What is wrong with a module; the diagnostics have no place yet. Reading it is counted in `found`.
pub(crate) fn check(source: &str, found: &mut Findings) -> Vec<Diagnostic> {
    if source.len() > SOURCE_BYTES_MAX {
        let message = format!(
            "the code is {} KiB, more than the {} allowed",
            source.len() >> 10,
            SOURCE_BYTES_MAX >> 10
        );
        let help = "split it across several nodes".to_owned();
        return vec![Diagnostic::error("too-large", message).with_help(help)];
    }
    let cost = cost(source);
    if cost.is_excessive(source) {
        return vec![Diagnostic::error("too-deep", Cost::MESSAGE).with_help(Cost::HELP.to_owned())];
    }
    if let Err(refused) = found.take_source(source.len(), cost) {
        return refused.into_iter().map(|diagnostic| *diagnostic).collect();
    }
    let stack_bytes = STACK_LEAST_BYTES + levels_at_most(source) * STACK_PER_LEVEL_BYTES;
    stacker::maybe_grow(stack_bytes, stack_bytes, || parsed(source))
}

/// Whether the module is neither too long nor too deep to be read.
pub(crate) fn is_readable(source: &str) -> bool {
    source.len() <= SOURCE_BYTES_MAX && !cost(source).is_excessive(source)
}

/// Whether the module may send requests. A name that is made up at run time goes unseen, and is then refused.
pub(crate) fn fetches(source: &str) -> bool {
    source.contains("fetch")
}

/// Whether the module may read files or make them. As with [`fetches`].
pub(crate) fn uses_files(source: &str) -> bool {
    let calls = |name: &str| {
        source.match_indices(name).any(|(at, name)| {
            let (before, after) = (source.get(..at), source.get(at + name.len()..));
            before.is_some_and(|before| before.trim_end().ends_with('.'))
                && after.is_some_and(|after| after.trim_start().starts_with('('))
        })
    };
    source.contains("new File") || ["text", "json", "arrayBuffer", "bytes"].into_iter().any(calls)
}

/// Whether the module may read or change what is kept from run to run. As with [`fetches`].
pub(crate) fn keeps_values(source: &str) -> bool {
    const NAME: &str = "keyValue";
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    source.match_indices(NAME).any(|(at, _)| {
        let (before, after) = (source.get(..at), source.get(at + NAME.len()..));
        let is_longer = before.is_some_and(|before| before.ends_with(is_part))
            || after.is_some_and(|after| after.starts_with(is_part));
        !is_longer
    })
}

fn parsed(source: &str) -> Vec<Diagnostic> {
    let allocator = Allocator::default();
    let parsed = parse(source, &allocator);
    if !parsed.diagnostics.is_empty() || parsed.panicked {
        let problems = parsed.diagnostics.iter().take(LISTED_MAX).map(|error| {
            let label = error.labels.first();
            let start = label.map_or(source.len(), |label| label.offset() as usize);
            let end = start + label.map_or(0, |label| label.len() as usize);
            let message = format!(
                "this is not a valid JavaScript module: {}",
                unsentenced(&error.message)
            );
            let help = error.help.as_deref().map(unsentenced);
            diagnostic(source, "syntax", message, start..end).with_help(help)
        });
        return problems.collect();
    }
    let mut found = Vec::new();
    let mut has_default = false;
    for statement in &parsed.program.body {
        match statement {
            Statement::ImportDeclaration(_) if found.len() > LISTED_MAX => {}
            Statement::ImportDeclaration(import) => {
                if let Some((message, help)) = refused(import) {
                    let span = import.span();
                    let range = span.start as usize..span.end as usize;
                    found.push(diagnostic(source, "import", message, range).with_help(help.to_owned()));
                }
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

/// Why something can't be imported, and what helps. There is nothing but what the engine calls `luxon`.
fn refused(import: &ImportDeclaration<'_>) -> Option<(String, &'static str)> {
    let module = import.source.value.as_str();
    if module != "luxon" {
        let help = "only built-ins are available: fetch, URL, crypto, TextEncoder and the like";
        return Some((format!("`{module}` can't be imported"), help));
    }
    let help = "write `import { DateTime, Duration, Interval } from \"luxon\"`";
    import
        .specifiers
        .iter()
        .flatten()
        .find_map(|specifier| match specifier {
            ImportDeclarationSpecifier::ImportSpecifier(specifier) => {
                let name = specifier.imported.name();
                let is_there = LUXON.contains(&name.as_str());
                (!is_there).then(|| (format!("`{}` of `luxon` is not there", name.as_str()), help))
            }
            ImportDeclarationSpecifier::ImportDefaultSpecifier(_) => {
                Some(("`luxon` has no default export".to_owned(), help))
            }
            ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => None,
        })
}

fn parse<'a>(source: &'a str, allocator: &'a Allocator) -> ParserReturn<'a> {
    Parser::new(allocator, source, SourceType::mjs().with_jsx(false)).parse()
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

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::expression::cost;
    use oxc_allocator::Allocator;

    /// Text that nests, as often as wished: before, in the middle, after.
    const NESTS: &[(&str, &str, &str)] = &[
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{", "", "}"),
        ("({a:", "1", "})"),
        ("({a=", "1", "})"),
        ("({a=", "1", "}=1)"),
        ("({a=", "1", "})=>1"),
        ("({a=", "", ""),
        ("([a=", "1", "])"),
        ("([a=", "1", "])=>1"),
        ("([", "", ""),
        ("(a=", "1", ")"),
        ("(a=", "1", ")=>1"),
        ("(a,b=", "1", ",c)"),
        ("async({a=", "1", "})"),
        ("async(a=", "1", ")=>1"),
        ("f(", "1", ")"),
        ("new X(", "1", ")"),
        ("a?.[", "1", "]"),
        ("a?.(", "1", ")"),
        ("a?b:", "1", ""),
        ("a?({b=", "1", "}):1"),
        ("`${", "1", "}`"),
        ("`${({a=", "1", "})}`"),
        ("x`${", "1", "}`"),
        ("a=>", "1", ""),
        ("(a)=>", "1", ""),
        ("({a})=>", "1", ""),
        ("({a})=>{", "1", "}"),
        ("()=>{if(1){}({a=", "1", "})}"),
        ("{}({a=", "1", "})"),
        ("(class{a=", "1", "})"),
        ("(class{[", "1", "]=1})"),
        ("(class extends ", "1", "{})"),
        ("(class{static{", "", "}})"),
        ("(function(){return ", "1", "})"),
        ("(function(a=", "1", "){})"),
        ("[...", "a", "]"),
        ("({...", "a", "})"),
        ("({[", "a", "]:1})"),
        ("({get a(){return ", "1", "}})"),
        ("!", "1", ""),
        ("-", "1", ""),
        ("typeof ", "1", ""),
        ("await ", "1", ""),
        ("a=", "1", ""),
        ("a**", "1", ""),
        ("a,", "1", ""),
        ("a.b", "", ""),
        ("/(/;(", "1", ")"),
        ("x. in /1;({a=", "1", "})/1"),
        ("/*)*/({a=", "1", "})"),
        ("//)\n({a=", "1", "})"),
        ("//)\u{2028}({a=", "1", "})"),
        ("')';({a=", "1", "})"),
        ("if(1)/'/;({a=", "1", "})"),
        ("import(", "1", ")"),
        ("<", "", ""),
        ("/[", "", ""),
        ("'\\", "", ""),
        ("\"", "", ""),
        ("/", "", ""),
    ];

    /// What the parser takes from its memory, which it does not give back when it reads again.
    fn taken(source: &str) -> usize {
        let allocator = Allocator::default();
        let stack_bytes = 1 << 30;
        stacker::maybe_grow(stack_bytes, stack_bytes, || drop(parse(source, &allocator)));
        allocator.used_bytes()
    }

    #[test]
    fn what_is_not_refused_is_read_in_linear_work() {
        for (before, middle, after) in NESTS {
            for times in [1, 10, 100, 1_000, 4_000] {
                let nest = before.repeat(times) + middle + &after.repeat(times);
                // A few deep ones after each other as well.
                for source in [
                    nest.clone(),
                    format!("[{}", format!("{nest},").repeat(1 + 4_000 / times / 4)),
                ] {
                    let source = source
                        .get(..source.floor_char_boundary(64 << 10))
                        .unwrap_or_default();
                    if cost(source).is_excessive(source) {
                        continue;
                    }
                    let (taken, bytes) = (taken(source), source.len());
                    let most = (2 << 20) + 2_000 * bytes;
                    assert!(
                        taken <= most,
                        "{before}…{after} {times} times, {bytes} bytes: {taken} taken, {most} allowed"
                    );
                }
            }
        }
    }

    #[test]
    fn ordinary_code_is_not_refused() {
        let lines = "const rows = input.items.filter(({price = 0}) => price > 1).map(row => ({...row, tax: (row.net * 19) / 100}));\n\
                     if (rows.length) { rows.sort((a, b) => (a.price - b.price) / 2 || (a.id < b.id ? -1 : 1)); }\n\
                     const text = `${rows.map((row, index) => `${index}: ${row.name.replace(/[\"'(]/g, '')}`).join(', ')}`;\n";
        let wrapped = format!(
            "export default (() => {{ return (({{input}}) => {{\n{}}}) }})()",
            lines.repeat(180)
        );
        assert!(wrapped.len() > 50_000);
        assert!(!cost(&wrapped).is_excessive(&wrapped), "{:?}", cost(&wrapped));
    }
}
