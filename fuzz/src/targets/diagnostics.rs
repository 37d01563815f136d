//! Any JSON as a graph, or as `{graph, definitions}`: what is told of it is bounded, and points into it.

use heddle_compiler::{Diagnostic, Options, Severity};
use serde_json::Value;

/// Told of any graph: 100 errors and as many warnings, each with a message, advice and an excerpt of 2 KB, which JSON
/// may write with escapes.
const TOLD_BYTES_MAX: usize = 8_000_000;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Ok(given) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let (graph, definitions) = match (given.get("graph"), given.get("definitions")) {
        (Some(graph), definitions) => (graph, definitions.unwrap_or(&Value::Null)),
        _ => (&given, &Value::Null),
    };
    let (lowered, found) = heddle_compiler::analyse(graph, definitions, &Options::default());
    let has_errors = found.iter().any(|it| it.severity == Severity::Error);
    assert_eq!(
        lowered.is_none(),
        has_errors,
        "a graph is lowered exactly when there is no error"
    );
    are_bounded(&found);
}

/// Checks what was told.
pub fn are_bounded(found: &[Diagnostic]) {
    for severity in [Severity::Error, Severity::Warning] {
        let count = found.iter().filter(|it| it.severity == severity).count();
        assert!(count <= 101, "{count} findings");
    }
    for diagnostic in found {
        if let Some(excerpt) = &diagnostic.excerpt {
            assert!(excerpt.text.get(excerpt.span.clone()).is_some(), "{diagnostic:?}");
        }
    }
    let bytes = serde_json::to_string(found).map_or(0, |text| text.len());
    assert!(bytes <= TOLD_BYTES_MAX, "{bytes} bytes are told");
}
