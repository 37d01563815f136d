//! Why the host stops a run.

use crate::limits::{Limits, REQUEST_BYTES_MAX, UNDER_WAY_MAX};
use heddle_contract::abi::code;
use heddle_contract::manifest::FUEL_PER_COMPUTE_SECOND;
use std::borrow::Cow;
use std::time::Duration;

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
        let number = |effects: u32| grouped(u64::from(effects));
        let raised = match limits.effects_max < limits.ceilings.effects {
            true => format!(
                "or raise `maxEffects` in the pattern's settings: up to {} are allowed here.",
                number(limits.ceilings.effects)
            ),
            false => "or have the limit raised: `run_effects` and `run_effects_ceiling` of the server, or the workspace's \
                      quota `effectsPerRun`."
                .to_owned(),
        };
        Stop {
            code: code::EFFECT_LIMIT.into(),
            cause: format!(
                "The run started more than its {} effects",
                number(limits.effects_max)
            ),
            advice: format!(
                "Do more with each request or statement, divide the work among several runs by CallPattern, {raised}"
            )
            .into(),
        }
    }

    /// It has as many effects under way as it may.
    pub fn too_many_effects_at_once() -> Self {
        Stop::new(
            code::EFFECT_LIMIT,
            format!(
                "The run started more than {} effects at the same time",
                grouped(u64::from(UNDER_WAY_MAX))
            ),
            "Lower `concurrency`, or let code wait for some before it starts others.",
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
        let raised = match limits.fuel_max < limits.ceilings.fuel {
            true => format!(
                "or raise `computeSeconds` in the pattern's settings: up to {} are allowed here.",
                compute_seconds(limits.ceilings.fuel)
            ),
            false => "or have the limit raised: `run_fuel` and `run_fuel_ceiling` of the server, the workspace's quota \
                      `computeSecondsPerRun`, or `--fuel` of `heddle run`."
                .to_owned(),
        };
        let seconds = compute_seconds(limits.fuel_max);
        let plural = if seconds == "1" { "" } else { "s" };
        Stop {
            code: code::OUT_OF_FUEL.into(),
            cause: format!(
                "The run used its {seconds} compute second{plural} ({} units of fuel)",
                grouped(limits.fuel_max)
            ),
            advice: format!("Look for a loop that does not end, {raised}").into(),
        }
    }

    /// It needs more memory than it may have.
    pub fn out_of_memory(memory_bytes_max: usize, ceiling: usize) -> Self {
        let raised = match memory_bytes_max < ceiling {
            true => format!(
                "or raise `memoryMb` in the pattern's settings: up to {} are allowed here.",
                ceiling >> 20
            ),
            false => "or have the limit raised: `run_memory` and `run_memory_ceiling` of the server, the workspace's quota \
                      `memoryMbPerRun`, or `--memory` of `heddle run`."
                .to_owned(),
        };
        Stop {
            code: code::OUT_OF_MEMORY.into(),
            cause: format!(
                "The run needed more than its {} MiB of memory",
                memory_bytes_max >> 20
            ),
            advice: format!("Process less data at a time, {raised}").into(),
        }
    }

    /// It has used its time.
    pub fn timeout(limits: &Limits) -> Self {
        let millis = |time: Duration| grouped(time.as_millis() as u64);
        let raised = match limits.deadline < limits.ceilings.deadline {
            true => format!(
                "or raise `timeoutMs` in the pattern's settings: up to {} are allowed here.",
                millis(limits.ceilings.deadline)
            ),
            false => "or have the limit raised: `run_timeout_ms` of the server (`test_timeout_ms` for test runs), or \
                      `--timeout` of `heddle run`."
                .to_owned(),
        };
        Stop {
            code: code::TIMEOUT.into(),
            cause: format!("The run took longer than its {} ms", millis(limits.deadline)),
            advice: format!("Find out what it waits for, {raised}").into(),
        }
    }

    /// The message with the node in it.
    pub fn message(&self, node_id: Option<&str>) -> String {
        match node_id {
            // The cause may be about the node itself.
            Some(id) if self.cause.contains(&format!("node `{id}`")) => self.to_string(),
            Some(id) => format!("{} while node `{id}` was executing. {}", self.cause, self.advice),
            None => self.to_string(),
        }
    }
}

/// Fuel in compute seconds, to the millisecond.
fn compute_seconds(fuel: u64) -> String {
    let millis = fuel / (FUEL_PER_COMPUTE_SECOND / 1_000);
    let (seconds, rest) = (grouped(millis / 1_000), millis % 1_000);
    match rest {
        0 => seconds,
        _ => format!("{seconds}.{rest:03}").trim_end_matches('0').to_owned(),
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
