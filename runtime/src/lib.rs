//! Executes compiled patterns: one sandbox for each run, hard limits on all it can use, effects behind one trait.
//!
//! Knows nothing of graphs, HTTP servers, databases or users.

mod outcome;
mod request;

pub use outcome::{LogLine, Outcome, RunError, Status, TraceEntry, Usage};
pub use request::{Limits, RunRequest};
