//! Why the host stops a run.

use crate::limits::{Limits, REQUEST_BYTES_MAX};
use heddle_contract::abi::code;
use std::borrow::Cow;

/// Ends the run at once; nothing in the pattern can catch it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{cause}. {advice}")]
pub struct Stop {
    /// One of [`code`].
    pub code: Cow<'static, str>,
    /// What happened, without a full stop: "The run used …".
    pub cause: String,
    /// What to do about it.
    pub advice: Cow<'static, str>,
}

/// Leaves the sandbox of a run that has parked: what is left of it waits for so long that it is not kept in memory. It is
/// no failure, but there is no other way out of the middle of a call.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the run has parked")]
pub struct HasParked;

impl Stop {
    /// A reason by its code, what happened and what to do about it.
    pub fn new(code: &'static str, cause: impl Into<String>, advice: &'static str) -> Self {
        Stop {
            code: code.into(),
            cause: cause.into(),
            advice: advice.into(),
        }
    }

    /// The guest broke the interface: a bug in heddle's own standard library.
    pub fn broken_guest(cause: impl Into<String>) -> Self {
        Stop::new(
            code::INTERNAL,
            cause,
            "This is a bug in heddle, please report it.",
        )
    }

    /// It has started as many effects as it may.
    pub fn too_many_effects(limits: &Limits) -> Self {
        Stop::new(
            code::EFFECT_LIMIT,
            format!(
                "The run started more than {} effects",
                grouped(u64::from(limits.effects_max))
            ),
            "Work in batches, or raise the limit.",
        )
    }

    /// The requests of its concurrent effects are too large together.
    pub fn too_many_request_bytes() -> Self {
        Stop::new(
            code::EFFECT_LIMIT,
            format!(
                "The requests of the run's concurrent effects are larger than {} MiB",
                REQUEST_BYTES_MAX >> 20
            ),
            "Send fewer or smaller requests at a time.",
        )
    }

    /// It has used its fuel.
    pub fn out_of_fuel(limits: &Limits) -> Self {
        Stop::new(
            code::OUT_OF_FUEL,
            format!("The run used its {} units of fuel", grouped(limits.fuel_max)),
            "Look for a loop that does not end, or raise the limit (`run_fuel` of the server, `--fuel` of `heddle run`).",
        )
    }

    /// It has used its time.
    pub fn timeout(limits: &Limits) -> Self {
        Stop::new(
            code::TIMEOUT,
            format!(
                "The run took longer than its {} ms",
                grouped(limits.deadline.as_millis() as u64)
            ),
            "Find out what it waits for, or raise the limit: `timeoutMs` in the pattern's settings, `run_timeout_ms` of the server.",
        )
    }

    /// The message with the node in it.
    pub fn message(&self, node_id: Option<&str>) -> String {
        match node_id {
            Some(id) => format!("{} while node `{id}` was executing. {}", self.cause, self.advice),
            None => self.to_string(),
        }
    }
}

/// A number with its thousands separated.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
