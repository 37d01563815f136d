//! The compiler's diagnostics, shown at their place in the file.

use super::failure::{Exit, Failure, Reported};
use super::location;
use super::pattern::Pattern;
use super::report::Report;
use heddle_compiler::diagnostic::Excerpt;
use heddle_compiler::{Diagnostic, Severity};

/// Diagnostics shown in full; a pattern with more gets their number.
const SHOWN_MAX: usize = 50;

/// All diagnostics as a terminal shows them.
pub fn render(pattern: &Pattern, diagnostics: &[Diagnostic]) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics.iter().take(SHOWN_MAX) {
        text.push_str(&report(pattern, diagnostic).to_string());
        text.push('\n');
    }
    if let Some(more) = diagnostics.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
        text.push_str(&format!("… and {more} more\n\n"));
    }
    text
}

/// The failure of a command that needs a valid pattern.
pub fn refusal(pattern: &Pattern, diagnostics: Vec<Diagnostic>) -> Failure {
    let (errors, warnings) = count(&diagnostics);
    let message = format!(
        "{} does not compile: {}",
        pattern.source.name,
        summary(errors, warnings)
    );
    let report = render(pattern, &diagnostics) + &Report::error(&message).to_string();
    Failure::Reported(Box::new(Reported {
        exit: Exit::Invalid,
        code: "INVALID_PATTERN",
        message,
        report,
        diagnostics,
    }))
}

/// Numbers of errors and warnings.
pub fn count(diagnostics: &[Diagnostic]) -> (usize, usize) {
    let errors = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .count();
    (errors, diagnostics.len() - errors)
}

/// `2 errors, 1 warning`.
pub fn summary(errors: usize, warnings: usize) -> String {
    match (errors, warnings) {
        (0, 0) => "no errors".to_owned(),
        (errors, 0) => plural(errors, "error"),
        (0, warnings) => plural(warnings, "warning"),
        (errors, warnings) => format!("{}, {}", plural(errors, "error"), plural(warnings, "warning")),
    }
}

fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

fn report(pattern: &Pattern, diagnostic: &Diagnostic) -> Report {
    let mut report = match diagnostic.severity {
        Severity::Error => Report::error(&diagnostic.message),
        Severity::Warning => Report::warning(&diagnostic.message),
    };
    report = report.code(diagnostic.code).in_file(&pattern.source.name);
    if let Some(node_id) = &diagnostic.node_id {
        let mut context = describe_node(node_id, pattern.node(node_id));
        if let Some(parameter) = &diagnostic.parameter {
            context.push_str(&format!(", {parameter}"));
        }
        report = report.context(context);
        if let Some(place) = place(pattern, node_id, diagnostic) {
            report = report.at(place);
        }
    }
    if let Some(Excerpt { text, span, line, .. }) = &diagnostic.excerpt {
        report = report.with_excerpt(text, span.clone(), *line);
    }
    match &diagnostic.help {
        Some(help) => report.help(help),
        None => report,
    }
}

/// The place of the expression's span, or else of the parameter or node.
fn place(pattern: &Pattern, node_id: &str, diagnostic: &Diagnostic) -> Option<super::report::Place> {
    let text = &pattern.source.text;
    let at = pattern.offset_of(node_id, diagnostic.parameter.as_deref())?;
    let inside = diagnostic.excerpt.as_ref().filter(|excerpt| {
        // Only where the excerpt is what stands in the file; else the parameter's own place is exact enough.
        text[at..].starts_with('"')
            && serde_json::Deserializer::from_str(&text[at..])
                .into_iter::<String>()
                .next()
                .is_some_and(|value| {
                    value.is_ok_and(|value| {
                        let piece = excerpt.offset..excerpt.offset + excerpt.text.len();
                        value.get(piece) == Some(excerpt.text.as_str())
                    })
                })
    });
    let at = inside
        .and_then(|excerpt| location::offset_in_string(text, at, excerpt.offset + excerpt.span.start))
        .unwrap_or(at);
    location::place_of(text, at)
}

/// ``node `big` (If, "Is it big?")``
pub fn describe_node(id: &str, node: Option<(&str, Option<&str>)>) -> String {
    match node {
        Some((node_type, Some(label))) => format!("node `{id}` ({node_type}, \"{label}\")"),
        Some((node_type, None)) => format!("node `{id}` ({node_type})"),
        None => format!("node `{id}`"),
    }
}
