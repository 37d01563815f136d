//! The checked graph in the form from which a module is emitted: the run loop's plan, and a body for each node.
//!
//! Made by `lower`, read by `emit`. Everything here is resolved: nodes by plan index, ports by number.

use crate::artifact::NodeEffects;
use crate::expression::{Expression, Reason};
use heddle_contract::manifest::Manifest;
use heddle_contract::plan::Plan;
use std::ops::Range;
use std::sync::Arc;

/// A pattern ready to be emitted.
#[derive(Clone, Debug, Default)]
pub struct Lowered {
    /// The run loop's plan. `function` of its nodes and `sites` are filled in by `emit`.
    pub plan: Plan,
    /// For each node of the plan: what it executes, if anything.
    pub bodies: Vec<Option<Body>>,
    /// The manifest; `functions` is filled in by `emit`.
    pub manifest: Manifest,
    /// The components that nodes execute, by number.
    pub components: Vec<Arc<[u8]>>,
    /// Nodes that may start effects.
    pub effects: Vec<NodeEffects>,
}

/// What a node executes.
#[derive(Clone, Debug)]
pub enum Body {
    /// A standard node: evaluate the parameters, call `node_<type>`.
    Standard {
        /// Type name.
        node_type: &'static str,
        /// What has to be given before anything else is evaluated.
        needs: Vec<Need>,
        /// Fields of the parameters object, in catalogue order.
        parameters: Vec<(String, Argument)>,
    },
    /// A definition of kind `expression`: evaluate each output's value and emit it.
    Outputs(Vec<(u32, Argument)>),
}

impl Body {
    /// The values that it evaluates.
    pub(crate) fn arguments_mut(&mut self) -> Vec<&mut Argument> {
        match self {
            Body::Standard {
                needs, parameters, ..
            } => {
                let tests = needs.iter_mut().map(|need| &mut need.test);
                let parameters = parameters.iter_mut().map(|(_, argument)| argument);
                tests.chain(parameters).collect()
            }
            Body::Outputs(outputs) => outputs.iter_mut().map(|(_, argument)| argument).collect(),
        }
    }
}

/// What a node can't do without, and only a run knows.
#[derive(Clone, Debug)]
pub struct Need {
    /// Truthy if it is there. In a lenient pattern one that fails is `undefined`, and so it is not.
    pub test: Argument,
    /// What the node fails with if it is not, with the code PARAMETER.
    pub message: String,
}

/// A parameter's value.
#[derive(Clone, Debug)]
pub enum Argument {
    /// No expression inside.
    Constant(serde_json::Value),
    /// `{{ expression }}` alone: its value.
    Expression(Site),
    /// Text with expressions among it: texts and values in turn.
    Text(Vec<TextPart>),
    /// An object with an expression somewhere inside.
    Object(Vec<(String, Argument)>),
    /// An array with an expression somewhere inside.
    Array(Vec<Argument>),
    /// A function value (`PerItem`, `PerPair`, `Deferred`) and the parameter path it stands at.
    Function(String, Box<Argument>),
    /// Beside the text of a module: its function as far as it is compiled.
    Code(Code),
}

/// The module of a JavaScript node.
#[derive(Clone, Debug)]
pub struct Code {
    /// As written.
    pub source: String,
    /// What its function gives or computes first, with its `params` as `$a`; none if nothing of it is compiled.
    pub expression: Option<Expression>,
    /// Where what is computed first stands, bytes of the source; the engine executes the rest.
    pub part: Option<Range<usize>>,
    /// Why the engine executes it, by places in `source`.
    pub reasons: Vec<Reason>,
}

/// Name of the parameter beside `code` that is a function value of it, or of what it computes first.
pub const COMPILED_CODE: &str = "compiled";
/// Name of the parameter that is the module to be executed with what was computed first.
pub const REST_OF_CODE: &str = "rest";

/// What an expression's tree takes, for each byte of its source.
const TREE_FACTOR: usize = 8;
/// What an expression takes besides its tree and its place, and what a value takes at least.
const SITE_BYTES: usize = 128;
const VALUE_BYTES: usize = 8;

impl Argument {
    /// About how many bytes it has.
    pub(crate) fn bytes(&self) -> usize {
        let sum = |bytes: usize, more: usize| bytes.saturating_add(more);
        match self {
            Argument::Constant(value) => json_bytes(value),
            Argument::Expression(site) => site.bytes(),
            Argument::Text(parts) => {
                let bytes = |part: &TextPart| match part {
                    TextPart::Literal(text) => text.len(),
                    TextPart::Expression(site) => site.bytes(),
                };
                parts.iter().map(bytes).fold(0, sum)
            }
            Argument::Object(fields) => {
                let bytes = fields.iter().map(|(name, value)| name.len() + value.bytes());
                bytes.fold(0, sum)
            }
            Argument::Array(items) => items.iter().map(Argument::bytes).fold(0, sum),
            Argument::Function(_, value) => value.bytes(),
            Argument::Code(code) => match code.expression {
                Some(_) => code.source.len() * TREE_FACTOR,
                None => 0,
            },
        }
    }
}

/// About how many bytes a value's text has. Values are at most 128 levels deep, which is what is read of JSON.
fn json_bytes(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => VALUE_BYTES,
        Value::String(text) => text.len() + VALUE_BYTES,
        Value::Array(items) => items
            .iter()
            .map(json_bytes)
            .fold(VALUE_BYTES, usize::saturating_add),
        Value::Object(fields) => {
            let bytes = fields.iter().map(|(name, value)| name.len() + json_bytes(value));
            bytes.fold(VALUE_BYTES, usize::saturating_add)
        }
    }
}

/// A piece of a parameter's text.
#[derive(Clone, Debug)]
pub enum TextPart {
    /// As written.
    Literal(String),
    /// The text of an expression's value.
    Expression(Site),
}

/// An expression where it stands.
#[derive(Clone, Debug)]
pub struct Site {
    /// Parameter path such as `fields.total`.
    pub parameter: String,
    /// As written, without braces.
    pub source: String,
    /// Where that stands in the parameter's text, in UTF-16 code units.
    pub utf16: Range<usize>,
    /// The compiled expression tree.
    pub expression: Expression,
    /// Why the JavaScript engine evaluates it, by places in `source`; empty when it is compiled.
    pub reasons: Vec<Reason>,
}

impl Site {
    fn bytes(&self) -> usize {
        SITE_BYTES + self.parameter.len() + self.source.len() * TREE_FACTOR
    }
}
