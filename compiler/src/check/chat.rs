//! Rules of OnChat's parameters that no schema can express. Knows nothing about pages.

use super::level::Spot;
use super::webhook::{each, network, origin};
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use serde_json::Value;

/// Bytes of all parameters together as JSON, which are kept in memory with each deployment.
const BYTES_MAX: usize = 64 << 10;
/// What stands on one line of the page, and how many characters it may have.
const LINES: [&str; 3] = ["title", "placeholder", "button"];
const LINE_CHARS_MAX: usize = 200;

/// Checks an OnChat node that can start runs.
pub(crate) fn check(spot: &Spot<'_>, found: &mut Findings) {
    let given = &spot.node.parameters;
    let mut report = |diagnostic: Diagnostic, parameter: &str| {
        found.push(diagnostic.at_node(&spot.node.id).at_parameter(parameter));
    };
    let bytes: usize = given.values().map(|value| value.to_string().len()).sum();
    if bytes > BYTES_MAX {
        let message = format!("the chat's parameters have {bytes} bytes; {BYTES_MAX} are allowed");
        report(Diagnostic::error("too-large", message), "description");
        return;
    }
    for parameter in LINES {
        let text = given.get(parameter).and_then(Value::as_str);
        let chars = text.map_or(0, |text| text.chars().count());
        if chars > LINE_CHARS_MAX {
            let message = format!("`{parameter}` has {chars} characters; {LINE_CHARS_MAX} are allowed");
            report(Diagnostic::error("too-large", message), parameter);
        }
    }
    each(given, "allowIps", &mut report, network);
    each(given, "cors", &mut report, origin);
}
