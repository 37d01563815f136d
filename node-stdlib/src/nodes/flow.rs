//! Nodes that decide where values go: If, Switch, Merge, ForEach, Loop, Throw, Return, RespondToWebhook, NoOp.

use super::{Context, Emission, NodeResult, Outcome};
use crate::value::Object;

/// NoOp: passes its input through.
pub fn no_op(_: &Object, context: &mut dyn Context) -> NodeResult {
    Ok(Outcome::Emit(Emission::one(0, context.input())))
}
