//! From a graph to one WebAssembly module.
//!
//! A pure function: no I/O, no clock, no threads, no async; the same graph gives the same bytes. Users' mistakes are
//! reported as data ([`Diagnostic`]), not as errors.

pub mod artifact;
mod check;
mod checked;
mod code;
pub mod compare;
mod compile;
mod component;
mod definitions;
pub mod diagnostic;
pub mod emit;
mod explain;
pub mod expression;
mod extent;
mod findings;
mod graph;
mod inline;
mod lower;
pub mod lowered;
mod operation;
mod options;
mod reach;
mod rename;
mod rights;
mod scopes;
pub mod text;
pub mod vocabulary;

pub use artifact::{Artifact, NodeEffects};
pub use check::schedule::{CronProblem, cron_problem, never_comes};
pub use check::webhook::{CANDIDATES_MAX, MODULUS_DIGITS_MAX};
pub use compile::{Compiled, analyse, check, compile, explain};
pub use diagnostic::{Diagnostic, Severity};
pub use explain::{Explained, Route, Why};
pub use expression::ExpressionRoute;
pub use options::{GraphLimits, Options};
pub use rename::{NotRenamed, RenameEdit, Renaming, rename};
