//! What methods need of whoever evaluates an expression.

use super::exception::Outcome;
use crate::Value;
use crate::date_time::Clock;

/// Calls the functions of an expression.
pub trait Caller {
    /// Calls a compiled function with arguments, which are taken from where they are; those that are missing are `undefined`.
    /// An [`Exception`](super::Exception) of the kind [`Kind::Kept`](super::Kind::Kept) says that a failure is already known.
    fn call(&mut self, function: u32, arguments: &mut [Value]) -> Outcome;

    /// What now is and where, for times.
    fn clock(&self) -> Clock;
}
