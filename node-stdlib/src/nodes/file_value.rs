//! Values that refer to files, and what is said where there is one instead of a text.

use heddle_values::{Object, Value};

/// The field by which a value refers to a file.
pub const MARK: &str = "$file";
/// What to do about a file where text is wanted. The nodes for text start no effects, by which alone a file is read.
pub const READ_FIRST: &str = "Make it text first with the node File (`operation: \"read\"`).";

/// Whether an object refers to a file.
pub fn is_file(object: &Object) -> bool {
    matches!(object.get(MARK), Some(Value::String(_)))
}

/// Whether a value refers to a file.
pub fn is_file_value(value: &Value) -> bool {
    matches!(value, Value::Object(object) if is_file(object))
}
