//! Any text as an OpenAPI document, in JSON or YAML: reading and importing it end, and what they give compiles.

use heddle_compiler::{Options, Severity, check as compiled};
use heddle_import::openapi::{Selection, around, import, parse};
use serde_json::Value;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(given) = parse(text) else {
        return;
    };
    let Ok(api) = import(&given, &Selection::default()) else {
        return;
    };
    let definitions = Value::Object(api.node_definitions.clone());
    let found = compiled(&around(), &definitions, &Options::default());
    assert!(found.iter().all(|found| found.severity != Severity::Error));
    let imported = api
        .report
        .operations
        .iter()
        .filter(|one| one.definition.is_some());
    assert_eq!(imported.count(), api.node_definitions.len());
    for one in api
        .report
        .operations
        .iter()
        .filter(|one| one.definition.is_none())
    {
        let mut items = api.report.items.iter();
        assert!(
            items.any(|item| item.is_left_out && item.operation_id.as_deref() == Some(&one.id)),
            "no operation is left out without a word"
        );
    }
}
