//! A test's case, read from its file as a server reads it.

use heddle_service::test_cases::Case;
use serde_json::Value;

/// A test's case, if a server would take it.
pub fn checked(case: Value) -> Result<Case, String> {
    let case: Case = serde_json::from_value(case).map_err(|error| error.to_string())?;
    case.checked().map_err(|error| {
        let details = error.details().iter();
        let details = details.map(|detail| format!("{} {}", detail.path, detail.message));
        let details: Vec<String> = details.collect();
        match details.is_empty() {
            true => error.to_string(),
            false => details.join("; "),
        }
    })?;
    Ok(case)
}
