//! The compiler through its public interface.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod emit;
mod expressions;
