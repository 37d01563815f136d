//! How long strings may become.

use super::{Exception, Kind};

/// Units of the longest string that V8 makes.
pub(super) const UNITS_MAX: usize = (1 << 29) - 24;

/// What a longer one is refused with.
pub(super) fn too_long() -> Exception {
    let message = format!("Invalid string length: a string has at most {UNITS_MAX} characters");
    Exception::new(Kind::Range, message)
}
