//! Nodes that decide where and when values go: If, Switch, Merge, ForEach, Loop, Wait, WaitForCallback, CallPattern,
//! Throw, Return, RespondToWebhook, StreamResponse, NoOp.
//!
//! They say what should happen as an [`Outcome`]; iterating, waiting and dead branches are the run loop's.

mod call_pattern;
mod choose;
mod comparison;
mod iterate;
mod merge;
mod respond;
mod wait;

use super::parameters::text;
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::{Object, Value};
use std::borrow::Cow;

pub use call_pattern::{call_pattern, called};
pub use choose::{if_node, switch};
pub use iterate::{for_each, loop_node};
pub use merge::merge;
pub use respond::{respond_to_webhook, stream_response};
pub use wait::{called_back, wait, wait_for_callback, waited};

/// NoOp: passes its input through.
pub fn no_op(_: &Object, context: &mut dyn Context) -> NodeResult {
    Ok(Outcome::Emit(Emission::one(0, context.through())))
}

/// Throw: fails with the message and code of its parameters.
pub fn throw(parameters: &Object, _: &mut dyn Context) -> NodeResult {
    // A message of any shape is better than a failure about the message.
    let message = parameters.get("message").map(Value::to_text).unwrap_or_default();
    let message = match message.is_empty() {
        true => "Thrown without a message.".to_owned(),
        false => message.to_string(),
    };
    let code = match text(parameters, "code")? {
        Some(code) if !code.is_empty() => Cow::Owned(code),
        _ => Cow::Borrowed(code::THROWN),
    };
    Err(Failure::with_code(code, message))
}

/// Return: the value, or else the input, is the run's output.
pub fn return_node(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    // A value that is there but undefined is an output of null, not the input.
    let value = parameters.get("value").cloned();
    Ok(Outcome::Return(value.unwrap_or_else(|| context.input())))
}
