//! Expressions: from `{{ }}` in a parameter to a checked tree that `emit` compiles.
//!
//! Parsing is JavaScript's own grammar (oxc). An expression with anything in it that is not compiled becomes one call
//! of the JavaScript engine (`script`), which evaluates the whole of it.

mod built_ins;
mod call;
mod code;
mod exact;
mod hoisting;
mod ir;
mod items;
mod lambda;
mod lower;
mod lowering;
mod module;
mod mutation;
mod names;
mod order;
mod parse;
mod part;
mod references;
mod scan;
mod script;
mod secrets;
mod single;
mod syntax;
mod template;
mod tree;
mod unsupported;
mod variables;
mod visit;

pub use ir::*;
pub(crate) use module::code;
pub(crate) use names::{foreign_methods, foreign_names};
pub use parse::{parse, route};
pub(crate) use references::{LabelReference, ReferenceForm, label_references};
pub(crate) use scan::{Cost, cost};
pub use template::{Piece, split};
pub(crate) use tree::levels_at_most;
pub use variables::variables;

use std::ops::Range;

/// How expressions are evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpressionRoute {
    /// Compiled if all that is in it can be, else by the JavaScript engine.
    #[default]
    Cheapest,
    /// By the engine, compiled parts of date-times excepted. For tests that compare the two ways.
    EngineOnly,
}

/// An expression and the way that it goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Routed {
    /// What is compiled; if the engine evaluates it, [`Expression::Script`].
    pub expression: Expression,
    /// Why the engine evaluates it, in the order of the source; empty when it is compiled.
    pub reasons: Vec<Reason>,
}

/// Something in an expression that is not compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The construct, function or method, such as `a regular expression`.
    pub what: String,
    /// Bytes of the source.
    pub span: Range<usize>,
}

/// What is wrong with an expression, where (bytes of the expression's source), and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Stable rule name: `syntax`, `unknown-name`, `unsupported`, `unknown-node`, `not-before`, ….
    pub code: &'static str,
    /// The error message.
    pub message: String,
    /// A hint on how to fix it.
    pub help: Option<String>,
    /// Bytes of the source that are meant.
    pub span: Range<usize>,
}

/// How an expression names another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeName<'a> {
    /// `$nodes["id"]`
    Id(&'a str),
    /// `$("Label")`; an id is accepted too when no label matches.
    Label(&'a str),
}

/// Names that are in scope where an expression stands, beside those that always are.
pub trait Names {
    /// Plan index of the node; on failure the problem's span is filled in by the caller.
    fn node(&self, name: NodeName<'_>) -> Result<u32, Problem>;
    /// `$item` and `$index` mean something here.
    fn has_item(&self) -> bool;
    /// `$a` and `$b` do.
    fn has_pair(&self) -> bool;
    /// `$error` does.
    fn has_error(&self) -> bool;
    /// Whether this is the body of a definition, which sees only `$input`, `$item` and `$index`.
    fn definition_only(&self) -> bool;
}
