//! Any JSON as Node-RED's flows: the import ends, and what it gives compiles or the report says why not.

use heddle_compiler::{Options, Severity, check as compiled};
use heddle_import::{import_flow, node_red};
use serde_json::Value;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some(given) = serde_json::from_slice::<Value>(data).ok() else {
        return;
    };
    let Ok(flows) = node_red::find(&given, "Flow") else {
        return;
    };
    for flow in &flows {
        let imported = import_flow(flow);
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
}
