//! How many values a document may have.

use crate::read::Refused;

/// Values of a document, those that aliases repeat among them.
pub const VALUES_MAX: usize = 1_000_000;

/// Refuses JSON that is too much, before any of it is read.
pub fn few_values(json: &str) -> Result<(), Refused> {
    match heddle_compiler::text::values_at_most(json) > VALUES_MAX {
        true => Err(Refused(too_many_values())),
        false => Ok(()),
    }
}

pub(super) fn too_many_values() -> String {
    format!(
        "it has more than {VALUES_MAX} values, which is the limit: split it, or leave out the parts that you don't need"
    )
}
