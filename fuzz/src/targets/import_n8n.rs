//! Any JSON as n8n's workflows: the import ends, and what it gives compiles or the report says why not.

use heddle_compiler::{Options, Severity, check as compiled};
use heddle_import::{Calls, Imported, find, find_fragments, import};
use serde_json::Value;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some(given) = serde_json::from_slice::<Value>(data).ok() else {
        return;
    };
    let whole = find(&given, "Workflow").unwrap_or_default();
    let parts = find_fragments(&given, "Workflow").unwrap_or_default();
    for workflow in whole.into_iter().chain(parts) {
        let imported = import(&workflow, &Calls::new());
        is_told(&imported);
        let summary = imported.report.summary;
        let notes = workflow.nodes.iter().filter(|node| node.is_note()).count();
        assert_eq!(summary.nodes, workflow.nodes.len() - notes, "no node is left out");
    }
}

/// What is imported compiles, or the report says that it does not; and the report adds up.
pub(super) fn is_told(imported: &Imported) {
    let found = compiled(
        &imported.graph_data,
        &imported.node_definitions,
        &Options::default(),
    );
    let fails = found.iter().any(|found| found.severity == Severity::Error);
    assert_eq!(fails, !imported.report.valid);
    let summary = imported.report.summary;
    assert_eq!(summary.nodes, summary.exact + summary.approximate + summary.stub);
}
