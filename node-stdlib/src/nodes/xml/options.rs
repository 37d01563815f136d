//! What the node's parameters say of reading and writing.

use crate::failure::Failure;
use crate::nodes::parameters;
use heddle_values::{Object, Text, Value};
use std::collections::HashSet;

/// Name of the text beside attributes and elements.
pub(super) const TEXT: &str = "#text";

/// How XML is read and written.
pub(super) struct Options {
    pub attribute_prefix: String,
    /// Names of elements that are arrays even if there is only one.
    pub arrays: HashSet<Text>,
    pub trim: bool,
    pub indent: usize,
    pub declaration: bool,
}

impl Options {
    /// The node's parameters.
    pub fn read(parameters: &Object) -> Result<Self, Failure> {
        let attribute_prefix = parameters::text(parameters, "attributePrefix")?;
        let arrays = parameters::array(parameters, "array")?;
        let indent = parameters::integer(parameters, "indent", 0, 10)?.unwrap_or(0);
        Ok(Options {
            attribute_prefix: attribute_prefix.unwrap_or_else(|| "@".into()),
            arrays: arrays
                .into_iter()
                .flat_map(|names| names.iter().map(Value::to_text))
                .collect(),
            trim: parameters::boolean(parameters, "trim", true)?,
            indent: indent.unsigned_abs() as usize,
            declaration: parameters::boolean(parameters, "declaration", true)?,
        })
    }
}
