//! Log: a line for the run's log.

use super::parameters::{choice, required};
use crate::node::{Context, Emission, Level, NodeResult, Outcome};
use heddle_values::Object;

/// Log: passes its input through.
pub fn log(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let message = required(parameters, "message", "text")?.to_text();
    let level = match choice(parameters, "level", &["debug", "info", "warn", "error"], "info")? {
        "debug" => Level::Debug,
        "warn" => Level::Warn,
        "error" => Level::Error,
        _ => Level::Info,
    };
    context.log(level, &message.to_utf8());
    Ok(Outcome::Emit(Emission::one(0, context.through())))
}
