//! Any JSON as Node-RED's flows: the import ends, and what it gives compiles or the report says why not.

use super::import_n8n::is_told;
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
        is_told(&import_flow(flow));
    }
}
