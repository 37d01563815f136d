//! Rules of OnChat's parameters that no schema can express. Knows nothing about pages.

use super::level::Spot;
use super::webhook::{each, network, origin};
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;

/// Bytes of all parameters together as JSON, which are kept in memory with each deployment.
const BYTES_MAX: usize = 64 << 10;

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
    each(given, "allowIps", &mut report, network);
    each(given, "cors", &mut report, origin);
}
