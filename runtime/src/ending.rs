//! Builds a run's outcome from its end: the guest's result, or why it was stopped, with all secrets masked.

use crate::journal::execution_of;
use crate::limits::Limits;
use crate::outcome::{Outcome, RunError, Status, Usage};
use crate::secrets::Vault;
use crate::state::{Finish, RunState};
use crate::stop::{HasParked, Stop};
use heddle_contract::abi::code;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use std::time::Instant;
use wasmtime::Trap;

/// An outcome of a run that could not begin.
pub fn refused(error: RunError, started: Instant) -> Outcome {
    let mut outcome = Outcome::refused(error);
    outcome.usage.duration_us = started.elapsed().as_micros() as u64;
    outcome
}

/// The outcome of a run that ended with `result` while `node_id` was executing.
pub fn outcome(mut state: RunState, result: wasmtime::Result<()>, node_id: Option<String>) -> Outcome {
    let usage = Usage {
        memory_bytes_peak: state.limiter.memory_bytes_peak(),
        effects: state.effects.started(),
        ..Usage::default()
    };
    let finish = state.finish.take();
    let output_name = |node_id: &str, port| state.output_name(node_id, port);
    let pause = match &finish {
        Some(Finish::Paused(json)) => Some(read_pause(json, &output_name)),
        _ => None,
    };
    let last_seen = state.effects.last_seen();
    let last_seen = last_seen.map(|(node, key)| (state.node_id(node), execution_of(key).to_owned()));
    let mut outcome = Outcome {
        status: Status::Completed,
        output: None,
        error: None,
        breakpoint: None,
        pinned_nodes: None,
        wake_at_ms: state.effects.wake_at_ms(),
        failed_execution: None,
        response: state.response,
        logs: state.logs,
        trace: state.trace.finish(),
        usage,
    };
    let failure = match (result, finish, pause) {
        (Err(error), ..) if error.is::<HasParked>() => {
            outcome.status = Status::Parked;
            None
        }
        (Err(error), ..) => Some(trap_error(&error, &state.limits, node_id)),
        (Ok(()), Some(Finish::Completed(json)), _) => {
            outcome.output = Some(json);
            None
        }
        (Ok(()), Some(Finish::Failed(json)), _) => {
            let error = read_failure(&json);
            let last = last_seen.filter(|(node_id, _)| node_id.is_some() && *node_id == error.node_id);
            outcome.failed_execution = last.map(|(_, execution)| execution);
            Some(error)
        }
        (Ok(()), Some(Finish::Paused(_)), Some(Ok((breakpoint, pinned_nodes)))) => {
            outcome.status = Status::Paused;
            (outcome.breakpoint, outcome.pinned_nodes) = (Some(breakpoint), Some(pinned_nodes));
            None
        }
        (Ok(()), Some(Finish::Paused(_)), Some(Err(error))) => Some(error),
        (Ok(()), _, _) => Some(RunError {
            code: code::TRAP.into(),
            message: "The module returned without ending the run. Compile the pattern again.".into(),
            node_id,
        }),
    };
    if let Some(error) = failure {
        outcome.status = Status::Failed;
        outcome.error = Some(error);
    }
    outcome
}

fn internal(message: String) -> RunError {
    RunError {
        code: code::INTERNAL.into(),
        message,
        node_id: None,
    }
}

fn read_failure(json: &RawValue) -> RunError {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Failure {
        code: String,
        message: String,
        node_id: Option<String>,
    }
    match serde_json::from_str::<Failure>(json.get()) {
        Ok(failure) => RunError {
            code: failure.code,
            message: failure.message,
            node_id: failure.node_id,
        },
        Err(error) => internal(format!(
            "The run's error can't be read: {error}. This is a bug in heddle."
        )),
    }
}

/// Reads a pause. The guest knows ports by number, and pins name them: `output_name` tells the name.
fn read_pause(
    json: &RawValue,
    output_name: &dyn Fn(&str, usize) -> String,
) -> Result<(Box<RawValue>, Box<RawValue>), RunError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Pause {
        breakpoint: Box<RawValue>,
        pinned_nodes: Map<String, Value>,
    }
    let unreadable = |error| {
        internal(format!(
            "The pause can't be read: {error}. This is a bug in heddle."
        ))
    };
    let mut pause: Pause = serde_json::from_str(json.get()).map_err(unreadable)?;
    for (node_id, pin) in &mut pause.pinned_nodes {
        if pin.get("$pin") != Some(&Value::Bool(true)) {
            continue;
        }
        let Some(port) = pin.get_mut("port").filter(|port| port.is_number()) else {
            continue;
        };
        let number = port.as_f64().map_or(0, |port| port as usize);
        *port = output_name(node_id, number).into();
    }
    let pinned_nodes = to_raw_value(&pause.pinned_nodes).map_err(unreadable)?;
    Ok((pause.breakpoint, pinned_nodes))
}

/// Says why a run was stopped from outside.
fn trap_error(error: &wasmtime::Error, limits: &Limits, node_id: Option<String>) -> RunError {
    let stop = match (error.downcast_ref::<Stop>(), error.downcast_ref::<Trap>()) {
        (Some(stop), _) => stop.clone(),
        (None, Some(Trap::OutOfFuel)) => Stop::out_of_fuel(limits),
        (None, Some(Trap::Interrupt)) => Stop::timeout(limits),
        (None, Some(Trap::StackOverflow)) => Stop::new(
            code::STACK_OVERFLOW,
            "The run nested function calls too deeply",
            "Look for unbounded recursion in expressions or data.",
        ),
        (None, Some(trap)) => Stop::new(
            code::TRAP,
            format!("The run was stopped by a trap ({trap})"),
            "If heddle compiled this module, please report it.",
        ),
        (None, None) => Stop::broken_guest(format!("The run could not continue ({error:#})")),
    };
    RunError {
        code: stop.code.into(),
        message: stop.message(node_id.as_deref()),
        node_id,
    }
}

/// Takes out of an outcome every secret that the run has used.
pub fn mask(vault: &Vault, mut outcome: Outcome) -> Outcome {
    if !vault.was_used() {
        return outcome;
    }
    for field in [
        &mut outcome.output,
        &mut outcome.breakpoint,
        &mut outcome.pinned_nodes,
        &mut outcome.response,
    ] {
        *field = field.take().map(|json| vault.mask_json(json));
    }
    for line in &mut outcome.logs {
        line.message = vault.mask(&line.message).into_owned();
    }
    for entry in &mut outcome.trace {
        entry.output = entry.output.take().map(|json| vault.mask_json(json));
        entry.error = entry.error.take().map(|json| vault.mask_json(json));
    }
    if let Some(error) = &mut outcome.error {
        error.message = vault.mask(&error.message).into_owned();
    }
    outcome
}
